"""`/memory`: the instruction files that count, and where to write one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forge_core.commands.columns import columns
from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.figures import tokens_text
from forge_core.commands.result import (
    ChooseInstructionFile,
    CommandResult,
    EditInstructionFile,
    Failure,
    Text,
)
from forge_core.config.forge_config import ForgeConfig
from forge_core.context.instructions import MAX_BYTES, Instructions, InstructionSet, instructions_for
from forge_core.llm.tokens import estimate_tokens
from forge_core.sanitize import safe_line
from forge_core.session.instruction_notes import instruction_places, note_changes
from forge_core.session.session import ForgeSession
from forge_core.text_width import clip_start
from forge_core.workspace.trust import is_trusted, what_would_act

PATH_CELLS = 48


async def memory(argument: str, session: ForgeSession) -> CommandResult:
    """List the files, with their sizes; `add` and a text adds a line to one of them, `edit` opens one."""
    word, _, text = argument.partition(" ")
    if word.lower() == "edit":
        return await _edit(text.strip(), session)
    if word.lower() == "add":
        changes = await asyncio.to_thread(note_changes, " ".join(text.split()), session.config)
        return ChooseInstructionFile(changes) if changes else Failure("No instruction file can be written.")
    given, omitted = session.given_instructions, session.context.left_out
    return Text(await asyncio.to_thread(_report, session, given, omitted), "Memory")


def memory_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the files that `edit` may open."""
    places = _editable(session)
    return [ArgumentValue(f"edit {name}", about) for name, (_, about) in places.items()]


async def _edit(name: str, session: ForgeSession) -> CommandResult:
    """Ask the screen to open the file of this name, by default the project's."""
    if session.status.is_running:
        return Failure("/memory edit works between turns. Press Esc to interrupt this one.")
    places = await asyncio.to_thread(_editable, session)
    chosen = name or next(iter(places), "")
    if chosen not in places:
        return Failure(f"There is no instruction file {safe_line(name)!r}. Name one of {', '.join(places)}.")
    return EditInstructionFile(places[chosen][0], chosen)


def _editable(session: ForgeSession) -> dict[str, tuple[Path, str]]:
    """Return the files that may be edited, the project's first: name → path and where it counts."""
    found = {name: (path, scope) for path, name, scope in instruction_places(session.config)}
    counting = instructions_for(session.config, session.folders.workspace.added)
    for one in (*counting.files, *session.given_instructions):
        if one.file not in [path for path, _ in found.values()]:
            found.setdefault(one.path, (one.file, "all projects" if one.is_own else "this project"))
    return found


def _report(session: ForgeSession, given: Sequence[Instructions], omitted: Sequence[str]) -> str:
    config = session.config
    found = instructions_for(config, session.folders.workspace.added)
    counting = replace(found, files=tuple(one for one in found.files if str(one.file) not in omitted))
    left_out = [one for one in found.files if str(one.file) in omitted]
    blocks = [
        _table("Your own, in every project", [one for one in counting.files if one.is_own]),
        _table("Of this project", [one for one in counting.files if not one.is_own]),
        _table("Of folders below, given to the model when it worked there", given),
        _table("Left out of this session; /context restore brings them back", left_out),
        _skipped(counting),
        _untrusted(config),
        _advice(config, counting),
    ]
    return "\n\n".join(block for block in blocks if block)


def _table(heading: str, files: Sequence[Instructions]) -> str:
    if not files:
        return ""
    rows = [(f"  {clip_start(one.path, PATH_CELLS)}", _about(one)) for one in files]
    return f"{heading}\n{columns(rows)}"


def _about(one: Instructions) -> str:
    parts = [f"~{tokens_text(estimate_tokens(one.text))} tokens"]
    if one.imported_by:
        parts.append(f"imported by {clip_start(one.imported_by, PATH_CELLS)}")
    if one.is_cut:
        parts.append(f"cut: {one.size:,} bytes")
    return ", ".join(parts)


def _skipped(counting: InstructionSet) -> str:
    if not counting.skipped:
        return ""
    rows = [(f"  {clip_start(path, PATH_CELLS)}", reason) for path, reason in counting.skipped]
    return f"Not read\n{columns(rows)}"


def _untrusted(config: ForgeConfig) -> str:
    if is_trusted(config) or not what_would_act(config.working_dir):
        return ""
    return "This folder is not trusted, so its own instructions are ignored. /trust shows them."


def _advice(config: ForgeConfig, counting: InstructionSet) -> str:
    own = safe_line(str(config.own_instructions[0])) if config.own_instructions else ""
    lines = [] if counting.files else ["No instruction files count here."]
    lines.append("/memory edit opens one in your editor.")
    lines.append("For this project, write AGENTS.md in its folder.")
    if own:
        lines.append(f"For all projects, write {own}.")
    lines.append("A line that begins with # and a space is added to one of these files.")
    if sum(one.size for one in counting.files) > MAX_BYTES:
        lines.append(f"Together at most {MAX_BYTES:,} bytes are sent.")
    return "\n".join(
        [*lines, "Changes by other programs count from the next session, or after /mode or /trust."]
    )
