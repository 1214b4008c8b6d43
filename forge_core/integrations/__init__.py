"""Forge in other programs and frameworks: editors, Ray, tau2-bench, LangGraph and WINK."""
