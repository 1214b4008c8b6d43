"""Markdown tokens to rows."""
