"""Recognition of command lines that only read."""
