"""The commands around git: `/commit` and `/review`."""
