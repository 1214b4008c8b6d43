"""LangGraphAdapter against the real weakincentives."""
