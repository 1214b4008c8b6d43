"""What the offline model can do, one family per file."""
