import { name } from "./deep.js";
export const value = name + ".json";
