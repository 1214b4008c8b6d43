"""What has changed in files: a list first, then each file's diff when somebody looks at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

REST_LEFT_OUT = "\\ The rest of the change is not shown"
"""The last line of a patch that was cut."""


class ChangeStatus(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    UNTRACKED = "untracked"
    CHANGED = "changed"
    DELETED = "deleted"
    RENAMED = "renamed"
    CONFLICT = "in conflict"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a list of changes. Its names are foreign text, bytes that are no UTF-8 as surrogates."""

    path: str
    status: ChangeStatus
    old_path: str = ""
    """What it was called before, where that differs."""
    note: str = ""
    """A word beside its lines: that its mode changed, that it is a submodule."""


@dataclass(frozen=True, slots=True)
class ChangeList:
    """The files that changed."""

    title: str
    files: tuple[ChangedFile, ...] = ()
    remark: str = ""
    """Why there are none, or what the list leaves out."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Lines that came and went; None where a file has no lines (binary)."""

    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file."""

    text: str = ""
    """A unified diff with its header, as git writes it; foreign text."""
    remark: str = ""
    """Why there are no lines to show: binary, only renamed, empty."""


class ChangeSource(Protocol):
    """Where changes are read from. Nothing here writes. Names are those of the latest `read`."""

    async def read(self) -> ChangeList:
        """The files; never raises for what a repository or disk brings, but says it in the remark."""

    def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
        """The lines that came and went, by path, in batches as they are counted."""

    async def patch(self, file: ChangedFile, *, is_whole: bool = False) -> FilePatch:
        """The diff of one file; `is_whole` gives its unchanged lines too."""


def header(path: str, old_path: str = "", *, kind: str = "") -> str:
    """The lines before a patch's first hunk, as git writes them; `kind` is "new" or "deleted"."""
    old, new = quoted(f"a/{old_path or path}"), quoted(f"b/{path}")
    lines = [f"diff --git {old} {new}"]
    if kind:
        lines.append(f"{kind} file")
    if old_path:
        lines += [f"rename from {quoted(old_path)}", f"rename to {quoted(path)}"]
    lines += [
        f"--- {'/dev/null' if kind == 'new' else old}",
        f"+++ {'/dev/null' if kind == 'deleted' else new}",
    ]
    return "\n".join(lines) + "\n"


def quoted(path: str) -> str:
    """A name for a diff's header, as git writes it: odd ones in quotes, so that none can pass for a line."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    parts = (_escaped(byte) for character in path for byte in _bytes_of(character))
    return f'"{"".join(parts)}"'


def _bytes_of(character: str) -> bytes:
    """What stands in the file system for it; half of a surrogate pair, which nothing there can be, as UTF-8
    would have it."""
    if "\udc80" <= character <= "\udcff":
        return character.encode("utf-8", "surrogateescape")
    return character.encode("utf-8", "surrogatepass")


_SHORT_ESCAPES = dict(zip(b'\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))


def _escaped(byte: int) -> str:
    if byte in _SHORT_ESCAPES:
        return f"\\{_SHORT_ESCAPES[byte]}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
