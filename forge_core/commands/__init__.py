"""Slash commands of the session: the table of all commands (`specs`), and a module for each group of them."""
