"""The model's answer while it streams and after."""
