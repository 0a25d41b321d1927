// What was painted when, asked once after the load: nothing is observed while the page loads.
//
// The estimate of the Speed Index follows the idea of RUM-SpeedIndex: each picture, background and
// frame in the window counts with its visible area from the end of its response on, but not before
// the first paint; the rest of the window (at least a tenth of it) counts from the first paint on.
// The index is the mean of these times, weighted by areas. Overlaps are not resolved, and nothing
// is known of text that scripts put in later, or of when an image was drawn.
new Promise((resolve) => {
  const found = { lcp: null, speedIndex: null };
  const paints = performance.getEntriesByType('paint');
  const first = paints.length ? Math.min(...paints.map((paint) => paint.startTime)) : null;
  if (first !== null) {
    const ends = new Map();
    for (const entry of performance.getEntriesByType('resource')) ends.set(entry.name, entry.responseEnd);
    const width = innerWidth, height = innerHeight;
    let areas = 0, weighted = 0;
    const add = (element, url) => {
      const end = ends.get(url);
      if (end === undefined) return;
      const box = element.getBoundingClientRect();
      const x = Math.min(box.right, width) - Math.max(box.left, 0);
      const y = Math.min(box.bottom, height) - Math.max(box.top, 0);
      if (x <= 0 || y <= 0) return;
      areas += x * y;
      weighted += x * y * Math.max(first, end);
    };
    for (const element of document.querySelectorAll('img, iframe, video')) {
      add(element, element.currentSrc || element.src || element.poster);
    }
    for (const element of document.querySelectorAll('body, body *')) {
      for (const [, url] of getComputedStyle(element).backgroundImage.matchAll(/url\("([^"]*)"\)/g)) {
        add(element, url);
      }
    }
    const rest = Math.max(0.1 * width * height, width * height - areas);
    if (areas + rest > 0) found.speedIndex = (weighted + rest * first) / (areas + rest);
  }
  // Without a candidate the observer never calls.
  setTimeout(() => resolve(found), 50);
  new PerformanceObserver((list) => {
    found.lcp = list.getEntries().at(-1).startTime;
    resolve(found);
  }).observe({ type: 'largest-contentful-paint', buffered: true });
})
