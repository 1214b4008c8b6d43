"""What `forge doctor` finds about MCP servers that files declare. Starts nothing, and connects to nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.commands.findings import Finding, Level
from forge_core.config.forge_config import ForgeConfig
from forge_core.mcp.server_launch import LaunchSettings, launch_of
from forge_core.mcp.server_listing import MAY_START, DeclaredState, ListedServer, ServerListing
from forge_core.mcp.sign_in_store import SignInStore
from forge_core.mcp.wire import ServerLaunch, ServerState

if TYPE_CHECKING:
    from forge_core.mcp.servers import ServerStatus

_SECTION = "MCP servers"


def server_findings(config: ForgeConfig, running: Mapping[str, ServerStatus]) -> Iterator[Finding]:
    """Yield the state of each server, with what is wrong and what to do; nothing if none is declared.
    `running` are those of a session, by name."""
    settings = LaunchSettings.of_session([config.working_dir], config)
    listing = ServerListing.load(config, settings)
    for server in listing.servers:
        status = running.get(server.name) if server.state in MAY_START else None
        yield _finding(server, settings, status)
    for problem in listing.problems:
        yield Finding(_SECTION, "file", problem, Level.WARNING, "Correct the file that is named.")


def _finding(server: ListedServer, settings: LaunchSettings, status: ServerStatus | None) -> Finding:
    where = f"in {server.source.label}"
    problem, advice = server.reason, server.advice
    state = str(server.state)
    if server.state in MAY_START and server.entry is not None:
        launch = launch_of(server.entry, settings)
        problem, advice = _problem(server, launch)
        if status is not None:
            state = str(status.report.state)
            if status.report.state is ServerState.READY:
                problem = advice = ""
            elif status.report.state is ServerState.FAILED:
                problem, advice = (
                    status.report.error,
                    advice or f"/mcp restart {server.name} starts it again.",
                )
    elif server.state is DeclaredState.UNUSABLE:
        advice = f"Correct its entry {where}."
    is_in_order = not (problem or advice)
    text = f"{state}, {where}" + (f": {problem}" if problem else "")
    is_passive = server.state in (DeclaredState.DISABLED, DeclaredState.DECLINED, DeclaredState.OVERRIDDEN)
    if is_in_order or is_passive:
        return Finding(_SECTION, server.name, text)
    return Finding(_SECTION, server.name, text, Level.WARNING, advice)


def _problem(server: ListedServer, launch: ServerLaunch) -> tuple[str, str]:
    """Return what can be known to be wrong without a start, and what to do; empty texts else."""
    if launch.argv:
        program = launch.argv[0]
        if _exists(program, launch):
            return "", ""
        return (
            f"its program {program!r} was not found",
            f"Install it, or correct the command in {server.source.label}.",
        )
    if SignInStore(Path(launch.state_dir), launch.url).is_asked_for():
        return "it needs a sign-in", f"forge mcp login {server.name}"
    return "", ""


def _exists(program: str, launch: ServerLaunch) -> bool:
    if "/" in program:
        return os.access(Path(launch.folder, program), os.X_OK)
    return shutil.which(program, path=launch.environment.get("PATH")) is not None
