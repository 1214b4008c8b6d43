"""What the calls of all sessions have used, by day: read from the journals, and kept in an index."""
