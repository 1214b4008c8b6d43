"""Searching the text of files: one question, two engines (ripgrep, and our own) with the same answers."""
