var ran = true;
