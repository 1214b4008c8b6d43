"""Tools with a schema of their own, and one executor under several event loops."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from langchain_core.tools import tool as langchain_tool

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.langchain import ForgeToolAdapter
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools import ExecutionContext, ToolExecutor


@langchain_tool
def kind(value: int | str, extra: dict[str, Any] | None = None) -> str:
    """Names the type of a value."""
    return f"{type(value).__name__} {extra}"


async def test_a_langchain_tool_receives_its_arguments_unchanged() -> None:
    executor = ToolExecutor()
    params = {"value": 5, "extra": {"deep": [1]}}
    result = await executor.execute(ForgeToolAdapter(kind), params, ExecutionContext())
    assert result.output == "int {'deep': [1]}"


async def test_arguments_rejected_by_a_langchain_tool_are_an_error_result() -> None:
    result = await ToolExecutor().execute(ForgeToolAdapter(kind), {"nothing": 1}, ExecutionContext())
    assert not result.success


def test_prompts_from_event_loops_in_several_threads_do_not_interfere(tmp_path: Path) -> None:
    async def approve(request: ApprovalRequest) -> ApprovalReply:
        await asyncio.sleep(0.01)
        return ApprovalReply(Answer.ONCE)

    executor = ToolExecutor(PermissionPolicy(tmp_path), approve)
    outputs: list[str] = []

    async def both() -> None:
        calls = [executor.execute(ForgeToolAdapter(kind), {"value": "x"}, ExecutionContext()) for _ in "ab"]
        outputs.extend(result.output for result in await asyncio.gather(*calls))

    threads = [threading.Thread(target=lambda: asyncio.run(both())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == ["str None"] * 8
