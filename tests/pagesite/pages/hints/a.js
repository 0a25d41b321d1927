fetch("a.json", { priority: "low" });
