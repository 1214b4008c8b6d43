"""Agents by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Registry:
    def __init__(self) -> None:
        self._agent_factories: dict[str, Callable[..., Any]] = {"llm_agent": lambda **given: None}

    def register_agent_factory(
        self, factory: Callable[..., Any], name: str, task_filter: Any = None, metadata: Any = None
    ) -> None:
        if name in self._agent_factories:
            raise ValueError(f"Agent factory {name} already registered")
        self._agent_factories[name] = factory

    def get_agent_factory(self, name: str) -> Callable[..., Any] | None:
        return self._agent_factories.get(name)

    def get_agents(self) -> list[str]:
        return list(self._agent_factories)


registry = Registry()
