"""The window's title and the progress in its tab: what Forge is doing, for a user who looks elsewhere.

The title is saved and restored by xterm's stack of titles (CSI 22 and 23 t). Progress is ConEmu's OSC 9;4,
which only terminals get that are known to show it: others would take it for a notification.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from forge_core.sanitize import safe_line
from forge_core.text_width import clip

PUSH_TITLE = "\x1b[22;0t"
POP_TITLE = "\x1b[23;0t"
_FOLDER_CELLS = 60
_SHOWS_PROGRESS = {"ghostty": (1, 2), "iTerm.app": (3, 6, 6)}
"""Values of TERM_PROGRAM, each with the first version that shows progress."""
_VTE = 8000
"""The first VTE_VERSION that does (0.80)."""


class Activity(StrEnum):
    """What Forge is doing; the value is the mark before the title."""

    IDLE = ""
    WORKING = "✳"
    ASKING = "●"


_PROGRESS = {Activity.IDLE: "0;0", Activity.WORKING: "3;0", Activity.ASKING: "4;100"}
"""States of the progress: none, of unknown length, and paused."""


def shows_progress(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal shows OSC 9;4 as progress. A multiplexer would not pass it on."""
    if environ.get("TMUX") or environ.get("STY"):
        return False
    if environ.get("WT_SESSION") or environ.get("ConEmuANSI") == "ON":
        return True
    least = _SHOWS_PROGRESS.get(environ.get("TERM_PROGRAM", ""))
    if least is not None:
        version = re.findall(r"\d+", environ.get("TERM_PROGRAM_VERSION", ""))
        return tuple(int(part) for part in version[:3]) >= least
    vte = environ.get("VTE_VERSION", "")
    return vte.isascii() and vte.isdigit() and int(vte) >= _VTE


class WindowTitle:
    """Returns the sequences that keep title and progress up to date."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._has_progress = shows_progress(environ)
        self._shown: tuple[str, Activity] | None = None

    def show(self, folder: str, activity: Activity) -> str:
        """Return what changes title and progress to this state; "" if they are so already."""
        before, self._shown = self._shown, (folder, activity)
        if before == self._shown:
            return ""
        name = clip(safe_line(folder), _FOLDER_CELLS)
        title = f"\x1b]0;{f'{activity} ' if activity else ''}forge · {name}\x1b\\"
        was = Activity.IDLE if before is None else before[1]
        return title + (self._progress(activity) if activity is not was else "")

    def begin(self) -> str:
        """Return what shows the state again after another program had the terminal; "" before the first."""
        shown, self._shown = self._shown, None
        return self.show(*shown) if shown is not None else ""

    def end(self) -> str:
        """Return what removes the progress and restores the title that was there before."""
        is_active = self._shown is not None and self._shown[1] is not Activity.IDLE
        return (self._progress(Activity.IDLE) if is_active else "") + POP_TITLE

    def _progress(self, activity: Activity) -> str:
        return f"\x1b]9;4;{_PROGRESS[activity]}\x1b\\" if self._has_progress else ""
