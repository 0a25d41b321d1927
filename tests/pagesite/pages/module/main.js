import { value } from "./dependency.js";
fetch(value);
