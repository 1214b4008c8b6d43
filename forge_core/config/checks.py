"""Checks of settings: each returns the value in the setting's type.

A check raises ValueError whose text completes "it must be …". `forge --help` imports this module, so it does
without dataclasses and typing.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AUTO_THEME = "auto"
"""The value of `theme` that follows the terminal. No theme has this name."""
MODE_SYNONYMS = {"default": "ask", "acceptedits": "accept-edits", "bypasspermissions": "yolo"}
"""Names that other programs give to permission modes, in small letters."""


class OneOf:
    """The check of a setting with a fixed list of values."""

    def __init__(
        self, *choices: str, option_only: str | None = None, synonyms: Mapping[str, str] | None = None
    ) -> None:
        self.choices = choices
        self.option_only = option_only
        """A value that only the command line may set."""
        self.synonyms = synonyms or {}
        """Other names of values, in small letters."""

    def meant(self, value: str) -> str:
        """Return the value that is meant by a name; the name itself if there is none."""
        name = value.strip().lower()
        name = self.synonyms.get(name, name)
        return name if name in self.choices else value

    def __call__(self, value: Any) -> str:
        chosen = self.meant(text(value))
        if chosen not in self.choices:
            raise ValueError("one of " + ", ".join(self.choices))
        return next(choice for choice in self.choices if choice == chosen)


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def deferral(value: Any) -> str:
    """Return `auto`, `always`, `never`, or a percentage with its sign."""
    chosen = value.strip().lower() if isinstance(value, str) else ""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", chosen)
    if found and 0 < float(found[1]) <= 100:
        return f"{found[1]}%"
    if chosen not in ("auto", "always", "never"):
        raise ValueError("auto, always, never, or a percentage like 5%")
    return chosen


def theme(value: Any) -> str:
    """Return the name of a theme; whether there is one is not checked."""
    return text(value)


def url(value: Any) -> str:
    address = text(value).rstrip("/")
    if not address.startswith(("http://", "https://")) or len(address) < len("http://a"):
        raise ValueError("a URL that starts with http:// or https://")
    return address


def shown_url(base_url: str) -> str:
    """Return `base_url` without user, password, query and fragment, for messages."""
    rest = base_url.split("?", 1)[0].split("#", 1)[0]
    scheme, separator, tail = rest.rpartition("://")
    host, slash, path = tail.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path


def whole_number(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError("a whole number")
    try:
        number = int(str(value), 10)
    except ValueError as error:
        raise ValueError("a whole number") from error
    if number < 0:
        raise ValueError("0 or more")
    return number


def at_least_1(value: Any) -> int:
    number = whole_number(value)
    if number < 1:
        raise ValueError("1 or more")
    return number


def seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError("a number of seconds")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError("a number of seconds") from error
    if not 0 < number < 1e6:
        raise ValueError("more than 0 seconds")
    return number


def gigabytes(value: Any) -> float:
    try:
        number = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError) as error:
        raise ValueError("a number of GB") from error
    if not 0.05 <= number < 1e6:
        raise ValueError("at least 0.05 GB")
    return number


def yes_or_no(value: Any) -> bool:
    yes, no = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
    named = {**dict.fromkeys(yes, True), **dict.fromkeys(no, False)}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in named:
        raise ValueError("true or false")
    return named[value.strip().lower()]


def at_least_64(value: Any) -> int:
    number = whole_number(value)
    if number < 64:
        raise ValueError("64 or more")
    return number


_RULE = re.compile(r"(?s)\s*(?:[A-Za-z_][\w.-]*|\*)\s*(?:\(\s*\S.*\))?\s*")


def rules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError('a list of rules like ["bash(pytest:*)"]')
    for rule in value:
        if not isinstance(rule, str) or not _RULE.fullmatch(rule):
            raise ValueError(f'a list of rules like ["bash(pytest:*)"]; {rule!r} is not a rule')
    return tuple(value)


_MODEL = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")


def names(value: Any) -> tuple[str, ...]:
    """Return names without spaces, such as ids of models; commas separate them in a single text."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        raise ValueError('a list of names like ["openai/gpt-5"]')
    for name in given:
        if not isinstance(name, str) or not _MODEL.fullmatch(name.strip()):
            raise ValueError(f'a list of names like ["openai/gpt-5"]; {name!r} is not one')
    return tuple(name.strip() for name in given)


def paths(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError('a list of paths like ["~/data"]')
    for path in value:
        is_path = isinstance(path, str) and (path == "~" or path.startswith(("~/", "/"))) and "\0" not in path
        if not is_path:
            raise ValueError(f'a list of paths like ["~/data"]; {path!r} is neither absolute nor in "~/"')
    return tuple(value)
