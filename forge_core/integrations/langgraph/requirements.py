"""Checks that optional packages are installed, with the commands to install them."""

from __future__ import annotations

import importlib

_GRAPH = ("langgraph.graph", "langchain.agents")
_WINK = ("weakincentives.adapters.tool_spec",)
_INSTALL = {
    "langgraph": "pip install 'langgraph>=1.2,<2' 'langchain>=1.4,<2'",
    "langchain": "pip install 'langgraph>=1.2,<2' 'langchain>=1.4,<2'",
    "weakincentives": "pip install 'weakincentives>=0.27,<0.28' (on Python 3.12 or newer; 3.13 is tested)",
}


def require_langgraph(needed_by: str) -> None:
    """Import LangGraph and LangChain's agents.

    Raises:
        RuntimeError: one of them is missing; the message says how to install it.
    """
    _require(needed_by, _GRAPH)


def require_wink(needed_by: str) -> None:
    """Import weakincentives.

    Raises:
        RuntimeError: it is missing or of another version; the message says how to install it.
    """
    _require(needed_by, _WINK)


def _require(needed_by: str, modules: tuple[str, ...]) -> None:
    for module in modules:
        package = module.partition(".")[0]
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise RuntimeError(
                f"{needed_by} needs the package {package!r} ({error}). Install it: {_INSTALL[package]}"
            ) from error
