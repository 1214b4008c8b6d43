"""Opens pages in the user's browser."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import Mapping
from pathlib import Path

from forge_core.workspace.program_lookup import find_program

_OPENERS = {"darwin": "open", "linux": "xdg-open"}
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_REMOTE = ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT")
_START_S = 3.0
"""Some openers end only with the browser: what still runs then has opened the page."""


def opener(root: Path, environment: Mapping[str, str]) -> str | None:
    """Return the path of the program that opens pages on the user's screen; None if there is none, or if that
    screen is on another machine. `root` is the workspace, from which no program is taken."""
    name = _OPENERS.get(sys.platform)
    is_desktop = sys.platform == "darwin" or any(environment.get(one) for one in _DISPLAYS)
    if name is None or not is_desktop or any(environment.get(one) for one in _REMOTE):
        return None
    return find_program(name, root, environment.get("PATH"))


async def open_page(url: str, root: Path, environment: Mapping[str, str]) -> bool:
    """Open the URL of a web page, of the scheme https or http; return whether that could be done."""
    program = await asyncio.to_thread(opener, root, environment)
    if program is None:
        return False
    try:
        process = await asyncio.create_subprocess_exec(
            program, url, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
        )
    except OSError:
        return False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START_S):
            return await process.wait() == 0
    return True
