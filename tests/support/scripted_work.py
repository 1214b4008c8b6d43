"""A provider with a small window, and the long coding session that it scripts.

The n-th message of the user begins with `turn n`. Each turn reads, searches, edits, writes or runs something,
as `plan` says, and ends with an answer. A request over the window is refused with a provider's error, one that
breaks the protocol (`strict_host`) with another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.sse_server import Reply, Seen, chunk, error_reply, json_reply, stream
from tests.support.strict_host import violations

GOAL = "Keep every VALUE in step; the word is GOALWORD."
"""Part of the first message: it has to be in every later request."""
FILES = 20
KINDS = ("survey", "read", "search", "edit", "output", "write", "explain", "fail", "patch", "check")
_TURN = re.compile(r"^turn (\d+)")
_VALUE = re.compile(r"VALUE = (\d+)")
_PROMPT_USD, _ANSWER_USD = Decimal("0.0000005"), Decimal("0.000002")
"""Per token."""
_PROSE = "The module holds small functions, each of which adds its number to the argument. "

Call = tuple[str, dict[str, Any]]


def make_files(folder: Path) -> None:
    """Write the modules that the session works on."""
    for number in range(FILES):
        functions = [
            f"def function_{number}_{line}(argument: int) -> int:\n    return argument + {line}\n"
            for line in range(60)
        ]
        (folder / f"module_{number}.py").write_text("VALUE = 0\n\n\n" + "\n\n".join(functions))
    (folder / "check.sh").write_text('for n in $(seq 400); do echo "check $n of $1: passed"; done\n')


def message(turn: int) -> str:
    """Return what the user writes in a turn."""
    return f"turn {turn}: {GOAL if turn == 1 else KINDS[turn % len(KINDS)]}"


def plan(turn: int) -> Sequence[Sequence[Call]]:
    """Return the calls of each step of a turn but the last, which is an answer."""
    name = f"module_{turn % FILES}.py"
    read: Call = ("read", {"file_path": name})
    edit: Call = ("edit", {"file_path": name})
    match KINDS[turn % len(KINDS)]:
        case "survey":
            return [[("read", {"file_path": f"module_{(turn + n) % FILES}.py"})] for n in range(5)]
        case "read":
            return [[read]]
        case "search":
            grep = {"pattern": f"function_{turn % FILES}_", "output_mode": "content"}
            return [
                [("grep", grep), ("glob", {"pattern": "*.py"})],
                [("read", {"file_path": name, "limit": 40})],
            ]
        case "edit":
            return [[read], [edit]]
        case "patch":
            return [[("read", {"file_path": name, "limit": 12})], [edit]]
        case "output":
            return [[("bash", {"command": f"seq {turn} {turn + 3000}"})]]
        case "write":
            content = "\n".join(f"note {line} of turn {turn}" for line in range(80))
            item = {"content": f"Look at the notes of turn {turn}", "status": "in_progress"}
            return [
                [("write", {"file_path": f"notes_{turn}.txt", "content": content})],
                [("todo", {"items": [item]})],
            ]
        case "fail":
            return [
                [("read", {"file_path": f"missing_{turn}.py"}), ("bash", {"command": f"ls missing_{turn}"})]
            ]
        case "check":
            return [[("bash", {"command": f"sh check.sh {turn}"})]]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class Request:
    """A request, as the provider counted it."""

    turn: int
    is_summary: bool
    prompt_tokens: int
    answer_tokens: int = 0
    is_refused: bool = False

    @property
    def cost_usd(self) -> Decimal:
        return self.prompt_tokens * _PROMPT_USD + self.answer_tokens * _ANSWER_USD


@dataclass(slots=True)
class ScriptedWork:
    """The provider: a route of an `SseServer` (`POST /chat/completions`)."""

    window: int
    chars_per_token: float = 3.3
    requests: list[Request] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What was wrong with a request, and results of tools that should not have failed."""
    _turn: int = 0
    _steps: int = 0
    """Steps of the turn that were answered."""
    _calls: int = 0

    @property
    def cost_usd(self) -> Decimal:
        """What all requests have cost together."""
        return sum((one.cost_usd for one in self.requests), Decimal(0))

    @property
    def held_tokens(self) -> int:
        """Tokens of the last request and its answer."""
        last = [one for one in self.requests if not one.is_summary and not one.is_refused][-1]
        return last.prompt_tokens + last.answer_tokens

    def of(self, turn: int) -> list[Request]:
        return [one for one in self.requests if one.turn == turn]

    def __call__(self, seen: Seen) -> Reply:
        body = seen.json
        tokens = self._tokens([body["messages"], body.get("tools")])
        is_summary = not body.get("tools")
        if tokens > self.window:
            self.requests.append(Request(self._turn, is_summary, tokens, is_refused=True))
            return error_reply(
                400,
                f"This endpoint's maximum context length is {self.window} tokens. However, you requested about "
                f"{tokens} tokens. Please reduce the length of the messages.",
            )
        broken = violations(body)
        if broken:
            self.problems += broken
            return error_reply(400, "; ".join(broken))
        if is_summary:
            return self._summary(body, tokens)
        return self._step(body["messages"], tokens)

    def _tokens(self, value: Any) -> int:
        return int(len(json.dumps(value, ensure_ascii=False)) / self.chars_per_token)

    def _summary(self, body: Any, tokens: int) -> Reply:
        text = f"Up to turn {self._turn} modules were read and changed. " + _PROSE * 6
        usage = self._usage(tokens, text, is_summary=True)
        if body.get("stream"):
            return stream(chunk(text), {**chunk("", finish_reason="stop"), "usage": usage})
        answer = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": answer, "finish_reason": "stop"}]
        return json_reply({"id": "gen-s", "model": "test/model", "choices": choices, "usage": usage})

    def _step(self, messages: Sequence[dict[str, Any]], tokens: int) -> Reply:
        turns = [
            int(found[1])
            for one in messages
            if one["role"] == "user" and (found := _TURN.match(one["content"])) is not None
        ]
        turn = turns[-1] if turns else 0
        if turn != self._turn:
            self._turn, self._steps = turn, 0
        self._check(messages)
        steps = plan(turn)
        at, self._steps = self._steps, self._steps + 1
        if at >= len(steps):
            text = f"first{turn}z. " * (at == 0) + _PROSE * (20 if not steps else 3) + f"done{turn}z"
            usage = self._usage(tokens, text)
            pieces = [chunk(text[start : start + 12]) for start in range(0, len(text), 12)]
            return stream(*pieces, {**chunk("", finish_reason="stop"), "usage": usage})
        calls = [self._completed(name, arguments, messages) for name, arguments in steps[at]]
        text = f"first{turn}z" if at == 0 else "Next."
        return self._calling(text, calls, tokens)

    def _check(self, messages: Sequence[dict[str, Any]]) -> None:
        if "GOALWORD" not in json.dumps([one for one in messages if one["role"] != "system"]):
            self.problems.append(f"turn {self._turn}: the request lacks the goal")
        last = messages[-1]
        is_expected = KINDS[self._turn % len(KINDS)] == "fail"
        if last["role"] == "tool" and last["content"].startswith("Error") and not is_expected:
            self.problems.append(f"turn {self._turn}: {last['content'][:300]}")

    def _completed(self, name: str, arguments: dict[str, Any], messages: Sequence[dict[str, Any]]) -> Call:
        """Return an edit with the texts from the file that was just read; any other call as it is."""
        if name != "edit":
            return name, arguments
        found = _VALUE.search(messages[-1]["content"])
        old = found.group() if found is not None else "VALUE = ?"
        return name, {**arguments, "old_string": old, "new_string": f"VALUE = {self._turn}"}

    def _calling(self, text: str, calls: Sequence[Call], tokens: int) -> Reply:
        deltas = []
        for index, (name, arguments) in enumerate(calls):
            self._calls += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            deltas.append(
                {"index": index, "id": f"call-{self._calls}", "type": "function", "function": function}
            )
        usage = self._usage(tokens, text + json.dumps(deltas))
        last = {**chunk(None, finish_reason="tool_calls"), "usage": usage}
        return stream(chunk(text), *(chunk(None, tool_calls=[delta]) for delta in deltas), last)

    def _usage(self, tokens: int, answer: str, *, is_summary: bool = False) -> dict[str, Any]:
        request = Request(self._turn, is_summary, tokens, max(self._tokens(answer), 1))
        self.requests.append(request)
        return {
            "prompt_tokens": tokens,
            "completion_tokens": request.answer_tokens,
            "total_tokens": tokens + request.answer_tokens,
            "cost": float(request.cost_usd),
        }
