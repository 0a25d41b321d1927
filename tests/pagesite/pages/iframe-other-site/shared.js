var shared = true;
