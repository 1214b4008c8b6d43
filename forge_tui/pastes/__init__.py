"""Pastes in the message that is being written: folded parts of its text, and their labels."""
