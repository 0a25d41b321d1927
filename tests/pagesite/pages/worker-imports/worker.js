importScripts("library.js");
onmessage = function asked(event) {
  request(event.data);
};
