"""Changes to instruction files that the user asks for: lines added to one, and the first text of AGENTS.md.
Where each may go, the change that this makes, and the writing, which `/undo` covers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.context.instruction_merge import merged_instructions
from forge_core.errors import ForgeError, ToolError
from forge_core.result import FileDiff
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.tools.editing.atomic_write import FileAttributes, WriteTarget, read_file, write_file
from forge_core.tools.editing.diff import file_diff
from forge_core.tools.editing.text import decode, dominant_terminator, is_binary, sha256
from forge_core.workspace.project_files import find_instructions, project_root
from forge_core.workspace.trust import is_trusted

MAX_BYTES = 1_000_000
"""A larger file is not offered: it is no instruction file that a model could be sent."""
INITIAL_FILE = "AGENTS.md"
_ITEMS = ("- ", "* ", "+ ")


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """The planned new content of one instruction file."""

    path: Path
    """Its real path."""
    name: str
    """As it is displayed: relative to the working folder, or to the user's home."""
    scope: str
    """Where the file counts: "this project", "all projects"."""
    diff: FileDiff
    data: bytes
    before: bytes | None
    """None: the file is new."""
    attributes: FileAttributes | None = None
    done: str = "Added to"
    """What the report of the writing begins with."""


def note_changes(note: str, config: ForgeConfig) -> tuple[InstructionChange, ...]:
    """Return the change that adds `note`, one line, to each file that it may go into. Reads files.

    The project's existing files come first, then a new AGENTS.md if there is none, then the user's own.
    """
    found: dict[Path, InstructionChange] = {}
    for path, name, scope in instruction_places(config):
        if path not in found:
            change = _change(path, name, scope, lambda text: with_note(text, note))
            if change is not None:
                found[path] = change
    return tuple(found.values())


def initial_change(text: str, config: ForgeConfig) -> InstructionChange | None:
    """Return the change that makes `text` the content of a new AGENTS.md in the working folder, or adds what
    an existing one lacks of it. Reads the file.

    None: a link leads out of the folder, or the file cannot hold this text.
    """
    path = config.working_dir / INITIAL_FILE
    if os.path.lexists(path) and INITIAL_FILE not in find_instructions(config.working_dir):
        return None
    change = _change(
        Path(os.path.realpath(path)), INITIAL_FILE, _PROJECT, lambda old: merged_instructions(old, text)
    )
    return change if change is None or change.before else replace(change, done="Wrote")


async def write_change(session: ForgeSession, change: InstructionChange) -> str:
    """Write the file and give the model the new instructions; return what to report.

    `/undo` takes the change back: together with the running turn, or alone if no turn is running.

    Raises:
        ForgeError: the file cannot be written, or has changed since.
    """
    undo, is_idle = session.undo, not session.status.is_running
    if undo is not None:
        if is_idle:
            await undo.begin_turn(f"Change {change.name}")
        await undo.capture(change.path)
    try:
        await asyncio.to_thread(_write, change)
    finally:
        if undo is not None:
            await undo.settle()
            if is_idle:
                await undo.end_turn()
    session.reload_instructions()
    report = f"{change.done} {change.name}." + (" /undo takes it back." if undo is not None else "")
    if change.scope == _PROJECT and not is_trusted(session.config):
        return f"{report} This folder is not trusted, so the file is ignored until /trust yes."
    return f"{report} The model reads it with the next request."


_PROJECT, _OWN = "this project", "all projects"


def instruction_places(config: ForgeConfig) -> Iterator[tuple[Path, str, str]]:
    """Yield the real path, name and scope of each file that the user may write: the project's existing ones,
    a new AGENTS.md if there is none, and the user's own. Reads the names of files."""
    folder = config.working_dir
    for one in dict.fromkeys((folder, project_root(folder))):
        for name in find_instructions(one):
            path = one / name
            yield Path(os.path.realpath(path)), safe_line(os.path.relpath(path, folder)), _PROJECT
    if not os.path.lexists(new := folder / INITIAL_FILE):
        yield Path(os.path.realpath(new)), INITIAL_FILE, _PROJECT
    home = Path.home()
    for path in config.own_instructions:
        shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
        yield Path(os.path.realpath(path)), safe_line(shown), _OWN


def _change(path: Path, name: str, scope: str, edit: Callable[[str], str]) -> InstructionChange | None:
    """Return the change of one file; None if it cannot take this text."""
    attributes, old = None, b""
    is_new = not os.path.lexists(path)
    if not is_new:
        try:
            old, attributes = read_file(WriteTarget(path), MAX_BYTES + 1)
        except OSError:
            return None
        if len(old) > MAX_BYTES or is_binary(old):
            return None
    text = decode(old)
    new_text = edit(text.text)
    try:
        data = text.bom + text.encode(new_text)
    except ToolError:  # its encoding lacks a character
        return None
    diff = file_diff(name, text.text, new_text)
    return InstructionChange(path, name, scope, diff, data, None if is_new else old, attributes)


def with_note(text: str, note: str) -> str:
    """Return the text of a file with `note` as an item of a list at its end."""
    end = dominant_terminator(text)
    kept = text.rstrip()
    if not kept:
        return f"- {note}{end}"
    last = kept.splitlines()[-1].lstrip()
    gap = end if last.startswith(_ITEMS) else 2 * end
    return f"{kept}{gap}- {note}{end}"


def _write(change: InstructionChange) -> None:
    expected = None if change.before is None else sha256(change.before)
    try:
        write_file(WriteTarget(change.path), change.data, expected, change.attributes)
    except ToolError as error:
        raise ForgeError(f"{change.name!r} was not changed: {error}") from error
