"""Drives the offline model as the agent does: over its transport, with the real tools in a real folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from forge_core.approval import PlanReviewer, Questioner
from forge_core.offline.transport import OfflineTransport
from forge_core.tools.base import BaseTool, ExecutionContext
from forge_core.tools.builtin.exit_plan_mode import SessionPlan
from forge_core.tools.builtin.todo import TodoList
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import builtin_tools
from forge_core.tools.shell.job_table import JobTable
from forge_core.untrusted import frame_tool_output

Refusal = Callable[[str, Mapping[str, Any]], str | None]


@dataclass
class Talk:
    """A conversation in `folder`. `refuse(name, arguments)` may answer a call in the tools' place."""

    folder: Path
    refuse: Refusal = lambda name, arguments: None
    offered: tuple[str, ...] | None = None
    ask: Questioner | None = None
    review_plan: PlanReviewer | None = None
    plan: SessionPlan = field(default_factory=SessionPlan)
    todos: TodoList = field(default_factory=TodoList)
    jobs: JobTable = field(default_factory=JobTable)
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The calls of the last turn."""

    def __post_init__(self) -> None:
        self._tools: dict[str, BaseTool] = {tool.name: tool for tool in builtin_tools()}
        self._executor, self._files = ToolExecutor(), {}
        transport = OfflineTransport(self.folder)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://offline.invalid/v1")

    async def __call__(self, text: str) -> str:
        """Says `text`, runs the calls that the model asks for, returns its closing words."""
        self.messages.append({"role": "user", "content": text})
        self.calls = []
        while True:
            message = await self._ask()
            self.messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            for call in message["tool_calls"]:
                self.messages.append(await self._run(call))

    async def _ask(self) -> dict[str, Any]:
        names = self._tools if self.offered is None else self.offered
        schemas = [self._tools[name].to_openai_schema() for name in names]
        body = {"model": "forge/offline", "messages": self.messages, "tools": schemas}
        response = await self._http.post("/chat/completions", json=body)
        assert response.status_code == 200, response.text
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message

    async def _run(self, call: dict[str, Any]) -> dict[str, Any]:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        self.calls.append((name, arguments))
        answer = self.refuse(name, arguments)
        if answer is None:
            context = ExecutionContext(
                self.folder,
                files=self._files,
                call_id=call["id"],
                ask=self.ask,
                review_plan=self.review_plan,
                plan=self.plan,
                todos=self.todos,
                jobs=self.jobs,
            )
            answer = (await self._executor.execute(self._tools[name], arguments, context)).for_model()
            answer = frame_tool_output(name, answer)  # as the agent hands it over
        return {"role": "tool", "tool_call_id": call["id"], "content": answer}

    def names(self) -> list[str]:
        """The tools that were called in the last turn."""
        return [name for name, _ in self.calls]
