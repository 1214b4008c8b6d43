"""Vim keys for text inputs: an engine over lines and a cursor, and what connects it to the composer."""
