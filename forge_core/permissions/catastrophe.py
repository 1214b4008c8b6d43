"""The guard that stays on in every mode: what can never be made good again is refused, whoever allowed it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from forge_core.permissions.shell_syntax import SimpleCommand, simple_commands
from forge_core.permissions.tables import table
from forge_core.workspace.globs import expand_braces

_SYSTEM = table(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr"
    " /var /usr/bin /usr/lib /usr/local /usr/share /var/lib /Applications /Library /System /Users /Volumes"
)
_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|mapper/|dm-\d|md\d|mem$|kmem$|port$|sr\d)"
)
_FORK_BOMB = re.compile(
    r"(?<![\w:.@-])([\w:.@-]{1,64})\s{0,9}\(\)\s{0,9}\{[^}]{0,500}?(?<![\w:])\1\s{0,9}\|\s{0,9}&?\s{0,9}\1"
)
"""Every repetition is bounded: the line may be hostile to the guard too."""
_DISK_WRITERS = table("cp mv tee shred truncate cat install rsync pv badblocks hdparm sgdisk")
_FORMATTERS = table("wipefs blkdiscard fdisk sfdisk gdisk parted mkswap cryptsetup diskutil")
_FIND_TESTS = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|[acm](?:time|min)|newer\w*|size|empty|user|group|perm)"
)
_GIT_VALUE_OPTIONS = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


def catastrophe(command: str, root: Path, home: Path | None = None) -> str | None:
    """Why `command` must never run, or None. `root` is the folder it would start in."""
    if _FORK_BOMB.search(command):
        return "it is a fork bomb"
    home = home or Path.home()
    folder = str(root)
    for one in simple_commands(command):
        reason = _reason(one, folder, str(root), str(home))
        if reason is not None:
            return reason
        if one.program in ("cd", "pushd"):
            folder = _absolute(one.words[1] if len(one.words) > 1 else "~", folder, str(home))
    return None


def _reason(command: SimpleCommand, folder: str, root: str, home: str) -> str | None:
    program, words = command.program, command.words[1:]
    disk = next((word for word in command.writes if _DISK.match(word)), None)
    if program in _DISK_WRITERS:
        disk = disk or next((word for word in words if _DISK.match(word) and program != "cat"), None)
    if program == "dd":
        disk = disk or next(
            (word[3:] for word in words if word.startswith("of=") and _DISK.match(word[3:])), None
        )
    if disk is not None:
        return f"it overwrites the device {disk}"
    if program.startswith("mkfs") or program in _FORMATTERS:
        return f"{program} destroys what is on a disk"
    if program == "git":
        return _rewrites_a_remote(words)
    if program in ("kill", "pkill") and "-1" in words[1:]:
        return "it ends every process of this user"
    for target in (one for word in _destroyed(program, words) for one in expand_braces(word)):
        named = _precious(target, folder, root, home)
        if named is not None:
            return f"{program} would destroy {named}"
    return None


def _destroyed(program: str, words: Sequence[str]) -> Iterator[str]:
    """What a command deletes, moves away or makes inaccessible with everything below it."""
    flags = [word for word in words if word.startswith("-") and word != "-"]
    operands = [word for word in words if not word.startswith("-")]
    recursive = any(re.fullmatch(r"-\w*[rR]\w*|--recursive", flag) for flag in flags)
    if program in ("rm", "srm", "trash") and (recursive or program == "srm"):
        yield from operands
    elif program in ("chmod", "chown", "chgrp") and recursive:
        yield from operands[1:]
    elif program == "mv":
        yield from operands[:-1]
    elif program == "find" and _find_deletes(words):
        yield from (_before_options(words) or ["."])
    elif program == "rsync" and any(flag.startswith("--delete") for flag in flags):
        yield from operands[-1:]


def _find_deletes(words: Sequence[str]) -> bool:
    """Whether a find removes all that it meets, not only what some test picks."""
    deletes = "-delete" in words or any(
        word in ("-exec", "-execdir")
        and words[at + 1 : at + 2]
        and words[at + 1].rpartition("/")[2] in ("rm", "shred")
        for at, word in enumerate(words)
    )
    return deletes and not any(_FIND_TESTS.fullmatch(word) for word in words)


def _before_options(words: Sequence[str]) -> list[str]:
    starts: list[str] = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    return starts


def _precious(target: str, folder: str, root: str, home: str) -> str | None:
    """What of value the target names, or None: the system, the home, the project itself, its history."""
    path = _absolute(target, folder, home)
    everything_in = path
    while everything_in.rpartition("/")[2] in ("*", ".*", "{*,.*}", ".[!.]*"):
        everything_in = everything_in.rpartition("/")[0] or "/"
    if path.rpartition("/")[2] == ".git" or everything_in.rpartition("/")[2] == ".git":
        return f"the history in {target}"
    first = path.removeprefix("/").partition("/")
    if not first[2] and re.search(r"[*?\[{]", first[0]):
        return f"the system ({target})"
    for one, name in ((home, "the home folder"), (root, "the whole project")):
        ours = path if name == "the whole project" else everything_in
        if one == ours or one.startswith(ours.rstrip("/") + "/"):
            return f"{name} ({target})" if ours not in _SYSTEM else f"the system ({target})"
    return f"the system ({target})" if everything_in in _SYSTEM or path in _SYSTEM else None


def _absolute(word: str, folder: str, home: str) -> str:
    """The path that `word` means, links not resolved."""
    for spelling, value in (("${HOME}", home), ("$HOME", home), ("${PWD}", folder), ("$PWD", folder)):
        word = word.replace(spelling, value)
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    elif word.startswith("~"):
        user, _, rest = word[1:].partition("/")
        word = ("/root" if user == "root" else f"/home/{user}") + (f"/{rest}" if rest else "")
    path = os.path.normpath(f"{folder}/{word}" if not word.startswith("/") else word)
    return "/" + path.lstrip("/")


def _rewrites_a_remote(words: Sequence[str]) -> str | None:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _GIT_VALUE_OPTIONS else rest[1:]
    if not rest or rest[0] != "push":
        return None
    for word in rest[1:]:
        if word.startswith("--force") or word == "--mirror" or re.fullmatch(r"-[a-z]*f[a-z]*", word):
            return f"git push {word} rewrites the history of a remote"
        if word.startswith("+"):
            return f"git push {word} rewrites the history of a remote"
    return None
