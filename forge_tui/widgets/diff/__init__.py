"""Changes to files: read from a unified diff, the words that differ marked, drawn stacked or side by side."""
