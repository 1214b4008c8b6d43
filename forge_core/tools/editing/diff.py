"""A unified diff between two texts, cheap also when little changes in a long file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from forge_core.result import FileDiff
from forge_core.tools.editing.lines import Opcode, line_opcodes
from forge_core.tools.editing.text import lines_of

CONTEXT_LINES = 3
MAX_DIFF_LINES = 2_000


def file_diff(path: str, before: str, after: str) -> FileDiff:
    """The change from `before` to `after`; lines differ when their line ends do."""
    old, new = lines_of(before), lines_of(after)
    opcodes = line_opcodes(old, new)
    lines = (_marked(mark, line.rstrip("\r\n"), line) for mark, line in _signed(old, new, opcodes))
    shown = list(islice(chain.from_iterable(lines), MAX_DIFF_LINES + 1))
    if len(shown) > MAX_DIFF_LINES:
        shown = [*shown[:MAX_DIFF_LINES], "\\ The rest of the change is not shown"]
    return FileDiff(path, "\n".join(shown), *_counts(opcodes))


def unified_diff(path: str, before: str, after: str, context: int = CONTEXT_LINES) -> FileDiff:
    """The whole change as git would write it: only \\n ends a line, a carriage return belongs to it."""
    old, new = _git_lines(before), _git_lines(after)
    opcodes = line_opcodes(old, new)
    lines = (
        _marked(mark, line.removesuffix("\n"), line) for mark, line in _signed(old, new, opcodes, context)
    )
    return FileDiff(path, "\n".join(chain.from_iterable(lines)), *_counts(opcodes))


def _git_lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _counts(opcodes: Sequence[Opcode]) -> tuple[int, int]:
    """Lines added and removed."""
    added = sum(end - start for tag, _, _, start, end in opcodes if tag != "equal")
    removed = sum(end - start for tag, start, end, _, _ in opcodes if tag != "equal")
    return added, removed


def _signed(
    old: Sequence[str], new: Sequence[str], opcodes: Sequence[Opcode], context: int = CONTEXT_LINES
) -> Iterator[tuple[str, str]]:
    """The sign and line of each row; a hunk's header has the sign "@"."""
    for group in _groups(opcodes, context):
        first, last = group[0], group[-1]
        yield "@", f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from ((" ", line) for line in old[old_from:old_to])
                continue
            yield from (("-", line) for line in old[old_from:old_to])
            yield from (("+", line) for line in new[new_from:new_to])


def _marked(mark: str, bare: str, line: str) -> tuple[str, ...]:
    """The row, and the one that says that the file ends without a newline."""
    row = bare if mark == "@" else mark + bare
    return (row, "\\ No newline at end of file") if bare == line else (row,)


def _groups(opcodes: Sequence[Opcode], context: int) -> list[list[Opcode]]:
    """Changes with the context around them; unchanged stretches longer than two contexts part groups."""
    groups: list[list[Opcode]] = [[]]
    last = len(opcodes) - 1
    for at, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            groups[-1].append((tag, a, b, c, d))
            continue
        before, after = (context if at > 0 else 0), (context if at < last else 0)
        if b - a <= before + after:
            groups[-1].append((tag, a, b, c, d))
            continue
        groups[-1].append((tag, a, a + before, c, c + before))
        groups.append([(tag, b - after, b, d - after, d)])
    return [group for group in groups if any(code[0] != "equal" for code in group)]


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"
