"""Messages that wait for the end of a turn."""
