"""The guard that stays on in every mode: what can never be made good again is refused, whoever allowed it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.plain_programs import NEVER_RUN
from forge_core.permissions.shell_syntax import SimpleCommand, read_line, words_of
from forge_core.permissions.tables import table
from forge_core.workspace.globs import expand_braces

_SYSTEM = table(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr"
    " /var /usr/bin /usr/lib /usr/local /usr/share /var/lib /Applications /Library /System /Users /Volumes"
)
_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|mapper/|dm-\d|md\d|mem$|kmem$|port$|sr\d)"
)
_FUNCTION = re.compile(r"(?<![\w:.@-])([\w:.@-]{1,64})\s{0,9}\(\)\s{0,9}\{([^}]{0,500})")
_DISK_WRITERS = table("cp mv tee shred truncate cat install rsync pv badblocks hdparm sgdisk")
_FORMATTERS = table("wipefs blkdiscard fdisk sfdisk gdisk parted mkswap cryptsetup diskutil")
_FIND_TESTS = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|[acm](?:time|min)|newer\w*|size|empty|user|group|perm)"
)
_DELETERS = frozenset({"rm", "srm", "trash"})
_RECURSIVE = re.compile(r"-\w*[rR]\w*|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:ve?)?)?)?)?)?)?)?")
_MAX_FOLDERS = 8
"""In so many folders a deletion that cannot be read is compared with what the line names; it asks anyway."""
_GUARDED = _DELETERS | table("chmod chown dd shred mkfs wipefs")
_MAX_WORDS = 200
_FEEDERS = frozenset({"xargs", "gxargs", "parallel"})
_GIT_VALUE_OPTIONS = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a person has to look at a command each time, whatever rule would allow it."""

    reason: str
    is_grave: bool = False
    """It may destroy anything: where nobody is asked, it is refused."""


def catastrophe(command: str, root: Path, home: Path | None = None) -> str | None:
    """Why `command` must never run, or None. `root` is the folder it would start in."""
    if _is_fork_bomb(command):
        return "it is a fork bomb"
    home = home or Path.home()
    unread: set[str] = set()
    for one, folder in _walk(command, root, home):
        reason = _reason(one, folder, str(root), str(home))
        is_new = len(unread) < _MAX_FOLDERS and folder not in unread
        if reason is None and is_new and _may_delete_anything(one, folder, str(home)):
            unread.add(folder)
            reason = _named_beside(command, folder, str(root), str(home))
        if reason is not None:
            return reason
    return None


def _is_fork_bomb(command: str) -> bool:
    """Whether a function pipes itself into itself."""
    for name, body in _FUNCTION.findall(command):
        again = re.escape(name)
        if body.count(name) > 1 and re.search(
            rf"(?<![\w:]){again}\s{{0,9}}\|\s{{0,9}}&?\s{{0,9}}{again}", body
        ):
            return True
    return False


def doubt(command: str, root: Path, home: Path | None = None) -> Doubt | None:
    """Why `command` must be asked about even where a rule allows it, or None: it deletes whole folders and
    cannot be seen to delete only what it names, or overwrites a remote branch that nobody else has moved."""
    home = home or Path.home()
    for one, folder in _walk(command, root, home):
        if _may_delete_anything(one, folder, str(home)):
            return Doubt(
                f"it cannot be told beforehand which folders {one.program} would delete", is_grave=True
            )
        targets = _destroyed(one.program, one.words[1:])
        history = next((word for word in targets if re.search(r"(?:^|/)\.git(?:/*|/[*.]+)$", word)), None)
        if history is not None:
            return Doubt(f"{one.program} would destroy the history in {history}", is_grave=True)
        if one.program == "git" and any(_is_leased(word) for word in _pushed(one.words[1:])):
            return Doubt("it overwrites a branch of a remote")
    return None


