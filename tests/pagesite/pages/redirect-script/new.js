setTimeout(() => fetch("a.json"), 10);
