function later(url, delay) {
  setTimeout(() => fetch(url), delay);
}
