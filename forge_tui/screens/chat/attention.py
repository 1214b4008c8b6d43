"""Notifies a user who looks at another window: a long turn has ended, or Forge waits for an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from forge_core.durations import time_so_far
from forge_core.sanitize import safe_line

Notify: TypeAlias = Literal["auto", "bell", "off"]

BELL = "\a"
_MOST_CHARACTERS = 80
_OSC_9 = ("iTerm.app", "iTerm2", "WezTerm", "ghostty", "WarpTerminal")
"""Values of TERM_PROGRAM or LC_TERMINAL (which SSH may forward)."""
LONG_TURN_S = 10.0
"""Turns shorter than this do not notify."""
UNSEEN_TURN_S = 60.0
"""The same under a multiplexer that may not report which window has the focus."""


class Attention:
    """Decides whether to notify, and with which text: it reveals at most the name of a tool."""

    def __init__(self, setting: Notify, environ: Mapping[str, str], write: Callable[[str], None]) -> None:
        self.setting = setting
        self._environ = environ
        self._write = write
        self._is_focused: bool | None = None
        """None until the terminal reports a change of focus: until then the user is taken to be present."""

    def focus_changed(self, is_focused: bool) -> None:
        self._is_focused = is_focused

    def turn_ended(self, duration_s: float, stopped: str) -> None:
        """Notify after a long turn, unless the user cancelled it."""
        is_unseen = self._is_focused is None and in_multiplexer(self._environ)
        enough_s = UNSEEN_TURN_S if is_unseen else LONG_TURN_S
        if stopped == "cancelled" or duration_s < enough_s or not (self._is_focused is False or is_unseen):
            return
        how = "done in" if stopped in ("complete", "stop_tool") else "stopped after"
        self._call(f"Forge: {how} {time_so_far(duration_s)}")

    def asked(self, tool: str) -> None:
        """Notify about a request to use `tool`, or about a question of the model if that is empty."""
        if self._is_focused is False:
            self._call(f"Forge asks: may it use {safe_line(tool)}?" if tool else "Forge has a question")

    def _call(self, words: str) -> None:
        if sequence := notice(words, self.setting, self._environ):
            self._write(sequence)


def in_multiplexer(environ: Mapping[str, str]) -> bool:
    """Return whether tmux or GNU screen is in between: it hides the terminal, and often the focus."""
    return bool(environ.get("TMUX") or environ.get("STY"))


def notice(text: str, setting: Notify, environ: Mapping[str, str]) -> str:
    """Return the sequence by which the terminal shows `text`, or rings; "" if notices are off.

    tmux passes such sequences on only if it is configured to, but always a bell.
    """
    if setting == "off":
        return ""
    if setting == "bell" or in_multiplexer(environ):
        return BELL
    words = safe_line(text)[:_MOST_CHARACTERS].replace(";", ",")
    term = environ.get("TERM", "")
    if term == "xterm-kitty" or environ.get("KITTY_WINDOW_ID"):
        return f"\x1b]99;;{words}\x1b\\"
    if term.startswith("foot"):
        return f"\x1b]777;notify;Forge;{words}\x1b\\"
    if {environ.get("TERM_PROGRAM"), environ.get("LC_TERMINAL")} & set(_OSC_9) or "ghostty" in term:
        return f"\x1b]9;{words}\x1b\\"
    return BELL
