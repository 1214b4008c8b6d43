"""Converts the indentation of a text that was sent to that of the file, by one rule for all its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TypeAlias

from forge_core.tools.editing.diff import line_opcodes
from forge_core.tools.editing.line_views import BLANKS, TextLines, indent_of

Rule: TypeAlias = "Callable[[str], str | None]"
"""Indentation as sent → as the file has it; None where that is not certain."""

_TAB_WIDTHS = (2, 3, 4, 8)
_SCALES = (Fraction(2), Fraction(4), Fraction(1, 2), Fraction(1, 4))


@dataclass(frozen=True, slots=True)
class Reindent:
    """How the indentation of a text becomes that of the lines it was found at."""

    known: Mapping[str, str]
    """Of the lines that were found."""
    rule: Rule

    def line(self, line: str) -> str | None:
        """Return a line of the new text with the file's indentation; None if its depth is not certain."""
        indent = indent_of(line)
        if indent == line:
            return line
        depth = self.known.get(indent)
        if depth is None:
            depth = self.rule(indent)
        return None if depth is None else depth + line[len(indent) :]


def reindent(old: Sequence[str], file: Sequence[str]) -> Reindent | None:
    """Return how the indentation of `old` becomes that of `file`, line by line; None when no one rule does
    it."""
    known: dict[str, str] = {}
    for ours, theirs in zip(old, file, strict=True):
        if ours.strip(BLANKS) and known.setdefault(indent_of(ours), indent_of(theirs)) != indent_of(theirs):
            return None
    rule = _shifted(known) or _scaled(known)
    return None if rule is None else Reindent(known, rule)


def is_clear(
    shift: Reindent, old: Sequence[str], file: Sequence[str], new: Sequence[str], lines: TextLines
) -> bool:
    """Return whether `new` is certainly indented in the way of `old`, and each of its lines can be converted.

    A model that sends the old text with less indentation than the file has may mean the new text likewise, or
    may have got the new one right. Two signs prove the former: a line of both texts that was sent at the same
    depth, which is not the file's; or whitespace of a kind that no line of the file begins with. If a line of
    both is as deep in the new text as in the file, or the least indented line is, the new text may already be
    right.
    """
    # 1. Compare the lines that both texts have, ignoring indentation.
    is_proven = False
    fresh = set(range(len(new)))
    keys = [line.strip(BLANKS) for line in old], [line.strip(BLANKS) for line in new]
    for tag, i, j, k, _ in line_opcodes(*keys):
        for at in range(j - i if tag == "equal" else 0):
            ours, theirs, there = old[i + at], new[k + at], file[i + at]
            if ours == theirs:  # a line that is indented as in the file proves nothing
                is_proven = is_proven or (
                    _is_distinctive(keys[0][i + at]) and indent_of(ours) != indent_of(there)
                )
                fresh.discard(k + at)
            elif keys[0][i + at] and indent_of(theirs) == indent_of(there):
                return False
    # 2. A new line of blanks alone gives no sign of its depth.
    if any(new[at] and not keys[1][at] for at in fresh):
        return False  # a new line of blanks only: the number intended is unknown
    # 3. If the rule changes any line, there must be proof that the new text needs it.
    moved = [(line, shift.line(line)) for line in new if line.strip(BLANKS)]
    if any(line != there for line, there in moved):
        if _base(file) == _base(new) != _base(old):
            return False
        if not is_proven and not (_base(new) == _base(old) and _is_foreign([*old, *new], lines)):
            return False
    return all(there is not None for _, there in moved)


def _is_distinctive(key: str) -> bool:
    """Return whether a line has more than brackets, which occur at any depth."""
    return any(char.isalnum() for char in key)


def _is_foreign(sent: Sequence[str], lines: TextLines) -> bool:
    """Return whether what was sent is indented by a kind of blanks that no line of the file begins with."""
    kind = _kind(indent_of(line) for line in sent if line.strip(BLANKS))
    whole = lines.whole
    return kind is not None and not any(whole.startswith(kind) or end + kind in whole for end in "\n\r")


def keeps_unit(shift: Reindent, new: Sequence[str], lines: TextLines) -> bool:
    """Return whether steps in the new text are as wide as the file's. Asked where only one depth was found,
    so that another depth and another width of steps look the same: 4 for 2 is either two more, or twice as
    many."""
    if len(shift.known) != 1:
        return True
    ((ours, theirs),) = shift.known.items()
    if not ours or not theirs or set(ours) != set(theirs):
        return True
    # A factor between step widths is ambiguous with a shift only if it is a usual one.
    if Fraction(len(theirs), len(ours)) not in _SCALES:
        return True
    steps = [abs(len(indent_of(line)) - len(ours)) for line in new if line.strip(BLANKS)]
    width = gcd(*steps)
    return not width or width == (lines.usual_step or width)


def _base(lines: Sequence[str]) -> str:
    return min((indent_of(line) for line in lines if line.strip(BLANKS)), key=len, default="")


def _shifted(known: Mapping[str, str]) -> Rule | None:
    """Return the same blanks before each line, more or fewer of them."""
    ours, theirs = next(iter(known.items()))
    if theirs.endswith(ours):
        more = theirs[: len(theirs) - len(ours)]
        if all(file == more + old for old, file in known.items()):
            may_mix = any(_is_mixed(file) for file in known.values())
            return lambda indent: None if _is_mixed(more + indent) and not may_mix else more + indent
    if ours.endswith(theirs):
        fewer = ours[: len(ours) - len(theirs)]
        if all(old == fewer + file for old, file in known.items()):
            return lambda indent: indent.removeprefix(fewer) if indent.startswith(fewer) else None
    return None


def _scaled(known: Mapping[str, str]) -> Rule | None:
    """Return a rule that converts tabs and spaces, or steps of another width."""
    old_kind, file_kind = _kind(known), _kind(known.values())
    if old_kind is None or file_kind is None:
        return None
    # All depths must be on one line through the origin: depth in the file = slope * depth as sent.
    points = sorted({(len(old), len(file)) for old, file in known.items()})
    (x, y), (x_last, y_last) = points[0], points[-1]
    if len(points) == 1:
        if not x or not y:
            return None
        wide, narrow = max(x, y), min(x, y)
        is_sure = wide % narrow == 0 and wide // narrow in _TAB_WIDTHS and (file_kind == "\t") == (y < x)
        slope = Fraction(y, x) if is_sure and old_kind != file_kind else None
    else:
        slope = Fraction(y_last, x_last)
        if slope <= 0 or any(b != slope * a for a, b in points):
            return None  # not all depths: perhaps one line was sent at another depth
        if not _is_usual(slope, old_kind, file_kind) or (old_kind == file_kind and not points[-2][0]):
            return None  # likewise for steps of another width, if only one depth shows it

    def rule(indent: str) -> str | None:
        if slope is None or indent.strip(old_kind):
            return None
        depth = slope * len(indent)
        return file_kind * int(depth) if depth.denominator == 1 and depth >= 0 else None

    return rule


def _is_usual(slope: Fraction, old_kind: str, file_kind: str) -> bool:
    if old_kind == file_kind:
        return old_kind == " " and slope in _SCALES
    width = slope if file_kind == " " else 1 / slope
    return width in _TAB_WIDTHS


def _kind(indents: Iterable[str]) -> str | None:
    """Return the one character that they are made of; None when there are two, or none."""
    chars = set("".join(indents))
    return chars.pop() if len(chars) == 1 else None


def _is_mixed(indent: str) -> bool:
    return "\t" in indent and " " in indent
