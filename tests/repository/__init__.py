"""The repository itself: tidy code, and documents that agree with it."""
