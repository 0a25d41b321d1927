document.addEventListener("DOMContentLoaded", function () {
  fetch("parsed.json");
});
