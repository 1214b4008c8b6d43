"""Confines the program of a server: in the sandbox of commands, or only away from Forge's own folders."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.wire import ServerLaunch, ServerSandbox
from forge_core.permissions.sandbox.bubblewrap import without_folders
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Launch, Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState

_NEUTRAL_FOLDER = Path("/tmp")
"""Where a program starts whose own folder the sandbox hides: there, it is empty and private."""


@contextlib.asynccontextmanager
async def confined(launch: ServerLaunch) -> AsyncIterator[Launch]:
    """Return what to start for a server; leave the context when that has ended.

    Raises RequestFailedError where the sandbox that its entry asks for is not to be had. To find that out and
    to set it up takes up to 0.2 s, in a thread.
    """
    if launch.sandbox is ServerSandbox.OFF:
        yield Launch(launch.argv, launch.environment)
        return
    with contextlib.ExitStack() as stack:
        work = asyncio.create_task(asyncio.to_thread(_enter, stack, launch))
        try:
            confined_launch = await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])  # what the thread opens has to be closed
            raise
        yield confined_launch


def _enter(stack: contextlib.ExitStack, launch: ServerLaunch) -> Launch:
    """Set up the sandbox over the workspace, as for a command, or hide the folders only. Blocks."""
    root, *added = (Path(os.path.realpath(one)) for one in launch.roots)
    state = _available(root, launch.sandbox)
    names = launch.state_dir, launch.config_dir, launch.folder
    state_dir, config_dir, folder = (Path(os.path.realpath(one)) for one in names)
    if launch.sandbox is ServerSandbox.KEYS:
        argv = without_folders(state.program, launch.argv, (state_dir, config_dir), folder)
        return Launch(argv, launch.environment)
    try:
        sandbox = Sandbox(
            state,
            root,
            state_dir=state_dir,
            hidden=(config_dir,),
            readable=tuple(map(Path, launch.sandbox_read)),
        )
        for one in added:
            sandbox.add_folder(one)
        is_hidden = folder.is_relative_to(state_dir)
        start = _NEUTRAL_FOLDER if is_hidden else folder
        return stack.enter_context(sandbox.launch(launch.argv, start, launch.environment))
    except (OSError, WorkspaceError) as error:
        raise RequestFailedError(f"its sandbox cannot be set up: {error}") from error


def _available(root: Path, wanted: ServerSandbox) -> SandboxState:
    """Return the sandbox of this machine, whether commands run in it or not. Raises RequestFailedError."""
    state = probe_now("auto", root)
    if wanted is ServerSandbox.KEYS:
        what, is_there = "bubblewrap", state.kind is SandboxKind.BUBBLEWRAP
    else:
        what, is_there = "a full sandbox", state.strength == "full"
    if not is_there:
        why = state.reason or f"this machine has {state.kind}"
        raise RequestFailedError(f'its entry has "sandbox": "{wanted}", and {what} is not available: {why}')
    return state
