"""Starting a command's process, inside the sandbox where there is one."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_core.permissions.sandbox import Launch, Sandbox


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, and where."""

    command: str
    folder: Path
    environment: Mapping[str, str] | None = None
    """None: the scrubbed one of this process."""
    sandbox: Sandbox | None = None
    network: bool = False
    read_only: bool = False
    """In the sandbox the workspace too can only be read."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """On top of the environment, whatever their names."""


async def spawned(
    order: Order,
    argv: Sequence[str],
    environment: Mapping[str, str],
    resources: ExitStack,
    output: int,
    status: int,
) -> subprocess.Popen[bytes]:
    """The process of `argv`, with its input held open: a supervisor ends when that is closed. What the
    sandbox needs until its end goes to `resources`."""
    launch = await _launched(order, argv, environment, resources)
    return subprocess.Popen(  # noqa: ASYNC220  in a thread the sandbox would end with that thread
        launch.argv,
        cwd=order.folder,
        env=launch.environment,
        pass_fds=launch.pass_fds,
        preexec_fn=launch.preexec,  # noqa: PLW1509  the sandbox vouches for it
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=status,
        start_new_session=True,
    )


async def _launched(
    order: Order, argv: Sequence[str], environment: Mapping[str, str], resources: ExitStack
) -> Launch:
    """What the sandbox starts instead of `argv`, looked up in a thread: it surveys the workspace."""
    from forge_core.permissions.sandbox import Launch

    if order.sandbox is None:
        return Launch(tuple(argv), environment)
    entry = order.sandbox.launch(
        argv, order.folder, environment, network=order.network, read_only=order.read_only
    )
    entering = asyncio.ensure_future(asyncio.to_thread(resources.enter_context, entry))
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait({entering})
        raise
