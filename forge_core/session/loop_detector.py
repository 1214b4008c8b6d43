"""Detecting a run that repeats itself, and asking the user whether it should continue."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable

from forge_core.approval import Question, Questioner, QuestionOption, QuestionRequest, ToolKind
from forge_core.result import ToolCallRecord
from forge_core.tools.registry import ToolRegistry

SAME_CALLS = 3
"""The same call with the same result this many times in a row counts as no progress."""
SAME_ERRORS = 5
"""So do this many errors of one kind, with no success of that tool and no changed file in between."""

GO_ON = "Continue"
STOP = "Stop"

_DURATION = re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds?)\b")
_PARTICULARS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\S*/\S*|\S*\d\S*")
"""The parts in which two errors of one kind differ: quoted names, paths, numbers."""
_CLASS_CHARS = 200
_SHOWN_CHARS = 120


class LoopDetector:
    """Watches one run's calls in their order. Its tool in `tools` declares what a call counts for."""

    def __init__(self, tools: ToolRegistry) -> None:
        self._tools = tools
        self._last: tuple[str, str, str] | None = None
        self._times = 0
        self._errors: dict[str, tuple[int, str]] = {}
        """Kind of error → its number, and the tool of the latest."""

    def observe(self, record: ToolCallRecord) -> str | None:
        """Return a sentence for the user when the run repeats itself; None otherwise."""
        tool = self._tools.get(record.name)
        if tool is not None and tool.may_repeat:
            return None
        return self._repeated(record) or self._failing(record)

    def _repeated(self, record: ToolCallRecord) -> str | None:
        arguments = json.dumps(record.arguments, sort_keys=True, default=str)
        call = (record.name, arguments, _DURATION.sub("", record.result))
        self._times = self._times + 1 if call == self._last else 1
        self._last = call
        if self._times < SAME_CALLS:
            return None
        times = f"{self._times} times in a row"
        return f"The model has made the same call {times} with the same result: {_shown(record)}"

    def _failing(self, record: ToolCallRecord) -> str | None:
        if record.success:
            tool = self._tools.get(record.name)
            moves = tool is not None and tool.kind is ToolKind.WRITE
            self._errors = {
                kind: entry for kind, entry in self._errors.items() if not moves and entry[1] != record.name
            }
            return None
        kind = error_class(record.result)
        times = self._errors.get(kind, (0, ""))[0] + 1
        self._errors[kind] = (times, record.name)
        if times < SAME_ERRORS:
            return None
        return (
            f"The model has run into the same kind of error {times} times, the last one with {_shown(record)}"
        )


def error_class(result: str) -> str:
    """Return what an error's text has in common with others of its kind: its first and last line, without
    names, paths and numbers."""
    lines = [line.strip() for line in result.strip().splitlines() if line.strip()]
    ends = (lines[0][:_CLASS_CHARS], lines[-1][:_CLASS_CHARS]) if lines else ("", "")
    return " | ".join(_PARTICULARS.sub("…", line) for line in ends)


def ask_to_continue(questioner: Questioner) -> Callable[[str], Awaitable[bool | str]]:
    """Return a hook for `ForgeAgent.may_continue` that asks the user.

    No answer means to stop; an answer in the user's own words is passed to the model.
    """

    async def may_continue(what: str) -> bool | str:
        options = (QuestionOption(STOP, "End here; nothing is lost."), QuestionOption(GO_ON))
        request = QuestionRequest("", (Question(f"{what} Continue?", "Continue?", options),))
        reply = await questioner(request)
        if reply.declined or not reply.answers or not reply.answers[0]:
            return False
        answer = reply.answers[0][0]
        return answer if answer not in (GO_ON, STOP) else answer == GO_ON

    return may_continue


def _shown(record: ToolCallRecord) -> str:
    given = ", ".join(str(value) for value in record.arguments.values())
    text = " ".join(f"{record.name} {given}".split())
    return (text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…") + "."
