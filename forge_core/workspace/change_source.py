"""Changes of files: a list first, then the diff of each file when it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

REST_LEFT_OUT = "\\ The rest of the change is not shown"
"""The last line of a patch that was truncated."""


class ChangeStatus(StrEnum):
    """The kind of a file's change."""

    ADDED = "added"
    UNTRACKED = "untracked"
    CHANGED = "changed"
    DELETED = "deleted"
    RENAMED = "renamed"
    CONFLICT = "in conflict"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a list of changes. Its names are untrusted text; invalid UTF-8 is kept as surrogates."""

    path: str
    status: ChangeStatus
    old_path: str = ""
    """The previous path, where it differs."""
    note: str = ""
    """An additional note: a changed mode, a submodule."""


def paths_of(files: Iterable[ChangedFile]) -> list[str]:
    """Return all paths whose content a diff of these files shows: the previous ones too."""
    return [path for file in files for path in (file.path, file.old_path) if path]


@dataclass(frozen=True, slots=True)
class ChangeList:
    """The files that changed."""

    title: str
    files: tuple[ChangedFile, ...] = ()
    remark: str = ""
    """Why there are no files, or what the list leaves out."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of added and removed lines; None for a binary file."""

    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file."""

    text: str = ""
    """A unified diff with its header, as git writes it; untrusted text."""
    remark: str = ""
    """Why there are no lines to show: binary, only renamed, empty."""


class ChangeSource(Protocol):
    """Where changes are read from; nothing is written. Paths refer to the latest `read`."""

    async def read(self) -> ChangeList:
        """Return the changed files. Problems of a repository or disk are reported in the remark, never
        raised."""

    def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
        """Yield the numbers of added and removed lines by path, in batches as they are counted."""

    async def patch(self, file: ChangedFile, *, is_whole: bool = False) -> FilePatch:
        """Return the diff of one file; with `is_whole`, all unchanged lines are included."""


def header(path: str, old_path: str = "", *, kind: str = "", mode: int = 0o644) -> str:
    """Return the lines before a patch's first hunk, as git writes them; `kind` is "new" or "deleted". Of the
    mode git keeps whether the owner may execute the file."""
    old, new = quoted(f"a/{old_path or path}"), quoted(f"b/{path}")
    lines = [f"diff --git {old} {new}"]
    if kind:
        lines.append(f"{kind} file mode {100755 if mode & 0o100 else 100644}")
    if old_path:
        lines += [f"rename from {quoted(old_path)}", f"rename to {quoted(path)}"]
    lines += [
        f"--- {'/dev/null' if kind == 'new' else old}",
        f"+++ {'/dev/null' if kind == 'deleted' else new}",
    ]
    return "\n".join(lines) + "\n"


def quoted(path: str) -> str:
    """Return a path for a diff's header as git writes it: unusual ones quoted, so that none can imitate a
    line."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    parts = (_escaped(byte) for character in path for byte in _bytes_of(character))
    return f'"{"".join(parts)}"'


def _bytes_of(character: str) -> bytes:
    """Return the bytes of a character in the file system; a lone half of a surrogate pair, which cannot occur
    there, is encoded like any other character."""
    if "\udc80" <= character <= "\udcff":
        return character.encode("utf-8", "surrogateescape")
    return character.encode("utf-8", "surrogatepass")


_SHORT_ESCAPES = dict(zip(b'\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))


def _escaped(byte: int) -> str:
    if byte in _SHORT_ESCAPES:
        return f"\\{_SHORT_ESCAPES[byte]}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
