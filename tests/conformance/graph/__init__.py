"""GraphRunner over the real LangGraph."""
