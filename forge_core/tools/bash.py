"""The bash tool: one shell command."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.permissions.shell_rules import is_destructive
from forge_core.permissions.shell_syntax import simple_commands
from forge_core.result import FileDiff
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    ToolUse,
)
from forge_core.tools.editing.text import sha256
from forge_core.tools.output import OUTPUT_LIMIT, OutputStore
from forge_core.tools.paths import MAX_TEXT_BYTES, shown
from forge_core.tools.shell.capture import Capture
from forge_core.tools.shell.process import Ended, run_command
from forge_core.tools.shell.processes import Reaper

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 600
MAX_COMMAND_BYTES = 100_000
"""The kernel takes at most 128 KiB in one argument."""
_RESERVED = 600
"""Characters of a result left for what is said about the output."""
_MAX_WATCHED = 2_000
_SCREEN_EDITORS = frozenset({"vi", "vim", "view", "vimdiff", "nvim", "rvim"})
"""They take standard error for a keyboard when there is none, and wait on it for ever."""
_BATCH_FLAGS = re.compile(r"-\w*[eEsS]\w*|--(?:headless|version|help)|-[hv]")

_Stamp = tuple[int, int, int]


class BashTool(BaseTool):
    """Runs a command in the workspace; ends whatever it leaves behind when the session ends."""

    name = "bash"
    description = (
        "Runs a command with bash in the workspace folder: build, test, git, anything without a tool of its "
        "own. Use read, grep, glob and ls to look at files and edit or write to change them, not cat, sed "
        "or echo. Each call is a new shell: cd and variables do not stay. There is no terminal and no "
        "input, so programs that ask a question end at once. Output (stdout and stderr) over "
        f"{OUTPUT_LIMIT:,} characters keeps its head and tail; the whole is in a file whose path is told. "
        f"The command is stopped after timeout_s seconds (default {DEFAULT_TIMEOUT_S}, at most "
        f"{MAX_TIMEOUT_S})."
    )
    parameters = (
        ToolParameter("command", "string", "The command line."),
        ToolParameter(
            "description", "string", "What it does, in five to ten words, for the person.", required=False
        ),
        ToolParameter(
            "timeout_s",
            "number",
            f"Seconds until it is stopped. Default {DEFAULT_TIMEOUT_S}, maximum {MAX_TIMEOUT_S}.",
            required=False,
            default=DEFAULT_TIMEOUT_S,
            minimum=0.1,
            maximum=MAX_TIMEOUT_S,
        ),
    )
    category = ToolCategory.EXECUTION
    effect = Effect.RUN

    def __init__(self) -> None:
        self._reaper = Reaper()

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        _check(params["command"])
        watched = await asyncio.to_thread(_stamps, list(context.files))
        outputs = context.outputs or OutputStore()
        capture = Capture(OUTPUT_LIMIT - _RESERVED, outputs, "bash", context.on_output)
        timeout_s = float(params.get("timeout_s") or DEFAULT_TIMEOUT_S)
        ended = await run_command(
            params["command"],
            folder=context.root,
            environment=context.environment,
            timeout_s=timeout_s,
            capture=capture,
            interrupted=context.interrupted,
            reaper=self._reaper,
        )
        changed = await asyncio.to_thread(_changed, watched, context)
        return _result(ended, capture, timeout_s, changed)

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        command = params["command"]
        details = {
            "Timeout": f"{params.get('timeout_s') or DEFAULT_TIMEOUT_S:g} s",
            "Folder": str(context.root),
        }
        if params.get("description"):
            details["Purpose, as the model says"] = params["description"]
        return ToolUse(Effect.RUN, command, (), is_destructive(command), details)

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        _check(params["command"])
        return ()

    async def aclose(self) -> None:
        """Ends every process that commands have left running."""
        await self._reaper.close()


def _check(command: str) -> None:
    if not command.strip():
        raise ToolError("the command is empty.")
    for one in simple_commands(command[:MAX_COMMAND_BYTES]):
        if one.program in _SCREEN_EDITORS and not any(_BATCH_FLAGS.fullmatch(word) for word in one.words[1:]):
            raise ToolError(
                f"{one.program} needs a terminal; there is none. Use edit or write to change files."
            )
    try:
        size = len(command.encode())
    except UnicodeEncodeError as error:
        raise ToolError("the command holds half of a surrogate pair, which cannot be run.") from error
    if size > MAX_COMMAND_BYTES:
        raise ToolError(
            f"the command has {size:,} bytes; at most {MAX_COMMAND_BYTES:,} can be run. Write a script file "
            "first."
        )


def _result(ended: Ended, capture: Capture, timeout_s: float, changed: list[str]) -> ToolResult:
    notes: list[str] = []
    if ended.left_running:
        names = "; ".join(f"{one.pid} {one.command}" for one in ended.left_running[:5])
        more = f" and {len(ended.left_running) - 5} more" if len(ended.left_running) > 5 else ""
        notes.append(f"[still running in the background: {names}{more}; end it with kill PID]")
    if changed:
        notes.append(f"[changed by the command, read again before editing: {', '.join(changed)}]")
    error, summary = _verdict(ended, timeout_s)
    output = capture.text()
    body = output if output.strip() else "(no output)"
    if error is None:
        notes.insert(0, f"[exit code 0, {ended.duration_s:.1f} s]")
    return ToolResult(
        success=error is None,
        output="\n".join([body.rstrip("\n"), *notes]),
        error=error,
        summary=summary,
        metadata={
            "exit_code": ended.exit_code,
            "timed_out": ended.timed_out,
            "interrupted": ended.interrupted,
            "output_bytes": capture.total_bytes,
            "output_file": str(capture.kept_in) if capture.kept_in else None,
        },
    )


def _verdict(ended: Ended, timeout_s: float) -> tuple[str | None, str]:
    """The error, None on success, and the card's summary."""
    if ended.timed_out:
        return (
            f"timed out after {timeout_s:g} s; the command and what it started were ended. Its output:",
            "timed out",
        )
    if ended.interrupted:
        return (
            "interrupted by the user; the command and what it started were ended. Its output:",
            "interrupted",
        )
    code = ended.exit_code or 0
    if code == 0:
        return None, "exit 0"
    number = -code if code < 0 else code - 128
    shown_code = 128 + number if code < 0 else code
    try:
        name = f" ({signal.Signals(number).name})" if shown_code > 128 else ""
    except ValueError:
        name = ""
    return f"exit code {shown_code}{name}", f"exit {shown_code}"


def _stamps(paths: list[str]) -> dict[str, _Stamp | None]:
    return {path: _stamp(path) for path in paths[-_MAX_WATCHED:]}


def _stamp(path: str) -> _Stamp | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _changed(before: dict[str, _Stamp | None], context: ExecutionContext) -> list[str]:
    """The files that the model has read and that no longer hold what it saw, since the command began."""
    names: list[str] = []
    for path, stamp in before.items():
        now = _stamp(path)
        if now == stamp:
            continue
        if now is None:
            names.append(f"{shown(Path(path), context)} (deleted)")
        elif now[1] > MAX_TEXT_BYTES or sha256(Path(path).read_bytes()) != context.files.get(path):
            names.append(shown(Path(path), context))
    return names[:20] + ([f"{len(names) - 20} more"] if len(names) > 20 else [])
