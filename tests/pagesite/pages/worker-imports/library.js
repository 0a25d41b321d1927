function request(url) {
  fetch(url);
}
