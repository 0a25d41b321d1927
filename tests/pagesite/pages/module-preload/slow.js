var slow = true;
