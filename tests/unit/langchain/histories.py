"""Random conversations, and the rules by which a strict provider refuses one."""

from __future__ import annotations

import random

from forge_core.llm.models import Message, MessageRole, ToolCall


def call(call_id: str, name: str = "read_file") -> ToolCall:
    return ToolCall(call_id, {"name": name, "arguments": '{"file_path": "a.py"}'})


def conversation(seed: int, turns: int = 12) -> list[Message]:
    """Turns of a user message, rounds of tool calls and an answer; some end early, ids may come again."""
    rng = random.Random(seed)
    messages: list[Message] = []
    for turn in range(turns):
        messages.append(Message.user(f"question {turn} " + "word " * rng.randrange(30)))
        for step in range(rng.choice([0, 0, 1, 2, 5])):
            ids = [f"c{n}" if rng.random() < 0.3 else f"c{turn}-{step}-{n}" for n in range(rng.randint(1, 3))]
            messages.append(Message.assistant(rng.choice(["", "let me look"]), [call(i) for i in ids]))
            messages += [Message.tool_result(i, "result " * rng.randrange(40)) for i in ids]
        if rng.random() < 0.9:
            messages.append(Message.assistant("answer " + "word " * rng.randrange(20)))
    return messages


def assert_strictly_valid(messages: list[Message], *, may_be_open: bool = False) -> None:
    """Fails where a strict provider would refuse: lone results, unanswered calls, a headless start.

    `may_be_open`: the last call may still wait for results.
    """
    history = [message for message in messages if message.role is not MessageRole.SYSTEM]
    if any(message.role is MessageRole.USER for message in history):
        assert history[0].role in (MessageRole.USER, MessageRole.ASSISTANT)
        assert not history[0].tool_calls, "it opens with calls that no question led to"
    waiting: list[str] = []
    for message in history:
        if message.role is MessageRole.TOOL:
            assert message.tool_call_id in waiting, f"the result of {message.tool_call_id} stands alone"
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting, f"{waiting} were not answered"
        waiting = [call.id for call in message.tool_calls or ()]
    assert may_be_open or not waiting, f"{waiting} were not answered"
