"""The last known state of the workspace, and the differences from it."""
