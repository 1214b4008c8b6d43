"""The guard that applies in every mode: what can never be undone is denied, whatever allows it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.guard.destruction import (
    deletes_branches,
    destroyed,
    find_deletes,
    find_folders,
    is_filtered,
    is_leased,
    is_recursive,
    overwritten,
    parse_clean,
    prunes,
    push_arguments,
    put_into,
    removed_by_text,
    rewrites_a_remote,
    rewrites_history,
)
from forge_core.permissions.guard.valuable_paths import (
    absolute,
    is_history,
    is_key_folder,
    is_whole_folder,
    kept_at,
    start_up_file_at,
    valuable_at,
)
from forge_core.permissions.programs.program_catalog import (
    DELETERS,
    FATAL,
    GUARDED,
    INPUT_FEEDERS,
    NEVER_RUN,
)
from forge_core.permissions.shell.syntax import SimpleCommand, read_line, words_of
from forge_core.workspace.folders import Workspace, folders_of, main_folder
from forge_core.workspace.globs import expand_braces

_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|dm-\d|md\d|mem$|kmem$|port$|sr\d|dasd[a-z]|zd\d"
    r"|nbd\d|rbd\d|pmem\d|mtd(?:block)?\d|bcache\d|drbd\d|sg\d"
    r"|(?!(?:pts|shm|fd|input|net|snd|mqueue|bus|dri|tcp|udp|char)/)[\w.+-]+/[\w.+-]+)"
)
_FUNCTION = re.compile(
    r"(?<![\w:.@-])(?:function\s{1,9})?([\w:.@-]{1,64})\s{0,9}\(\)\s{0,9}[{(]([^}]{0,500})"
    r"|\bfunction\s{1,9}([\w:.@-]{1,64})\s{1,9}[{(]([^}]{0,500})"
)
_MAX_FOLDERS = 8
"""In so many folders a deletion that cannot be read is compared with what the line names; it asks anyway."""
_MAX_WORDS = 200
_FOLDER_REMOVERS = ("find", "tar", "gtar", "bsdtar", "rsync", "zip")
"""Programs that delete folders besides what they are for, by an option."""
_TEXT_RUNNERS = ("python", "node", "perl", "ruby", "deno", "bun", "php")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Why the user is asked about a command each time, whatever rule would allow it."""

    reason: str
    is_grave: bool = False
    """It may destroy anything: it is denied in a mode that never asks."""


def catastrophic_reason(command: str, root: Workspace, home: Path | None = None) -> str | None:
    """Return why `command` must never run, or None. It would start in the main folder of `root`; the others
    are protected like it."""
    if _is_fork_bomb(command):
        return "it is a fork bomb"
    home = home or Path.home()
    unread: set[str] = set()
    main, *added = folders_of(root)
    for one, folder in _walk(command, main, home):
        reason = _reason(one, folder, str(main), str(home))
        for other in added:
            reason = reason or _reason(one, folder, str(other), str(home))
        # `_named_beside` compares all words of the line with the folder: once per folder is enough.
        is_new = len(unread) < _MAX_FOLDERS and folder not in unread
        if reason is None and is_new and _may_delete_anything(one, folder, str(home)):
            unread.add(folder)
            reason = _named_beside(command, folder, str(main), str(home))
        if reason is not None:
            return reason
    return None


def _is_fork_bomb(command: str) -> bool:
    """Return whether a function starts itself twice at once."""
    for found in _FUNCTION.findall(command):
        name, body = (found[0], found[1]) if found[0] else (found[2], found[3])
        again = rf"(?<![\w:.-]){re.escape(name)}(?![\w:.-])"
        if body.count(name) > 1 and re.search(
            rf"{again}\s{{0,9}}(?:\|(?!\|)|&(?!&))\s{{0,9}}&?\s{{0,9}}{again}", body
        ):
            return True
    return False


def required_confirmation(command: str, root: Workspace, home: Path | None = None) -> Confirmation | None:
    """Return why `command` must be asked about even where a rule allows it, or None: it deletes whole
    folders and cannot be seen to delete only what it names, or overwrites a remote branch that has not moved
    since it was fetched."""
    home = home or Path.home()
    for one, folder in _walk(command, main_folder(root), home):
        if _may_delete_anything(one, folder, str(home)):
            return Confirmation(
                f"the folders that {one.program} would delete cannot be determined in advance", is_grave=True
            )
        targets = destroyed(one.program, one.words[1:])
        history = next((word for word in targets if re.search(r"(?:^|/)\.git(?:/*|/[*.]+)$", word)), None)
        if history is not None:
            return Confirmation(f"{one.program} would destroy the history in {history}", is_grave=True)
        if not one.is_remote and (lost := _lost_settings(one, folder, str(home))):
            return Confirmation(lost)
        if one.program != "git":
            continue
        if deletes_branches(one.words[1:]):
            return Confirmation("it deletes branches of a remote", is_grave=True)
        if prunes(one.words[1:]):
            return Confirmation("it deletes commits or stashes that cannot be restored", is_grave=True)
        cleaned = parse_clean(one.words[1:])
        if cleaned is not None and cleaned.is_deep and cleaned.takes_all:
            return Confirmation("git clean would delete uncommitted files without naming them", is_grave=True)
        if any(is_leased(word) for word in push_arguments(one.words[1:])):
            return Confirmation("it overwrites a branch of a remote")
    return None


