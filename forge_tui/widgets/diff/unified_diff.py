"""A unified diff of one file, parsed into stretches of lines: unchanged ones, and removed ones with their
replacement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from forge_core.sanitize import safe_line, safe_text
from forge_core.text_width import cell_len
from forge_tui.widgets.blockview.rows import TAB_CELLS

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_OPEN_END = "\\ No newline"
_RUNS = re.compile(
    r"(?P<same> +)(?P<open>\\?)|(?=[-+])(?P<old>-*)(?P<old_open>\\?)(?P<new>\+*)(?P<new_open>\\?)"
)
"""A stretch by the first characters of its lines: removed lines after added ones begin another one."""
_CHANGED_END = re.compile(r"^([+-]).*?(\r?)$", re.MULTILINE)
"""The sign of a changed line, and whether it ends with a carriage return."""


@dataclass(slots=True, eq=False)
class Stretch:
    """Adjacent lines that are the same on both sides, or that were removed and added at one place."""

    old_from: int
    new_from: int
    """The number of the first line on either side."""
    old: Sequence[str]
    new: Sequence[str]
    is_same: bool
    """If so, `old` and `new` are the same list."""
    old_is_open: bool = False
    new_is_open: bool = False
    """Whether the last line of that side ends without a newline."""

    def __len__(self) -> int:
        return len(self.old) if self.is_same else len(self.old) + len(self.new)

    @property
    def lines(self) -> list[str]:
        """Every line once."""
        return list(self.new if self.is_same else [*self.old, *self.new])

    def parts(self, size: int, *, is_split: bool) -> Iterator[Stretch]:
        """Yield the stretch in pieces of about `size` lines: both sides in each piece for a view of two
        columns, otherwise all that was removed before all that was added."""
        if len(self) <= size:
            yield self
        elif self.is_same or is_split:
            for at in range(0, max(len(self.old), len(self.new)), size):
                yield self._piece(range(at, at + size), range(at, at + size))
        else:
            for at in range(0, len(self.old), size):
                yield self._piece(range(at, at + size), range(0))
            for at in range(0, len(self.new), size):
                yield self._piece(range(len(self.old), len(self.old)), range(at, at + size))

    def head(self, size: int, *, is_split: bool) -> Stretch:
        """Return its first `size` lines, or rows of two columns."""
        if self.is_same or is_split:
            return self._piece(range(size), range(size))
        return self._piece(range(size), range(max(0, size - len(self.old))))

    def cut(self, size: int) -> tuple[Stretch, Stretch]:
        """Split an unchanged stretch; the first part has `size` lines."""
        end = len(self.new)
        return self._piece(range(size), range(size)), self._piece(range(size, end), range(size, end))

    def _piece(self, old: range, new: range) -> Stretch:
        lines = self.old[old.start : old.stop]
        return Stretch(
            self.old_from + old.start,
            self.new_from + new.start,
            lines,
            lines if self.is_same else self.new[new.start : new.stop],
            self.is_same,
            self.old_is_open and old.start < len(self.old) <= old.stop,
            self.new_is_open and new.start < len(self.new) <= new.stop,
        )


@dataclass(slots=True, eq=False)
class DiffHunk:
    """The lines of one hunk."""

    heading: str = ""
    """The function or section that it is in, if the diff says so."""
    stretches: list[Stretch] = field(default_factory=list)
    place: str = ""
    """Its lines, as in "lines 255–263", also if it is only a part of them."""

    def __len__(self) -> int:
        return sum(map(len, self.stretches))

    @property
    def title(self) -> str:
        """Its place, and the function or section if that is known."""
        return "  ".join(text for text in (self.place, self.heading) if text)


@dataclass(slots=True, eq=False)
class Patch:
    """The changes to one file."""

    hunks: list[DiffHunk] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Messages of the diff beside its lines: that the rest is not shown."""
    widest: int = 0
    """The cells of its longest line."""

    def __len__(self) -> int:
        return sum(map(len, self.hunks))

    @property
    def has_titles(self) -> bool:
        """Whether the titles of its hunks say more than their line numbers: with several hunks, or where the
        function is known."""
        return len(self.hunks) > 1 or any(hunk.heading for hunk in self.hunks)

    @property
    def stretches(self) -> Iterator[Stretch]:
        return (stretch for hunk in self.hunks for stretch in hunk.stretches)

    @property
    def has_old(self) -> bool:
        return any(stretch.old for stretch in self.stretches)

    @property
    def has_new(self) -> bool:
        return any(stretch.new for stretch in self.stretches)

    @property
    def last_numbers(self) -> tuple[int, int]:
        """The highest line number on either side."""
        old = max((one.old_from + len(one.old) - 1 for one in self.stretches), default=1)
        new = max((one.new_from + len(one.new) - 1 for one in self.stretches), default=1)
        return max(1, old), max(1, new)


