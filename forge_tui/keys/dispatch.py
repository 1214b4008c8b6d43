"""Puts the keys of the user's file into effect: rebinds widgets, recognizes chords, follows the file.

Costs nothing while there is no such file.

A chord reaches the app as one key event whose name has spaces. The first key of a chord is held back only
where a chord that begins with it would do something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from forge_tui.keymap import KeyContext
from forge_tui.keys.effective import EffectiveKeys, effective_keys, use_keys
from forge_tui.keys.names import show
from forge_tui.terminal import internals

KEYS_FILE = "keys.toml"
"""In the folder of the user's settings."""
CHORD_S = 2.0
"""How long the next key of a chord may take."""


class ChordLine(Protocol):
    """A line that shows the beginning of a chord as a note."""

    def note(self, text: str, seconds: float) -> None: ...

    def end_note(self, text: str) -> None: ...


class KeyDispatcher:
    """The keys of one app."""

    def __init__(self, app: App[None], path: Path, line: ChordLine, clock: Callable[[], float]) -> None:
        """`path` is the user's file; chords in progress are shown on `line`."""
        use_keys(EffectiveKeys())
        self._app = app
        self._path = path
        self._line = line
        self._clock = clock
        self._version: tuple[int, int, int] | None = None
        """Of the file that was read; None if there was none."""
        self._bindings: WeakKeyDictionary[DOMNode, Mapping[str, list[Binding]]] = WeakKeyDictionary()
        """What each node bound before it was changed."""
        self._rebound: WeakKeyDictionary[DOMNode, EffectiveKeys] = WeakKeyDictionary()
        """The keys that each node has now."""
        self._prefixes: frozenset[str] = frozenset()
        self._pending = ""
        """The first keys of a chord."""
        self._pending_until = 0.0
        self._note = ""

    # The file

    def follow_file(self) -> list[str] | None:
        """Read the file if it has changed; return what is wrong with it, or None if it is the same."""
        version = _version_of(self._path)
        if version == self._version:
            return None
        from forge_tui.keys.user_file import read_keys

        self._version = version
        keys, problems = read_keys(self._path)
        self.use(keys)
        return problems

    def use(self, keys: EffectiveKeys) -> None:
        """Put these keys into effect."""
        use_keys(keys)
        self._prefixes = keys.prefixes
        self._end_chord()

    # Keys

    def translate(self, event: events.Key) -> events.Key | None:
        """Return the event to handle: this key, or a chord that it completes; None if a chord has begun."""
        if not self._rebound and not effective_keys().changed:
            return event
        self._rebind()
        if self._pending and self._clock() > self._pending_until:
            self._end_chord()
        if not self._pending and event.key not in self._prefixes:
            return event
        chord = f"{self._pending} {event.key}".strip()
        names = self._app.screen.active_bindings
        if self._pending and chord in names:
            self._end_chord()
            return events.Key(chord, None)
        if following := [name for name in names if name.startswith(f"{chord} ")]:
            self._hold(chord, following)
            return None
        if not self._pending:
            return event
        self._end_chord()
        if event.key in ("escape", "ctrl+c", "super+c"):
            return event if event.key != "escape" else None
        self._line.note(f"{show(chord)} is no key", CHORD_S)
        return None

    def _hold(self, chord: str, following: list[str]) -> None:
        self._end_chord()
        self._pending, self._pending_until = chord, self._clock() + CHORD_S
        nexts = ", ".join(show(name[len(chord) + 1 :]) for name in following)
        self._note = f"{show(chord)} … then {nexts}"
        self._line.note(self._note, CHORD_S)

    def _end_chord(self) -> None:
        if self._note:
            self._line.end_note(self._note)
        self._pending = self._note = ""

    def _rebind(self) -> None:
        """Give the nodes that may handle the next key the keys in effect."""
        app = self._app
        focused = app.focused
        nodes = [app.screen] if focused is None else focused.ancestors_with_self
        keys = effective_keys()
        for node in nodes:
            if self._rebound.get(node) is not keys:
                before = self._bindings.setdefault(node, dict(internals.all_bindings(node)))
                internals.rebind(node, rebound(before, keys, is_input=not isinstance(node, Screen)))
                self._rebound[node] = keys


def rebound(
    bindings: Mapping[str, list[Binding]], keys: EffectiveKeys, *, is_input: bool
) -> dict[str, list[Binding]]:
    """Return the bindings of one node under these keys.

    An input does by itself no longer what it did with a key that was assigned in its part of the screen.
    """
    claimed = _claimed(bindings, keys) if is_input else frozenset()
    moved: dict[str, Binding] = {}
    result: dict[str, list[Binding]] = {}
    for key, found in bindings.items():
        for one in found:
            if one.id in keys.changed:
                moved.setdefault(str(one.id), one)
            elif one.id or key not in claimed:
                result.setdefault(key, []).append(one)
    for key_id, one in moved.items():
        for key in keys.bound[key_id]:
            result.setdefault(key, []).insert(0, replace(one, key=key))
    return result


def _claimed(bindings: Mapping[str, list[Binding]], keys: EffectiveKeys) -> frozenset[str]:
    """Return the keys that were assigned in the parts of the screen to which these bindings belong."""
    ids = {one.id for found in bindings.values() for one in found if one.id}
    contexts = {KeyContext.__members__.get(key_id.partition(".")[0].upper()) for key_id in ids}
    return frozenset[str]().union(*(keys.claimed.get(context, ()) for context in contexts if context))


def _version_of(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when the file does; None if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