def _lost_settings(command: SimpleCommand, folder: str, home: str) -> str:
    """Return which settings for login the command deletes or replaces; "" for none. They are outside of what
    undo covers. Lines that are appended to them can be removed again, so they are no reason."""
    program, words = command.program, command.words[1:]
    if program == "crontab":
        replaces = "-r" in words or not any(re.match(r"-[leV]|--", word) for word in words)
        return "it replaces or deletes all cron jobs of a user" if replaces else ""
    replaced = [one for one in command.writes if one not in command.appends]
    if program not in ("sed", "gsed", "perl") and not (
        program == "tee" and any(re.match(r"-\w*a|--append", word) for word in words)
    ):
        replaced += overwritten(program, words)
        replaced += [f"{into}/{name}" for into, name in put_into(program, words) if name]
    gone = list(destroyed(program, words))
    for target in (*replaced, *gone):
        if start_up_file_at(target, folder, home, is_recursive=target in gone):
            return f"it would delete or replace {target}, which takes effect at login"
    return ""


@lru_cache(maxsize=4)
def _walk(command: str, root: Path, home: Path) -> tuple[tuple[SimpleCommand, str], ...]:
    return tuple(_commands(command, root, home))


def _commands(command: str, root: Path, home: Path) -> Iterator[tuple[SimpleCommand, str]]:
    """Yield each command of the line with the folder that it would run in. What a program that Forge does
    not know names among its words may be a command that it runs."""
    folders: dict[tuple[int, ...], str] = {}
    for one in _in_order(read_line(command).commands):
        # A `cd` holds in its own shell and in those inside it: the innermost one that has changed its folder
        # counts.
        scope = next(
            (one.scope[:size] for size in range(len(one.scope), -1, -1) if one.scope[:size] in folders), ()
        )
        # A command elsewhere starts in the home folder there, whatever the folder is here.
        is_first = one.is_remote and not any(number < 0 for number in scope)
        folder = str(home) if is_first else folders.get(scope, str(root))
        yield one, folder
        if one.program in ("cd", "pushd", "popd"):
            target = next((word for word in one.words[1:] if not re.match(r"-[LPe@]|--", word)), "")
            if target == "-" or one.program == "popd" or not one.is_known:
                # A `$` in the folder marks it as unknown: `_may_delete_anything` then holds for every
                # relative path.
                target = "$OLDPWD"
            folders[one.scope] = absolute(target or "~", folder, str(home))
        elif one.program not in NEVER_RUN and len(one.words) > 1:
            is_guessed = one.is_guessed or one.program in INPUT_FEEDERS
            for at, word in enumerate(one.words[1:_MAX_WORDS], 1):
                if word.rpartition("/")[2] in GUARDED:
                    inner = replace(one, words=one.words[at:], parts=one.parts[at:], is_guessed=is_guessed)
                    yield inner, folder


def _in_order(commands: Sequence[SimpleCommand]) -> Iterator[SimpleCommand]:
    """Yield the commands in the order in which they run: a redirection of several (`cd a && b > c`) is that
    of the last, and comes behind it."""
    waiting: list[SimpleCommand] = []
    for one in commands:
        for redirection in list(waiting):
            if one.source != redirection.source or one.span[0] >= redirection.span[1]:
                waiting.remove(redirection)
                yield redirection
        if one.writes and not one.words:
            waiting.append(one)
        else:
            yield one
    yield from waiting


def _may_delete_anything(command: SimpleCommand, folder: str, home: str) -> bool:
    """Return whether it deletes folders whose names come from elsewhere: a variable, a substitution, its
    input."""
    program, words = command.program, command.words[1:]
    if program not in DELETERS:
        if program not in _FOLDER_REMOVERS:
            return False
        targets = list(destroyed(program, words))
        return any(re.search(r"[$`]", absolute(word, folder, home)) for word in targets)
    if not is_recursive(words):
        return False
    operands = list(destroyed(program, words))
    if not operands or command.is_guessed or not INPUT_FEEDERS.isdisjoint(command.wrappers):
        return True
    return any(re.search(r"[$`]", absolute(word, folder, home)) for word in operands)


