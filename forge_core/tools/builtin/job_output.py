"""The job_output tool: what a background job has printed since the last look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolParameter, ToolResult
from forge_core.tools.output import OUTPUT_LIMIT
from forge_core.tools.shell.command_result import job_result
from forge_core.tools.shell.job_table import JobTable

MAX_WAIT_S = 60


class JobTool(BaseTool):
    """A tool for one of the session's own jobs, by number."""

    parameters: Sequence[ToolParameter] = (
        ToolParameter("job_id", "integer", "The number of the job.", minimum=1),
    )
    category = ToolCategory.EXECUTION
    effect = Effect.READ
    kind = ToolKind.SESSION
    may_repeat = True

    def target(self, arguments: Mapping[str, Any]) -> str:
        return f"job {arguments.get('job_id', '')}"


class JobOutputTool(JobTool):
    """Looks at a job that bash has started. Touches nothing."""

    name = "job_output"
    claude_names = ("BashOutput", "TaskOutput")
    description = (
        "Shows what a background job of bash has printed since you last looked, and whether it still runs "
        "or its exit code. Use wait_s rather than repeated calls or sleep in bash. With the user's next "
        f"message you are notified of ended jobs. New output over {OUTPUT_LIMIT:,} characters keeps its head "
        "and tail; the whole is in a file whose path is given: use read or grep on it."
    )
    parameters = (
        *JobTool.parameters,
        ToolParameter(
            "wait_s",
            "number",
            "Seconds to wait for new output or the job's end when there is none yet. Default 0, maximum "
            f"{MAX_WAIT_S}.",
            required=False,
            default=0,
            minimum=0,
            maximum=MAX_WAIT_S,
        ),
    )
    advice = "job_output shows what a job has printed; wait with wait_s, not with sleep."
    title = "Look at"
    preview_rows = 5

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        news = await jobs_of(context).output(
            params["job_id"], float(params.get("wait_s") or 0), context.interrupted
        )
        return job_result(news)


def jobs_of(context: ExecutionContext) -> JobTable:
    """Return the session's jobs. Raise ToolError where there are none."""
    if context.jobs is None:
        raise ToolError("there are no background jobs here. Run the command with bash and a timeout_s.")
    return context.jobs
