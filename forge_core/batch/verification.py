"""Runs the command that says whether a task is done: in the sandbox of commands, without network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.batch.engine import Verdict
from forge_core.errors import ForgeError
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from forge_core.tools.shell.process import start_process
from forge_core.tools.shell.spawning import LaunchSpec
from forge_core.workspace.worktrees import Worktree

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

MAX_LOG_BYTES = 1_000_000
"""What is kept of the command's output."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What the command has found."""

    verdict: Verdict
    reason: str = ""
    """Why it did not run, or did not end."""


async def verify(
    command: str,
    worktree: Worktree,
    config: ForgeConfig,
    log: Path,
    *,
    variables: Mapping[str, str],
    timeout_s: float,
) -> Verification:
    """Run a command in a worktree; its output goes to the file `log`. Without a sandbox it runs only if the
    user has turned that off."""
    try:
        sandbox = await asyncio.to_thread(_sandbox, worktree, config)
    except ForgeError as error:
        return Verification("not run", str(error))
    if isinstance(sandbox, str):
        return Verification("not run", sandbox)
    spec = LaunchSpec(command, worktree.folder, sandbox=sandbox, variables=variables)
    output = bytearray()

    def take(data: bytes) -> None:
        output.extend(data[: max(0, MAX_LOG_BYTES - len(output))])

    reason = ""
    try:
        process = await start_process(spec, take)
        try:
            async with asyncio.timeout(timeout_s):
                await process.shell_ended.wait()
        except TimeoutError:
            reason = f"it did not end within {timeout_s:g} s"
        finally:
            await process.killed()  # with what it has left running
    except ForgeError as error:
        return Verification("not run", str(error))
    finally:
        await asyncio.to_thread(log.write_bytes, bytes(output))
    if process.failed_to_start:
        return Verification("not run", process.failed_to_start)
    return Verification("passed" if process.exit_code == 0 and not reason else "failed", reason)


def _sandbox(worktree: Worktree, config: ForgeConfig) -> Sandbox | str | None:
    """Return the sandbox; None where the user has turned it off; a text that says why there is none."""
    state = probe_now(config.sandbox, worktree.path)
    if state.kind is SandboxKind.OFF:
        return None if config.sandbox == "off" else f"there is no sandbox here: {state.reason}"
    return Sandbox(
        state,
        worktree.path,
        state_dir=config.state_dir,
        hidden=(config.config_dir,),
        readable=tuple(Path(one).expanduser() for one in config.sandbox_read),
    )
