"""Which of the changes that were found while a command ran are the command's.

The system does not record who wrote a file, but a change is explained in one of two ways. The content may be
what the line makes of the file: the result of `sed`, a patch, an archive or a copy. Or the command has
certainly written the file at least as often as it was written at all, so that none of the writes can be the
user's: the line's exit status shows which of its commands have run (see `Proof`), and the writes are counted.
Any other change may be the user's: a false positive would make undo delete the user's work, a false negative
only leaves a file to be chosen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, takewhile

from forge_core.undo.attribution.evidence import (
    archive_digests,
    edit_of,
    is_fixed,
    is_manifest_update,
    is_merge_result,
    is_patched,
    is_reformatted,
    patch_texts,
    sed_result,
)
from forge_core.undo.attribution.generated_files import has_generated_content, is_build_output, is_cache
from forge_core.undo.expected_effects import Claim, Covers, ExpectedEffects, FileEffect, Proof
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.storage.git_objects import GitObjects

_MAX_BYTES = 4 * 1024 * 1024
"""A larger file's content is not compared."""
_MAX_FILES = 500
"""Number of files whose contents are fetched together."""
_MAX_RESULTS = 100
"""Contents that are computed for one file: each claim may apply or not, so their number doubles."""
_MAX_SED_CALLS = 8
_MIN_SAME_EDITS = 2
_WRITING = frozenset({FileEffect.WRITE, FileEffect.CREATE, FileEffect.COPY, FileEffect.SED})
"""Effects whose claims say how often a file is written."""
_REWRITING = frozenset({FileEffect.FORMAT, FileEffect.FIX})
_CHECKED = frozenset(FileEffect) - {FileEffect.WRITE, FileEffect.CREATE, FileEffect.REMOVE, FileEffect.MODE}
"""Effects that the content proves."""
_LOOSE = frozenset({FileEffect.FORMAT, FileEffect.FIX, FileEffect.MANIFEST, FileEffect.REWRITE})
"""Those of them that an edit by the user may look like: the command must have run, too."""


@dataclass(slots=True)
class AttributionContext:
    """What is known about the workspace and the command besides the changes."""

    contents: Callable[[Sequence[FileState]], Sequence[bytes | None]]
    writes: Callable[[str], int | None]
    """How often a path was written while the command ran; None: unknown."""
    digests_below: Callable[[str], frozenset[str]]
    """The sha256 of the file at a path, or of all files below it, as they were before."""
    changed_at_ns: dict[str, int] = field(default_factory=dict)
    ended_ns: int = 0
    """When the command had ended; 0: it is running."""
    exit_status: int | None = None
    """The exit status of the line; None: it is running, or the status is not known."""


class SourceFiles:
    """The files before the changes, sorted by path, so that those below a folder are adjacent."""

    def __init__(self, files: Mapping[str, FileState]) -> None:
        self._files = files
        self._sorted: list[str] | None = None

    def digests_below(self, path: str) -> frozenset[str]:
        """Return the sha256 of the file at `path`, or of all files below it ("": of all)."""
        if path in self._files:
            return frozenset({self._files[path].digest})
        if self._sorted is None:
            self._sorted = sorted(self._files)
        first = bisect_left(self._sorted, f"{path}/" if path else "")
        below = takewhile(
            lambda one: not path or one.startswith(f"{path}/"), islice(self._sorted, first, None)
        )
        return frozenset(self._files[one].digest for one in below)


