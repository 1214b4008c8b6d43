"""The commands around git: `/commit`, `/review`, `/pr`."""
