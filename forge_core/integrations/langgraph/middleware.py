"""Forge's layer in LangChain's agent graph: one tool at a time, and an answer to every call."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, ToolMessage

from forge_core.integrations.langgraph.event_recorder import RunRecorder

if TYPE_CHECKING:

    class AgentMiddleware:
        """As the type checker sees it where LangChain's agents are not installed."""

else:
    from langchain.agents.middleware import AgentMiddleware


class ForgeCalls(AgentMiddleware):
    """Serialises the tools: two handlers at once could undo each other's work when one of them fails.

    A forced `tool_choice` holds for the first model call after the request; afterwards the model is free, or
    it could never answer.
    """

    def __init__(
        self,
        lock: threading.RLock,
        recorder: Callable[[], RunRecorder | None],
        tool_choice: str | Mapping[str, Any] | None,
        model_settings: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self._lock = lock
        self._recorder = recorder
        self._tool_choice = None if tool_choice == "auto" else tool_choice
        self._settings = dict(model_settings)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the model's answer; calls that cannot be read are answered at once and the model is asked
        again."""
        settings = {**request.model_settings, **self._settings}
        if not request.tools:
            settings.pop("parallel_tool_calls", None)
        changes: dict[str, Any] = {"model_settings": settings}
        is_first = bool(request.messages) and request.messages[-1].type == "human"
        if request.tools and self._tool_choice is not None and (is_first or self._tool_choice == "none"):
            changes["tool_choice"] = self._tool_choice
        response = handler(request.override(**changes))
        return dataclasses.replace(response, result=_with_answers(response.result, self._recorder()))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        with self._lock:
            answer = handler(request)
        recorder = self._recorder()
        if request.tool is None and recorder is not None and isinstance(answer, ToolMessage):
            call = request.tool_call
            text = str(answer.text)
            recorder.refused(call["id"] or "", call["name"], call["args"], text, "unknown_tool")
        return answer


def _with_answers(messages: list[Any], recorder: RunRecorder | None) -> list[Any]:
    """Return the messages, an AIMessage's unreadable calls moved to its calls and answered.

    The agent graph looks at the readable calls alone: it would take an answer with none of them for the last
    one. With an answer in place nothing is run and the model gets the next turn.
    """
    given: list[Any] = []
    for message in messages:
        if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
            given.append(message)
            continue
        broken = [call for call in message.invalid_tool_calls if call["id"]]
        moved: list[Any] = [
            {"name": call["name"] or "unknown", "args": {}, "id": call["id"], "type": "tool_call"}
            for call in broken
        ]
        given.append(
            message.model_copy(
                update={
                    "tool_calls": [*message.tool_calls, *moved],
                    "invalid_tool_calls": [call for call in message.invalid_tool_calls if not call["id"]],
                }
            )
        )
        for call in broken:
            words = (
                f"Error: the call of {call['name']!r} cannot be read "
                f"({call['error'] or 'not one whole JSON object'}), so nothing was run. Send it again."
            )
            given.append(
                ToolMessage(
                    content=words, name=call["name"] or "unknown", tool_call_id=call["id"], status="error"
                )
            )
            if recorder is not None:
                recorder.refused(call["id"] or "", call["name"] or "", {}, words, "unreadable")
    return given
