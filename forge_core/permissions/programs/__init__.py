"""What is known about single programs: wrappers, interpreters, git."""
