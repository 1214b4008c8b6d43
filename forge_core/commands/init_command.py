"""`/init`: AGENTS.md for this project, written by the model, or from manifests without one."""

from __future__ import annotations

import asyncio

from forge_core.commands.result import (
    ChooseInstructionFile,
    CommandNotice,
    CommandResult,
    Failure,
    SendMessage,
)
from forge_core.context.initial_instructions import REQUEST, initial_instructions
from forge_core.session.instruction_notes import INITIAL_FILE, initial_change
from forge_core.session.session import ForgeSession


async def init(argument: str, session: ForgeSession) -> CommandResult:
    """Ask the model to write the file. With the offline model, or `fast`, propose a text from manifests and
    configuration files, or of these what an existing file lacks; the user decides whether it is written."""
    config = session.config
    if not argument and config.endpoint.kind != "offline":
        return SendMessage(REQUEST)
    text = await asyncio.to_thread(initial_instructions, config.working_dir)
    if not text:
        return Failure(
            "No manifest, Makefile or configuration file was found here, so there is nothing to write. "
            f"/memory edit opens {INITIAL_FILE} in your editor."
        )
    change = await asyncio.to_thread(initial_change, text, config)
    if change is None:
        return Failure(f"{INITIAL_FILE} cannot be written: it is not a text file inside this folder.")
    if change.data == change.before:
        return CommandNotice(f"{INITIAL_FILE} is up to date: it has all that the manifests say.")
    heading = f"Add to {INITIAL_FILE}; nothing is removed" if change.before else f"Write {INITIAL_FILE}"
    return ChooseInstructionFile((change,), heading)
