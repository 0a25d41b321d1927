var b = a + 1;