class Attribution:
    """Attributes the changes of one update of the snapshot to one command."""

    def __init__(
        self,
        expected: ExpectedEffects,
        changes: Sequence[FileChange],
        git: GitObjects,
        context: AttributionContext,
    ) -> None:
        self._expected = expected
        self._changes = {change.path: change for change in changes}
        self._git = git
        self._context = context
        self._results: dict[str, set[bytes]] = {}
        self._whole_globs: dict[Claim, bool] = {}
        self._sources: dict[str, frozenset[str]] = {}
        self._archive_digests = cache(archive_digests)
        self._patch_texts = cache(patch_texts)
        self._unmerged = cache(git.unmerged)
        self._in_git: set[str] = set()
        self._contents: dict[FileState, bytes | None] = {}

    def explained(self) -> set[str]:
        """Return the paths whose change is the command's."""
        self._look_up_in_git()
        # 1. Files and links, each by itself.
        leaves = [one for one in self._changes.values() if not _is_folder(one)]
        found = {change.path for change in leaves if self._is_explained(change)}
        # 2. Files in which the same edit was made.
        found |= self._same_edits([one for one in leaves if one.path not in found])
        # 3. Other hard links of files that the command has written.
        written = {self._changes[path].after.inode for path in found} - {0}
        found |= {one.path for one in leaves if one.after.links > 1 and one.after.inode in written}
        # 4. Folders, inner ones first: one may be explained by what it holds.
        folders = [one for one in self._changes.values() if _is_folder(one)]
        for change in sorted(folders, key=lambda one: one.path.count("/"), reverse=True):
            if self._is_folder_explained(change, found):
                found.add(change.path)
        return found

    def _is_explained(self, change: FileChange) -> bool:
        if self._is_generated(change.path, is_new=change.before == ABSENT):
            return True
        claims = self._expected.about(change.path)
        if change.after == ABSENT:
            return any(self._removes(claim, change) for claim in claims)
        if any(claim.effect in _CHECKED and self._is_checked(claim, change) for claim in claims):
            return True
        if _keeps_content(change):
            changes_mode = (FileEffect.MODE, FileEffect.WRITE, FileEffect.COPY)
            return any(claim.effect in changes_mode and claim.proof is not Proof.NONE for claim in claims)
        return self._is_certain(change) or self._has_generated_content(change)

    def _is_generated(self, path: str, *, is_new: bool) -> bool:
        if is_cache(path):
            return True
        tracked = self._git.tracked()
        was_there = path in tracked or not (is_new or tracked)
        return bool(self._expected.claims) and is_build_output(path, was_there=was_there, tracked=tracked)

    def _removes(self, claim: Claim, change: FileChange) -> bool:
        if claim.effect is FileEffect.GIT:
            # Git removes files that are no longer in the index and whose content it holds; untracked files
            # only with `clean` or `stash -u`.
            held = self._git_names(change.before)
            return change.path not in self._git.tracked() and (
                not held.isdisjoint(self._in_git) or bool(claim.details)
            )
        if claim.effect is FileEffect.PATCH:
            name = change.path.encode("utf-8", "surrogateescape")
            return any(name in text for text in self._patch_texts(claim.details))
        return claim.effect is FileEffect.REMOVE and claim.proof is not Proof.NONE

    def _is_certain(self, change: FileChange) -> bool:
        """Return whether the command has made at least as many writes as there were."""
        # What was changed after the command had ended is not its change.
        ended = self._context.ended_ns
        if ended and self._context.changed_at_ns.get(change.path, 0) > ended:
            return False
        writes = self._context.writes(change.path)
        if writes is None:
            return False
        claims = [claim for claim in self._proven(change.path) if claim.covers is Covers.EXACT]
        # A CREATE claim writes only where no file was before.
        is_new = change.before == ABSENT
        certain = sum(claim.times for claim in claims if is_new or claim.effect is not FileEffect.CREATE)
        return 0 < certain >= writes or any(map(self._is_whole_glob, self._proven(change.path)))

    def _proven(self, path: str) -> list[Claim]:
        return [
            claim
            for claim in self._expected.about(path)
            if claim.effect in _WRITING and claim.times and claim.proof.holds(self._context.exit_status)
        ]

    def _is_whole_glob(self, claim: Claim) -> bool:
        """Return whether all files that match a pattern were written no more often than by the command."""
        if claim.covers is not Covers.GLOB:
            return False
        if claim not in self._whole_globs:
            counts = [self._context.writes(path) for path in self._changes if claim.is_about(path)]
            known = [count for count in counts if count is not None]
            self._whole_globs[claim] = len(known) == len(counts) and sum(known) <= claim.times
        return self._whole_globs[claim]

    def _is_checked(self, claim: Claim, change: FileChange) -> bool:
        after = change.after
        if claim.effect in _LOOSE and not claim.proof.holds(self._context.exit_status):
            return False
        match claim.effect:
            case FileEffect.GIT:
                return not self._git_names(after).isdisjoint(self._in_git) or self._is_unmerged(change)
            case FileEffect.COPY:
                if after.kind is EntryKind.LINK:
                    return claim.proof.holds(self._context.exit_status) or after.target in claim.details
                return any(after.digest in self._digests_of(source) for source in claim.details)
            case FileEffect.ARCHIVE:
                name = after.digest or after.target
                return any(name in self._archive_digests(archive) for archive in claim.details)
            case FileEffect.REWRITE:
                return False  # see `_same_edits`
        sides = self._texts(change)
        return sides is not None and self._fits(claim, change, *sides)

    def _digests_of(self, source: str) -> frozenset[str]:
        """Return what a source of a copy held before, and holds now, and what its own sources held."""
        if source not in self._sources:
            self._sources[source] = frozenset()  # ends the recursion for copies in a circle
            found = set(self._context.digests_below(source))
            for change in self._changes.values():
                if change.path == source or change.path.startswith(source + "/"):
                    found.add(change.after.digest)
            for claim in self._expected.claims:
                if claim.effect is FileEffect.COPY and claim.path == source:
                    found.update(*map(self._digests_of, claim.details))
            self._sources[source] = frozenset(found - {""})
        return self._sources[source]

    def _fits(self, claim: Claim, change: FileChange, before: bytes, after: bytes) -> bool:
        """Return whether the content is what the claimed effect leads to."""
        path = change.path
        match claim.effect:
            case FileEffect.TEXT | FileEffect.SED:
                return after in self._computed(path, before)
            case FileEffect.TEMPLATE:
                text = after.decode("utf-8", "replace")
                return change.before == ABSENT and any(re.fullmatch(one, text) for one in claim.details)
            case FileEffect.FORMAT | FileEffect.FIX:
                fits = is_reformatted if claim.effect is FileEffect.FORMAT else is_fixed
                candidates = {before, *self._computed(path, before)}
                return not self._has_other_writes(path) and any(fits(text, after) for text in candidates)
            case FileEffect.MANIFEST:
                return is_manifest_update(before, after, claim.details)
            case _:
                return is_patched(before, after, self._patch_texts(claim.details))

    def _computed(self, path: str, before: bytes) -> set[bytes]:
        """Return what a file may hold after the claimed texts and calls of sed, applied in this order; any of
        them may have been left out."""
        if path not in self._results:
            found = {before}
            for claim in self._expected.about(path):
                for _ in range(min(claim.times, _MAX_RESULTS) or 1):
                    if len(found) <= _MAX_RESULTS:
                        found |= _next_contents(claim, found)
            self._results[path] = found - {before}
        return self._results[path]

    def _has_other_writes(self, path: str) -> bool:
        """Return whether a file was written more often than its claims allow: a formatter writes it at most
        once."""
        writes = self._context.writes(path)
        claims = (claim for claim in self._expected.about(path) if claim.effect in _WRITING | _REWRITING)
        return writes is not None and writes > max(sum(claim.times for claim in claims), 1)

    def _same_edits(self, changes: Sequence[FileChange]) -> set[str]:
        """Return the files in which a rewriting command has made the same edit, at least two of them."""
        groups: dict[object, list[str]] = {}
        for change in changes:
            claims = [
                one
                for one in self._expected.about(change.path)
                if one.effect is FileEffect.REWRITE and one.proof.holds(self._context.exit_status)
            ]
            sides = self._texts(change) if claims and change.before.kind is EntryKind.FILE else None
            if sides is not None and change.after.kind is EntryKind.FILE and any(edit := edit_of(*sides)):
                groups.setdefault(edit, []).append(change.path)
        return {path for paths in groups.values() if len(paths) >= _MIN_SAME_EDITS for path in paths}

    def _is_folder_explained(self, change: FileChange, found: set[str]) -> bool:
        """Return whether a claim names the folder or its entries, or its entries explain it."""
        path = change.path
        if self._is_generated(path, is_new=True):
            return True
        if change.after == ABSENT:
            effects = {FileEffect.REMOVE}
        elif change.before == ABSENT:
            effects = {FileEffect.WRITE, FileEffect.CREATE, FileEffect.COPY}
        else:
            effects = {FileEffect.MODE}
        if any(claim.effect in effects for claim in self._expected.about(path)):
            return True
        is_new = change.after != ABSENT and change.before.kind is not EntryKind.FOLDER
        if is_new and any(claim.makes_folder(path) for claim in self._expected.claims):
            return True
        if change.before.kind is change.after.kind:
            return False
        below = [one for one in self._changes if one.startswith(path + "/")]
        return bool(below) and all(one in found for one in below)

    def _has_generated_content(self, change: FileChange) -> bool:
        expected = self._expected
        if expected.is_job or not expected.claims or change.after.kind is not EntryKind.FILE:
            return False
        sides = self._texts(change)
        before = sides[0] if sides is not None and change.before != ABSENT else None
        return sides is not None and has_generated_content(before, sides[1])

    def _texts(self, change: FileChange) -> tuple[bytes, bytes] | None:
        """Return the content before (empty where there was no file) and after; None where one is unreadable
        or too large."""
        states = (change.before, change.after)
        if change.before.kind is EntryKind.LINK:
            states = (ABSENT, change.after)  # a file that replaces a link
        if any(one.kind not in (EntryKind.FILE, EntryKind.ABSENT) or one.size > _MAX_BYTES for one in states):
            return None
        sides = [self._content(one) if one.kind is EntryKind.FILE else b"" for one in states]
        return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])

    def _content(self, state: FileState) -> bytes | None:
        """Return the content of a file; the contents of all changes are fetched together."""
        if not self._contents:
            states = [one for change in self._changes.values() for one in (change.before, change.after)]
            files = [one for one in states if one.kind is EntryKind.FILE and one.size <= _MAX_BYTES]
            files = files[:_MAX_FILES]
            self._contents = dict(zip(files, self._context.contents(files), strict=True))
        if state not in self._contents:
            (self._contents[state],) = self._context.contents([state])
        return self._contents[state]

    def _look_up_in_git(self) -> None:
        """Ask git once which of all contents it holds: a call of git costs several milliseconds."""
        if not any(claim.effect is FileEffect.GIT for claim in self._expected.claims):
            return
        names: set[str] = set()
        for change in self._changes.values():
            names |= self._git_names(change.after) | self._git_names(change.before)
        self._in_git = self._git.holds(names)

    def _git_names(self, state: FileState) -> set[str]:
        """Return the ids that git may have for the content, with and without a conversion of line ends."""
        if state.kind is EntryKind.LINK:
            return {self._git.object_id(state.target.encode("utf-8", "surrogateescape"))}
        if state.kind is not EntryKind.FILE or state.size > _MAX_BYTES:
            return {state.git} - {""}
        if state.git:
            return {state.git}
        data = self._content(state)
        if data is None:
            return set()
        return {self._git.object_id(data), self._git.object_id(data.replace(b"\r\n", b"\n"))}

    def _is_unmerged(self, change: FileChange) -> bool:
        stages = self._unmerged().get(change.path)
        sides = self._texts(change)
        if not stages or sides is None:
            return False
        contents = [data for _, data in self._git.read(dict.fromkeys(stages, _MAX_BYTES))]
        return is_merge_result(sides[1], contents)


def _is_folder(change: FileChange) -> bool:
    return change.after.kind is EntryKind.FOLDER or (
        change.before.kind is EntryKind.FOLDER and change.after == ABSENT
    )


def _keeps_content(change: FileChange) -> bool:
    before, after = change.before, change.after
    return before.kind is after.kind is EntryKind.FILE and before.digest == after.digest


def _next_contents(claim: Claim, contents: Iterable[bytes]) -> set[bytes]:
    """Return what a file with one of `contents` holds after this claim's text or call of sed."""
    if claim.effect is FileEffect.TEXT:
        text = "".join(claim.details).encode("utf-8", "surrogateescape")
        return {text, *(one + text for one in contents)}
    if claim.effect is FileEffect.SED:
        results = (sed_result(one, claim.details) for one in sorted(contents)[:_MAX_SED_CALLS])
        return {result for result in results if result is not None}
    return set()
