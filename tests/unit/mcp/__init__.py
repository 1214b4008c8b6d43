"""Tests of forge_core.mcp."""
