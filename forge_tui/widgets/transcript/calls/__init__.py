"""Tool calls in the transcript: cards, groups, their headers and bodies."""
