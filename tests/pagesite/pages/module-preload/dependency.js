export const value = "Done";
