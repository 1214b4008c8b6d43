"""The backgrounds that terminals had last time: the first frame is painted before a terminal can answer.

Standard library only; what asks the terminal is in `background`, which is not imported before that frame.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_FILE = "backgrounds"
_MOST = 50
_MAX_BYTES = 64 * 1024
_LONGEST = 200
"""Characters of a kind."""
_KIND = ("TERM", "TERM_PROGRAM", "VTE_VERSION", "KONSOLE_VERSION", "XTERM_VERSION", "COLORFGBG")
_AROUND = ("TMUX", "STY", "SSH_CONNECTION", "WT_SESSION", "KITTY_WINDOW_ID")
"""Variables that differ from window to window: only whether they are set counts."""
_LIGHT = (7, *range(9, 16))
"""The light ones of the 16 colours, as in Vim."""


class Background(StrEnum):
    """What a theme has to go with."""

    DARK = "dark"
    LIGHT = "light"


def expected_background(state_dir: Path, environ: Mapping[str, str]) -> Background:
    """Return the background that this kind of terminal had last time, else what COLORFGBG says, else dark."""
    known = _read(state_dir / _FILE).get(_kind(environ))
    return known or _by_environment(environ) or Background.DARK


def remember_background(state_dir: Path, environ: Mapping[str, str], background: Background) -> None:
    """Let the next start expect this background. Writes only what has changed; a failure has no effect."""
    if expected_background(state_dir, environ) is background:
        return
    from forge_core.config.project_state import replace_file
    from forge_core.private_folders import make_private_folder

    kind = _kind(environ)
    others = [(name, value) for name, value in _read(state_dir / _FILE).items() if name != kind]
    lines = [f"{value}\t{name}\n" for name, value in [*others, (kind, background)][-_MOST:]]
    with contextlib.suppress(OSError):
        make_private_folder(state_dir)
        replace_file(state_dir / _FILE, "".join(lines))


def _read(path: Path) -> dict[str, Background]:
    """Return the background by kind, without lines that cannot be read.

    The file is not JSON: importing that would delay the first frame.
    """
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        value, _, kind = line.partition("\t")
        with contextlib.suppress(ValueError):
            found[kind] = Background(value)
    return found


def _kind(environ: Mapping[str, str]) -> str:
    """Return a line that identifies this kind of terminal and what is between it and Forge."""
    named = [f"{name}={environ[name]}" for name in _KIND if environ.get(name)]
    around = [name for name in _AROUND if environ.get(name)]
    return " ".join(" ".join([*named, *around]).split())[:_LONGEST]


def _by_environment(environ: Mapping[str, str]) -> Background | None:
    """Return the background by COLORFGBG, "15;0" or "15;default;0", which rxvt, Konsole and iTerm2 set."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not (last.isascii() and last.isdigit()) or int(last) > 15:
        return None
    return Background.LIGHT if int(last) in _LIGHT else Background.DARK
