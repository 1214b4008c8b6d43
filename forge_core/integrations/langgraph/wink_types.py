"""Access to WINK's modules, and what identifies its prompts and sessions.

WINK's types are imported for type checkers alone; where weakincentives is not installed they are `Any` there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weakincentives.prompt import Prompt
    from weakincentives.runtime import Session


def wink(module: str) -> Any:
    """Return a module of weakincentives, imported when it is needed."""
    return import_module(f"weakincentives.{module}")


def prompt_name(prompt: Prompt) -> str:
    """Return the name that events and errors carry."""
    return prompt.name or f"{prompt.ns}:{prompt.key}"


def session_id(session: Session) -> Any:
    """Return the session's UUID; None for one that has none."""
    return getattr(session, "session_id", None)
