new Image().src = "b.png";
