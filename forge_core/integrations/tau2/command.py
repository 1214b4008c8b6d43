"""Makes Forge known to tau2, and runs tau2's own command line with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from forge_core.integrations.tau2.agent import Tau2ForgeAgent, create_tau2_forge_agent
from forge_core.integrations.tau2.tau2_api import load

NAME = "forge_agent"
OLD_NAME = "langchain_agent"


def register(name: str = NAME) -> None:
    """Register the agent as `name`, and as `langchain_agent` where that is free. Twice is as good as once.

    Raises:
        ImportError: tau2 is not installed.
        ValueError: another agent has that name.
    """
    load()
    registry: Any = import_module("tau2.registry").registry
    _register_as(registry, name)
    if name != OLD_NAME and OLD_NAME not in _names(registry):
        _register_as(registry, OLD_NAME)


def main(argv: Sequence[str] | None = None) -> int:
    """Run tau2's command line with Forge registered and return its exit code. A `run` that names no agent
    gets Forge's (`--agent forge_agent`), except for audio."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    names_agent = any(word.partition("=")[0] in ("--agent", "--audio-native") for word in arguments)
    if arguments[:1] == ["run"] and not names_agent:
        arguments[1:1] = ["--agent", NAME]
    try:
        register()
        command: Callable[[], object] = import_module("tau2.cli").main
    except ImportError as error:
        print(f"forge: {error}", file=sys.stderr)
        return 1
    before, sys.argv = sys.argv, ["tau2", *arguments]
    try:
        command()
    except SystemExit as exit_:
        if exit_.code is None or isinstance(exit_.code, int):
            return exit_.code or 0
        print(exit_.code, file=sys.stderr)
        return 1
    finally:
        sys.argv = before
    return 0


def _register_as(registry: Any, name: str) -> None:
    if hasattr(registry, "register_agent_factory"):
        if registry.get_agent_factory(name) is not create_tau2_forge_agent:
            registry.register_agent_factory(create_tau2_forge_agent, name)
    elif name not in _names(registry) or registry.get_agent_constructor(name) is not Tau2ForgeAgent:
        registry.register_agent(Tau2ForgeAgent, name)


def _names(registry: Any) -> list[str]:
    return list(registry.get_agents() if hasattr(registry, "get_agents") else registry.get_info().agents)