def read_patch(diff: str, *, is_exact: bool = False) -> Patch:
    """Parse a unified diff. Lines before the first hunk are ignored; a missing hunk header counts as line
    1. With `is_exact`, the lines are as they are, and not safe to show.
    """
    patch = Patch()
    body: list[str] = []
    first, is_header = (1, 1), False

    def close() -> None:
        if body and not patch.hunks:
            patch.hunks.append(DiffHunk())
        if body:
            patch.hunks[-1].stretches += _stretches(body, *first)
            body.clear()

    text = diff if is_exact else safe_text(_plain_ends(diff), keep_invisible=True)
    for line in text.removesuffix("\n").split("\n") if diff else ():
        if hunk := _HUNK.match(line):
            close()
            patch.hunks.append(DiffHunk(safe_line(hunk[5])))
            first = int(hunk[1]) + (hunk[2] == "0"), int(hunk[3]) + (hunk[4] == "0")
            is_header = False
        elif is_header or line.startswith("diff --git "):
            is_header = True  # the header of a file ends at the next hunk
        elif line.startswith("\\") and not line.startswith(_OPEN_END):
            patch.remarks.append(" ".join(line[1:].split()))  # in one row, without tabs
        else:  # git may omit the space of an empty line
            body.append(line if line.startswith(("-", "+", "\\")) else f" {line[1:]}")
    close()
    for part in patch.hunks:
        part.place = _place(part.stretches)
    patch.widest = max(
        (cell_len(line.expandtabs(TAB_CELLS)) for one in patch.stretches for line in one.lines), default=0
    )
    return patch


def _place(stretches: Sequence[Stretch]) -> str:
    """Return the numbers of the lines on the new side, or on the old one if nothing is left there."""
    if not stretches:
        return ""
    has_new = any(one.new for one in stretches)
    first, last = stretches[0], stretches[-1]
    start = first.new_from if has_new else first.old_from
    end = last.new_from + len(last.new) - 1 if has_new else last.old_from + len(last.old) - 1
    return f"line {start:,}" if end <= start else f"lines {start:,}–{end:,}"


def is_only_hunks(diff: str) -> bool:
    """Return whether `read_patch` keeps every line of a diff: each belongs to a hunk, or begins one."""
    return all(line[:1] in ("+", "-", " ", "\\") or _HUNK.match(line) for line in diff.split("\n") if line)


def _plain_ends(diff: str) -> str:
    """Return the diff with \\n after each line.

    If some changed lines end in \\r\\n and others do not, the \\r is shown: it may be all that changed.
    """
    if "\r\n" not in diff:
        return diff
    ends = {match[2] for match in _CHANGED_END.finditer(diff)}
    return diff.replace("\r\n", "␍\n" if len(ends) > 1 else "\n")


def _stretches(body: Sequence[str], old_at: int, new_at: int) -> Iterator[Stretch]:
    """Yield the stretches of a hunk whose first lines have these numbers."""
    for run in _RUNS.finditer("".join(line[0] for line in body)):
        is_same = bool(run["same"])
        old = [line[1:] for line in body[slice(*run.span("same" if is_same else "old"))]]
        new = old if is_same else [line[1:] for line in body[slice(*run.span("new"))]]
        is_open = bool(run["open"])
        old_open, new_open = is_open or bool(run["old_open"]), is_open or bool(run["new_open"])
        yield Stretch(old_at, new_at, old, new, is_same, old_open, new_open)
        old_at += len(old)
        new_at += len(new)
