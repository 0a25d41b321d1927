new Image().src = "a.png";
