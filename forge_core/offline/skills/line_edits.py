"""Edits by line: each is sent with the lines around it, so that the text to replace is unique."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument, Outcome
from forge_core.offline.intents import IT, Request
from forge_core.offline.memory import Memory
from forge_core.offline.phrases import code
from forge_core.offline.skills.creating import write_new
from forge_core.offline.skills.reading import explain_failure
from forge_core.offline.steps import Batch, Say, Skill, ask, say
from forge_core.offline.tool_output import Numbered, numbered_lines

_AROUND = 3
_TAIL = 30
_MAX_DELETED = 200

_Lines = Generator[Say | Batch, tuple[Outcome, ...], "Sequence[Numbered] | Outcome"]


def replace_line(path: str, number: int, change: Callable[[str], str], done: str) -> Skill:
    """Line `number` becomes what `change` makes of it."""
    lines = yield from _window(path, number, number)
    if isinstance(lines, Outcome):
        return (yield from explain_failure(path, lines, lambda one: replace_line(one, number, change, done)))
    after = [change(line.text) if line.number == number else line.text for line in lines]
    return (yield from _swap(path, lines, after, f"{done} in line {number} of {code(path)}."))


def delete_lines(path: str, first: int, last: int) -> Skill:
    """Takes the lines from `first` to `last` out."""
    if last < first or last - first >= _MAX_DELETED:
        return f"I delete at most {_MAX_DELETED} lines at once, given as `delete lines 3-5 of {path}`."
    lines = yield from _window(path, first, last)
    if isinstance(lines, Outcome):
        return (yield from explain_failure(path, lines, lambda found: delete_lines(found, first, last)))
    gone = [line.text for line in lines if first <= line.number <= last]
    if not gone:
        return f"{code(path)} has no line {first}."
    after = [line.text for line in lines if not first <= line.number <= last]
    what = f"line {first} ({code(gone[0])})" if len(gone) == 1 else f"lines {first}–{last}"
    return (yield from _swap(path, lines, after, f"Deleted {what} of {code(path)}."))


def append(request: Request, memory: Memory) -> Skill:
    """Adds lines at the end of a file, at its top, or next to a line."""
    path, text = request.get("file"), request.get("text").rstrip("\n")
    if path == IT:
        place = memory.latest()
        path = place.path if place else ""
    if not path:
        return "To which file? Say for example `add the line '- done' to notes.md`."
    number = request.number("line")
    if number is not None:
        is_before = request.get("spot") in ("before", "above", "at", "on")
        return (yield from _insert(path, text, number, before=is_before))
    if "spot" in request.args or "prepend" in request.text.lower().split(" ")[:1]:
        return (yield from _insert(path, text, 1, before=True))
    return (yield from _append(path, text))


def _append(path: str, text: str) -> Skill:
    outcome = yield from ask("read", file_path=path, offset=-_TAIL)
    if outcome.failed:
        if "direct" in outcome.text.lower() or "binary" in outcome.text.lower():
            return phrases.failed(f"{code(path)} could not be read", outcome.text)
        yield from say(f"There is no {code(path)} yet; making it.")
        return (yield from write_new(path, text + "\n"))
    lines = numbered_lines(outcome.text)
    while lines and not lines[-1].text.strip():
        lines.pop()
    if not lines:
        write = yield from ask("write", file_path=path, content=text + "\n")
        return (
            phrases.failed("The line could not be added", write.text)
            if write.failed
            else f"Added to {code(path)}, which was empty."
        )
    tail = _unique_tail(lines)
    after = [*(line.text for line in tail), *text.split("\n")]
    return (yield from _swap(path, tail, after, f"Added {code(text)} to the end of {code(path)}."))


def _unique_tail(lines: Sequence[Numbered]) -> Sequence[Numbered]:
    """The fewest last lines (with something in them) that stand only once among those that were read."""
    whole = "\n".join(line.text for line in lines)
    for size in range(1, len(lines)):
        tail = lines[-size:]
        text = "\n".join(line.text for line in tail)
        if tail[0].text.strip() and len(text) > 8 and whole.count(text) == 1:
            return tail
    return lines


def _insert(path: str, text: str, number: int, *, before: bool) -> Skill:
    lines = yield from _window(path, number, number)
    if isinstance(lines, Outcome):
        again = partial(_insert, text=text, number=number, before=before)
        return (yield from explain_failure(path, lines, again))
    if not any(line.number == number for line in lines):
        return f"{code(path)} has no line {number}."
    after: list[str] = []
    for line in lines:
        new = text.split("\n") if line.number == number else []
        after += [*new, line.text] if before else [line.text, *new]
    where = "to the top" if before and number == 1 else f"{'before' if before else 'after'} line {number}"
    done = f"Added {code(text)} {where} of {code(path)}."
    return (yield from _swap(path, lines, after, done))


def _window(path: str, first: int, last: int) -> _Lines:
    """The lines with a few before and behind them; the outcome when the read failed."""
    start = max(1, first - _AROUND)
    arguments: dict[str, Argument] = {"file_path": path, "limit": last - start + 1 + _AROUND}
    if start > 1:
        arguments["offset"] = start
    outcome = yield from ask("read", **arguments)
    return outcome if outcome.failed else numbered_lines(outcome.text)


def _swap(path: str, before: Sequence[Numbered], after: Sequence[str], done: str) -> Skill:
    old, new = "\n".join(line.text for line in before), "\n".join(after)
    if old == new:
        return f"That line of {code(path)} is as you want it already."
    outcome = yield from ask("edit", file_path=path, old_string=old, new_string=new)
    if outcome.failed:
        return phrases.refused(path, outcome.text)
    return done
