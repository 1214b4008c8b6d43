"""The tools that Forge brings, one a file."""
