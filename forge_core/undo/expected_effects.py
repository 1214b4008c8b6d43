"""The effects that a command line is expected to have on files.

An ordinary user cannot find out which process wrote a file. So a change that is found after a command counts
as the command's only where one of these claims explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase


class FileEffect(StrEnum):
    """An effect on a path. All but the first four are checked against the contents."""

    WRITE = "write"
    """The file is written, whether it existed or not."""
    CREATE = "create"
    """The file or folder is created."""
    REMOVE = "remove"
    """It is deleted."""
    MODE = "mode"
    """Its mode or times are set; the content is the same."""
    COPY = "copy"
    """It gets the content of another file; `details` are the sources."""
    SED = "sed"
    """sed edits it in place; `details` are the arguments of sed without the files."""
    FORMAT = "format"
    """A formatter changes its layout: white space, quotes, commas, brackets."""
    FIX = "fix"
    """A linter fixes it: imports are removed or moved, little is added."""
    REWRITE = "rewrite"
    """The same edit is made in several files."""
    MANIFEST = "manifest"
    """Dependencies or the version in a project's manifest change; `details` are the names of packages."""
    PATCH = "patch"
    """A patch is applied; `details` are patch files, or texts of patches."""
    ARCHIVE = "archive"
    """It is extracted from an archive; `details` are the archives."""
    TEXT = "text"
    """The text in `details` is written or appended."""
    TEMPLATE = "template"
    """It is created with a text that matches the regular expression in `details`."""
    GIT = "git"
    """Git writes it: the content is in the object database. With `details` git also removes untracked
    files."""


class Covers(StrEnum):
    """Which paths a claim is about."""

    EXACT = "exact"
    BELOW = "below"
    """The path and everything below it; "" is the main folder of the workspace."""
    GLOB = "glob"
    """Every path that matches; `*` matches within one name. A removal includes what is below."""


class Proof(IntEnum):
    """What proves that a claim has come true; a higher value holds wherever a lower one does."""

    NONE = 0
    """Nothing proves it: it depends on a condition, or on the program."""
    SUCCESS = 1
    """The line's exit status is 0."""
    END = 2
    """The line has ended without a signal, whatever its exit status."""

    def holds(self, exit_status: int | None) -> bool:
        """Return whether this exit status proves it; None means that the line is running or its end
        unknown."""
        if exit_status is None or exit_status >= _SIGNALLED:
            return False
        return self is Proof.END or (self is Proof.SUCCESS and exit_status == 0)


_SIGNALLED = 128
"""An exit status from here on may be that of a shell that was terminated by a signal."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One expectation about paths, relative to the workspace; absolute in folders added to it."""

    effect: FileEffect
    path: str
    covers: Covers = Covers.EXACT
    details: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """When there are any, the stem of the file's name must be one of these."""
    times: int = 1
    """How often the command writes the file at least, where `proof` holds; 0: unknown."""
    proof: Proof = Proof.NONE

    def is_about(self, path: str) -> bool:
        if self.path.startswith("/") is not path.startswith("/"):
            return False
        match self.covers:
            case Covers.EXACT:
                return path == self.path
            case Covers.BELOW:
                return not self.path or path == self.path or path.startswith(self.path + "/")
            case Covers.GLOB:
                # A removal of a folder removes everything below it: the pattern names the first folders of a
                # path.
                is_tree = self.effect is FileEffect.REMOVE
                return _matches(path, self.path, is_tree) and (not self.words or _stem(path) in self.words)

    def makes_folder(self, folder: str) -> bool:
        """Return whether `folder` is a parent of the claimed path, which the command has to create."""
        return self.effect not in (FileEffect.REMOVE, FileEffect.MODE) and self.path.startswith(folder + "/")


def _owns_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ExpectedEffects:
    """The claims of one command line."""

    command: str = ""
    """The line, shortened."""
    claims: tuple[Claim, ...] = ()
    is_job: bool = False
    """It runs for long while the user works: then only what the content proves counts."""
    is_confined: bool = False
    """It runs in a sandbox: the setuid and setgid bits that files get are removed."""
    owns_new: Callable[[str], bool] = field(default=_owns_nothing, compare=False)
    """Whether a new file at this path counts as the command's, whatever its line says."""

    def about(self, path: str) -> list[Claim]:
        return [claim for claim in self.claims if claim.is_about(path)]

    def named(self) -> Iterator[str]:
        """Yield the paths whose writes have to be counted."""
        unwritten = (FileEffect.REMOVE, FileEffect.MODE, FileEffect.GIT)
        for claim in self.claims:
            is_exact = claim.covers is Covers.EXACT and claim.effect not in unwritten
            folder = claim.path.rpartition("/")[0]
            if is_exact or (claim.covers is Covers.GLOB and "*" not in folder):
                yield claim.path

    def trees(self) -> Iterator[str]:
        """Yield the folders in which the writes of all files have to be counted."""
        for claim in self.claims:
            if claim.covers is Covers.BELOW and claim.effect in (FileEffect.FORMAT, FileEffect.FIX):
                yield claim.path


UNKNOWN = ExpectedEffects()
"""The effects of an unknown command: only generated files are attributed to it."""


def _matches(path: str, pattern: str, is_tree: bool) -> bool:
    names, wanted = path.split("/"), pattern.split("/")
    has_depth = len(names) >= len(wanted) if is_tree else len(names) == len(wanted)
    return has_depth and all(map(fnmatchcase, names, wanted))


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