def _named_beside(command: str, folder: str, root: str, home: str) -> str | None:
    """Return what of value, other than the project, the line names anywhere: a deletion of names that
    cannot be seen would most likely meet it."""
    for word in dict.fromkeys(words_of(command)):
        for part in {word, word.partition("=")[2]} - {""}:
            named = valuable_at(part, folder, root, home)
            if named is not None and not named.startswith("the whole project"):
                return f"it would delete what is in {named}"
    return None


def _reason(command: SimpleCommand, folder: str, root: str, home: str) -> str | None:
    program, words = command.program, command.words[1:]
    written = (*command.writes, *overwritten(program, words))
    disk = next((one for one in written if _DISK.match(os.path.join(folder, one))), None)  # noqa: PTH118
    if disk is not None:
        return f"it overwrites the device {disk}"
    family = program.partition(".")[0]
    fatal = FATAL.get(family if family in ("mkfs", "fsck") else program)
    # A bare `halt` in some text is a word.
    is_command = not command.is_hint or command.is_executed or len(words) > 0
    if fatal is not None and is_command and fatal.arguments.search(" ".join(words[:_MAX_WORDS])):
        return f"{program} {fatal.effect}"
    if program == "git":
        lost = rewrites_a_remote(words) or rewrites_history(words)
        return lost or _deleted_by_clean(command, folder, root, home)
    if _ends_all(program, words):
        return "it ends every process of a user"
    return _loss(command, folder, root, home)


def _loss(command: SimpleCommand, folder: str, root: str, home: str) -> str | None:
    """Return what of value the command deletes, moves away or overwrites."""
    program, words = command.program, command.words[1:]
    for written in (*command.writes, *overwritten(program, words)):
        if is_history(written, folder, root, home):
            return f"it would overwrite the history in {written}"
        kept = kept_at(written, folder, home, is_recursive=False)
        if kept is not None:
            return f"it would overwrite {kept}"
    for into, name in put_into(program, words):
        if is_key_folder(into, folder, home):
            kept = (
                kept_at(f"{into}/{name}", folder, home, is_recursive=False) if name else f"the keys in {into}"
            )
            if kept is not None:
                return f"it would overwrite {kept}"
    # These act on a link itself; other programs (chmod -R, rsync --delete) on what it leads to.
    follows = program not in DELETERS and program not in ("mv", "find")
    for target in (one for word in destroyed(program, words) for one in expand_braces(word)):
        named = valuable_at(target, folder, root, home, follows=follows)
        named = named or kept_at(target, folder, home, is_recursive=True)
        if named is not None:
            return f"{program} would destroy {named}"
        if program in DELETERS and is_whole_folder(target, folder, root, home):
            return f"{program} would destroy the whole project ({target})"
    texts = (*words, *command.fed) if program.startswith(_TEXT_RUNNERS) else ()
    picked = find_folders(words) if program == "find" and find_deletes(words) and is_filtered(words) else ()
    for target in (*removed_by_text(texts), *picked):
        named = valuable_at(target, folder, root, home, follows=True)
        if named is not None and not (picked and named.startswith("the whole project")):
            return f"{program} would destroy {named}"
    return None


def _deleted_by_clean(command: SimpleCommand, folder: str, root: str, home: str) -> str | None:
    """Return what of value besides the project a `git clean` empties."""
    found = parse_clean(command.words[1:], command.assignments)
    if found is None:
        return None
    for one in found.folders:
        folder = absolute(one, folder, home)
    is_own = os.path.realpath(folder) == os.path.realpath(root)
    for target in found.operands or (".",):
        named = valuable_at(target, folder, root, home, follows=True)
        if named is not None and not (is_own and absolute(target, folder, home) == folder):
            return f"git clean would destroy {named}"
    return None


def _ends_all(program: str, words: tuple[str, ...]) -> bool:
    """Return whether it ends every process, or every one of a user."""
    # The first argument may be a signal (`kill -1 PID`, SIGHUP); a later `-1` means every process.
    if program == "killall5" or (program in ("kill", "pkill") and "-1" in words[1:]):
        return True
    if program not in ("pkill", "killall", "skill", "slay"):
        return False
    operands: list[str] = []
    is_user = is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif re.fullmatch(r"-[uU]|--(?:e?uid|user)", word):
            is_user = is_value = True
        elif re.match(r"-[uU].|--(?:e?uid|user)=", word):
            is_user = True
        elif not word.startswith("-"):
            operands.append(word)
    return (is_user and not operands) or any(word in ("", ".", ".*", "^") for word in operands)
