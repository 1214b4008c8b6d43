"""What is generated from the parser of the command line: completion in shells, and the manual page."""
