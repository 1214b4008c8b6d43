"""A unified diff between two texts, cheap also when little changes in a long file."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.result import FileDiff
from forge_core.tools.editing.lines import Opcode, line_opcodes
from forge_core.tools.editing.text import lines_of

CONTEXT_LINES = 3
MAX_DIFF_LINES = 2_000


def file_diff(path: str, before: str, after: str) -> FileDiff:
    """The change from `before` to `after`; lines differ when their line ends do."""
    old, new = lines_of(before), lines_of(after)
    opcodes = line_opcodes(old, new)
    removed = sum(end - start for tag, start, end, _, _ in opcodes if tag != "equal")
    added = sum(end - start for tag, _, _, start, end in opcodes if tag != "equal")
    shown: list[str] = []
    for group in _groups(opcodes):
        shown += _hunk(group, old, new)
        if len(shown) > MAX_DIFF_LINES:
            break
    if len(shown) > MAX_DIFF_LINES:
        shown = [*shown[:MAX_DIFF_LINES], "\\ The rest of the change is not shown"]
    return FileDiff(path, "\n".join(shown), added, removed)


def _groups(opcodes: list[Opcode]) -> list[list[Opcode]]:
    """Changes with the context around them; unchanged stretches longer than two contexts part groups."""
    groups: list[list[Opcode]] = [[]]
    last = len(opcodes) - 1
    for at, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            groups[-1].append((tag, a, b, c, d))
            continue
        before, after = (CONTEXT_LINES if at > 0 else 0), (CONTEXT_LINES if at < last else 0)
        if b - a <= before + after:
            groups[-1].append((tag, a, b, c, d))
            continue
        groups[-1].append((tag, a, a + before, c, c + before))
        groups.append([(tag, b - after, b, d - after, d)])
    return [group for group in groups if any(code[0] != "equal" for code in group)]


def _hunk(group: list[Opcode], old: Sequence[str], new: Sequence[str]) -> list[str]:
    first, last = group[0], group[-1]
    lines = [f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"]
    for tag, old_from, old_to, new_from, new_to in group:
        if tag == "equal":
            lines += _marked(" ", old[old_from:old_to])
            continue
        lines += _marked("-", old[old_from:old_to])
        lines += _marked("+", new[new_from:new_to])
    return lines


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    for line in lines:
        bare = line.rstrip("\r\n")
        shown.append(mark + bare)
        if bare == line:
            shown.append("\\ No newline at end of file")
    return shown


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"
