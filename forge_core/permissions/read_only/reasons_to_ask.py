"""Plain reading where no sandbox hides files with keys: what of it still asks.

A sandbox masks `.env` and key files wherever they lie. Without one, a line may run unasked only when every
file that it reads can be listed from the line and has been looked at: so nothing that goes through folders
by itself, nothing that shows what other programs do, and no program that the project may have put there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from forge_core.permissions.path_info import locate, real_path
from forge_core.permissions.programs.git_command_line import SHOWS_FILES
from forge_core.permissions.programs.git_config import setting_reason
from forge_core.permissions.programs.program_catalog import (
    LISTINGS,
    READERS,
    READS_FOLDERS,
    RECURSIVE,
    SEARCHES,
    VERSIONS,
)
from forge_core.permissions.read_only.argument_matching import parse_arguments
from forge_core.permissions.read_only.git_contents import indexed_secrets, shown_secret
from forge_core.permissions.read_only.read_only_commands import folders_before, git_runs
from forge_core.permissions.read_only.word_paths import holds_secret, names_secret, paths_in
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.workspace.folders import Workspace, is_in_workspace, main_folder
from forge_core.workspace.git_index import blob_id

_INSTALLED = re.compile(r"/(?:usr|bin|sbin|opt|nix|snap|System|Library)/")
_SYSTEM = re.compile(r"/(?:usr|bin|sbin|lib\w*|opt|etc|proc|sys|dev|tmp|var/tmp)(?:/|$)")
"""Where the sandbox lets commands read, and what it gives them for themselves."""
_MAX_FILE_BYTES = 1_000_000
_MAX_SEARCHED = 20_000
"""Entries that are looked at before a search (about 40 ms)."""


def unmasked_reason(command: SimpleCommand, reading: Reading, root: Workspace) -> str:
    """Return why a command that plainly only reads asks where nothing is masked; "" when it need not."""
    if not command.words:
        return ""
    program, words = command.program, command.words[1:]
    folders = folders_before(reading, command, root)
    if reads_folders(command, reading, folders):
        return f"{program} reads whole folders, and without a full sandbox keys in them are not hidden"
    if program == "ps":
        return "ps shows the arguments of other programs, which may contain keys"
    if not _is_installed(command, folders, root):
        return f"{program} may come from the project, not from the system"
    if program == "git" and not SHOWS_FILES.isdisjoint(words):
        changed = next((name for folder in folders for name in _changed_secrets(folder)), "")
        if changed:
            return f"git may show {changed}, which may contain keys or passwords"
    return ""


def searched_reason(command: SimpleCommand, folders: Sequence[Path]) -> str:
    """Return why a search that a rule covers asks where nothing is masked: it reads hidden files, and a
    folder that it goes through holds keys; "" if not."""
    options = SEARCHES.get(command.program)
    words = command.words[1:]
    if options is None or not any(options.fullmatch(word) for word in words):
        return ""
    named = [one / word for one in folders for word in words if not word.startswith("-")]
    searched = [one for one in named if one.is_dir()] or list(folders)
    if not any(holds_secret(one, _MAX_SEARCHED) for one in searched):
        return ""
    return f"{command.program} would read hidden files, and there may be keys or passwords among them"


def reads_folders(command: SimpleCommand, reading: Reading, folders: Sequence[Path]) -> bool:
    """Return whether the command goes, or may go, through folders by itself."""
    program, words = command.program, command.words[1:]
    if program in READS_FOLDERS or (program == "git" and "grep" in words):
        return True
    if program == "git" and "diff" in words:
        return _compares_folders(command, folders)
    if program in RECURSIVE:
        return any(RECURSIVE[program].fullmatch(word) for word in words)
    if program != "rg":
        return False
    # Whatever is no regular file may be a folder, and with none rg searches the current one.
    found = parse_arguments(command.parts[1:], READERS["rg"])
    if found is None or "--files" in found.options or any(word.has_glob for word in found.paths):
        return True
    if not found.paths:  # a redirection may take the pipe away, around the command too
        return not command.is_piped or "<" in reading.line
    return not all((folder / word.text).is_file() for folder in folders for word in found.paths)


def _compares_folders(command: SimpleCommand, folders: Sequence[Path]) -> bool:
    """Return whether `git diff` is given two paths of which one is, or may be, a folder: where git finds
    no repository that it trusts, or one of them is outside of it, it compares all that is in them."""
    words = [word for word in command.parts[1:] if not word.text.startswith("-")]
    paths = [word for word in words if word.has_glob or any((one / word.text).exists() for one in folders)]
    if len(paths) < 2 and not any(word.has_glob for word in paths):
        return False
    return any(word.has_glob or any((one / word.text).is_dir() for one in folders) for word in paths)


def _is_installed(command: SimpleCommand, folders: Sequence[Path], root: Workspace) -> bool:
    """Return whether the program, where there is one, is not the project's: found through no folder of it,
    and for one that is asked for its version, no shim either that lets a file of the project choose
    another."""
    name = command.words[0]
    if command.words[:2] in LISTINGS or command.program == "go":
        return False  # they run code of the folder's environment, or fetch the toolchain that it names
    must_be_systems = (
        command.program in VERSIONS and command.words[1:2] and command.words[1] in VERSIONS[command.program]
    )
    for path in _candidates(name, folders):
        if os.access(path, os.X_OK) and path.is_file():
            real = real_path(path)
            if is_in_workspace(path, root) or is_in_workspace(real, root):
                return False
            return _INSTALLED.match(str(real)) is not None if must_be_systems else True
    return "/" not in name


def _candidates(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    if "/" in name:
        yield from (folder / name for folder in folders)
        return
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if entry.startswith("/"):
            yield real_path(Path(entry)) / name
        else:
            yield from (real_path(folder / entry) / name for folder in folders)


def _changed_secrets(folder: Path) -> Iterator[str]:
    """Yield files with keys that git tracks and whose bytes are not those that it holds. What git holds,
    it shows by other commands too."""
    try:
        for work_tree, entry in indexed_secrets(folder):
            if _differs(work_tree / entry.name, entry.object_id):
                yield entry.name
    except (IndexError, OSError, ValueError):
        yield "a file"


def _differs(path: Path, blob: bytes) -> bool:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            return True
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    return blob_id(data) != blob


def sandboxed_reason(
    command: SimpleCommand, reading: Reading, root: Workspace, *, is_strict: bool = False
) -> str:
    """Return why a sandboxed command should still be asked about: it names keys, or what is outside; ""
    if not."""
    folders = folders_before(reading, command, root)
    setting = git_runs(command, folders)
    if setting:
        return setting_reason(setting)
    if shown := shown_secret(command, folders, main_folder(root)):
        return f"git may show {shown}, which may contain keys or passwords"
    for target in command.writes:
        where = locate(root / target, root)
        if not where.is_inside and not target.startswith(("/tmp/", "/dev/")) and "$" not in target:
            return f"{target} is outside the folder"
    for target in command.reads:
        if any(_is_secret(target, folder) for folder in folders[:2]):
            return f"{target} may contain keys or passwords"
    for word in (*command.parts[1:], *[one for one in command.parts[:1] if "/" in one.text]):
        if word.is_dynamic:
            continue
        if names_secret(word, root, folders[:2]) if word.has_glob else _is_secret(word.text, root):
            return f"{word.text} may contain keys or passwords"
        for part in paths_in(word.text):
            here = str(Path.home()) + part[1:] if word.has_tilde and re.match(r"~(?:/|$)", part) else part
            where = locate(folders[-1] / here, root)
            if (
                not where.is_inside
                and (is_strict or not (part.startswith("/") and _SYSTEM.match(str(where.real))))
                and re.match(r"\.\.|/|~", part)
            ):
                return f"{part} is outside the folder"
    return ""


def names_key_file(command: SimpleCommand, reading: Reading, root: Workspace) -> bool:
    """Return whether a word of the command, or a file that it reads or writes by a redirection, names a file
    with keys; no glob does."""
    texts = [word.text for word in command.parts[1:] if not (word.has_glob or word.is_dynamic)]
    return any(
        _is_secret(text, folder)
        for folder in folders_before(reading, command, root)
        for text in (*texts, *command.reads, *command.writes)
    )


def _is_secret(text: str, root: Workspace) -> bool:
    return any(locate(root / part, root).is_secret for part in paths_in(text) if not re.search(r"\s", part))
