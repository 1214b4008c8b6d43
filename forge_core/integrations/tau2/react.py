"""React mode: runs reads ahead in a copy of the toolkit, up to a write or a message to the user.

A new copy is made in each turn, so it always equals the live environment, whatever the task's
initialisation, the user or an earlier turn did to that; the live one is never touched. All calls of a run go
to tau2 as one message; when its real results equal those of the copy, the model's next message is sent
without asking again; otherwise it is discarded.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from forge_core.events import ToolEnd, ToolStart
from forge_core.integrations.tau2.messages import to_tool_calls
from forge_core.integrations.tau2.model_calls import ModelCaller, TurnUsage
from forge_core.integrations.tau2.system_prompt import toolkit_of
from forge_core.integrations.tau2.tau2_api import load

ToolExecutor = Callable[[Any], Any]
"""tau2's ToolCall → its ToolMessage, in an environment that is not the live one."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """The result of a run ahead."""

    calls: list[Any]
    """tau2's ToolCall, in the order of their execution; empty when the model spoke at once."""
    results: dict[str, Any]
    """tau2's ToolMessage by call id."""
    answer: AIMessage
    """The model's last answer."""
    text: str | None
    """The next message to the user; None when the run ended with a write or at its limit."""


@dataclass(slots=True)
class RunAhead:
    """Runs ahead with one model and one set of tools."""

    caller: ModelCaller
    tools: Sequence[Any]
    executor: ToolExecutor | None = None
    max_steps: int = 10
    """Model calls in one run."""
    _reads: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        if self.executor is None and any(toolkit_of(tool) is None for tool in self.tools):
            raise ValueError(
                "React mode runs tools in a copy of their toolkit, but some tools are plain functions. "
                'Give a tool_executor with an environment of its own, or use mode="step".'
            )
        self._reads = frozenset(tool.name for tool in self.tools if not _may_write(tool))

    def run(self, messages: Sequence[BaseMessage], taken_ids: set[str], turn: TurnUsage) -> Speculation:
        """Continue from `messages` until a write was run or the model spoke."""
        history = list(messages)
        calls: list[Any] = []
        results: dict[str, Any] = {}
        execute = self.executor
        while True:
            answer = self.caller.ask(history, taken_ids, turn)
            if not answer.tool_calls:
                return Speculation(calls, results, answer, str(answer.text))
            execute = execute or _in_copy(self.tools)
            made = to_tool_calls(answer)
            history.append(
                AIMessage(
                    "",
                    tool_calls=answer.tool_calls,
                    additional_kwargs=answer.additional_kwargs,
                    response_metadata=answer.response_metadata,
                )
            )
            for call in made:
                results[call.id] = result = self._execute(execute, call)
                status = "error" if result.error else "success"
                history.append(ToolMessage(result.content or "", tool_call_id=call.id, status=status))
            calls += made
            # A write ends the run: later calls would rest on a change that the live environment lacks.
            if turn.model_calls >= self.max_steps or not self._reads.issuperset(call.name for call in made):
                return Speculation(calls, results, answer, None)

    def _execute(self, execute: ToolExecutor, call: Any) -> Any:
        started = time.perf_counter()
        self.caller.emit(ToolStart(call_id=call.id, name=call.name, arguments=call.arguments))
        result: Any = None
        try:
            result = execute(call)
        finally:
            self.caller.emit(
                ToolEnd(
                    call_id=call.id,
                    name=call.name,
                    result=str(getattr(result, "content", "") or ""),
                    success=result is not None and not result.error,
                    duration_s=time.perf_counter() - started,
                )
            )
        return result


def came_true(cache: dict[str, Any], results: Sequence[Any]) -> bool:
    """Return whether the real results are those of the copy, every one of them."""
    if len(cache) != len(results):
        return False
    return all(
        (expected := cache.get(result.id)) is not None
        and (expected.content, expected.error) == (result.content, result.error)
        for result in results
    )


def _may_write(tool: Any) -> bool:
    """Return whether the tool changes anything; yes where its toolkit does not say."""
    mutates = getattr(toolkit_of(tool), "tool_mutates_state", None)
    if mutates is None:
        return True
    try:
        return bool(mutates(tool.name))
    except Exception:  # foreign code: a toolkit that does not know is no reason to run on
        return True


def _in_copy(tools: Sequence[Any]) -> ToolExecutor:
    """Run calls in a fresh copy of the toolkits; what these share, their copies share."""
    toolkits = {tool.name: toolkit_of(tool) for tool in tools}
    try:
        copied = copy.deepcopy(toolkits)
    except Exception as error:  # foreign code: what a toolkit holds (locks, connections) is unknown
        raise ValueError(
            f'This domain\'s toolkit cannot be copied ({error}). Use mode="step", or give a tool_executor.'
        ) from error

    def execute(call: Any) -> Any:
        # the wording of Environment.get_response, so that results compare equal
        failed = False
        try:
            toolkit = copied.get(call.name) or next(iter(copied.values()))
            answer = toolkit.use_tool(tool_name=call.name, **call.arguments)
        except Exception as error:  # a tool's run is a border: its failure becomes a result
            failed, answer = True, f"Error: {error}"
        return load().messages.ToolMessage(
            id=call.id, role="tool", content=_as_text(answer), requestor="assistant", error=failed
        )

    return execute


def _as_text(answer: Any) -> str:
    environment: Any = import_module("tau2.environment.environment")
    return str(environment.Environment.to_json_str(answer))
