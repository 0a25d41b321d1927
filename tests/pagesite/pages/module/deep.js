export const name = "deep";
