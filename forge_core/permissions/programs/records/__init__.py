"""The records of programs, by kind."""
