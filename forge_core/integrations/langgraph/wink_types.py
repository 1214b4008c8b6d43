"""What the adapter uses of WINK, as the type checker sees it where weakincentives is not installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, Protocol


def wink(module: str) -> Any:
    """Return a module of weakincentives, imported when it is needed."""
    return import_module(f"weakincentives.{module}")


class Deadline(Protocol):
    """weakincentives.Deadline."""

    @property
    def expires_at(self) -> datetime: ...

    def remaining(self) -> timedelta: ...


class Budget(Protocol):
    """weakincentives.Budget."""

    @property
    def deadline(self) -> Any: ...


class BudgetTracker(Protocol):
    """weakincentives.BudgetTracker."""

    @property
    def budget(self) -> Any: ...

    def record_cumulative(self, evaluation_id: str, usage: Any) -> None: ...

    def check(self) -> None: ...


class Heartbeat(Protocol):
    """weakincentives.runtime.watchdog.Heartbeat."""

    def beat(self) -> None: ...


class Resources(AbstractContextManager[Any], Protocol):
    """The resources of a prompt."""

    @property
    def context(self) -> Any: ...


class Prompt(Protocol):
    """weakincentives.prompt.Prompt."""

    ns: str
    key: str
    name: str | None

    @property
    def params(self) -> tuple[Any, ...]: ...

    @property
    def resources(self) -> Any: ...

    def render(self, *, session: Any = None) -> Any: ...

    def bind(self, *params: Any, resources: Any = None) -> Any: ...

    def policies_for_tool(self, tool_name: str) -> tuple[Any, ...]: ...


class Session(Protocol):
    """weakincentives.runtime.session.Session."""

    @property
    def dispatcher(self) -> Any: ...

    def __getitem__(self, slice_type: Any) -> Any: ...


class Tool(Protocol):
    """weakincentives.prompt.Tool."""

    name: str
    description: str
    handler: Callable[..., Any] | None
    params_type: type[Any]


class Rendered(Protocol):
    """weakincentives.prompt.RenderedPrompt."""

    @property
    def text(self) -> str: ...

    @property
    def tools(self) -> Sequence[Any]: ...

    @property
    def tool_param_descriptions(self) -> Mapping[str, Mapping[str, str]]: ...

    @property
    def output_type(self) -> type[Any] | None: ...

    @property
    def container(self) -> str | None: ...

    @property
    def allow_extra_keys(self) -> bool | None: ...


def prompt_name(prompt: Prompt) -> str:
    """Return the name that events and errors carry."""
    return prompt.name or f"{prompt.ns}:{prompt.key}"


def session_id(session: Session) -> Any:
    """Return the session's UUID; None for one that has none."""
    return getattr(session, "session_id", None)
