"""The commands around git: `/commit`."""
