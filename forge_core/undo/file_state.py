"""The state of a path at one moment, and a change from one state to another."""

from __future__ import annotations

from dataclasses import dataclass, field
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
        """Return the fields that are not empty, for JSON."""
        record: dict[str, Any] = {"kind": self.kind.value}
        for name in ("mode", "digest", "size", "target", "git"):
            if value := getattr(self, name):
                record[name] = value
        if self.links > 1:
            record |= {"inode": self.inode, "links": self.links}
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> FileState:
        """Invert `as_record`. Raises ValueError, TypeError or KeyError for anything else."""
        state = cls(
            EntryKind(record["kind"]),
            int(record.get("mode", 0)),
            str(record.get("digest", "")),
            int(record.get("size", 0)),
            str(record.get("target", "")),
            str(record.get("git", "")),
            int(record.get("inode", 0)),
            int(record.get("links", 1)),
        )
        if state.kind is EntryKind.FILE and len(state.digest) != 64:
            raise ValueError(f"{record!r} is not the state of a file")
        return state


ABSENT = FileState(EntryKind.ABSENT)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one path by a turn."""

    path: str
    """Relative to the workspace with forward slashes; absolute when it lies outside."""
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
        if self.before.kind is self.after.kind and self.before.digest == self.after.digest:
            return "changed" if self.before.target != self.after.target else "mode changed"
        return "changed"
