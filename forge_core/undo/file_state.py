"""The state of a path at one moment, and a change from one state to another."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class EntryKind(StrEnum):
    ABSENT = "absent"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "other"
    """A FIFO, a socket, a device: never read, never touched."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path. Two states are equal when restoring one would change nothing of the other.

    Modification times are left out on purpose: a restored file is new to a build tool, which would otherwise
    keep what it built from the later content.
    """

    kind: EntryKind
    mode: int = 0
    """Permission bits of a file or folder."""
    digest: str = ""
    """sha256 of a file's bytes."""
    size: int = 0
    target: str = ""
    """The target of a symbolic link."""
    git: str = field(default="", compare=False)
    """The git object that holds the bytes; empty when the store holds them."""
    inode: int = field(default=0, compare=False)
    links: int = field(default=1, compare=False)
    """The number of hard links."""

    def as_record(self) -> dict[str, Any]:
        """Return the fields that are not empty, for JSON; the inode only where there are several links."""
        left_out = () if self.links > 1 else ("inode", "links")
        names = (one.name for one in fields(self) if one.name not in left_out)
        return {name: value for name in names if (value := getattr(self, name))}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> FileState:
        """Invert `as_record`. Raises ValueError, TypeError or KeyError for anything else."""
        # The defaults of the fields after `kind` have their types: int and str.
        names = (one.name for one in fields(cls)[1:] if one.name in record)
        values = {name: type(getattr(ABSENT, name))(record[name]) for name in names}
        state = cls(EntryKind(record["kind"]), **values)
        if state.kind is EntryKind.FILE and len(state.digest) != 64:
            raise ValueError(f"{record!r} is not the state of a file")
        return state


ABSENT = FileState(EntryKind.ABSENT)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one path by a turn."""

    path: str
    """Relative to the workspace with forward slashes; absolute for a path outside it."""
    before: FileState
    after: FileState

    def reversed(self) -> FileChange:
        return FileChange(self.path, self.after, self.before)

    @property
    def verb(self) -> str:
        """What happened, in one word for the user."""
        if self.before.kind is EntryKind.ABSENT:
            return "created"
        if self.after.kind is EntryKind.ABSENT:
            return "deleted"
        before, after = self.before, self.after
        has_same = (before.kind, before.digest, before.target) == (after.kind, after.digest, after.target)
        return "mode changed" if has_same else "changed"
