"""How text gets into the clipboard of the person's own machine, and what they are told about it.

Here a program does it; over SSH only the terminal can (OSC 52), and whether it did is not known: many
terminals refuse, cut long texts off or have it switched off, and tmux and screen stand between.
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
"""A program's path by its name, as `shutil.which` gives it."""

TIMEOUT_S = 2.0
SAFE_BYTES = 74_000
"""Longer texts are more than some terminals take: xterm's buffer holds 100 KB of base64."""
_SCREEN_PIECE = 76
"""Characters of base64 per control string: GNU screen cuts long ones off."""
_OBEDIENT = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour", "rio")
"""Values of TERM whose terminals take a clipboard text unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way to the clipboard."""

    kind: Literal["tool", "tmux", "screen", "terminal", "none"]
    command: tuple[str, ...] = ()
    """A program that reads the text from its standard input."""
    primary: tuple[str, ...] = ()
    """The same for what the middle mouse button pastes; empty where there is no such thing."""
    encoding: str = "utf-8"
    is_obeyed: bool = False
    """Whether the terminal is known to take it."""


def find_route(
    environment: Mapping[str, str], which: Which = shutil.which, system: str = sys.platform
) -> Route:
    """The best way there is; over SSH never a program, since its clipboard would be the other machine's."""
    is_remote = any(environment.get(name) for name in ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT"))
    if not is_remote and (tool := _tool(environment, which, system)) is not None:
        return tool
    term = environment.get("TERM", "")
    if environment.get("TMUX") and (tmux := _absolute(which, "tmux")):
        return Route("tmux", (tmux, "load-buffer", "-w", "-"))
    if environment.get("STY"):
        return Route("screen")
    if term in ("linux", "dumb", ""):
        return Route("none")
    return Route("terminal", is_obeyed=term.startswith(_OBEDIENT))


def _tool(environment: Mapping[str, str], which: Which, system: str) -> Route | None:
    if system == "darwin":
        path = _absolute(which, "pbcopy")
        return Route("tool", (path,)) if path else None
    if environment.get("WAYLAND_DISPLAY") and (path := _absolute(which, "wl-copy")):
        return Route("tool", (path,), (path, "--primary"))
    if environment.get("DISPLAY"):
        if path := _absolute(which, "xclip"):
            select = (path, "-in", "-selection")
            return Route("tool", (*select, "clipboard"), (*select, "primary"))
        if path := _absolute(which, "xsel"):
            return Route("tool", (path, "--input", "--clipboard"), (path, "--input", "--primary"))
    if environment.get("WSL_DISTRO_NAME") and (path := _absolute(which, "clip.exe")):
        return Route("tool", (path,), encoding="utf-16-le")
    return None


def _absolute(which: Which, name: str) -> str | None:
    path = which(name)
    return path if path is not None and path.startswith("/") else None  # never one of the folder's own


def sequence(text: str, kind: str) -> str:
    """The control sequence that asks the terminal to take `text`, also from inside tmux or screen."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if kind == "screen":
        pieces = (encoded[at : at + _SCREEN_PIECE] for at in range(0, max(1, len(encoded)), _SCREEN_PIECE))
        return "\x1bP\x1b]52;c;" + "\x1b\\\x1bP".join(pieces) + "\x07\x1b\\"
    plain = f"\x1b]52;c;{encoded}\x07"
    return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\" if kind == "tmux" else plain


async def run(command: Sequence[str], data: bytes) -> bool:
    """Feeds `data` to a program; whether it ended well in time. One that goes on, as xclip does to hold the
    text, has ended for us."""
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
        if process.returncode is None:  # too slow, or something else is to be copied by now
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode == 0


async def copy(text: str, route: Route, write: Callable[[str], None]) -> Route:
    """Puts `text` into the clipboard; gives the way that it took. `write` writes to the terminal."""
    if route.command and await run(route.command, text.encode(route.encoding, "replace")):
        return route
    if route.kind == "tool":
        route = Route("terminal")
    if route.kind != "none":
        write(sequence(text, route.kind))
    return Route(route.kind, is_obeyed=route.is_obeyed)


async def copy_primary(text: str, route: Route) -> bool:
    """Puts `text` where the middle mouse button pastes from; whether there is such a place."""
    return bool(route.primary) and await run(route.primary, text.encode("utf-8", "replace"))


def told(text: str, route: Route) -> tuple[str, bool]:
    """What the person is told after `copy` gave `route`, and whether it is more than a word of success."""
    count = f"{len(text):,} character{'s'[: len(text) != 1]}"
    if route.kind == "none":
        return "Not copied: this terminal has no clipboard. F9, then select with the mouse", True
    if route.kind == "tool":
        return f"Copied {count}", False
    if len(text.encode("utf-8", "replace")) > SAFE_BYTES and route.kind != "tmux":
        return f"Sent {count} to the terminal; many take no more than {SAFE_BYTES:,}", True
    if route.kind == "tmux" and route.command:
        return f"Copied {count} to tmux, and through it to the terminal", False
    if route.is_obeyed:
        return f"Copied {count} through the terminal", False
    return f"Sent {count} to the terminal; paste differs? F9, then the mouse", True
