"""Which of the changes found while a command ran are the command's."""
