"""What undo keeps on disk, and the files that it reads and writes."""
