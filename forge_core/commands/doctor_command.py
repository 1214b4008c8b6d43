"""`/doctor`: the report of `forge doctor` about the running session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from forge_core.commands.diagnosis import diagnose, report
from forge_core.commands.findings import Finding
from forge_core.commands.result import CommandResult, ShowDiagnosis
from forge_core.config.forge_config import ForgeConfig
from forge_core.runtime import make_redactor
from forge_core.session.session import ForgeSession

if TYPE_CHECKING:
    from forge_core.mcp.servers import ServerStatus

Value = TypeVar("Value")


async def doctor(argument: str, session: ForgeSession) -> CommandResult:
    """Check what Forge needs, in a thread."""
    config = replace(session.config, model=session.status.model)
    servers = dict(session.servers.statuses)
    findings = await _in_thread(lambda: _findings(config, servers))
    return ShowDiagnosis(findings, report(findings))


def _findings(config: ForgeConfig, servers: Mapping[str, ServerStatus]) -> tuple[Finding, ...]:
    """Return what is found, without keys."""
    redact = make_redactor(config)
    found = diagnose(config, "", colours="", servers=servers)
    return tuple(replace(one, text=redact(one.text), advice=redact(one.advice)) for one in found)


async def _in_thread(work: Callable[[], Value]) -> Value:
    """Run `work` in a daemon thread: leaving Forge must not wait for an endpoint that does not answer."""
    future: Future[Value] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="forge-doctor", daemon=True).start()
    return await asyncio.wrap_future(future)
