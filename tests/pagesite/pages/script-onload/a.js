fetch("a.json");
