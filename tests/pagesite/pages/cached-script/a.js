var count = (window.count || 0) + 1;
