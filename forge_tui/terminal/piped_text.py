"""Text piped into the chat: it is read to its end, and then standard input becomes the keyboard.

Standard library only. Everything that reads keys (launcher, driver, readline, the user's editor) uses
descriptor 0, which a pipe or a file has taken; afterwards it is the terminal, as if nothing had been piped.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys

MOST_CHARACTERS = 999_000
"""What a message can hold, with a prompt."""
MOST_BYTES = 4 * MOST_CHARACTERS
_NOTICE_S = 1.0
"""After this time without the end of the input, a line says what Forge waits for."""
_READ_BYTES = 1 << 20
_IN_A_FILE = 'Save it to a file and mention that: forge "look at @FILE"'


class PipedTextError(Exception):
    """What was piped cannot be used; the text says why."""


def is_piped() -> bool:
    """Return whether standard input is a pipe or a file, while there is a terminal to write to."""
    if os.isatty(0) or not os.isatty(1):
        return False
    try:
        kind = os.fstat(0).st_mode
    except OSError:  # closed
        return False
    return not stat.S_ISCHR(kind)  # /dev/null and its like: started without a user


def take_piped_text() -> str:
    """Read standard input to its end, make the terminal standard input, and return what was read.

    Raises:
        PipedTextError: there is no terminal to type in, or what was read is no text or too long.
    """
    keyboard = _open_keyboard()
    try:
        data = _read_all()
        os.dup2(keyboard, 0)
    except OSError as error:
        raise PipedTextError(f"Standard input could not be read: {error.strerror}.") from error
    finally:
        os.close(keyboard)
    return _decoded(data)


def _open_keyboard() -> int:
    """Return a descriptor of the terminal that this process belongs to."""
    try:
        keyboard = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise PipedTextError(
            "Standard input is not a terminal, and there is no other to type in "
            f'(/dev/tty: {error.strerror}). Use: forge run "your request"'
        ) from error
    # By its own name if possible: macOS cannot wait for input of /dev/tty in an event loop.
    with contextlib.suppress(OSError):
        named = os.open(os.ttyname(1), os.O_RDWR | os.O_NOCTTY)
        try:
            os.tcgetpgrp(named)  # fails for another terminal than that of this process
        except OSError:
            os.close(named)
        else:
            os.close(keyboard)
            return named
    return keyboard


def _read_all() -> bytes:
    parts: list[bytes] = []
    size = 0
    has_waited = False
    while True:
        if not has_waited and not select.select([0], [], [], _NOTICE_S)[0]:
            has_waited = True
            print("forge: reading standard input to its end; Ctrl+C stops", file=sys.stderr, flush=True)
        part = os.read(0, _READ_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise PipedTextError(f"Standard input is too long for a message. {_IN_A_FILE}")


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PipedTextError(f"Standard input is not text: {_name_of(data, error)}. {_IN_A_FILE}") from None
    if "\0" in text:
        raise PipedTextError(f"Standard input is not text: it holds null characters. {_IN_A_FILE}")
    if len(text) > MOST_CHARACTERS:
        raise PipedTextError(
            f"Standard input has {len(text):,} characters, and a message at most {MOST_CHARACTERS:,}. "
            f"{_IN_A_FILE}"
        )
    return text


def _name_of(data: bytes, error: UnicodeDecodeError) -> str:
    """Return what is wrong with bytes that are no UTF-8."""
    return "it holds null characters" if b"\0" in data else f"byte {error.start:,} is not UTF-8"
