"""`forge chat --plain`: the conversation as lines of text, for screen readers, dumb terminals and pipes."""
