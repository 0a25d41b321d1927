fetch("data.json").then(function loaded() {
  postMessage("a.json");
});
