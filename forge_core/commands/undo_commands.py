"""`/undo` and `/redo` of what a turn did to files."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from forge_core.commands.columns import columns
from forge_core.commands.result import CommandResult, Failure, Text
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.undo import TurnView, UndoReport, UndoStore

MAX_FILES = 40
"""Files of one kind that a report lists; the rest is counted."""
MAX_TURNS = 20
_MAX_TEXT = 60
_VERBS = ("changed", "created", "moved", "deleted", "mode changed")
_OFF = "Undo is off in this session: changed files were not recorded."


async def undo(argument: str, session: ForgeSession) -> CommandResult:
    """Undo the last turn that changed files; `list` shows the turns. Changes that may be the user's are left
    alone, except with `all`, or `with` and their paths."""
    store = session.undo
    if store is None:
        return Failure(_OFF)
    word, _, names = argument.partition(" ")
    match word.lower():
        case "list":
            await store.load()
            return Text(_turns(store), "Undo")
        case "with":
            try:
                chosen = shlex.split(names)
            except ValueError as error:
                return Failure(f"/undo with: {error}. Put quotes around a name with spaces.")
            folder = f"{session.config.working_dir}/"
            return _result(session, await store.undo([one.removeprefix(folder) for one in chosen]))
        case "all":
            return _result(session, await store.undo(None))
        case _:
            return _result(session, await store.undo())


async def redo(argument: str, session: ForgeSession) -> CommandResult:
    """Redo the last undo."""
    store = session.undo
    if store is None:
        return Failure(_OFF)
    return _result(session, await store.redo())


def _result(session: ForgeSession, report: UndoReport) -> CommandResult:
    """Report to the user. The model must read the touched files again, and is informed at its next turn."""
    session.files_restored(report)
    title = "Undo" if report.kind == "undo" else "Redo"
    return Text("\n".join(_nothing(report) if not report.turn else _report(report)), title)


def _nothing(report: UndoReport) -> list[str]:
    lines = ["Nothing to undo." if report.kind == "undo" else "Nothing to redo."]
    return lines + section("Changed, but not covered by undo", report.not_undoable)


def _report(report: UndoReport) -> list[str]:
    is_undo = report.kind == "undo"
    if report.written or report.removed:
        lines = [f"{'Undid' if is_undo else 'Redid'} what “{short_text(report.text_of_turn)}” did to files."]
    elif report.touched:
        lines = [f"Nothing of “{short_text(report.text_of_turn)}” was left to {report.kind}."]
    else:
        lines = [
            f"Nothing of “{short_text(report.text_of_turn)}” could be {'undone' if is_undo else 'redone'}."
        ]
    lines += changed_files(report, "Restored" if is_undo else "Written")
    conflicts = report.conflicts
    lines += section("Left alone", [one.name for one in conflicts], [one.why for one in conflicts])
    lines += section("Not covered by undo", report.not_undoable)
    lines += _doubtful(report.doubtful) if is_undo else []
    lines += ["", _next_step(report)]
    return lines


def _doubtful(files: Sequence[tuple[str, str]]) -> list[str]:
    """List what was left alone because it may be the user's, and how to undo it too."""
    lines: list[str] = []
    commands = dict.fromkeys(command for _, command in files)
    for command in commands:
        names = [name for name, one in files if one == command]
        count = "This file" if len(names) == 1 else f"These {len(names)} files"
        ran = f"`{safe_line(command)}`" if command else "a command"
        lines += section(f"{count} changed while {ran} ran and may be yours. Left alone", names)
    if lines:
        example = shlex.quote(safe_line(files[0][0]))
        them = "it" if len(files) == 1 else "them"
        only = "" if len(files) == 1 else f" /undo with {example} undoes only that one."
        lines += ["", f"/undo all undoes {them} too.{only}"]
    return lines


def _next_step(report: UndoReport) -> str:
    if report.kind == "redo":
        return "/undo undoes it again." if report.touched else "No file was touched."
    if report.touched:
        return "/redo restores it. /undo again goes back one more turn."
    return "No file was touched. /undo again continues with the turn before."


def changed_files(report: UndoReport, restored: str) -> list[str]:
    """List what was done to files, and what did not have to be; `restored` is the heading of those that were
    written."""
    return [
        *section(restored, report.written),
        *section("Removed", report.removed),
        *section("Were so already", [name for name in report.restored if name in report.found]),
        *section("Were gone already", [name for name in report.deleted if name in report.found]),
    ]


def section(head: str, names: Sequence[str], notes: Sequence[str] = ()) -> list[str]:
    """Return the lines of a list of files, each with its note; none if there are no files."""
    if not names:
        return []
    rows = [(safe_line(name), safe_line(note)) for name, note in zip_longest(names, notes, fillvalue="")]
    rest = [f"… and {len(rows) - MAX_FILES} more"] if len(rows) > MAX_FILES else []
    return ["", head, *(f"  {line}" for line in [*columns(rows[:MAX_FILES]).splitlines(), *rest])]


def _turns(store: UndoStore) -> str:
    """List the turns that changed files, latest first; the next one to undo is marked."""
    views = store.turns()
    if not views:
        return "No turn has changed files yet."
    standing = (view for view in reversed(views) if not view.is_undone)
    following = next((view.number for view in standing if view.changes or view.doubtful), 0)
    rows = [(_head(view, view.number == following), _summary(view)) for view in reversed(views)]
    lines = columns(rows[:MAX_TURNS]).splitlines()
    if len(rows) > MAX_TURNS:
        lines.append(f"  … and {len(rows) - MAX_TURNS} earlier")
    covered = store.not_covered()
    if covered:
        lines += ["", f"Not covered here: {safe_line('; '.join(covered))}"]
    return "\n".join([*lines, "", "/undo undoes the turn marked ›; /redo redoes the last one undone."])


def _head(view: TurnView, is_next: bool) -> str:
    clock = time.strftime("%H:%M", time.localtime(view.at))
    return f"{'›' if is_next else ' '} {clock}  {short_text(view.text)}"


def _summary(view: TurnView) -> str:
    counts = Counter(what.partition(" from ")[0] for _, what in view.changes)
    parts = [f"{counts[verb]} {verb}" for verb in _VERBS if counts[verb]]
    if view.doubtful:
        parts.append(f"{len(view.doubtful)} may be yours")
    if view.not_undoable:
        parts.append("not all covered" if parts else "not covered")
    return ", ".join(parts) + ("  (undone)" if view.is_undone else "")


def short_text(text: str) -> str:
    line = safe_line(" ".join(text.split()))
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"
