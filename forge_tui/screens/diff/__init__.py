"""The screen of `/diff`."""
