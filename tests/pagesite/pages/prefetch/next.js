var next = true;
