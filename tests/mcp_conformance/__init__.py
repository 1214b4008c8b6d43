"""The official conformance suite of MCP for clients, run against the bridge."""
