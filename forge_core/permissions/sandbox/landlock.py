"""What the Landlock fallback allows, and the command line that confines a program with it.

Landlock only ever allows whole trees, so it can hide a key at home (its siblings are allowed one by one) but
not hold a file in the workspace read-only; it has no process, socket or user namespaces. Hence "weak".

Source: linux/landlock.h.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from forge_core.permissions.sandbox.path_checks import is_folder

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_AND_MAKE = 0b1_1111_1111_0000
"""REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM."""
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_TCP = 0b11
"""BIND_TCP and CONNECT_TCP."""
_SCOPE_SOCKETS, _SCOPE_SIGNALS = 1, 2
SCOPE_ABI = 6
"""From here on abstract sockets and processes outside can be put out of reach."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")
_DEVICE_FOLDERS = ("/dev/pts", "/dev/shm")
_MAX_SPLIT = 2_000


def confined(
    argv: Sequence[str],
    hold: Callable[[bytes], int],
    *,
    abi: int,
    writable: Iterable[Path],
    hidden: Iterable[Path],
    shown: Iterable[Path],
    seccomp: bytes | None,
    network: bool,
) -> tuple[str, ...]:
    """`argv` behind the script that confines it. `shown` is what may be read in `hidden` folders.

    `hold` returns a descriptor for the script, at the start of the bytes that it is given: the rules can be
    longer than an argument, which has at most 128 KiB on Linux (`MAX_ARG_STRLEN`).
    """
    handled = _handled(abi)
    everything = handled & ~_MAKE_DEVICES
    rules: list[tuple[str, int]] = [("/", _READ_DIR)]
    rules += [
        (str(path), _of_file(path, _READ_FILE | _EXECUTE))
        for path in [*visible(Path("/"), set(hidden)), *shown]
    ]
    rules += [(str(path), _of_file(path, everything)) for path in writable]
    rules += [(one, _of_file(Path(one), everything)) for one in (*_DEVICES, *_DEVICE_FOLDERS)]
    return _behind_script(
        argv,
        fs=handled,
        net=_TCP if abi >= 4 and not network else 0,
        scope=_SCOPE_SOCKETS | _SCOPE_SIGNALS if abi >= SCOPE_ABI else 0,
        rules=hold(json.dumps(rules).encode()),
        filter=(seccomp or b"").hex(),
        drop_capabilities=True,
    )


def without_abstract_sockets(argv: Sequence[str]) -> tuple[str, ...]:
    """`argv` unable to reach abstract sockets of the host, which otherwise come with the host's network.
    Needs `SCOPE_ABI`."""
    return _behind_script(argv, fs=0, net=0, scope=_SCOPE_SOCKETS, rules=None, filter="")


def visible(folder: Path, hidden: set[Path]) -> list[Path]:
    """Return the fewest paths that together cover `folder` but for `hidden`; at most 2,000, the rest stays
    hidden."""
    if folder in hidden:
        return []
    if not any(one.is_relative_to(folder) for one in hidden):
        return [folder]
    found: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            names = (entry.name for entry in entries if not entry.is_symlink())
            children = [folder / name for name in islice(names, _MAX_SPLIT)]
    except OSError:
        return []
    for child in children:
        found += visible(child, hidden)
    return found[:_MAX_SPLIT]


def _behind_script(argv: Sequence[str], **settings: object) -> tuple[str, ...]:
    """`argv` behind `confine.py`, which describes the settings."""
    script = Path(__file__).with_name("confine.py")
    return (sys.executable, "-I", "-S", str(script), json.dumps(settings), *argv)


def _handled(abi: int) -> int:
    """Return all rights on files that this version of Landlock knows."""
    handled = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIR | _REMOVE_AND_MAKE
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if abi >= since:
            handled |= right
    return handled


def _of_file(path: Path, rights: int) -> int:
    """`rights` without those that only a folder can have: the kernel refuses these on a file."""
    if is_folder(path):
        return rights
    return rights & (_EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV)
