"""Files that a deny rule keeps, met without their name: by a glob, from another folder, in a whole folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import iglob
from itertools import islice
from pathlib import Path

from forge_core.permissions.path_info import locate
from forge_core.permissions.programs.program_catalog import ARCHIVERS, FD_RUNNERS, FIND_RUNNERS
from forge_core.permissions.read_only.read_only_commands import folders_before
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.rules.rule import Rule, denies_paths
from forge_core.permissions.sandbox.path_checks import is_folder
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.workspace.folders import Workspace

_MAX_FILES = 1_000
"""Of a glob or a folder so many are looked at; more of them may hold any file."""
_MAX_WILD = 2
"""Folders of wildcards that are looked up; what names more may meet any file."""
_MAX_WORDS = 60
_MAX_FOLDERS = 4
_RECURSIVE = re.compile(r"-\w*[raR]\w*|--(?:recursive|archive|dereference-recursive|directories=recurse)")
_ALL_NAMES = re.compile(r"-\w*[.u]\w*|--hidden|--unrestricted")


def denied_file_rule(reading: Reading, root: Workspace, rules: Sequence[Rule]) -> Rule | None:
    """Return the deny rule a file of which the line may read without naming it, or None."""
    if not rules:
        return None
    for one in reading.commands:
        folders = folders_before(reading, one, root)[:_MAX_FOLDERS]
        for rule in rules:
            if any(_met_by(word, rule, root, folders) for word in one.parts[1:_MAX_WORDS]):
                return rule
        for folder in _read_whole(one, folders):
            for rule in rules:
                if _holds(folder, rule, root, hides_names=one.program == "rg" and not _shows_all(one)):
                    return rule
    return None


def _met_by(word: Word, rule: Rule, root: Workspace, folders: Sequence[Path]) -> bool:
    if word.is_dynamic or len(word.text) > 4_096 or "\n" in word.text:
        return False
    for part in paths_in(word.text):
        if not word.has_glob:
            # Names relative to the first folder, the root, have been compared in `line_policy` already.
            if any(denies_paths(rule, [locate(folder / part, root)]) for folder in folders[1:]):
                return True
            continue
        name, wanted = part.rpartition("/")[2], (rule.pattern or "").rpartition("/")[2]
        if name[:1] == "." and wanted[:1] == "." and fnmatchcase(wanted, name.replace("[^", "[!")):
            return True
        if sum(bool(re.search(r"[*?\[]", one)) for one in part.split("/")) > _MAX_WILD:
            return True
        for folder in folders:
            found = list(islice(iglob(part, root_dir=folder), _MAX_FILES))  # noqa: PTH207  as the shell: no .files
            if len(found) == _MAX_FILES or denies_paths(rule, [locate(folder / met, root) for met in found]):
                return True
    return False


def _read_whole(command: SimpleCommand, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the folders all of whose files the command may read."""
    words, program = command.words[1:], command.program
    is_search = program in ("rg", "ag", "ack", "ugrep")
    is_reader = (
        program in ARCHIVERS
        or is_search
        or (program in ("cp", "grep", "egrep", "fgrep", "diff") and any(map(_RECURSIVE.fullmatch, words)))
        or (program in ("find", "fd", "fdfind") and not (FIND_RUNNERS | FD_RUNNERS).isdisjoint(words))
    )
    if not is_reader:
        return
    operands = [word for word in words if not word.startswith("-")]
    named = [
        folder / part for folder in folders for word in operands for part in paths_in(word) if part.strip()
    ]
    found = [path for path in named[:_MAX_WORDS] if is_folder(path)]
    yield from found or ([folders[-1]] if is_search or program in ("grep", "find", "fd", "fdfind") else [])


def _shows_all(command: SimpleCommand) -> bool:
    return any(_ALL_NAMES.fullmatch(word) for word in command.words[1:] if word.startswith("-"))


def _holds(folder: Path, rule: Rule, root: Workspace, *, hides_names: bool) -> bool:
    """Return whether a file of the rule is anywhere below the folder, or the folder has too many entries to
    check."""
    left, todo = _MAX_FILES, [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.name == ".git" or (hides_names and entry.name.startswith(".")):
                        continue
                    # Counted across all folders, so the time is bounded however deep the tree is.
                    left -= 1
                    if left < 0 or denies_paths(rule, [locate(Path(entry.path), root)]):
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(Path(entry.path))
        except OSError:
            continue
    return False
