"""Tools, prompts and resources of MCP servers (https://modelcontextprotocol.io).

All servers of a session are children of one process, the bridge, which alone imports the SDK: its import
takes about a second of CPU.
"""
