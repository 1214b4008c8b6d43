"""Showing files, whole or in part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument, CallOutcome
from forge_core.offline.intents import Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory, target
from forge_core.offline.skills.file_lookup import files_named, only_match
from forge_core.offline.source_code import block_end, fence_language
from forge_core.offline.steps import Skill, Steps, ask, say
from forge_core.offline.tool_output import Numbered, numbered_lines, stated_total, tree_paths

PAGE = 80
"""Lines that one answer shows."""
_AROUND = 5
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|static|async|abstract|final|pub(?:\([^)]*\))?) )*"
    r"(?:def|class|func|function\*?|fn|struct|enum|interface|trait|type|impl|module|object|macro_rules!|const|let|var)\s"
)
_SHOWN = re.compile(r"`([^`\n]+)`, lines? (\d+)(?:–(\d+))?")
_DIRECTORY = re.compile(r"\bis a (?:directory|folder)\b|\bdirectory\b.*\bls\b", re.I)
_PAST_END = re.compile(
    r"no line at offset|nothing at offset|beyond the end|past the end|offset .*(?:exceeds|beyond)", re.I
)
_MISSING = re.compile(r"no such|not found|does not exist|doesn't exist|there is no|missing", re.I)


def read(request: Request, memory: Memory) -> Skill:
    """Show a file, a part of it, or what "it" or "the second one" refers to."""
    location = target(request, memory)
    if location is None:
        which = request.get("nth")
        return f"I listed nothing that {which!r} could be." if which else phrases.needs_target("read")
    if location.line is not None and not request.get("a"):
        return (yield from show_block(location.path, location.line))
    start, end = request.number("a"), request.number("b")
    edge, size = request.get("edge"), min(request.number("n") or 10, PAGE * 5)
    if edge in ("last", "final", "bottom", "tail", "end"):
        return (yield from show_lines(location.path, -size, size))
    if edge:
        return (yield from show_lines(location.path, 1, size))
    if start is not None:
        start = max(start, 1)
        return (
            yield from show_lines(
                location.path, start, max((end or start + (request.number("n") or 1) - 1) - start + 1, 1)
            )
        )
    return (yield from show_lines(location.path, 1, PAGE))


def more(request: Request, memory: Memory) -> Skill:
    """Show the lines after those that were shown last."""
    for turn in reversed(memory.turns):
        shown = _SHOWN.findall(turn.answer)
        if shown:
            path, first, last = shown[-1]
            return (yield from show_lines(path, int(last or first) + 1, PAGE))
    return phrases.NOTHING_BEFORE


def show_lines(path: str, start: int, size: int) -> Skill:
    """Show `size` lines from `start` (negative: from the end) as a code block, with their numbers above."""
    arguments: dict[str, Argument] = {"file_path": path, "limit": min(size, 2_000)}
    if start != 1:
        arguments["offset"] = start
    outcome = yield from ask("read", **arguments)
    if outcome.failed:
        return (yield from explain_failure(path, outcome, lambda found: show_lines(found, start, size)))
    lines = numbered_lines(outcome.text)[:size]
    if not lines or not any(line.text.strip() for line in lines):
        return f"{code(path)} is empty." if start == 1 else f"{code(path)} has no such lines."
    shown = lines[: PAGE * 5]
    total = stated_total(outcome.text)
    return _block(path, shown, total, wants_more=start == 1 and size == PAGE)


def show_block(path: str, line: int) -> Skill:
    """Show the definition that starts at `line`, with its decorators; for any other line the lines around
    it."""
    shown = yield from read_block(path, line, PAGE * 2, lambda found: show_block(found, line))
    if isinstance(shown, str):
        return shown
    cut = shown[:PAGE]
    rest = f"\n\nIt continues after line {cut[-1].number}; say `more` for the rest."
    return _block(path, cut, None) + (rest if len(cut) < len(shown) else "")


def read_block(
    path: str, line: int, limit: int, again: Callable[[str], Skill] | None = None
) -> Steps[Sequence[Numbered] | str]:
    """Return the lines of the definition at `line` with the decorators above it, or the lines around it.

    Reads at most `limit` lines. Where there is no such line or file, the answer is returned (see
    `explain_failure`).
    """
    outcome = yield from ask("read", file_path=path, offset=max(1, line - _AROUND), limit=limit)
    if outcome.failed:
        return (yield from explain_failure(path, outcome, again))
    lines = numbered_lines(outcome.text)
    position = next((n for n, entry in enumerate(lines) if entry.number == line), None)
    if position is None:
        return f"{code(path)} has no line {line}."
    size = block_end([line.text for line in lines[position:]], path)
    if size < 3 and not _DEFINITION.match(lines[position].text):
        return lines[max(0, position - _AROUND) : position + 15]
    first = position
    while first > 0 and lines[first - 1].text.strip().startswith(("@", "#[", "///")):
        first -= 1
    return lines[first : position + size]


def explain_failure(path: str, outcome: CallOutcome, again: Callable[[str], Skill] | None = None) -> Skill:
    """Answer for a file that cannot be read: it is a folder, or does not exist.

    Where only one other file can be meant, `again` is run for it (by default it is shown). Several are
    listed."""
    if _DIRECTORY.search(outcome.text):
        listing = yield from ask("ls", path=path)
        if not listing.failed:
            return f"{code(path)} is a folder:\n\n{phrases.block(listing.text)}"
    if _PAST_END.search(outcome.text):
        return f"That was all: {code(path)} has no more lines."
    if _MISSING.search(outcome.text):
        near = yield from files_named(path)
        taken = only_match(near)
        if taken and taken != path:
            yield from say(f"There is no {code(path)}; taking {code(taken)}.")
            return (yield from again(taken) if again else show_lines(taken, 1, PAGE))
        return phrases.no_such_file(path, near[:5])
    return phrases.failed(f"{code(path)} could not be read", outcome.text)


def names_in(listing: CallOutcome) -> list[str]:
    """Return the names that an `ls` result shows; none when it failed."""
    return [] if listing.failed else tree_paths(listing.text)


def _block(path: str, lines: Sequence[Numbered], total: int | None, *, wants_more: bool = False) -> str:
    first, last = lines[0].number, lines[-1].number
    of = f" of {total:,}" if total and total > last - first + 1 else ""
    span = f"line {first}" if first == last else f"lines {first}–{last}"
    text = phrases.fenced("\n".join(line.text for line in lines), fence_language(path))
    is_cut = wants_more and (len(lines) >= PAGE if total is None else last < total)
    return f"{code(path)}, {span}{of}:\n\n{text}" + ("\n\nSay `more` for the next lines." if is_cut else "")
