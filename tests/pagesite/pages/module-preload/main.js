import { value } from "./dependency.js";
document.title = value;
