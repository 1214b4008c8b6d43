"""The chat screen and the objects that it owns."""
