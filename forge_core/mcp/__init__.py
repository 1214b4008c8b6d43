"""Tools, prompts and resources of MCP servers (https://modelcontextprotocol.io).

All servers of a session are children of one process, the bridge, which alone imports the SDK: its import
takes about a second of CPU.
"""

from __future__ import annotations

from forge_core.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forge_core.mcp.connect import connect_servers as connect_servers

__getattr__, __dir__ = lazy_exports(__name__, {"forge_core.mcp.connect": ("connect_servers",)})
