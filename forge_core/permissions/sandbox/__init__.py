"""The sandbox for commands: what there is on this machine, and how to start a command in it."""
