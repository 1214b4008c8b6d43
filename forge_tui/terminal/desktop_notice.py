"""A few words to somebody who looks at another window: the sequence that this terminal shows them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from forge_core.sanitize import safe_line

Notify: TypeAlias = Literal["auto", "bell", "off"]

BELL = "\a"
_MOST_CHARACTERS = 80
_OSC_9 = ("iTerm.app", "iTerm2", "WezTerm", "ghostty", "WarpTerminal")
"""Values of TERM_PROGRAM or LC_TERMINAL (which SSH may carry along)."""


def in_multiplexer(environ: Mapping[str, str]) -> bool:
    """Whether tmux or GNU screen stands between: it hides the terminal, and often its focus too."""
    return bool(environ.get("TMUX") or environ.get("STY"))


def notice(text: str, setting: Notify, environ: Mapping[str, str]) -> str:
    """What to write so that the terminal shows `text`, or rings; "" where notices are off.

    tmux passes sequences on only where it was told to, and swallows them else; a bell it always hands on.
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
