"""Copying text to the clipboard of the user's machine.

On the local machine a program copies. Over SSH only the terminal can (OSC 52), and it does not report whether
it did: many terminals refuse, truncate long texts or have it disabled, and tmux and screen filter the
sequence.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Which: TypeAlias = Callable[[str], str | None]
"""Returns the path of a program, as `shutil.which` does."""

TIMEOUT_S = 2.0
SAFE_BYTES = 74_000
"""Some terminals accept no more: the buffer of xterm holds 100 KB of base64."""
_SCREEN_PIECE = 76
"""Characters of base64 per control string: GNU screen truncates long ones."""
_OBEDIENT = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour", "rio")
"""Values of TERM whose terminals accept clipboard text by default."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way to reach the clipboard."""

    kind: Literal["tool", "tmux", "screen", "terminal", "none"]
    command: tuple[str, ...] = ()
    """A program that reads the text from its standard input."""
    primary: tuple[str, ...] = ()
    """The same for the primary selection, which the middle button pastes; empty if there is none."""
    encoding: str = "utf-8"
    is_obeyed: bool = False
    """Whether the terminal is known to accept the text."""


def find_route(
    environment: Mapping[str, str], which: Which = shutil.which, system: str = sys.platform
) -> Route:
    """Return the best route; over SSH never a program, whose clipboard would be the remote machine's."""
    if not is_remote(environment) and (tool := _tool(environment, which, system)) is not None:
        return tool
    term = environment.get("TERM", "")
    if environment.get("TMUX") and (tmux := absolute_program(which, "tmux")):
        return Route("tmux", (tmux, "load-buffer", "-w", "-"))
    if environment.get("STY"):
        return Route("screen")
    if term in ("linux", "dumb", ""):
        return Route("none")
    return Route("terminal", is_obeyed=term.startswith(_OBEDIENT))


def is_remote(environment: Mapping[str, str]) -> bool:
    """Return whether the user's machine is another one."""
    return any(environment.get(name) for name in ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT"))


def _tool(environment: Mapping[str, str], which: Which, system: str) -> Route | None:
    if system == "darwin":
        path = absolute_program(which, "pbcopy")
        return Route("tool", (path,)) if path else None
    if environment.get("WAYLAND_DISPLAY") and (path := absolute_program(which, "wl-copy")):
        return Route("tool", (path,), (path, "--primary"))
    if environment.get("DISPLAY"):
        if path := absolute_program(which, "xclip"):
            select = (path, "-in", "-selection")
            return Route("tool", (*select, "clipboard"), (*select, "primary"))
        if path := absolute_program(which, "xsel"):
            return Route("tool", (path, "--input", "--clipboard"), (path, "--input", "--primary"))
    if environment.get("WSL_DISTRO_NAME") and (path := absolute_program(which, "clip.exe")):
        return Route("tool", (path,), encoding="utf-16-le")
    return None


def absolute_program(which: Which, name: str) -> str | None:
    """Return the path of a program; None if there is none."""
    path = which(name)
    return (
        path if path is not None and path.startswith("/") else None
    )  # never a program of the current folder


def sequence(text: str, kind: str) -> str:
    """Return the control sequence that makes the terminal copy `text`, also from inside tmux or screen."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if kind == "screen":
        pieces = (encoded[at : at + _SCREEN_PIECE] for at in range(0, max(1, len(encoded)), _SCREEN_PIECE))
        return "\x1bP\x1b]52;c;" + "\x1b\\\x1bP".join(pieces) + "\x07\x1b\\"
    plain = f"\x1b]52;c;{encoded}\x07"
    return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\" if kind == "tmux" else plain


async def run(command: Sequence[str], data: bytes) -> bool:
    """Pass `data` to a program; return whether it exited with 0 in time.

    A process that it leaves behind, as xclip does to hold the text, does not count.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await process.communicate(data)
    except (TimeoutError, OSError):
        return False
    finally:
        if process.returncode is None:  # too slow, or cancelled by the next copy
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode == 0


async def copy(text: str, route: Route, write: Callable[[str], None]) -> Route:
    """Copy `text` and return the route that was used. `write` writes to the terminal."""
    if route.command and await run(route.command, text.encode(route.encoding, "replace")):
        return route
    if route.kind == "tool":
        route = Route("terminal")
    if route.kind != "none":
        write(sequence(text, route.kind))
    return Route(route.kind, is_obeyed=route.is_obeyed)


async def copy_primary(text: str, route: Route) -> bool:
    """Copy `text` to the primary selection; return whether there is one."""
    return bool(route.primary) and await run(route.primary, text.encode("utf-8", "replace"))


def copy_note(text: str, route: Route) -> tuple[str, bool]:
    """Return the note about a copy by `route`, and whether it says more than that it succeeded."""
    count = f"{len(text):,} character{'s'[: len(text) != 1]}"
    if route.kind == "none":
        return "Not copied: this terminal has no clipboard. F9, then select with the mouse", True
    if route.kind == "tool":
        return f"Copied {count}", False
    if len(text.encode("utf-8", "replace")) > SAFE_BYTES and route.kind != "tmux":
        return f"Sent {count} to the terminal; many accept no more than {SAFE_BYTES:,}", True
    if route.kind == "tmux" and route.command:
        return f"Copied {count} to tmux, and through it to the terminal", False
    if route.is_obeyed:
        return f"Copied {count} through the terminal", False
    return f"Sent {count} to the terminal; paste differs? F9, then the mouse", True
