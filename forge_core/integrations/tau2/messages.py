"""Messages between tau2 and LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from forge_core.integrations.tau2.tau2_api import load

KEPT = ("reasoning_content", "reasoning_details")
"""What a provider may want back with an answer; it travels in the tau2 message's `raw_data`."""


def check_input(message: Any) -> None:
    """Raise ValueError for what this agent cannot answer, before anything is asked."""
    if message is None:
        raise ValueError(
            "Solo mode is not supported: the agent was asked to speak first. Use tau2's llm_agent_solo."
        )
    if message.role in ("assistant", "system"):
        raise ValueError(f"The agent cannot answer a message of role {message.role!r}.")
    parts = parts_of(message)
    if not parts:
        raise ValueError("A message of tool results holds none.")
    for part in parts:
        _check(part)


def parts_of(message: Any) -> list[Any]:
    """Return the messages in `message`: several tool results come wrapped in one."""
    return list(message.tool_messages) if hasattr(message, "tool_messages") else [message]


def to_langchain(history: Sequence[Any], *, is_whole: bool = False) -> list[BaseMessage]:
    """Return one message each, in order, as a strict host requires them: every result answers an open call,
    every call has a unique id, and no other message comes while calls are open. `is_whole`: the model
    is to answer now, so that no call may be open at the end either.

    Raises:
        ValueError: the history breaks these rules, or holds audio or calls of the user's.
    """
    reader = _Reader()
    messages = [reader.read(message) for message in history]
    if is_whole:
        reader.check_closed("The turn")
    return messages


def call_ids(messages: Sequence[BaseMessage]) -> set[str]:
    """Return the ids of all calls in `messages`."""
    return {
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }


def to_tool_calls(message: AIMessage) -> list[Any]:
    """Return the calls of an answer as tau2's ToolCall."""
    make = load().messages.ToolCall
    return [
        make(id=call["id"] or "", name=call["name"], arguments=call["args"], requestor="assistant")
        for call in message.tool_calls
    ]


class _Reader:
    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []
        """Calls without a result: their id in tau2, and the one that the model gets."""
        self._taken: set[str] = set()

    def read(self, message: Any) -> BaseMessage:
        _check(message)
        if message.role == "tool":
            return self._result(message)
        self.check_closed(f"A {message.role} message")
        if message.role == "assistant":
            return self._assistant(message)
        if message.role == "system":
            return SystemMessage(message.content or "")
        return HumanMessage(message.content or "")

    def check_closed(self, what: str) -> None:
        """Raise ValueError where calls wait for their results: `what` comes too early."""
        if self._open:
            waiting = ", ".join(repr(theirs) for theirs, _ in self._open)
            raise ValueError(f"{what} comes before the results of the calls {waiting}.")

    def _result(self, message: Any) -> ToolMessage:
        pair = next((pair for pair in self._open if pair[0] == message.id), None)
        if pair is None:
            raise ValueError(f"The tool result {message.id!r} answers no open call.")
        self._open.remove(pair)
        status = "error" if message.error else "success"
        return ToolMessage(message.content or "", tool_call_id=pair[1], status=status)

    def _own_id(self, call_id: str) -> str:
        """Return `call_id`, or another where it is missing or was used: by place, not by chance, since a
        prefix that changes from turn to turn would miss the provider's cache."""
        place = len(self._taken)
        while not call_id or call_id in self._taken:
            call_id, place = f"call_again_{place}", place + 1
        self._taken.add(call_id)
        return call_id

    def _assistant(self, message: Any) -> AIMessage:
        calls = []
        for call in message.tool_calls or ():
            call_id = self._own_id(call.id)
            self._open.append((call.id, call_id))
            calls.append(tool_call(name=call.name, args=call.arguments, id=call_id))
        raw = message.raw_data if isinstance(message.raw_data, dict) else {}
        kept = {key: raw[key] for key in KEPT if raw.get(key)}
        made_by = {"model_name": raw["model_name"]} if raw.get("model_name") else {}
        return AIMessage(
            message.content or "", tool_calls=calls, additional_kwargs=kept, response_metadata=made_by
        )


def _check(message: Any) -> None:
    role = message.role
    if role == "tool":
        if message.requestor != "assistant":
            raise ValueError(
                f"The tool result {message.id!r} is the user's; only the agent's own belong in its history."
            )
        return
    if role not in ("system", "user", "assistant"):
        raise ValueError(f"A message of role {role!r} does not belong in an agent's history.")
    is_audio = not message.content and bool(getattr(message, "audio_content", None))
    if is_audio or getattr(message, "is_audio", False):
        raise ValueError(f"A {role} message is audio. This agent reads text; use one of tau2's voice agents.")
    if role == "user" and message.tool_calls is not None:
        raise ValueError("A user message calls tools; those calls go to the environment, not to the agent.")
