"""The terminal app: it shows what the core does, and asks the user."""
