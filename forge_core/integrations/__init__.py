"""Forge in other frameworks: tau2-bench, LangGraph and WINK."""
