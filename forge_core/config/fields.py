"""The table of settings: their type, their bounds, their environment variable."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, TypeAlias

from forge_core.config.models import THINKING_SETTINGS, PermissionMode
from forge_core.errors import ConfigError

Kind: TypeAlias = Literal[
    "text", "url", "mode", "whole", "seconds", "rules", "level", "sandbox", "notify", "thinking"
]
LOG_LEVELS = ("debug", "info", "warning", "error")
SANDBOX_SETTINGS = ("auto", "strict", "off")
NOTIFY_SETTINGS = ("auto", "bell", "off")
_RULE = r"(?s)\s*(?:[A-Za-z_][\w.-]*|\*)\s*(?:\(\s*\S.*\))?\s*"


class Field(NamedTuple):
    """One setting."""

    kind: Kind
    variable: str | None = None
    summary: str = ""

    @property
    def is_list(self) -> bool:
        """Whether the sources add up instead of the strongest winning."""
        return self.kind == "rules"


FIELDS: dict[str, Field] = {
    "base_url": Field(
        "url", "FORGE_BASE_URL", "an OpenAI-compatible endpoint, e.g. http://localhost:11434/v1"
    ),
    "model": Field("text", "FORGE_MODEL", "the model's id"),
    "theme": Field("text", "FORGE_THEME", "the theme's name"),
    "thinking": Field(
        "thinking", "FORGE_THINKING", "how much of the reasoning shows: hidden, folded or full"
    ),
    "permission_mode": Field("mode", "FORGE_PERMISSION_MODE", "ask, accept-edits, plan or auto"),
    "allow": Field("rules", None, "rules tool(pattern) that run without asking"),
    "ask": Field("rules", None, "rules tool(pattern) that always ask, whatever allows them"),
    "deny": Field("rules", None, "rules tool(pattern) that never run"),
    "sandbox": Field(
        "sandbox",
        "FORGE_SANDBOX",
        "auto (the best there is), strict (a full one or no start), off",
    ),
    "notify": Field(
        "notify", "FORGE_NOTIFY", "auto (a desktop notice where the terminal shows them), bell, off"
    ),
    "max_iterations": Field("whole", "FORGE_MAX_ITERATIONS", "model calls per turn"),
    "max_retries": Field("whole", "FORGE_MAX_RETRIES", "retries after the first attempt"),
    "context_window": Field("whole", "FORGE_CONTEXT_WINDOW", "tokens that the model can hold"),
    "first_token_timeout_s": Field("seconds", None, "how long to wait for a first token"),
    "idle_timeout_s": Field("seconds", None, "how long a stream may be silent"),
    "connect_timeout_s": Field("seconds", None, "how long connecting may take"),
    "log_level": Field("level", "FORGE_LOG_LEVEL", "debug, info, warning or error"),
}

PROJECT_FIELDS = ("theme", "thinking")
"""What a project's own file may set at any time: looks."""
TRUSTED_PROJECT_FIELDS = (*PROJECT_FIELDS, "allow", "ask", "deny", "permission_mode", "model")
"""What it may set once the person trusts the folder. Where requests go, keys, and what confines commands stay
the person's own."""


def check_value(name: str, value: Any) -> Any:
    """The value in its field's type.

    Raises:
        ConfigError: naming the setting, the value and what is accepted.
    """
    kind = FIELDS[name].kind
    try:
        checked = _CHECKS[kind](value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} is {value!r}; it must be {error}.") from error
    if kind == "mode" and checked is PermissionMode.YOLO:
        raise ConfigError(f"{name} is 'yolo'; that mode is set with --permission-mode yolo only.")
    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _url(value: Any) -> str:
    text = _text(value).rstrip("/")
    if not text.startswith(("http://", "https://")) or len(text) < len("http://a"):
        raise ValueError("a URL that starts with http:// or https://")
    return text


def _mode(value: Any) -> PermissionMode:
    try:
        return PermissionMode(_text(value))
    except ValueError as error:
        raise ValueError("one of " + ", ".join(PermissionMode)) from error


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError("a whole number")
    try:
        number = int(str(value), 10)
    except ValueError as error:
        raise ValueError("a whole number") from error
    if number < 0:
        raise ValueError("0 or more")
    return number


def _seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError("a number of seconds")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError("a number of seconds") from error
    if not 0 < number < 1e6:
        raise ValueError("more than 0 seconds")
    return number


def _rules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError('a list of rules like ["bash(pytest:*)"]')
    for rule in value:
        if not isinstance(rule, str) or not re.fullmatch(_RULE, rule):
            raise ValueError(f'a list of rules like ["bash(pytest:*)"], which {rule!r} is not')
    return tuple(value)


def _level(value: Any) -> str:
    text = _text(value).lower()
    if text not in LOG_LEVELS:
        raise ValueError("one of " + ", ".join(LOG_LEVELS))
    return text


def _sandbox(value: Any) -> str:
    if value not in SANDBOX_SETTINGS:
        raise ValueError("one of " + ", ".join(SANDBOX_SETTINGS))
    return str(value)


def _notify(value: Any) -> str:
    if value not in NOTIFY_SETTINGS:
        raise ValueError("one of " + ", ".join(NOTIFY_SETTINGS))
    return str(value)


def _thinking(value: Any) -> str:
    if value not in THINKING_SETTINGS:
        raise ValueError("one of " + ", ".join(THINKING_SETTINGS))
    return str(value)


_CHECKS = {
    "text": _text,
    "url": _url,
    "mode": _mode,
    "whole": _whole,
    "seconds": _seconds,
    "rules": _rules,
    "level": _level,
    "sandbox": _sandbox,
    "notify": _notify,
    "thinking": _thinking,
}
