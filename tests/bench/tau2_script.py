"""A task's golden actions as a script that a model (over HTTP) and a user play together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.sse_server import USAGE, Reply, Seen, chunk, json_reply, stream, tool_answer
from tests.support.strict_host import violations

COST: float = USAGE["cost"]
"""US dollars that each answer says it cost."""
STOP = "###STOP###"


@dataclass
class Script:
    """The actions in their order; each side takes its own when they are next."""

    actions: Sequence[Any]
    """tau2's Action, with `requestor`, `name` and `arguments`."""
    farewell: str
    """The agent's last words; they hold what the task wants communicated."""
    all_in_one: bool = False
    place: int = 0
    has_said_farewell: bool = False

    def next_of(self, requestor: str) -> list[Any]:
        """The actions to play now: the next one, or with `all_in_one` all up to the other side's."""
        taken = []
        while self.place < len(self.actions) and self.actions[self.place].requestor == requestor:
            taken.append(self.actions[self.place])
            self.place += 1
            if not self.all_in_one or requestor == "user":
                break
        return taken

    def agent_text(self) -> str:
        if self.place < len(self.actions):
            return "Please do the next step on your side."
        self.has_said_farewell = True
        return self.farewell


@dataclass
class Model:
    """Answers chat completions from the current script, and notes what a strict host would refuse."""

    script: Script | None = None
    violations: list[str] = field(default_factory=list)
    requests: int = 0

    def __call__(self, seen: Seen) -> Reply:
        assert self.script is not None
        self.requests += 1
        self.violations += violations(seen.json)
        actions = self.script.next_of("assistant")
        calls = [
            (f"call_{self.requests}_{index}", action.name, action.arguments)
            for index, action in enumerate(actions)
        ]
        text = "One moment, please." if self.script.all_in_one else ""
        text = text if calls else self.script.agent_text()
        if not seen.json.get("stream"):
            return json_reply(_whole(text, calls))
        if calls:
            return tool_answer(*calls, text=text, piece=11)
        last = {**chunk("", usage=USAGE), "choices": []}
        return stream(chunk(text[:5]), chunk(text[5:]), chunk("", finish_reason="stop"), last)


def _whole(text: str, calls: Sequence[tuple[str, str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "gen-1", "model": "test/model", "choices": [choice], "usage": USAGE}
