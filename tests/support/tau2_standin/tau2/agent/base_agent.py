"""The base class of turn-taking agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class AgentError(Exception):
    pass


class HalfDuplexAgent(ABC):
    def __init__(self, tools: list[Any], domain_policy: str) -> None:
        super().__init__()
        self.tools = tools
        self.domain_policy = domain_policy

    @abstractmethod
    def generate_next_message(self, message: Any, state: Any) -> tuple[Any, Any]: ...

    @abstractmethod
    def get_init_state(self, message_history: list[Any] | None = None) -> Any: ...
