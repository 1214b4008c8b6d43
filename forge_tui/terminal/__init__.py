"""The terminal below Textual: input, output, colours, the clipboard, signals."""
