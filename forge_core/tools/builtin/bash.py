"""The bash tool: one shell command, in the foreground of its call or as a background job."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.read_only.committed_files import can_hide_committed
from forge_core.permissions.read_only.git_reading import folders_to_read, unswitched_reason
from forge_core.permissions.shell.syntax import read_line, simple_commands
from forge_core.result import FileDiff
from forge_core.tools.arguments import text_of
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolParameter, ToolResult, ToolUse
from forge_core.tools.builtin.job_output import jobs_of
from forge_core.tools.output import OUTPUT_LIMIT, OutputStore
from forge_core.tools.shell.capture import OutputCapture
from forge_core.tools.shell.command_result import command_result
from forge_core.tools.shell.effects import EffectsWatch
from forge_core.tools.shell.job import Job
from forge_core.tools.shell.job_table import ForegroundOutcome, JobTable
from forge_core.tools.shell.limits import CommandLimits
from forge_core.tools.shell.spawning import LaunchSpec
from forge_core.workspace.git import reading_variables

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 600
BACKGROUND_AFTER_S = 60
"""A command that still runs then becomes a job, and its call returns."""
START_GRACE_S = 0.5
"""How long a command started in the background is watched for an early end."""
MAX_COMMAND_BYTES = 100_000
"""The kernel takes at most 128 KiB in one argument."""
_RESERVED = 3_000
"""Characters of a result reserved for the notes about the output."""
_SCREEN_EDITORS = frozenset({"vi", "vim", "view", "vimdiff", "nvim", "rvim"})
"""They take standard error for a keyboard when there is none, and wait on it for ever."""
_BATCH_FLAGS = re.compile(r"-\w*[eEsS]\w*|--(?:headless|version|help)|-[hv]")


class BashTool(BaseTool):
    """Runs a command in the workspace; ends whatever it leaves behind when the session ends."""

    name = "bash"
    claude_names = ("Bash",)
    description = (
        "Runs a command with bash in the workspace folder: build, test, git, anything without a tool of its "
        "own. Use read, grep, glob and ls to look at files and edit or write to change them, not cat, sed "
        "or echo. Each call is a new shell: cd and variables do not stay. There is no terminal and no "
        "input: programs that ask end at once. Output over "
        f"{OUTPUT_LIMIT:,} characters keeps its head and tail; the whole is in a file whose path is given. "
        "In a sandbox only the workspace keeps what is written (/tmp is new each time), and there is no "
        f"network unless you set network. What runs for {BACKGROUND_AFTER_S} s becomes a background job: "
        "job_output shows its output, job_stop ends it. Start servers and watchers with run_in_background, "
        "not with &."
    )
    parameters = (
        ToolParameter("command", "string", "The command line."),
        ToolParameter(
            "description", "string", "What it does, in five to ten words, for the user.", default=""
        ),
        ToolParameter(
            "timeout_s",
            "number",
            f"Seconds until it is stopped. Default {DEFAULT_TIMEOUT_S}, maximum {MAX_TIMEOUT_S}; with "
            "run_in_background no limit unless one is given.",
            required=False,
            minimum=0.1,
            maximum=MAX_TIMEOUT_S,
        ),
        ToolParameter(
            "run_in_background",
            "boolean",
            "Return at once and let it run on as a job. Default false.",
            required=False,
        ),
        ToolParameter(
            "network",
            "boolean",
            "Whether it needs the network; the user is asked. Default false.",
            required=False,
        ),
    )
    advice = (
        "bash is for running things: tests, builds, git. Prefer the other tools for what they can do. Each "
        "call is a new shell without a terminal and without input. Keep commands plain: one program with its "
        "arguments can be allowed once and for all; a line with pipes and substitutions needs approval each "
        "time. Run servers, watchers and long builds with run_in_background; what takes long becomes a job "
        "by itself. Give each command a short description."
    )
    category = ToolCategory.EXECUTION
    effect = Effect.RUN
    kind = ToolKind.RUN
    title = "Run"
    action = "run a command"
    preview_rows = 5

    def __init__(self) -> None:
        self._own_jobs: JobTable | None = None

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        _check(params["command"])
        jobs = self._jobs(context)
        in_background = bool(params.get("run_in_background"))
        if in_background:
            jobs_of(context).check_room()
        patience_s = START_GRACE_S if in_background else BACKGROUND_AFTER_S
        if context.jobs is None:
            patience_s = math.inf
        # A start may fail because what was to be hidden is gone: the socket of a program that has ended.
        for _ in range(2):
            job = await _started(params, context, jobs.limits)
            how = await jobs.attend(job, context.interrupted, patience_s)
            if not job.process.failed_to_start:
                break
        else:
            raise ToolError(f"the sandbox could not run the command: {job.process.failed_to_start}")
        notes: list[str] = []
        if how is not ForegroundOutcome.INTERRUPTED:
            notes = await job.watch.so_far() if job.id else await job.watch.end(job.process.exit_code)
        return command_result(job, how, notes, asked_for=in_background, is_reachable=context.jobs is not None)

    def target(self, arguments: Mapping[str, Any]) -> str:
        return text_of(arguments, "command")

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        command = params["command"]
        timeout_s = _timeout(params)
        details = {
            "Timeout": "none, it runs in the background" if timeout_s is None else f"{timeout_s:g} s",
            "Folder": str(context.root),
        }
        if params.get("description"):
            details["Purpose, as the model says"] = params["description"]
        needs_network = bool(params.get("network"))
        return ToolUse(Effect.RUN, command, (), is_destructive(command), details, needs_network=needs_network)

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        _check(params["command"])
        return ()

    async def aclose(self) -> None:
        """End every process that commands have left running, where no session's job table does."""
        if self._own_jobs is not None:
            await self._own_jobs.aclose()

    def _jobs(self, context: ExecutionContext) -> JobTable:
        if context.jobs is not None:
            return context.jobs
        self._own_jobs = self._own_jobs or JobTable()
        return self._own_jobs


