"""Shows that random command lines can fail."""
