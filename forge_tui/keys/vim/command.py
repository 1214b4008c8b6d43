"""Parses the keys of normal and visual mode into commands: a register, counts, a verb and a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge_tui.keys.vim import objects
from forge_tui.keys.vim.motions import MOTIONS, SEARCHES

WHOLE_LINES = "lines"
"""The motion of a doubled operator, as in dd."""
MOST = 10_000
"""The largest count: a slip must not make a text that nobody can undo."""

OPERATORS = frozenset({"d", "c", "y", ">", "<", "gu", "gU", "g~"})
_ALIASES = {
    "x": ("d", "l"),
    "delete": ("d", "l"),
    "X": ("d", "h"),
    "D": ("d", "$"),
    "C": ("c", "$"),
    "s": ("c", "l"),
    "S": ("c", WHOLE_LINES),
    "Y": ("y", WHOLE_LINES),
}
_SIMPLE = frozenset({*"ipPJaAIoOuvV~.", "ctrl+r", "gv"})
_VISUAL_ALIASES = {
    "x": "d",
    "delete": "d",
    "s": "c",
    "u": "gu",
    "U": "gU",
    "~": "g~",
    **dict.fromkeys("XD", "dl"),
    **dict.fromkeys("SRC", "cl"),
    "Y": "yl",
}
"""Operators on the selection; those with an "l" on its whole lines."""
_VISUAL_SIMPLE = frozenset({*"ovVpPJIA"})


@dataclass(frozen=True, slots=True)
class VimCommand:
    """One complete command."""

    verb: str = ""
    """An operator or a simple command; empty for a motion alone."""
    motion: str = ""
    """A motion, a text object such as "iw", or `WHOLE_LINES`; empty for a simple command."""
    count: int | None = None
    character: str = ""
    """What f, F, t, T and r wait for."""
    register: str = ""

    @property
    def times(self) -> int:
        return self.count or 1


class InvalidKeysError(ValueError):
    """The keys are no command."""


class _Incomplete(Exception):  # noqa: N818 - not an error
    """More keys are needed."""


class _Keys:
    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._next = 0

    def take(self) -> str:
        if self._next == len(self._keys):
            raise _Incomplete
        self._next += 1
        return self._keys[self._next - 1]

    def count(self) -> int | None:
        """Take a number, which does not begin with 0."""
        digits = ""
        while (key := self.take()) in "0123456789" and (digits or key != "0"):
            digits += key
        self._next -= 1
        return min(int(digits[:9]), MOST) if digits else None

    def long_key(self) -> str:
        """Take a key, with the one after it if it is "g"."""
        key = self.take()
        return key + self.take() if key == "g" else key


def parse(keys: Sequence[str], *, is_visual: bool) -> VimCommand | None:
    """Return the command, or None if more keys are needed. Raise InvalidKeysError if there is no such one."""
    try:
        return _parse(_Keys(keys), is_visual=is_visual)
    except _Incomplete:
        return None


def _parse(keys: _Keys, *, is_visual: bool) -> VimCommand:
    register, count = "", keys.count()
    key = keys.long_key()
    while key == '"':
        register = keys.take()
        later = keys.count()
        count = _product(count, later)
        key = keys.long_key()
    if is_visual and key in "ia" and len(key) == 1:
        name = key + keys.take()
        if name[1] in objects.NAMES:
            return VimCommand(motion=name, count=count)
        raise InvalidKeysError
    if key == "r":
        return VimCommand("r", count=count, character=keys.take())
    if is_visual and (verb := _VISUAL_ALIASES.get(key, key if key in OPERATORS else "")):
        whole = len(verb) > 1 and verb[-1] == "l"
        return VimCommand(verb[:1] if whole else verb, WHOLE_LINES * whole, count, register=register)
    if key in (_VISUAL_SIMPLE if is_visual else _SIMPLE):
        return VimCommand(key, count=count, register=register)
    if key in _ALIASES:
        verb, motion = _ALIASES[key]
        return VimCommand(verb, motion, count, register=register)
    if key in OPERATORS:
        return _operator(keys, key, count, register)
    return _motion(keys, key, "", count, register)


def _operator(keys: _Keys, verb: str, count: int | None, register: str) -> VimCommand:
    count = _product(count, keys.count())
    key = keys.take()
    if key in "ia" and len(key) == 1:
        name = key + keys.take()
        if name[1] in objects.NAMES:
            return VimCommand(verb, name, count, register=register)
        raise InvalidKeysError
    if key == verb[-1]:
        return VimCommand(verb, WHOLE_LINES, count, register=register)
    if key == "g":
        key += keys.take()
        if key == verb:
            return VimCommand(verb, WHOLE_LINES, count, register=register)
    return _motion(keys, key, verb, count, register)


def _motion(keys: _Keys, key: str, verb: str, count: int | None, register: str) -> VimCommand:
    if key in SEARCHES:
        return VimCommand(verb, key, count, keys.take(), register)
    if key in MOTIONS or key in ";,":
        return VimCommand(verb, key, count, register=register)
    raise InvalidKeysError


def _product(first: int | None, second: int | None) -> int | None:
    return min((first or 1) * (second or 1), MOST) if first or second else None
