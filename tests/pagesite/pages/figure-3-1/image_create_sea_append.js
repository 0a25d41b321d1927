// The thesis shows no request made by this script: the image stays without a source.
var sea = new Image();
sea.alt = "sea";
document.getElementById("firstDiv").appendChild(sea);
