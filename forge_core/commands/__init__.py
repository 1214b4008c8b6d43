"""Slash commands: what they are called (`specs`, light) and what they do (`handlers`, loaded on use)."""
