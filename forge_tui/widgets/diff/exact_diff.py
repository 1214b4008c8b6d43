"""A change to a file as exact text: what the card shows of it, with nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator

from forge_core.result import FileDiff
from forge_tui.widgets.blockview.highlighting import language_of
from forge_tui.widgets.diff.drawing import (
    OPEN_END,
    WORD,
    DiffLayout,
    DiffLine,
    code_parts,
    gutter_of,
    lines_of,
    sign_of,
)
from forge_tui.widgets.diff.unified_diff import is_only_hunks, read_patch
from forge_tui.widgets.exact_text import ExactLine, Mark, diff_lines

_LONGEST_MARKED = 1_000
"""Characters; the parts of longer lines are not coloured (their cost is quadratic in the worst case)."""
_MOST_MARKED = 500
"""Lines; in a longer change, nothing is coloured (2,000 lines of many small changes take 0.5 s)."""
_ROLES = {"+": "added", "-": "removed", " ": "plain"}


def exact_diff(diff: FileDiff) -> list[ExactLine]:
    """Return the lines of a change with their numbers, the colours of the language and the changed words.

    A diff with lines that belong to no hunk is returned as it is.
    """
    if not is_only_hunks(diff.diff):
        return diff_lines(diff.diff)
    patch = read_patch(diff.diff, is_exact=True)
    is_marked = len(patch) <= _MOST_MARKED
    look = DiffLayout.of(patch, language_of(diff.path) if is_marked else "")
    margin = " " * (look.old_digits or look.new_digits)
    lines = []
    for hunk in patch.hunks:
        if patch.has_titles:
            lines.append(ExactLine(hunk.title, "hunk", f"{margin[1:]}⋮ "))
        for stretch in lines_of(hunk.stretches, look.language, has_words=is_marked):
            for cell in stretch.stacked:
                lines.append(_exact_line(cell, look))
                if cell.is_open:
                    lines.append(ExactLine(OPEN_END, "hunk", " " * len(lines[-1].gutter)))
    return [*lines, *(ExactLine(remark, "hunk") for remark in patch.remarks)]


def _exact_line(cell: DiffLine, look: DiffLayout) -> ExactLine:
    role = _ROLES[sign_of(cell)]
    marks = tuple(_marks(cell, role)) if len(cell.text) <= _LONGEST_MARKED else ()
    return ExactLine(cell.text, role, gutter_of(cell, look), marks=marks)


def _marks(cell: DiffLine, role: str) -> Iterator[Mark]:
    at = 0
    for kind, text in code_parts(cell.tokens, cell.changed):
        end = at + len(text)
        if kind == WORD:
            yield at, end, f"{role}-word"
        elif kind and (role == "plain" or kind != "comment"):
            yield at, end, f"syntax-{kind}"
        at = end
