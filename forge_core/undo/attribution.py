"""Which of the changes that were found while a command ran are the command's.

A change is the command's when a claim of its line explains it, or when it is plainly a program's output. A
claim whose effect can be computed is checked against the content; one that can't ("`make` writes `prog`")
counts only while the file was written no more often than the run writes it, as a further time may be the
user's. Everything else may be the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forge_core.undo.evidence import (
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
from forge_core.undo.expected import Claim, Covers, Effect, ExpectedEffects
from forge_core.undo.generated import has_generated_content, is_build_output, is_cache
from forge_core.undo.git_objects import GitObjects
from forge_core.undo.image import ABSENT, Change, Image, Kind

_MAX_BYTES = 4 * 1024 * 1024
"""A larger file's content is not compared."""
_MAX_FILES = 500
"""Whose contents are fetched together."""
_MIN_SAME_EDITS = 2
_CHECKED = frozenset(Effect) - {Effect.WRITE, Effect.CREATE, Effect.REMOVE, Effect.MODE}
"""Effects that the content shows."""
_FREE = frozenset({Effect.WRITE, Effect.CREATE})


@dataclass(slots=True)
class Facts:
    """What else is known when changes are judged."""

    contents: Callable[[Sequence[Image]], Sequence[bytes | None]]
    writes: Callable[[str], int | None]
    """How often a path was written while the command ran; None: unknown."""
    known_digests: frozenset[str]
    """Of all files as they were before."""
    is_known: Callable[[str], bool]
    """Whether what a path held before is known."""
    changed_at_ns: dict[str, int] = field(default_factory=dict)
    ended_ns: int = 0
    """When the command was known to have ended; 0: it runs."""


