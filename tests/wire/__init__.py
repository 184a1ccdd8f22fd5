"""The HTTP edge as a client's socket sees it, with made-up operations behind it."""
