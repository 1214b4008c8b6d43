"""What an ordinary run of a command line may do to files, as far as the line tells.

No interface open to an ordinary user tells who wrote a file. So a change that is found after a command counts
as the command's only where one of these claims explains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase


class FileEffect(StrEnum):
    """What a claim says of a path. All but the first two are checked against the contents."""

    WRITE = "write"
    """It is written, whether it existed or not."""
    CREATE = "create"
    """It is created."""
    REMOVE = "remove"
    """It is removed."""
    MODE = "mode"
    """Its mode or times are set; the content stays."""
    COPY = "copy"
    """It gets what another file holds; `details` are the sources."""
    SED = "sed"
    """It is edited in place; `details` are the arguments of sed without the files."""
    FORMAT = "format"
    """Its layout changes: white space, quotes, commas, brackets."""
    FIX = "fix"
    """A linter repairs it: imports go or move, little is added."""
    REWRITE = "rewrite"
    """The same edit is made in several files."""
    MANIFEST = "manifest"
    """Dependencies or the version in a project's manifest change; `details` are the names of packages."""
    PATCH = "patch"
    """Lines of a patch are applied; `details` are patch files, or texts of patches."""
    ARCHIVE = "archive"
    """It is extracted; `details` are the archives."""
    TEXT = "text"
    """It gets, or is appended, the text in `details`."""
    TEMPLATE = "template"
    """It is created with a text that matches the regular expression in `details`."""
    GIT = "git"
    """Git writes it: the content is in the object database. With `details` it also removes what it does not
    track."""


class Covers(StrEnum):
    EXACT = "exact"
    BELOW = "below"
    """The path and all that is below it; "" is the workspace."""
    GLOB = "glob"
    """Whatever matches, `*` within one name."""


class Proof(IntEnum):
    """What proves that a command has done what its claim says; a higher one holds where a lower one does."""

    NONE = 0
    """Nothing: it depends on a condition, or on what a program decides."""
    SUCCESS = 1
    """The line's exit status is 0."""
    END = 2
    """The line has ended by itself, whatever its exit status."""

    def holds(self, exit_status: int | None) -> bool:
        """Whether this exit status proves it; None: the line runs, or nothing is known of its end."""
        if exit_status is None or exit_status >= _SIGNALLED:
            return False
        return self is Proof.END or (self is Proof.SUCCESS and exit_status == 0)


_SIGNALLED = 128
"""An exit status from here on may be that of a shell that was ended by a signal."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One expectation about paths, relative to the workspace."""

    effect: FileEffect
    path: str
    covers: Covers = Covers.EXACT
    details: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """When there are any: the stem of a file's name has to be one of these."""
    times: int = 1
    """How often the run writes the file at least, where `proof` holds; 0: unknown."""
    proof: Proof = Proof.NONE

    def is_about(self, path: str) -> bool:
        match self.covers:
            case Covers.EXACT:
                return path == self.path
            case Covers.BELOW:
                return not self.path or path == self.path or path.startswith(self.path + "/")
            case Covers.GLOB:
                return _matches(path, self.path) and (not self.words or _stem(path) in self.words)

    def makes_folder(self, folder: str) -> bool:
        """Whether `folder` is on the way to what is claimed."""
        return self.effect not in (FileEffect.REMOVE, FileEffect.MODE) and self.path.startswith(folder + "/")


@dataclass(frozen=True, slots=True)
class ExpectedEffects:
    """The claims of one command line."""

    command: str = ""
    """How the user knows it: the line, cut."""
    claims: tuple[Claim, ...] = ()
    is_job: bool = False
    """It runs beside the user's own work, for long: then only what can be checked counts."""

    def about(self, path: str) -> list[Claim]:
        return [claim for claim in self.claims if claim.is_about(path)]

    def named(self) -> Iterator[str]:
        """The paths whose writes are to be counted."""
        unwritten = (FileEffect.REMOVE, FileEffect.MODE, FileEffect.GIT)
        for claim in self.claims:
            is_exact = claim.covers is Covers.EXACT and claim.effect not in unwritten
            folder = claim.path.rpartition("/")[0]
            if is_exact or (claim.covers is Covers.GLOB and "*" not in folder):
                yield claim.path

    def trees(self) -> Iterator[str]:
        """The folders in which the writes of all files are to be counted."""
        for claim in self.claims:
            if claim.covers is Covers.BELOW and claim.effect in (FileEffect.FORMAT, FileEffect.FIX):
                yield claim.path


UNKNOWN = ExpectedEffects()
"""A command of which nothing is known: none of its changes is explained but by what the files are."""


def _matches(path: str, pattern: str) -> bool:
    names, wanted = path.split("/"), pattern.split("/")
    return len(names) == len(wanted) and all(map(fnmatchcase, names, wanted))


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
