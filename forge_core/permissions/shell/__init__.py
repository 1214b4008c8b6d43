"""Parsing of command lines into simple commands, words and redirections."""
