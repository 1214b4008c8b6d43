"""The process that speaks with MCP servers: `python -m forge_core.mcp.bridge`. Only it imports the SDK."""