async def _started(params: dict[str, Any], context: ExecutionContext, limits: CommandLimits) -> Job:
    outputs = context.outputs or OutputStore()
    watch = EffectsWatch(params["command"], context)
    spec = LaunchSpec(
        command=params["command"],
        folder=context.root,
        environment=context.environment,
        sandbox=context.sandbox,
        network=bool(params.get("network")),
        read_only=not watch.may_write,
        hides_committed=can_hide_committed(read_line(params["command"]), context.folders),
        variables={
            **context.variables,
            **await _guards(params["command"], context, may_write=watch.may_write),
        },
        limits=limits,
    )
    await watch.begin()
    job = Job(
        spec,
        OutputCapture(OUTPUT_LIMIT - _RESERVED, outputs, "bash", context.on_output),
        watch,
        call_id=context.call_id,
        timeout_s=_timeout(params),
    )
    try:
        await job.begin()
    except BaseException:
        await watch.end()
        raise
    return job


async def _guards(command: str, context: ExecutionContext, *, may_write: bool) -> dict[str, str]:
    """Return the variables that keep git from starting programs of the repository in a line in which it only
    reads. A line that was allowed unasked gets them also when the config has changed since; one that cannot
    do without these programs runs with them once the user has approved it."""
    if "git" not in command:
        return {}
    reading = read_line(command)
    folders = folders_to_read(reading, context.folders)
    is_held = context.switches_git_off or not may_write or not unswitched_reason(reading, context.folders)
    return await reading_variables(folders) if folders and is_held else {}


def _timeout(params: dict[str, Any]) -> float | None:
    """Return the time limit in seconds; None without one."""
    if params.get("timeout_s"):
        return float(params["timeout_s"])
    return None if params.get("run_in_background") else float(DEFAULT_TIMEOUT_S)


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
        raise ToolError("the command contains half of a surrogate pair, which cannot be run.") from error
    if size > MAX_COMMAND_BYTES:
        raise ToolError(
            f"the command has {size:,} bytes; at most {MAX_COMMAND_BYTES:,} can be run. Write a script file "
            "first."
        )
