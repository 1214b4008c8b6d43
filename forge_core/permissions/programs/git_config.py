"""Whether a repository's own git config may make git run programs, read without running git.

It tells plain configs from all others: a setting that is not known to be harmless counts, and so does
whatever is not plain to read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_MAX_BYTES = 200_000
_MAX_FOLDERS = 40
_MAX_INDEX_BYTES = 32_000_000
_LINK = b"\0\0\xe0\0"
"""In an index: the mode of an entry that is a repository of its own."""
_SECTION = re.compile(r'[ \t]*\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\](.*)')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_COMMENT = re.compile(r"[ \t]*(?:[#;].*)?")
_NOT_PLAIN = re.compile(r"[^\t -~\u00c0-\uffef]|[\u2028\u2029\ufeff]")
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|quotepath|abbrev|compression|untrackedcache|sharedrepository|longpaths)"
    r"|remote\..+\.(?:url|pushurl|fetch|push|tagopt|prune|gh-resolved)|branch\..+|user\.(?:name|email|signingkey)"
    r"|(?:init|pull|push|fetch|color|advice|rerere|gc|pack|index|feature|gui|lfs|column|rebase)\..+"
    r"|merge\.(?:conflictstyle|ff|log|stat)|commit\.(?:gpgsign|verbose)|tag\.(?:sort|gpgsign)|http\.[a-z]+"
    r"|diff\.(?:algorithm|renames|colormoved|mnemonicprefix|noprefix|context)|log\.(?:date|decorate)"
    r"|status\.(?:short|branch|showuntrackedfiles)|blame\.date|help\.autocorrect|extensions\.worktreeconfig"
)
"""Settings of which no value runs anything when git shows something."""
_OFF = re.compile(r"core\.(?:fsmonitor|pager|splitindex)")
"""Settings that are harmless only when they say no."""
_NO = frozenset({"", "false", "no", "off", "0", "cat"})


def running_setting(folder: Path) -> str:
    """The first setting of the repository around `folder` that may make git run a program; "" when there is
    none. What cannot be read for sure counts as one, and so do repositories within."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        if all(os.path.lexists(one / name) for name in ("HEAD", "objects", "refs")):
            return f"{one} (it is itself a repository's inner folder)"
        git = one / ".git"
        if os.path.lexists(git):
            try:
                return next(_found(git), "")
            except (OSError, ValueError):
                return f"{git} (it cannot be read for sure)"
    return ""


def config_files(folder: Path) -> list[Path]:
    """The config files of the repository around `folder`. Raises OSError or ValueError when they cannot be
    told."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        if all(os.path.lexists(one / name) for name in ("HEAD", "objects", "refs")):
            return [one / "config"]
        if os.path.lexists(one / ".git"):
            places = dict.fromkeys(_folders(one / ".git"))
            return [place / name for place in places for name in ("config", "config.worktree")]
    return []


def index_files(folder: Path) -> list[tuple[Path, Path]]:
    """The work tree around `folder` and its index, where there is one. Raises OSError or ValueError when that
    cannot be told."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        if os.path.lexists(one / ".git"):
            index = _folders(one / ".git")[0] / "index"
            if not os.path.lexists(index):
                return []
            if not index.is_file() or index.stat().st_size > _MAX_INDEX_BYTES:
                raise ValueError
            return [(one, index)]
    return []


def _found(git: Path) -> Iterator[str]:
    own, common = _folders(git)
    for place in dict.fromkeys((own, common)):
        yield from _settings(place / "config")
        yield from _settings(place / "config.worktree")
        if os.path.lexists(place / "hooks/post-index-change"):
            yield "the hook post-index-change"
    if any(own.glob("sharedindex.*")) or _has_links(own / "index"):
        yield f"{git} (other repositories may be in it)"


def _folders(git: Path) -> tuple[Path, Path]:
    """The repository's own folder, and the one that it shares with its other work trees."""
    if git.is_file():
        pointer = config_text(git)
        if not pointer.startswith("gitdir:"):
            raise ValueError
        git = git.parent / pointer.removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / config_text(shared).strip() if os.path.lexists(shared) else git


def _has_links(index: Path) -> bool:
    if not os.path.lexists(index):
        return False
    if not index.is_file() or index.stat().st_size > _MAX_INDEX_BYTES:
        raise ValueError
    return _LINK in index.read_bytes()


def config_text(path: Path) -> str:
    """What stands in a file. Raises OSError or ValueError for what is no plain text of a usual size."""
    if not path.is_file():
        raise ValueError
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError
    return data.decode()


def _settings(path: Path) -> Iterator[str]:
    """The settings that may run something. Lines end where git ends them, and nowhere else."""
    if not os.path.lexists(path):
        return
    lines = config_text(path).replace("\r\n", "\n").split("\n")
    if any(line.endswith("\\") or _NOT_PLAIN.search(line) for line in lines):
        raise ValueError  # goes on in the next line, or is no plain text
    for section, key, value in settings_in(lines):
        if not section:
            raise ValueError
        name = f"{section}.{key}".lower()
        if not _is_harmless(name, value.strip(' \t"')):
            yield name


def settings_in(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Section, key and value, as written, of each setting; a subsection follows its section's name and a dot.

    Raises ValueError for a line that is neither a setting, a section nor a comment.
    """
    section = ""
    for line in lines:
        header = _SECTION.fullmatch(line)
        if header is not None:
            section = header[1] + (f".{header[2]}" if header[2] is not None else "")
        rest = line if header is None else header[3]
        if _COMMENT.fullmatch(rest):
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None:
            raise ValueError
        yield section, setting[1], setting[2] or ""


def _is_harmless(name: str, value: str) -> bool:
    if _OFF.fullmatch(name):
        return value.casefold() in _NO
    return _HARMLESS.fullmatch(name) is not None and not (name.startswith("remote.") and "::" in value)
