"""Forge's agents inside other people's frameworks; each loads its framework only when it is used."""
