import "./dependency.js";
fetch("main.json");
