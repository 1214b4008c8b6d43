"""What a word of a command may name: paths in options and revisions, globs that would meet a file with
keys."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from glob import iglob
from itertools import islice
from pathlib import Path

from forge_core.permissions.path_info import is_secret, locate
from forge_core.permissions.secret_content import holds_secret as has_secret_content
from forge_core.permissions.secret_content import needs_reading
from forge_core.permissions.shell.shell_words import Word
from forge_core.workspace.folders import Workspace, main_folder

_MAX_FILES = 2_000
_MAX_WILD = 2
"""Folders of wildcards that are looked up; what names more is taken for risky."""
_MAX_MET = 400
_WILD = re.compile(r"[*?\[]")


def paths_in(word: str) -> set[str]:
    """Return the word, and what follows a `=` or `:` in it: `--file=.env`, `HEAD:.env`, or an option's
    letter: `-f.env`."""
    parts = {word, *re.split(r"[=:]", word)[1:], *re.findall(r"(?:=|:)(.*)", word, re.DOTALL)}
    attached = re.match(r"-[A-Za-z]([./~].*)", word, re.DOTALL)
    if attached:
        parts.add(attached[1])
    return {part for part in parts if part}


def names_secret(word: Word, root: Workspace, folders: Sequence[Path] = ()) -> bool:
    """Return whether the word names a file with keys, or is a glob that does or may: one that leads out of
    `root`, or meets too many files."""
    for part in paths_in(word.text):
        here = str(Path.home()) + part[1:] if part == "~" or part.startswith("~/") else part
        if is_secret(part):
            return True
        wild = sum(bool(_WILD.search(one)) for one in here.split("/")) if word.has_glob else 0
        for folder in folders or (main_folder(root),):
            where = locate(folder / here, root)
            if where.is_secret or (wild and (wild > _MAX_WILD or not where.is_inside)):
                return True
            if wild:
                found = list(islice(iglob(here, root_dir=folder), _MAX_FILES))  # noqa: PTH207  as the shell: no .files
                if len(found) == _MAX_FILES or any(locate(folder / one, root).is_secret for one in found):
                    return True
    return False


def glob_stays(word: Word, root: Workspace, folders: Sequence[Path]) -> bool:
    """Return whether all matches of a glob are in `root`, links followed, and hold no keys. Only plain stars
    and question marks, below a name that does not begin with a dot, are looked up at all."""
    for part in paths_in(word.text):
        segments = [one for one in part.split("/") if _WILD.search(one)]
        if not segments:
            continue
        if part.startswith("~") or len(segments) > _MAX_WILD:
            return False
        if any("[" in one or one.startswith(".") for one in segments):
            return False
        for folder in folders:
            found = list(islice(iglob(part, root_dir=folder), _MAX_MET))  # noqa: PTH207
            if len(found) == _MAX_MET:
                return False
            if any(locate(folder / one, root).is_private for one in (part, *found)):
                return False
    return True


def holds_secret(folder: Path, most: int = _MAX_FILES) -> bool:
    """Return whether a file with keys is anywhere below the folder, or the folder has too many entries to
    check, more than `most`."""
    left = most
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0 or is_secret(entry.name):
                        return True
                    if needs_reading(entry.name) and has_secret_content(entry.path):
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except (NotADirectoryError, FileNotFoundError):
            continue
        except OSError:
            return True
    return False
