"""Whether the words that a rule does not name lead outside the folder: as paths, in the values of options,
through links, globs and `~`, or by an option that follows the links in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from forge_core.permissions.path_info import locate, real_path
from forge_core.permissions.programs.program_catalog import (
    ARCHIVERS,
    FILE_WRITERS,
    FILTERS,
    FOLLOWING_OPTIONS,
    FOLLOWS_LINKS,
    NETWORK_PROGRAMS,
    PRINTERS,
    READERS,
)
from forge_core.permissions.read_only.argument_matching import parse_arguments
from forge_core.permissions.read_only.word_paths import glob_stays, paths_in
from forge_core.permissions.rules.filter_scripts import filter_words
from forge_core.permissions.shell.shell_words import Word
from forge_core.workspace.folders import Workspace, is_in_workspace

_MAX_ENTRIES = 20_000
"""So many entries of folders are looked at for links; with more, one may lead outside. About 40 ms."""
_MAX_FOLDERS = 12
"""Folders that a word may be relative to."""
_MAX_LOOKUPS = 4_000
"""A line with more is not covered. About 80 ms."""
_MAX_PATH = 4_096
_LOCAL_WRITERS = (FILE_WRITERS | ARCHIVERS) - NETWORK_PROGRAMS
"""Of these, what they would create counts as well. The others of their kind also name paths elsewhere."""
_HARMLESS = re.compile(r"/dev/(?:null|zero|full|u?random|tty|std(?:in|out|err)|fd/\d+)")


def leads_outside(
    prefix: Sequence[str], added: Sequence[Word], root: Workspace, folders: Sequence[Path]
) -> bool:
    """Return whether what is `added` to a command that begins with `prefix`, run in one of `folders`, is or
    holds a path outside of `root`. Of a program that reads or writes files, such a path need not exist, and
    a text to search for is none. Of others, whose arguments are not known, each word counts that leads to
    something that exists."""
    program = prefix[0].rpartition("/")[2]
    if program == "cd" and len(prefix) == 1 and not added:
        return True  # it goes home
    if program in PRINTERS:
        return False
    if _meets_links(program, added, root, folders):
        return True
    if program in READERS or program in FILTERS or program == "find":
        return any(_is_elsewhere(word, root, folders) for word in _places(program, prefix, added))
    if program in _LOCAL_WRITERS and any(_is_elsewhere(word, root, folders) for word in added):
        return True
    return _reaches_outside(prefix[1:], added, root, folders)


def _places(program: str, prefix: Sequence[str], added: Sequence[Word]) -> Sequence[Word]:
    """Return the words that may be paths."""
    spec = READERS.get(program)
    known = parse_arguments((*map(Word, prefix[1:]), *added), spec) if spec is not None else None
    if known is not None:
        return [word for word in added if any(word is path for path in known.paths)]
    if program in FILTERS:
        paths = filter_words((*map(Word, prefix[1:]), *added)).paths
        return [word for word in added if any(word is path for path in paths)]
    return added


def _is_elsewhere(word: Word, root: Workspace, folders: Sequence[Path]) -> bool:
    if word.has_tilde or (word.has_glob and not glob_stays(word, root, folders)):
        return True
    return any(
        part.startswith("~") or not locate(folder / part, root).is_inside
        for part in _parts(word.text)
        for folder in folders
    )


def _reaches_outside(
    prefix: Sequence[str], added: Sequence[Word], root: Workspace, folders: Sequence[Path]
) -> bool:
    """Return whether one of the words, whatever it is to the program, leads to something outside that
    exists: by itself, or below a folder that another word names (`git -C`, `tar -C`)."""
    if any(word.has_glob and not glob_stays(word, root, folders) for word in added):
        return True
    homes = [real_path(Path(os.path.expanduser(word.text))) for word in added if word.has_tilde]  # noqa: PTH111
    if any(not is_in_workspace(home, root) for home in homes):
        return True
    named = _existing(prefix, folders)
    places = {*folders, *(one for one in named if is_in_workspace(one, root) and one.is_dir())}
    names = {part for word in added for part in _parts(word.text)}
    new = places
    # A path may be relative to a folder that another word names, so such folders are tried as well.
    while new:
        if len(names) * len(new) > _MAX_LOOKUPS:
            return True
        found = _existing(names, new)
        if any(not is_in_workspace(one, root) for one in found):
            return True
        new = {one for one in found if one.is_dir()} - places
        places = places | new
        if len(places) > _MAX_FOLDERS:
            return any(".." in name for name in names)
    return False


def _existing(names: Iterable[str], folders: Iterable[Path]) -> set[Path]:
    """Return where these names lead in the folders, as far as something is there."""
    places = tuple(folders)
    paths = (place / os.path.expanduser(name) for name in names for place in places)  # noqa: PTH111
    return {real for path in paths if _exists(real := real_path(path))}


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def _parts(text: str) -> Iterator[str]:
    """Yield what in a word may be a path: all of it, the values of `--option=value`, `-Xvalue` and of lists
    such as `source:target`, `a=b,c=d` and `@file`."""
    if len(text) > _MAX_PATH:
        return
    letters = re.match(r"-([A-Za-z]{1,6})", text)
    values = [text[at:] for at in range(2, letters.end() + 1)] if letters is not None else []
    for whole in (text, *values):
        for part in {whole, *re.split(r"[=:,@]", whole), *paths_in(whole)}:
            if part and not part.startswith("-") and _HARMLESS.fullmatch(part) is None:
                yield part


def _meets_links(program: str, added: Sequence[Word], root: Workspace, folders: Sequence[Path]) -> bool:
    """Return whether the program is to follow the links in folders, and one of them leads outside."""
    options = FOLLOWS_LINKS.get(program)
    if options is None and program not in READERS:
        options = FOLLOWING_OPTIONS
    if options is None or not any(options.fullmatch(word.text) for word in added):
        return False
    spec = READERS.get(program)
    operands = [word.text for word in added if not word.text.startswith("-")]
    named = [folder / name for name in operands for folder in folders]
    named = [path for path in named if path.exists()]
    # A text to search for may have the name of a file: then the program may search all of the folder.
    has_others = any(path.name != Path(operands[0]).name for path in named) if operands else False
    if not named or (spec is not None and spec.texts and not has_others):
        named += folders
    return any(path.is_dir() and _holds_link_out(path, root) for path in dict.fromkeys(named))


def _holds_link_out(folder: Path, root: Workspace) -> bool:
    """Return whether a link below the folder leads outside, other links followed, or there are too many
    entries to check."""
    left = _MAX_ENTRIES
    todo = [real_path(folder)]
    seen = set(todo)
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return True
                    if entry.is_symlink():
                        real = real_path(Path(entry.path))
                        if not is_in_workspace(real, root):
                            return True
                        if real.is_dir() and real not in seen:
                            seen.add(real)
                            todo.append(real)
                    elif entry.is_dir() and (path := Path(entry.path)) not in seen:
                        seen.add(path)
                        todo.append(path)
        except OSError:
            continue
    return False
