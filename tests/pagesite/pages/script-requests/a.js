new Image().src = "1.png";
fetch("2.json");
var style = document.createElement("link");
style.rel = "stylesheet";
style.href = "3.css";
document.head.appendChild(style);
setTimeout(() => fetch("5.json"), 10);
new Image().src = "//script-requests.other.test/4.png";
