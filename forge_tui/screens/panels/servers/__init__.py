"""The panels of `/mcp`."""
