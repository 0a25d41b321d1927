document.title = getComputedStyle(document.documentElement).color;