@lru_cache(maxsize=4)
def _walk(command: str, root: Path, home: Path) -> tuple[tuple[SimpleCommand, str], ...]:
    return tuple(_commands(command, root, home))


def _commands(command: str, root: Path, home: Path) -> Iterator[tuple[SimpleCommand, str]]:
    """Each command of the line with the folder that it would run in. What a program that Forge does not know
    names among its words may be a command that it runs."""
    folders: dict[tuple[int, ...], str] = {}
    for one in read_line(command).commands:
        scope = next(
            (one.scope[:size] for size in range(len(one.scope), -1, -1) if one.scope[:size] in folders), ()
        )
        folder = folders.get(scope, str(root))
        yield one, folder
        if one.program in ("cd", "pushd", "popd"):
            target = next((word for word in one.words[1:] if not re.match(r"-[LPe@]|--", word)), "")
            if target == "-" or one.program == "popd" or not one.is_known:
                target = "$OLDPWD"
            folders[one.scope] = _absolute(target or "~", folder, str(home))
        elif one.program not in NEVER_RUN and len(one.words) > 1:
            for at, word in enumerate(one.words[1:_MAX_WORDS], 1):
                if word.rpartition("/")[2] in _GUARDED:
                    yield replace(one, words=one.words[at:], parts=one.parts[at:]), folder


def _may_delete_anything(command: SimpleCommand, folder: str, home: str) -> bool:
    """Whether it deletes folders whose names come from elsewhere: a variable, a substitution, its input."""
    flags = [word for word in command.words[1:] if word.startswith("-")]
    if command.program not in _DELETERS or not any(_RECURSIVE.fullmatch(flag) for flag in flags):
        return False
    operands = list(_destroyed(command.program, command.words[1:]))
    if not operands or command.is_guessed or not _FEEDERS.isdisjoint(command.wrappers):
        return True
    return any(re.search(r"[$`]", _absolute(word, folder, home)) for word in operands)


def _named_beside(command: str, folder: str, root: str, home: str) -> str | None:
    """What of value, other than the project, the line names anywhere: a deletion of names that cannot be seen
    would most likely meet it."""
    for word in dict.fromkeys(words_of(command)):
        for part in {word, word.partition("=")[2]} - {""}:
            named = _precious(part, folder, root, home)
            if named is not None and not named.startswith("the whole project"):
                return f"it would delete what is in {named}"
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
    recursive = any(_RECURSIVE.fullmatch(flag) for flag in flags)
    if program in _DELETERS and (recursive or program == "srm"):
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
    is_history = ".git" in (path.rpartition("/")[2], everything_in.rpartition("/")[2])
    if is_history and not re.search(r"/.*/\.git", path.removeprefix(root)):
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
    word = re.sub(r"^~\+(?=/|$)", lambda _: folder, word)
    word = re.sub(r"^~-(?=/|$)", "$OLDPWD", word)
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    elif word.startswith("~"):
        user, _, rest = word[1:].partition("/")
        word = ("/root" if user == "root" else f"/home/{user}") + (f"/{rest}" if rest else "")
    path = os.path.normpath(f"{folder}/{word}" if not word.startswith("/") else word)
    return "/" + path.lstrip("/")


def _pushed(words: Sequence[str]) -> list[str]:
    """What follows `git … push`, or nothing."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _GIT_VALUE_OPTIONS else rest[1:]
    return rest[1:] if rest[:1] == ["push"] else []


def _is_leased(word: str) -> bool:
    """Whether it forces, but only over what was last seen there."""
    return word.startswith(("--force-w", "--force-i"))


def _rewrites_a_remote(words: Sequence[str]) -> str | None:
    for word in _pushed(words):
        forces = word.startswith("--force") and not _is_leased(word)
        mirrors = len(word) > 3 and "--mirror".startswith(word)
        if forces or mirrors or word.startswith("+") or re.fullmatch(r"-[a-z]*f[a-z]*", word):
            return f"git push {word} rewrites the history of a remote"
    return None
