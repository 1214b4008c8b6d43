"""The start screen, shown until the first message."""
