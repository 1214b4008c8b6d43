"""What Forge writes to the disk about its sessions: the journal, and its own log."""
