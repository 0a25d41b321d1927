export const value = "a.json";
