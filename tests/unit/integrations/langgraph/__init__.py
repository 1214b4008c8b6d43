"""What of the LangGraph integration needs no package of its own."""
