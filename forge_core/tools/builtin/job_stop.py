"""The job_stop tool: ends a background job."""

from __future__ import annotations

from typing import Any

from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.builtin.job_output import JobTool, jobs_of
from forge_core.tools.shell.command_result import job_result
from forge_core.tools.shell.process import KILL_AFTER_S


class JobStopTool(JobTool):
    """Ends what bash has started. It reaches nothing but the session's own jobs."""

    name = "job_stop"
    claude_names = ("KillShell", "KillBash", "TaskStop")
    description = (
        "Ends a background job of bash with everything that it has started, and gives the output you have "
        f"not seen. It gets SIGTERM, and SIGKILL {KILL_AFTER_S:g} s later. Use this rather than kill or "
        "pkill in bash. Use job_output to look at a job without ending it."
    )
    advice = "End the jobs that you no longer need with job_stop."
    title = "Stop"

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        jobs = jobs_of(context)
        await jobs.stop(params["job_id"], by_model=True)
        return job_result(await jobs.output(params["job_id"]))
