"""Builds the claims of a command line: its words become paths of the workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

from forge_core.tools.effect_analysis.execution import UNPROVEN, Execution
from forge_core.undo.expected_effects import Claim, Covers, FileEffect, Proof

MAX_CLAIMS = 1_000
MAX_FILES = 40
"""Number of scripts that are read for one line."""
MAX_SOURCE_BYTES = 256 * 1024
_BY_SUCCESS = frozenset(
    {FileEffect.WRITE, FileEffect.CREATE, FileEffect.COPY, FileEffect.SED, FileEffect.MANIFEST}
)
"""Effects that are certain only when the program has succeeded; for the others it is enough that it was
started."""
_ONCE_EACH = frozenset({FileEffect.FORMAT, FileEffect.FIX})
"""Effects by which one run writes each file at most once, also in a whole tree."""
_THROUGH_LINKS = frozenset({FileEffect.WRITE, FileEffect.TEXT})
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_LETTER = re.compile(r"[A-Za-z]")
_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")


@dataclass(slots=True)
class ClaimBuilder:
    """The claims of one line, and how many scripts may still be read for it."""

    root: Path
    """The real path of the workspace."""
    added: tuple[Path, ...] = ()
    """The real paths of folders added to it."""
    found: dict[Claim, int] = field(default_factory=dict)
    files_left: int = MAX_FILES
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Lines and files that have been read."""
    is_repeated: bool = False
    """The current command runs in a loop: how often it writes is unknown."""
    execution: Execution = UNPROVEN
    """What proves that the current command has run."""

    def add(
        self,
        effect: FileEffect,
        word: str | Path,
        cwd: Path,
        *,
        below: bool = False,
        details: tuple[str, ...] = (),
        words: frozenset[str] = frozenset(),
        times: int = 1,
        proof: Proof | None = None,
    ) -> None:
        """Claim an effect on what `word` names in `cwd`, unless it is outside the workspace or unknown
        (`$X`).

        Without `proof`, the proof follows from `execution`; pass Proof.NONE for what a program may or may not
        do.
        """
        if len(self.found) >= MAX_CLAIMS:
            return
        if proof is None:
            proof = self.execution.succeeded if effect in _BY_SUCCESS else self.execution.reached
        claim = Claim(effect, "", details=details, words=words, times=times, proof=proof)
        for path in dict.fromkeys(map(self.relative, _spellings(os.fspath(word)), repeat(cwd))):
            if path is None:
                continue
            # Writing follows a link, removing does not: the claim is on what is really changed.
            real, is_link = self._written_through(path) if effect in _THROUGH_LINKS else (path, False)
            if is_link and any(known.path == path for known in self.found):
                claim = replace(claim, proof=Proof.NONE)  # an earlier command may have replaced the link
                self._add(replace(claim, path=path), below=below)
            if real is not None:
                self._add(replace(claim, path=real), below=below)

    def _written_through(self, path: str) -> tuple[str | None, bool]:
        """Return the path that is written when `path` is opened for writing, and whether `path` is a link."""
        if has_glob(path) or not (self.root / path).is_symlink():
            return path, False
        return self._name_of(os.path.realpath(self.root / path)), True

    def _add(self, claim: Claim, *, below: bool) -> None:
        if not claim.path and not below:
            return
        covers = Covers.BELOW if below else Covers.GLOB if has_glob(claim.path) else Covers.EXACT
        is_counted = (claim.effect in _ONCE_EACH or not below) and not self.is_repeated
        # 0 stands for an unknown number of times.
        claim = replace(claim, covers=covers, times=claim.times if is_counted else 0)
        self.found[claim] = self.found.get(claim, 0) + 1

    def result(self) -> tuple[Claim, ...]:
        """Return each claim once, with the sum of its times."""
        return tuple(replace(one, times=one.times * count) for one, count in self.found.items())

    def has_folder(self, word: str, cwd: Path) -> bool:
        """Return whether `word` is a folder, or an earlier command creates it."""
        path = self.relative(word, cwd)
        return (cwd / word).is_dir() or any(
            claim.effect is FileEffect.CREATE and claim.path == path and claim.proof is not Proof.NONE
            for claim in self.found
        )

    def relative(self, word: str | Path, cwd: Path) -> str | None:
        """Return the path of a word relative to the workspace, absolute in an added folder; None when it is
        unknown or outside."""
        text = os.fspath(word)
        # A numbered name is narrow enough as a pattern; `$X` alone could be any file.
        text = _VARIABLE.sub("*", text) if _is_numbered(text) else text
        if re.search(r"[$`\0]", text) or text.startswith("~"):
            return None
        path = os.path.normpath(cwd / text)
        # Links in the folder are followed, the last name is not: it is the entry that is written or removed.
        if not has_glob(text):
            folder, _, name = path.rpartition("/")
            path = f"{os.path.realpath(folder or '/')}/{name}"
        if path == str(self.root):
            return ""
        return self._name_of(path)

    def _name_of(self, path: str) -> str | None:
        prefix = f"{self.root}/"
        if path.startswith(prefix):
            return path.removeprefix(prefix)
        is_added = any(f"{path}/".startswith(f"{folder}/") for folder in self.added)
        return path if is_added else None

    def source(self, path: Path) -> str | None:
        """Return the text of a script; None for other files, a script read before, or when the limit is
        reached."""
        key = ("file", str(path))
        if key in self.seen or self.files_left <= 0:
            return None
        self.seen.add(key)
        try:
            if not path.is_file() or path.stat().st_size > MAX_SOURCE_BYTES:
                return None
            text = path.read_bytes()
        except (OSError, ValueError):
            return None
        self.files_left -= 1
        return None if b"\0" in text else text.decode("utf-8", "replace")


def has_glob(word: str) -> bool:
    """Return whether a word is a pattern."""
    return not {*"*?["}.isdisjoint(word)


def _is_numbered(path: str) -> bool:
    """Return whether the last name starts with known letters and contains a variable: `part-$i.txt`."""
    name = path.rpartition("/")[2]
    letter = _LETTER.search(name)
    return letter is not None and _VARIABLE.search(name, letter.end()) is not None


def _spellings(word: str) -> Iterator[str]:
    """Yield a word as file names: remaining braces stand for several names, and bytes given by number
    (`$'\\xff'`) may be no character."""
    word = _BRACES.sub("*", word)
    yield word
    if not word.isascii():
        try:
            yield word.encode("latin-1").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return
