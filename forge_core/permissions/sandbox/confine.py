"""Confines itself with Landlock and a system call filter, then becomes the program named after its settings.

A script of its own, run by `python -I -S`: what it does can't be undone, so it can't happen in Forge, and a
`preexec_fn` would run Python in the child of a process with threads. It imports nothing of Forge.

Source: linux/landlock.h, man 7 landlock.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same numbers on every machine."""
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 1, 38, 22, 2
_PR_CAPBSET_DROP, _CAPABILITY_VERSION_3 = 24, 0x20080522
_CANNOT_START = 126


def landlock_abi() -> int:
    """Return the version that the running kernel offers; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def main(arguments: list[str]) -> None:
    """`confine.py SETTINGS PROGRAM [ARGUMENT…]`, SETTINGS being JSON: fs, net, scope (bit masks of what is
    handled), rules (a descriptor from which [path, rights] are read, as JSON; null for none), filter
    (hexadecimal), drop_capabilities. Never returns."""
    settings = json.loads(arguments[1])
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if settings.get("drop_capabilities"):
            _drop_capabilities()
        if settings["fs"] or settings["net"] or settings["scope"]:
            _restrict(settings)
        if settings["filter"]:
            _filter(bytes.fromhex(settings["filter"]))
        # Python ignores these two at its start, and a program would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(arguments[2], arguments[2:])
    except OSError as error:
        sys.stderr.write(
            f"forge: the command was not started because its sandbox could not be set up: {error}\n"
        )
    os._exit(_CANNOT_START)


def _restrict(settings: dict[str, object]) -> None:
    libc = _libc()
    attributes = struct.pack("<QQQ", settings["fs"], settings["net"], settings["scope"])
    used = 24 if settings["scope"] else 16 if settings["net"] else 8
    ruleset = _checked(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(used), 0))
    for path, rights in _rules(settings["rules"]):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # gone since the rules were made: nothing is allowed there
        rule = struct.pack("<Qi", rights, descriptor)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(descriptor)
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _rules(descriptor: object) -> list[tuple[str, int]]:
    """Read the rules, and close the descriptor: the program must not inherit it."""
    if descriptor is None:
        return []
    assert isinstance(descriptor, int)
    with os.fdopen(descriptor, "rb") as file:
        rules: list[tuple[str, int]] = json.load(file)
        return rules


def _drop_capabilities() -> None:
    """Give up root's capabilities for good: with an empty bounding set no new program gets them back."""
    for capability in range(64):
        with contextlib.suppress(OSError):  # beyond the kernel's last one, or nothing to drop them with
            _prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)
    _checked(_libc().capset(header, b"\0" * 24))


def _filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    held = ctypes.create_string_buffer(header, len(header))
    _prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(held))


def _prctl(option: int, *values: int) -> None:
    passed = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _checked(_libc().prctl(option, *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


if __name__ == "__main__":
    main(sys.argv)
