"""Lets a test in another process wait until an app has painted all there is to paint.

F11 asks the app. Once it is at rest the terminal gets a private sequence, with the app's size, that no emulator shows.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, Self

from textual import events
from textual.app import App

from forge_tui.widgets.transcript import Transcript
from tests.support.terminal import Terminal

_WORD = "\x1b[23~"
_TOLD = re.compile(rb"\x1b\]7777;(\d+)x(\d+)\x1b\\")
_POLL_S = 0.002
_QUIET_POLLS = 4
_LONGEST_WAIT_S = 60.0
_LONGEST_DIFFERENCE_S = 20.0
"""Notes fade by the real clock, up to two seconds apart; what stays different for longer is a difference."""


class TellsWhenAtRest(App[None]):
    """To be mixed into an app, before its other classes."""

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and event.key == "f11" and not event.is_forwarded:
            self.run_worker(self._tell(), group="word")
        else:
            await super().on_event(event)

    def reasons_to_wait(self) -> dict[str, bool]:
        """What may still bring something to be painted, by name, and whether it does."""
        nodes = (
            self,
            *(node for screen in self.screen_stack for node in screen.walk_children(with_self=True)),
        )
        transcripts: list[Any] = [node for node in nodes if isinstance(node, Transcript)]
        screen = self.screen
        return {
            "messages": any(not node._message_queue.empty() for node in nodes),
            "dirty widgets": bool(screen._dirty_widgets),
            "layout": screen._layout_required,
            "repaint": screen._repaint_required,
            "callbacks": bool(screen._callbacks),
            "flush": any(one._flush_handle is not None for one in transcripts),
            "left out": getattr(self, "_has_skipped", False),
            "scroll bar": any(one._scrollbar_handle is not None for one in transcripts),
        }

    async def _tell(self) -> None:
        quiet = polls = 0
        while quiet < _QUIET_POLLS:
            await asyncio.sleep(_POLL_S)
            reasons = [name for name, holds in self.reasons_to_wait().items() if holds]
            quiet, polls = 0 if reasons else quiet + 1, polls + 1
            if polls * _POLL_S > _LONGEST_WAIT_S:
                raise RuntimeError(f"never at rest: {reasons}")
        assert self._driver is not None
        self._driver.write(f"\x1b]7777;{self.size.width}x{self.size.height}\x1b\\")


class AskedTerminal(Terminal):
    """The terminal of an app that tells."""

    _asked = 0

    def ask(self) -> None:
        """Asks for a word, which `settle` waits for."""
        self._asked += 1
        self.send(_WORD)

    def settle(self) -> None:
        """Reads until all has been painted that was sent before the last `ask`."""

        def has_told(terminal: Self) -> bool:
            return len(_TOLD.findall(terminal.output)) >= self._asked

        try:
            self.wait_for(has_told)
        except AssertionError as error:
            raise AssertionError(self.output[-4000:].decode(errors="replace")) from error

    def rest(self) -> None:
        """Reads until all has been painted that was sent before."""
        self.ask()
        self.settle()

    def settle_in_size(self) -> None:
        """`settle`, and asks again until the app has heard of the terminal's size: that comes by a signal."""
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while True:
            self.settle()
            width, height = map(int, _TOLD.findall(self.output)[-1])
            wanted = (self.emulator.screen.columns, self.emulator.screen.lines)
            if (width, height) == wanted:
                return
            assert time.monotonic() < deadline, f"the app has {width}x{height}, its terminal {wanted}"
            self.ask()


def agree(ours: AskedTerminal, theirs: AskedTerminal, when: str) -> None:
    """Fails, with the cells that differ, when the two do not come to show the same."""
    deadline = time.monotonic() + _LONGEST_DIFFERENCE_S
    while different := _differences(ours, theirs):
        assert time.monotonic() < deadline, f"{when}:\n" + "\n".join(different)
        for terminal in (ours, theirs):
            terminal.ask()
            terminal.settle()


def _differences(ours: AskedTerminal, theirs: AskedTerminal) -> list[str]:
    """The rows that differ, as both show them, with the first cells that do."""
    told = []
    for y, (one, other) in enumerate(zip(ours.emulator.cells(), theirs.emulator.cells(), strict=True)):
        if one != other:
            cells = [f"{x}: {a} / {b}" for x, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            lines = (terminal.emulator.lines()[y] for terminal in (ours, theirs))
            told.append("\n  ".join((f"row {y}:", *map(repr, lines), *cells[:4])))
    return told
