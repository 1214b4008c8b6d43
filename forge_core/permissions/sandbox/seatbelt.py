"""The profile under which macOS runs a command, and the command line of `sandbox-exec`.

The kernel decides by path: the last rule that matches wins, and whatever no rule names is denied. The text of
the profile contains no paths. They are parameters, so that no file name can add a rule.

A path-based profile cannot hold a file whose folder is renamed, so the folders above everything that is held
or hidden can be neither renamed nor removed. Linking and cloning files are operations of their own, which
stay denied: a key cannot be given a second name.

Source: man 1 sandbox-exec; Apple's profiles in /System/Library/Sandbox/Profiles; Chromium's common.sb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

PROGRAM = "/usr/bin/sandbox-exec"
"""Never one of the search path."""

_BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "machdep.cpu.brand_string")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read*)
(allow file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx")
  (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper")
  (regex #"^/dev/ttys[0-9]+$"))
"""
_NETWORK = """\
(allow system-socket)
(allow network-outbound (remote ip) (literal "/private/var/run/mDNSResponder"))
(allow network-bind network-inbound (local ip))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd.agent"))
"""
"""Addresses only: named sockets lead to services that act outside of the sandbox."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MAX_LETTERS = 6
"""A missing name of so many letters is denied in every spelling; file systems of macOS ignore case."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may reach; all paths are real ones."""

    writable: Sequence[Path]
    read_only: Sequence[Path] = ()
    """Held as they are, with all that is in them."""
    missing: Sequence[Path] = ()
    """What must not come into being."""
    pinned: Sequence[Path] = ()
    """Folders that can be neither renamed nor removed."""
    hidden: Sequence[Path] = ()
    covered: Sequence[Path] = ()
    """Hidden too, except for what is `shown` in them and what is writable; the names in them can be seen."""
    shown: Sequence[Path] = ()
    network: bool = False


@dataclass(slots=True)
class _Writer:
    lines: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)

    def name(self, kind: str, path: Path) -> str:
        """Return the parameter that represents a path."""
        name = f"{kind}_{len(self.parameters)}"
        self.parameters[name] = str(path)
        return f'(param "{name}")'

    def rule(self, action: str, filters: Iterable[str]) -> None:
        """A rule with at least one filter: one without any would mean every path."""
        if listed := list(filters):
            self.lines.append(f"({action}\n  " + "\n  ".join(listed) + ")")


def confined(program: str, argv: Sequence[str], bounds: Bounds) -> tuple[str, ...]:
    """`argv` behind sandbox-exec."""
    text, parameters = profile(bounds)
    settings = [f"-D{name}={value}" for name, value in parameters.items()]
    return (program, "-p", text, *settings, "--", *argv)


def profile(bounds: Bounds) -> tuple[str, dict[str, str]]:
    """Return the profile's text, and its parameters. Order matters: what is denied comes after what is
    allowed."""
    to = _Writer()
    to.rule(
        "deny file-read-data file-read-xattr",
        (f"(subpath {to.name('COVERED', one)})" for one in bounds.covered),
    )
    to.rule("allow file-read*", (f"(subpath {to.name('SHOWN', one)})" for one in _readable(bounds)))
    to.rule("allow file-write*", (f"(subpath {to.name('WRITABLE', one)})" for one in bounds.writable))
    held = [*bounds.read_only, *(spelled for one in bounds.missing for spelled in _spellings(one))]
    to.rule("deny file-write*", (f"(subpath {to.name('HELD', one)})" for one in dict.fromkeys(held)))
    to.rule("deny file-write*", _long_names(bounds, to))
    to.rule("deny file-write-unlink", (f"(literal {to.name('PINNED', one)})" for one in _pinned(bounds)))
    to.rule("deny file-read* file-write*", (f"(subpath {to.name('HIDDEN', one)})" for one in bounds.hidden))
    network = _NETWORK if bounds.network else ""
    return _BASE + network + "\n".join(to.lines) + "\n", to.parameters


def _readable(bounds: Bounds) -> list[Path]:
    """Return what can be read in covered folders."""
    return list(dict.fromkeys((*bounds.shown, *bounds.writable))) if bounds.covered else []


def _pinned(bounds: Bounds) -> list[Path]:
    """Return the pinned folders, and those between a writable one and whatever is held or hidden in it."""
    found = dict.fromkeys(bounds.pinned)
    for one in (*bounds.read_only, *bounds.missing, *bounds.hidden, *bounds.pinned):
        for folder in one.parents:
            if any(folder != root and folder.is_relative_to(root) for root in bounds.writable):
                found[folder] = None
    return list(found)


def _spellings(path: Path) -> Iterator[Path]:
    """Yield the path with its last name in each case, where that is short."""
    letters = sum(char.isalpha() for char in path.name)
    choices = [(char,) if not char.isalpha() else (char.lower(), char.upper()) for char in path.name]
    yield path
    if letters <= _MAX_LETTERS and path.name.isascii():
        yield from (path.with_name("".join(one)) for one in product(*choices))


def _long_names(bounds: Bounds, to: _Writer) -> Iterator[str]:
    """Filters for longer names in any case, below the folder that they are in: `/.git/commondir`."""
    for path in bounds.missing:
        tail = f"{path.parent.name}/{path.name}"
        is_long = sum(char.isalpha() for char in path.name) > _MAX_LETTERS
        if is_long and _PLAIN_NAME.fullmatch(path.name) and _PLAIN_NAME.fullmatch(path.parent.name):
            inside = to.name("PARENT", path.parent)
            yield f'(require-all (subpath {inside}) (regex #"/{_any_case(tail)}(/|$)"))'


def _any_case(text: str) -> str:
    return "".join(
        f"[{char.upper()}{char.lower()}]" if char.isalpha() else f"\\{char}" if char == "." else char
        for char in text
    )