class Attribution:
    """Judges the changes of one look."""

    def __init__(
        self, expected: ExpectedEffects, changes: Sequence[Change], git: GitObjects, facts: Facts
    ) -> None:
        self._expected = expected
        self._changes = {change.path: change for change in changes}
        self._git = git
        self._facts = facts
        self._archives: dict[str, frozenset[str]] = {}
        self._patches: dict[tuple[str, ...], list[bytes]] = {}
        self._unmerged: dict[str, list[str]] | None = None
        self._in_git: set[str] = set()
        self._contents: dict[Image, bytes | None] = {}

    def explained(self) -> set[str]:
        """The paths whose change is the command's."""
        self._look_up_in_git()
        leaves = [one for one in self._changes.values() if not _is_folder(one)]
        found = {change.path for change in leaves if self._is_explained(change)}
        found |= self._same_edits([one for one in leaves if one.path not in found])
        written = {self._changes[path].after.inode for path in found} - {0}
        found |= {one.path for one in leaves if one.after.links > 1 and one.after.inode in written}
        folders = [one for one in self._changes.values() if _is_folder(one)]
        for change in sorted(folders, key=lambda one: one.path.count("/"), reverse=True):
            if self._is_folder_explained(change, found):
                found.add(change.path)
        return found

    def _is_explained(self, change: Change) -> bool:
        if self._is_generated(change.path, is_new=change.before == ABSENT):
            return True
        claims = self._expected.about(change.path)
        if change.after == ABSENT:
            return any(self._removes(claim, change) for claim in claims)
        if any(claim.effect in _CHECKED and self._is_checked(claim, change) for claim in claims):
            return True
        if _keeps_content(change):
            return any(claim.effect in (Effect.MODE, Effect.WRITE, Effect.COPY) for claim in claims)
        return self._is_counted(change, claims) or self._has_generated_content(change)

    def _is_generated(self, path: str, *, is_new: bool) -> bool:
        if is_cache(path):
            return True
        tracked = self._git.tracked()
        was_there = path in tracked or not (is_new or tracked)
        return bool(self._expected.claims) and is_build_output(path, was_there=was_there, tracked=tracked)

    def _removes(self, claim: Claim, change: Change) -> bool:
        if claim.effect is Effect.GIT:
            held = self._git_names(change.before)
            return change.path not in self._git.tracked() and (
                not held.isdisjoint(self._in_git) or bool(claim.details)
            )
        if claim.effect is Effect.PATCH:
            name = change.path.encode("utf-8", "surrogateescape")
            return any(name in text for text in self._patch_texts(claim))
        return claim.effect is Effect.REMOVE

    def _is_counted(self, change: Change, claims: Sequence[Claim]) -> bool:
        """Whether claims that can't be checked allow the change: the file was written as often as they say,
        at most, while the command ran."""
        is_new = change.before == ABSENT
        free = [
            one for one in claims if one.effect is Effect.WRITE or (one.effect is Effect.CREATE and is_new)
        ]
        exact = [one for one in claims if one.covers is Covers.EXACT and one.effect in _CHECKED]
        if not free and (len(exact) < 2 or not self._is_unsure(exact)):
            exact = [one for one in exact if one.effect is Effect.COPY and self._has_unknown_source(one)]
        if not free and not exact:
            return False
        ended = self._facts.ended_ns
        if ended and self._facts.changed_at_ns.get(change.path, 0) > ended:
            return False
        writes = self._facts.writes(change.path)
        times = [one.times for one in (*free, *exact)]
        if self._expected.is_job:
            return writes is not None and 0 not in times and writes <= sum(times) and bool(free)
        return writes is None or 0 in times or writes <= sum(times)

    def _is_unsure(self, exact: Sequence[Claim]) -> bool:
        """Whether several edits of one file may have followed each other, so that no single one shows."""
        return self._facts.writes(exact[0].path) is not None

    def _has_unknown_source(self, claim: Claim) -> bool:
        return any(not self._facts.is_known(source) for source in claim.details)

    def _is_checked(self, claim: Claim, change: Change) -> bool:
        after = change.after
        match claim.effect:
            case Effect.GIT:
                return not self._git_names(after).isdisjoint(self._in_git) or self._is_unmerged(change)
            case Effect.COPY:
                return after.kind is Kind.LINK or self._is_elsewhere(change)
            case Effect.ARCHIVE:
                return any((after.digest or after.target) in self._members(one) for one in claim.details)
            case Effect.SED | Effect.FORMAT | Effect.FIX | Effect.PATCH | Effect.MANIFEST:
                sides = self._texts(change)
                return sides is not None and self._fits(claim, change.path, *sides)
        return False

    def _is_elsewhere(self, change: Change) -> bool:
        """Whether another file holds, or held, just this content."""
        digest = change.after.digest
        if digest in self._facts.known_digests:
            return True
        return any(one.after.digest == digest and one is not change for one in self._changes.values())

    def _fits(self, claim: Claim, path: str, before: bytes, after: bytes) -> bool:
        match claim.effect:
            case Effect.SED:
                return self._is_sed_result(path, before, after)
            case Effect.FORMAT:
                return is_reformatted(before, after)
            case Effect.FIX:
                return is_fixed(before, after)
            case Effect.MANIFEST:
                return is_manifest_update(before, after, claim.details)
            case _:
                return is_patched(before, after, self._patch_texts(claim))

    def _is_sed_result(self, path: str, before: bytes, after: bytes) -> bool:
        """Every call of sed that is about the file, one after the other, or any one of them."""
        calls = [one.details for one in self._expected.about(path) if one.effect is Effect.SED]
        text: bytes | None = before
        for arguments in calls:
            text = sed_result(text, arguments) if text is not None else None
        return text == after or (
            len(calls) > 1 and any(sed_result(before, arguments) == after for arguments in calls)
        )

    def _same_edits(self, changes: Sequence[Change]) -> set[str]:
        """Files in which a rewriting command has made the same edit."""
        groups: dict[object, list[str]] = {}
        for change in changes:
            claims = [one for one in self._expected.about(change.path) if one.effect is Effect.REWRITE]
            sides = self._texts(change) if claims and change.before.kind is Kind.FILE else None
            if sides is not None and change.after.kind is Kind.FILE and any(edit := edit_of(*sides)):
                groups.setdefault(edit, []).append(change.path)
        return {path for paths in groups.values() if len(paths) >= _MIN_SAME_EDITS for path in paths}

    def _is_folder_explained(self, change: Change, found: set[str]) -> bool:
        """A folder came or went with the files in it, or a claim names it or what is to be in it."""
        path = change.path
        if self._is_generated(path, is_new=True):
            return True
        below = [one for one in self._changes if one.startswith(path + "/")]
        claims = self._expected.about(path)
        if change.after == ABSENT:
            is_claimed = any(claim.effect is Effect.REMOVE for claim in claims)
        elif change.before == ABSENT:
            is_claimed = any(claim.effect in (*_FREE, Effect.COPY) for claim in claims) or any(
                claim.makes_folder(path) for claim in self._expected.claims
            )
        else:
            is_claimed = any(claim.effect is Effect.MODE for claim in claims) or any(
                claim.makes_folder(path)
                for claim in self._expected.claims
                if change.before.kind is not Kind.FOLDER
            )
        if is_claimed:
            return True
        is_same_kind = change.before.kind is change.after.kind
        return not is_same_kind and bool(below) and all(one in found for one in below)

    def _has_generated_content(self, change: Change) -> bool:
        expected = self._expected
        if expected.is_job or not expected.claims or change.after.kind is not Kind.FILE:
            return False
        sides = self._texts(change)
        before = sides[0] if sides is not None and change.before != ABSENT else None
        return sides is not None and has_generated_content(before, sides[1])

    def _texts(self, change: Change) -> tuple[bytes, bytes] | None:
        """What the file held before (nothing: ""), and what after; None where that can't be read or is
        large."""
        images = (change.before, change.after)
        if any(one.kind not in (Kind.FILE, Kind.ABSENT) or one.size > _MAX_BYTES for one in images):
            return None
        sides = [self._content(one) if one.kind is Kind.FILE else b"" for one in images]
        return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])

    def _content(self, image: Image) -> bytes | None:
        """The bytes of a file; those of all changes are fetched together."""
        if not self._contents:
            images = [one for change in self._changes.values() for one in (change.before, change.after)]
            files = [one for one in images if one.kind is Kind.FILE and one.size <= _MAX_BYTES][:_MAX_FILES]
            self._contents = dict(zip(files, self._facts.contents(files), strict=True))
        if image not in self._contents:
            (self._contents[image],) = self._facts.contents([image])
        return self._contents[image]

    def _members(self, archive: str) -> frozenset[str]:
        if archive not in self._archives:
            self._archives[archive] = archive_digests(archive)
        return self._archives[archive]

    def _patch_texts(self, claim: Claim) -> list[bytes]:
        if claim.details not in self._patches:
            self._patches[claim.details] = patch_texts(claim.details)
        return self._patches[claim.details]

    def _look_up_in_git(self) -> None:
        """Asks once which of all contents git holds."""
        if not any(claim.effect is Effect.GIT for claim in self._expected.claims):
            return
        names: set[str] = set()
        for change in self._changes.values():
            names |= self._git_names(change.after) | self._git_names(change.before)
        self._in_git = self._git.holds(names)

    def _git_names(self, image: Image) -> set[str]:
        """The ids that git may have for the content, with and without a conversion of line ends."""
        if image.kind is Kind.LINK:
            return {self._git.object_id(image.target.encode("utf-8", "surrogateescape"))}
        if image.kind is not Kind.FILE or image.size > _MAX_BYTES:
            return {image.git} - {""}
        if image.git:
            return {image.git}
        data = self._content(image)
        if data is None:
            return set()
        return {self._git.object_id(data), self._git.object_id(data.replace(b"\r\n", b"\n"))}

    def _is_unmerged(self, change: Change) -> bool:
        if self._unmerged is None:
            self._unmerged = self._git.unmerged()
        stages = self._unmerged.get(change.path)
        sides = self._texts(change)
        if not stages or sides is None:
            return False
        contents = [data for _, data in self._git.read(dict.fromkeys(stages, _MAX_BYTES))]
        return is_merge_result(sides[1], contents)


def _is_folder(change: Change) -> bool:
    return change.after.kind is Kind.FOLDER or (change.before.kind is Kind.FOLDER and change.after == ABSENT)


def _keeps_content(change: Change) -> bool:
    before, after = change.before, change.after
    return before.kind is after.kind is Kind.FILE and before.digest == after.digest
