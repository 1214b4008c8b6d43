"""Edits of files: replacing text, and adding and deleting lines.

A text is searched for before it is replaced, and the user is asked where several occurrences could be meant.
An edit of a line is sent with the lines around it, so that the text to replace is unique.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import TypeAlias

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument
from forge_core.offline.intents import Intent, Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory
from forge_core.offline.skills.creating import write_new
from forge_core.offline.skills.file_lookup import files_named
from forge_core.offline.skills.reading import explain_failure
from forge_core.offline.skills.search import HEAD_LIMIT, LINE_CUT, Found, grep, list_hits, literal
from forge_core.offline.steps import SearchError, Skill, StepFailedError, ask, require, say
from forge_core.offline.tool_output import Hit, Numbered, numbered_lines

_MAX_LINES = 5
"""Lines that are edited one by one: two calls each, twelve for a message."""
_MAX_FILES = 20
_MISSING = re.compile(r"no such|not found|does not exist|doesn't exist|not a file", re.I)
Change: TypeAlias = Callable[[str], list[str]]
"""Returns what replaces a line: no lines, one, or several."""


def replace(request: Request, memory: Memory) -> Skill:
    """Replace a text in one file: the only occurrence, the one on a given line, or all when asked."""
    old, new = request.get("old"), request.get("new")
    if request.get("files"):
        return (yield from _replace_everywhere(request, old, new))
    path = memory.path_of(request.get("file"))
    if not path:
        return (yield from _choose_file(old, new))
    if old == new:
        return f"Both texts are {code(old)}: there is nothing to replace."
    if "\n" in old.strip("\n"):
        old, new = old.rstrip("\n"), new.rstrip("\n")
        return (yield from _edit(path, old, new, everywhere=False, where="the block"))
    old, new = old.rstrip("\n"), new.rstrip("\n")
    hits = yield from _lines_with(path, old)
    files = {hit.path for hit in hits}
    return (yield from _replace_found(request, files.pop() if len(files) == 1 else path, old, new, hits))


def _replace_found(request: Request, path: str, old: str, new: str, hits: Sequence[Hit]) -> Skill:
    hits = [hit for hit in hits if old in hit.text or hit.text.endswith(LINE_CUT)]
    word = _as_word(request, old, hits)
    if word is not None:
        hits = [hit for hit in hits if word.search(hit.text)]
    number = sum(len(word.findall(hit.text)) if word else max(hit.text.count(old), 1) for hit in hits)
    line = request.number("line")
    if not hits:
        return (yield from _not_there(path, old))
    if line is not None and line not in {hit.line for hit in hits}:
        head = f"Line {line} of {code(path)} does not contain {code(old)}. It occurs here"
        return f"{head}:\n\n{list_hits(hits)}\n\n{phrases.WHICH_ONE.format(line=hits[0].line)}"
    wants_all = bool(request.get("all") or request.get("every") not in ("", "once"))
    if number > 1 and not wants_all and line is None:
        times = ("at least " if len(hits) >= HEAD_LIMIT else "") + phrases.count(number, "time")
        question = phrases.WHICH_ONE.format(line=hits[0].line)
        return f"{code(old)} occurs {times} in {code(path)}:\n\n{list_hits(hits)}\n\n{question}"
    if line is not None or word is not None:
        lines = [line] if line is not None else [hit.line for hit in hits]
        return (yield from _by_line(path, lines, word or re.compile(re.escape(old)), old, new))
    where = f"line {hits[0].line}" if len(hits) == 1 else f"lines {_numbers(hits)}"
    others = f" Other files may still contain it: `search for '{old}'`." if _renames(request) else ""
    return (yield from _edit(path, old, new, everywhere=number > 1, where=where)) + others


def _as_word(request: Request, old: str, hits: Sequence[Hit]) -> re.Pattern[str] | None:
    """Return the pattern that keeps to whole words, where a word was named that also occurs inside others."""
    names_word = re.search(r"\bwords?\b|^rename\b", request.text, re.I) and re.fullmatch(r"\w+", old)
    word = re.compile(rf"\b{re.escape(old)}\b")
    is_inside = any(hit.text.count(old) > len(word.findall(hit.text)) for hit in hits)
    return word if names_word and is_inside else None


def _renames(request: Request) -> bool:
    return request.text.lower().startswith("rename")


def _by_line(path: str, lines: Sequence[int], what: re.Pattern[str], old: str, new: str) -> Skill:
    """Make the same change on each line, one edit per line: other occurrences stay as they are."""
    if len(lines) > _MAX_LINES:
        return (
            f"{code(old)} also occurs inside other words, so I would change it line by line, and "
            f"{len(lines)} lines are too many at once. Name a line (`line {lines[0]}`), or change it inside "
            f'other words too: `replace "{old}" by "{new}" everywhere in {path}`.'
        )

    answer = ""
    for line in lines:
        answer = yield from _replace_in_line(path, line, what, old, new)
        if not answer.startswith(("Replaced", "Removed")):
            return answer
    if len(lines) == 1:
        return answer
    numbers = phrases.one_of([str(line) for line in lines])
    return f"{_done(old, new)} as a word of its own in {code(path)} (lines {numbers})."


def _replace_in_line(path: str, line: int, what: re.Pattern[str], old: str, new: str) -> Skill:
    done = f"{_done(old, new)} in line {line}"
    return change_lines(path, line, line, lambda text: [what.sub(lambda _: new, text)], lambda _: done)


def _edit(path: str, old: str, new: str, *, everywhere: bool, where: str) -> Skill:
    wide: dict[str, Argument] = {"replace_all": True} if everywhere else {}
    outcome = yield from ask("edit", file_path=path, old_string=old, new_string=new, **wide)
    if outcome.failed:
        return phrases.refused(path, outcome.text)
    hint = "`what changed?` shows it, `/undo` reverts it."
    return f"{_done(old, new)} in {code(path)} ({where}). {hint}{phrases.warning(outcome.text)}"


def _done(old: str, new: str) -> str:
    return f"Replaced {code(old)} by {code(new)}" if new else f"Removed {code(old)}"


def _not_there(path: str, old: str) -> Skill:
    """Answer that there is nothing to replace; list the text in another case, or similar words."""
    try:
        hits = yield from grep(literal(old), {"path": path}, ignore_case=True)
    except SearchError:
        hits = []
    hits = [hit for hit in hits if old.lower() in hit.text.lower()]
    if hits:
        spelt = sorted({found for hit in hits for found in re.findall(re.escape(old), hit.text, re.I)})
        others = phrases.one_of([code(word) for word in spelt[:4]])
        head = f"{code(path)} does not contain {code(old)} in this spelling, but {others}"
        return f"{head}:\n\n{list_hits(hits)}"
    outcome = yield from ask("read", file_path=path)
    if outcome.failed:
        return (yield from _search_failed(path, outcome.text))
    lines = reversed(numbered_lines(outcome.text))
    words = {word: line for line in lines for word in re.findall(r"[^\W\d_][\w-]+", line.text)}
    near = get_close_matches(old, list(words)[:5_000], n=3, cutoff=0.7)
    hint = ""
    if near:
        hint = " Near it: " + ", ".join(f"{code(word)} (line {words[word].number})" for word in near) + "."
    return f"{code(path)} does not contain {code(old)}, so nothing was changed.{hint}"


def _replace_everywhere(request: Request, old: str, new: str) -> Skill:
    """Search for the text, then make one multi_edit over all files. A name that also occurs inside longer
    words is left alone: replacing it there is hardly ever meant."""
    if old == new or "\n" in old:
        return "In several files at once I replace one line's text by another, and they have to differ."
    hits = yield from grep(literal(old), {})
    hits = [hit for hit in hits if old in hit.text]
    files = list(dict.fromkeys(hit.path for hit in hits))
    if not files:
        return f"No file here contains {code(old)}, so there is nothing to replace."
    if len(files) > _MAX_FILES or len(hits) >= HEAD_LIMIT:
        found = phrases.count(len(files), "file")
        return f"{code(old)} occurs in {found} or more, too many at once. Name one file at a time."
    word = re.compile(rf"\b{re.escape(old)}\b")
    inside = [hit for hit in hits if hit.text.count(old) > len(word.findall(hit.text))]
    if inside and re.fullmatch(r"\w+", old):
        return (
            f"{code(old)} also occurs inside longer words, so I leave all files as they are:\n\n"
            f"{list_hits(inside)}\n\nName the file instead: `rename {old} to {new} in {files[0]}`."
        )
    edits = [{"file_path": path, "old_string": old, "new_string": new, "replace_all": True} for path in files]
    outcome = yield from require("Nothing was changed", "multi_edit", edits=edits)
    names = phrases.one_of([code(path) for path in files])
    done = f"Replaced {code(old)} by {code(new)} in {phrases.count(len(files), 'file')}"
    return f"{done}: {names}. `/undo` reverts it.{phrases.warning(outcome.text)}"


def _choose_file(old: str, new: str) -> Skill:
    """Take the only file that contains the text; ask where there are several."""
    yield from say(f"You named no file; looking for {code(old)}.")
    hits = yield from grep(literal(old), {})
    files = list(dict.fromkeys(hit.path for hit in hits))
    if not files:
        return f"No file here contains {code(old)}, so there is nothing to replace."
    if len(files) == 1:
        return (yield from _replace_found(Request(Intent.REPLACE, {}), files[0], old, new, hits))
    entries = phrases.numbered(f'`replace "{old}" by "{new}" in {path}`' for path in files[:8])
    more = f"\n\n… and {len(files) - 8} more." if len(files) > 8 else ""
    head = f"{phrases.count(len(files), 'file contains', 'files contain')} {code(old)}"
    return f"{head}. In which one?\n\n{entries}{more}"


def delete_line(request: Request, memory: Memory) -> Skill:
    """Delete lines by number, or the line that holds a text; or just the text."""
    path = memory.path_of(request.get("file"))
    if not path:
        return "In which file? Say for example `delete line 3 of notes.md`."
    first = request.number("a")
    if first is not None:
        return (yield from delete_lines(path, first, request.number("b") or first))
    wanted = request.get("text")
    if request.get("inline"):
        return (yield from replace(request.with_args(old=wanted, new="", file=path), memory))
    hits = yield from _lines_with(path, wanted)
    if not hits:
        return (yield from _not_there(path, wanted))
    line = request.number("line")
    if len(hits) > 1 and line is None:
        question = phrases.WHICH_ONE.format(line=hits[0].line)
        if request.get("all"):
            question = f"One at a time, please: `delete line {hits[0].line} of {path}`."
        head = f"{phrases.count(len(hits), 'line')} of {code(path)} contain {code(wanted)}"
        return f"{head}:\n\n{list_hits(hits)}\n\n{question}"
    number = line if line is not None else hits[0].line
    return (yield from delete_lines(path, number, number))


def _lines_with(path: str, text: str) -> Found:
    """Return the lines of a file that contain a text. Raises StepFailedError where it cannot be searched."""
    try:
        return (yield from grep(literal(text), {"path": path}))
    except SearchError as problem:
        raise StepFailedError((yield from _search_failed(path, str(problem)))) from problem


def _search_failed(path: str, problem: str) -> Skill:
    if _MISSING.search(problem):
        return phrases.no_such_file(path, (yield from files_named(path))[:5])
    return phrases.failed(f"{code(path)} could not be searched", problem)


def _numbers(hits: Sequence[Hit]) -> str:
    shown = ", ".join(str(hit.line) for hit in hits[:12])
    return f"{shown} …" if len(hits) > 12 else shown


_AROUND = 3
_TAIL = 30
_MAX_DELETED = 200


def change_lines(path: str, first: int, last: int, change: Change, done: Callable[[list[str]], str]) -> Skill:
    """Replace each line from `first` to `last` by what `change` returns for it.

    The lines around them go into the edit too. `done` words the answer from the changed lines as they were.
    """
    start = max(1, first - _AROUND)
    arguments: dict[str, Argument] = {"file_path": path, "limit": last - start + 1 + _AROUND}
    if start > 1:
        arguments["offset"] = start
    outcome = yield from ask("read", **arguments)
    if outcome.failed:
        again = partial(change_lines, first=first, last=last, change=change, done=done)
        return (yield from explain_failure(path, outcome, again))
    lines = numbered_lines(outcome.text)
    chosen = [line.text for line in lines if first <= line.number <= last]
    if not chosen:
        return f"{code(path)} has no line {first}."
    after = [change(line.text) if first <= line.number <= last else [line.text] for line in lines]
    return (yield from _swap(path, lines, [*chain(*after)], f"{done(chosen)} of {code(path)}."))


def delete_lines(path: str, first: int, last: int) -> Skill:
    """Delete the lines from `first` to `last`."""
    if last < first or last - first >= _MAX_DELETED:
        return f"I delete at most {_MAX_DELETED} lines at once, given as `delete lines 3-5 of {path}`."

    def done(gone: list[str]) -> str:
        what = f"line {first} ({code(gone[0])})" if len(gone) == 1 else f"lines {first}–{last}"
        return f"Deleted {what}"

    return (yield from change_lines(path, first, last, lambda text: [], done))


def append(request: Request, memory: Memory) -> Skill:
    """Add lines at the end of a file, at its top, or next to a line."""
    path, text = memory.path_of(request.get("file")), request.get("text").rstrip("\n")
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
        yield from require("The line could not be added", "write", file_path=path, content=text + "\n")
        return f"Added to {code(path)}, which was empty."
    tail = _unique_tail(lines)
    after = [*(line.text for line in tail), *text.split("\n")]
    return (yield from _swap(path, tail, after, f"Added {code(text)} to the end of {code(path)}."))


def _unique_tail(lines: Sequence[Numbered]) -> Sequence[Numbered]:
    """Return the fewest last lines (with something in them) that occur only once among those that
    were read."""
    whole = "\n".join(line.text for line in lines)
    for size in range(1, len(lines)):
        tail = lines[-size:]
        text = "\n".join(line.text for line in tail)
        if tail[0].text.strip() and len(text) > 8 and whole.count(text) == 1:
            return tail
    return lines


def _insert(path: str, text: str, number: int, *, before: bool) -> Skill:
    new = text.split("\n")
    where = "to the top" if before and number == 1 else f"{'before' if before else 'after'} line {number}"
    done = f"Added {code(text)} {where}"

    def change(line: str) -> list[str]:
        return [*new, line] if before else [line, *new]

    return (yield from change_lines(path, number, number, change, lambda _: done))


def _swap(path: str, before: Sequence[Numbered], after: Sequence[str], done: str) -> Skill:
    old, new = "\n".join(line.text for line in before), "\n".join(after)
    if old == new:
        return f"That line of {code(path)} is as you want it already."
    outcome = yield from ask("edit", file_path=path, old_string=old, new_string=new)
    if outcome.failed:
        return phrases.refused(path, outcome.text)
    return done
