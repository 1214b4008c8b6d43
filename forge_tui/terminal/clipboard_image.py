"""Reading an image from the clipboard of the user's machine, by a program that is installed there."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forge_tui.terminal.clipboard import Which, absolute_program, is_remote

TIMEOUT_S = 3.0
"""For all programs together: keys wait meanwhile, as what is typed next comes after the image."""
MAX_BYTES = 40_000_000
"""Of what a program prints: an image over the limit is named with its size, but nothing endless is read."""
KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif")
_FILES = "text/uri-list"
_TEXTS = ("text/plain", "utf8_string", "string", "text")
_HEX = re.compile(rb"PNGf([0-9A-Fa-f]+)")

_MAC_PNG = "the clipboard as \u00abclass PNGf\u00bb"
_MAC_FILE = "POSIX path of (the clipboard as \u00abclass furl\u00bb)"
_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms; $c=[System.Windows.Forms.Clipboard]; "
    "if($c::ContainsText()){'text/plain'}; if($c::ContainsImage()){'image/png'; "
    "$m=New-Object IO.MemoryStream; $c::GetImage().Save($m,[Drawing.Imaging.ImageFormat]::Png); "
    "[Convert]::ToBase64String($m.ToArray())}"
)


@dataclass(frozen=True, slots=True)
class Clipboard:
    """What the clipboard holds, as far as images are concerned."""

    has_text: bool = False
    image: bytes = b""
    """The bytes of an image; empty if there is none."""
    files: str = ""
    """Files that were copied, as their paths or URIs; empty if there are none."""
    problem: str = ""
    """Why it cannot be read, and what to do instead; empty if it was."""


async def read_clipboard(
    environment: Mapping[str, str],
    which: Which = shutil.which,
    system: str = sys.platform,
    timeout_s: float = TIMEOUT_S,
) -> Clipboard:
    """Return what the clipboard holds. It is read only by programs of the machine that Forge runs on."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(environment, which, system)
    except TimeoutError:
        return Clipboard(
            problem="The clipboard did not answer. Try again, or mention an image file: @shot.png"
        )


async def _read(environment: Mapping[str, str], which: Which, system: str) -> Clipboard:
    if is_remote(environment):
        return Clipboard(
            problem="Over SSH the clipboard is that of your own machine, where Forge cannot read it. Copy "
            "the image to this machine, for example with scp, and mention it: @shot.png"
        )
    if system == "darwin":
        return await _read_mac(which)
    if environment.get("WAYLAND_DISPLAY") and (program := absolute_program(which, "wl-paste")):
        return await _read_types((program, "--list-types"), (program, "--no-newline", "--type"))
    if environment.get("DISPLAY") and (program := absolute_program(which, "xclip")):
        get = (program, "-out", "-selection", "clipboard", "-target")
        return await _read_types((*get, "TARGETS"), get)
    if environment.get("WSL_DISTRO_NAME") and (program := absolute_program(which, "powershell.exe")):
        return await _read_windows(program)
    return Clipboard(problem=_no_program(environment))


def _no_program(environment: Mapping[str, str]) -> str:
    mention = "or mention an image file: @shot.png"
    if environment.get("WAYLAND_DISPLAY"):
        return f"No program reads images from the clipboard: install wl-clipboard (wl-paste), {mention}"
    if environment.get("DISPLAY"):
        return f"No program reads images from the clipboard: install xclip, {mention}"
    return "There is no clipboard that Forge can read images from. Mention an image file: @shot.png"


async def _read_types(listing: Sequence[str], get: Sequence[str]) -> Clipboard:
    """Read it by a program that lists the types of what it holds, and prints it as one of them."""
    types = (await _output(listing)).decode("utf-8", "replace").lower().split()
    files = (await _output((*get, _FILES))).decode("utf-8", "replace") if _FILES in types else ""
    kind = next((kind for kind in KINDS if kind in types), None)
    image = await _output((*get, kind)) if kind is not None and not files else b""
    return Clipboard(any(one.partition(";")[0] in _TEXTS for one in types), image, files)


async def _read_mac(which: Which) -> Clipboard:
    script = (absolute_program(which, "osascript") or "/usr/bin/osascript", "-e")
    info = (await _output((*script, "clipboard info"))).decode("utf-8", "replace")
    has_text = "utf8" in info or "string" in info or "text" in info.lower()
    if "furl" in info:
        return Clipboard(has_text, files=(await _output((*script, _MAC_FILE))).decode("utf-8", "replace"))
    if "PNGf" not in info and "TIFF" not in info:
        return Clipboard(has_text)
    if program := absolute_program(which, "pngpaste"):
        return Clipboard(has_text, await _output((program, "-")))
    found = _HEX.search(await _output((*script, _MAC_PNG)))  # it prints hexadecimal digits
    return Clipboard(
        has_text, b"" if found is None else binascii.unhexlify(found[1][: len(found[1]) // 2 * 2])
    )


async def _read_windows(program: str) -> Clipboard:
    lines = (await _output((program, "-NoProfile", "-STA", "-Command", _WINDOWS))).split()
    image = b""
    if b"image/png" in lines:
        with contextlib.suppress(binascii.Error):
            image = base64.b64decode(lines[-1], validate=True)
    return Clipboard(b"text/plain" in lines, image)


async def _output(command: Sequence[str]) -> bytes:
    """Return what a program prints; nothing if it fails or prints too much. If this is cancelled, the program
    is ended."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return b""
    assert process.stdout is not None
    data = bytearray()
    try:
        while (piece := await process.stdout.read(1 << 16)) and len(data) <= MAX_BYTES:
            data += piece
        if len(data) <= MAX_BYTES:
            await process.wait()
    except OSError:
        return b""
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return bytes(data) if process.returncode == 0 else b""
