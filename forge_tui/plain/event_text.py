"""Turns the stream of events into labelled lines. Every type of event has its case."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, assert_never, cast

from forge_core.approval import ToolKind
from forge_core.commands.figures import dollars, tokens_text
from forge_core.config.settings import ThinkingSetting
from forge_core.durations import time_taken
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Compaction,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    Retry,
    Steered,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.redact import Redactor, StreamRedactor
from forge_core.result import STOP_NOTICES, FileDiff
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui.plain.labelled_output import (
    CHANGE,
    ERROR,
    FORGE,
    NOTICE,
    OUTPUT,
    REASONING,
    STATUS,
    TOOL,
    WARNING,
    YOU,
    LabelledOutput,
)

KnownEvent: TypeAlias = (
    LLMStart
    | LLMChunk
    | LLMEnd
    | ToolStart
    | ToolProgress
    | ToolEnd
    | Permission
    | Steered
    | Compaction
    | Retry
    | Notice
    | Error
    | AgentEnd
)
"""All events; `AgentEvent` is open to more, and a test compares the two."""

OUTPUT_LINES = 12
"""Lines of a tool's output that show at once."""
DIFF_LINES = 60
PROGRESS_S = 10.0
"""Time between two reports of a running call."""
TARGET_CELLS = 160
RESUMABLE = "The turn is kept at this step: /retry goes on from there."
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_`]*\s|[。！？]|\n")
"""Where streamed text can be cut without breaking a sentence."""
_MOST_HELD = 2000
"""Characters without an end of a sentence or line that are held back at most."""
_ENDINGS = {
    "done": "done",
    "background": "runs on in the background",
    "failed": "failed",
    "timed_out": "timed out",
    "denied": "denied",
    "declined": "declined",
    "interrupted": "interrupted",
    "unknown_tool": "failed, there is no such tool",
    "unreadable": "failed, its arguments cannot be read",
}
_LEVELS = {"info": NOTICE, "warning": WARNING, "error": ERROR}
_SPOKEN = {"+": "Added line: ", "-": "Removed line: "}


@dataclass(frozen=True, slots=True)
class LongText:
    """A text of which not all was written; `/show` writes it."""

    title: str
    text: str


class EventText:
    """Writes the events of a session's turns."""

    def __init__(
        self, out: LabelledOutput, redact: Redactor, thinking: ThinkingSetting, *, speaks_diffs: bool = False
    ) -> None:
        self.thinking: ThinkingSetting = thinking
        self.long_texts: list[LongText] = []
        """What `/show` can write; the first has number 1."""
        self.answers: list[str] = []
        """The model's answers, the oldest first, as received."""
        self._out = out
        self.speaks_diffs = speaks_diffs
        self._answer = _Speech(out, FORGE, redact.known_only())
        self._reasoning = _Speech(out, REASONING, redact.known_only())
        self._reasoning_began = 0.0
        self._calls: dict[str, _Call] = {}

    def apply(self, event: AgentEvent) -> None:
        """Write what an event means for the user, if anything."""
        known = cast("KnownEvent", event)
        if known.parent_id is not None:
            self._of_agent(known)
            return
        match known:
            case LLMStart():
                if known.iteration == 1:  # the message has arrived
                    self._out.say(STATUS, f"{known.model or 'the model'} is working.")
            case LLMChunk():
                self._chunk(known)
            case LLMEnd():
                self._end_speech(known.timestamp)
            case ToolStart():
                self._start_call(known)
            case ToolProgress():
                self._progress(known)
            case ToolEnd():
                self._end_call(known)
            case Permission():
                if known.decision == "deny" and known.by != "person":
                    self._out.say(WARNING, f"Denied: {known.rule}")
            case Steered():
                self._end_speech(known.timestamp)
                self._out.say(f"{YOU}, while it worked", known.text)
            case Compaction():
                self._end_speech(known.timestamp)
                self._out.say(NOTICE, known.text)
            case Retry() | Notice():
                self._end_speech(known.timestamp)
                self._out.say(_LEVELS[known.level], known.text)
            case Error():
                self._end_speech(known.timestamp)
                self._out.say(ERROR, known.error)
            case AgentEnd():
                self._end_turn(known)
            case _:
                assert_never(known)

    def show(self, number: int) -> bool:
        """Write a long text in full; return False if there is none of this number."""
        if not 1 <= number <= len(self.long_texts):
            return False
        found = self.long_texts[number - 1]
        self._out.say(OUTPUT, found.title)
        self._out.lines(found.text)
        return True

    def _of_agent(self, event: KnownEvent) -> None:
        """Write what a sub-agent does: a line when one of its calls ends."""
        match event:
            case ToolStart():
                self._calls[event.call_id] = _Call(event, event.timestamp)
            case ToolEnd():
                call = self._calls.pop(event.call_id, None) or _Call(_unknown_start(event), event.timestamp)
                self._out.say(call.label, _ending(event))
                for diff in event.diffs if event.success else ():
                    self._change(diff)
            case Permission() if event.decision == "deny" and event.by != "person":
                self._out.say(WARNING, f"Denied: {event.rule}")
            case Retry() | Notice():
                self._out.say(_LEVELS[event.level], f"Sub-agent: {event.text}")
            case _:
                pass

    # The model's words

    def _chunk(self, chunk: LLMChunk) -> None:
        match chunk.kind:
            case "answer":
                self._end_reasoning(chunk.timestamp)
                self._answer.feed(chunk.text)
            case "reasoning":
                if not self._reasoning.text:
                    self._reasoning_began = chunk.timestamp
                self._reasoning.feed(chunk.text, is_shown=self.thinking == "full")
            case "tool_args":
                pass  # they serve for figures only
            case _:
                assert_never(chunk.kind)

    def _end_speech(self, now: float) -> None:
        self._end_reasoning(now)
        if text := self._answer.end():
            self.answers.append(text)

    def _end_reasoning(self, now: float) -> None:
        text = self._reasoning.end()
        if text and self.thinking == "folded":
            took = time_taken(max(now - self._reasoning_began, 0.0))
            number = self._keep("Reasoning", text)
            self._out.say(REASONING, f"{took}, {len(text.split()):,} words. {_hint(number)}")

    def _keep(self, title: str, text: str) -> int:
        self.long_texts.append(LongText(title, text))
        return len(self.long_texts)

    # Tool calls

    def _start_call(self, start: ToolStart) -> None:
        call = self._calls[start.call_id] = _Call(start, start.timestamp)
        if start.kind not in (ToolKind.LOOK, ToolKind.SESSION):
            self._out.say(call.label, "requested")

    def _progress(self, progress: ToolProgress) -> None:
        call = self._calls.get(progress.call_id)
        if call is None:
            return
        call.last_line = progress.text.rstrip("\n").rpartition("\n")[2].lstrip("\r") or call.last_line
        if progress.timestamp - call.reported >= PROGRESS_S:
            call.reported = progress.timestamp
            took = time_taken(progress.timestamp - call.start.timestamp)
            self._out.say(call.label, f"still running, {took}. Last line: {safe_line(call.last_line)}")

    def _end_call(self, end: ToolEnd) -> None:
        call = self._calls.pop(end.call_id, None) or _Call(_unknown_start(end), end.timestamp)
        self._out.say(call.label, _ending(end))
        for diff in end.diffs if end.success else ():
            self._change(diff)
        if end.document:
            self._answer.feed(end.document)
            self._end_speech(end.timestamp)
        text = end.display or _for_user(end)
        is_shown = (call.start.preview_rows > 0 or not end.success) and not end.diffs and not end.is_in_header
        if not text.strip() or end.diffs:
            return
        if is_shown:
            self._long(call.label, text, OUTPUT_LINES)
        else:
            self._keep(call.label, text)

    def _change(self, diff: FileDiff) -> None:
        self._out.say(CHANGE, f"{safe_line(diff.path)}, {diff.added} added, {diff.removed} removed")
        text = diff.diff.rstrip("\n")
        if self.speaks_diffs:
            text = "\n".join(
                _SPOKEN.get(line[:1], "") + line[line[:1] in _SPOKEN :] for line in text.split("\n")
            )
        self._long(f"Change {safe_line(diff.path)}", text, DIFF_LINES)

    def _long(self, title: str, text: str, most: int) -> None:
        """Write the beginning of a text, and how to get the rest."""
        number = self._keep(title, text)
        lines = text.rstrip("\n").split("\n")
        self._out.lines("\n".join(lines[:most]))
        if (more := len(lines) - most) > 0:
            self._out.line(f"… {more:,} more line{'s'[: more != 1]}: /show {number}")

    # The turn

    def _end_turn(self, end: AgentEnd) -> None:
        self._end_speech(end.timestamp)
        self._calls.clear()
        result, usage = end.result, end.result.usage
        if text := result.warning or STOP_NOTICES.get(result.stopped_reason, ""):
            self._out.say(NOTICE if result.stopped_reason == "complete" else WARNING, text)
        parts = [
            "Turn interrupted" if result.stopped_reason == "cancelled" else "Turn ended",
            time_taken(result.duration),
            f"{tokens_text(usage.prompt_tokens)} tokens in",
            f"{tokens_text(usage.completion_tokens)} out",
            dollars(usage.cost_usd) if usage.cost_usd else "",
        ]
        self._out.say(STATUS, ", ".join(filter(None, parts)) + ".")
        if result.is_resumable:
            self._out.say(NOTICE, RESUMABLE)


class _Speech:
    """Streamed text of one speaker, written in whole sentences or lines."""

    def __init__(self, out: LabelledOutput, label: str, redact: Redactor) -> None:
        self._out = out
        self._label = label
        self._redactor = StreamRedactor(redact)
        self._held = ""
        self._parts: list[str] = []
        self._is_shown = True

    @property
    def text(self) -> str:
        """What has come of the current text."""
        return "".join(self._parts)

    def feed(self, fragment: str, *, is_shown: bool = True) -> None:
        self._parts.append(fragment)
        self._is_shown = is_shown
        if not is_shown:
            return
        self._held += self._redactor.feed(self._label, fragment)
        ends = [found.end() for found in _SENTENCE.finditer(self._held)]
        cut = ends[-1] if ends else len(self._held) if len(self._held) > _MOST_HELD else 0
        self._write(self._held[:cut])
        self._held = self._held[cut:]

    def end(self) -> str:
        """Write what is held back, and return the whole text; empty if there was none."""
        text, self._parts = self.text, []
        if self._is_shown and text:
            self._write(self._held + self._redactor.end(self._label))
            self._out.end_stream()
        self._held = ""
        return text

    def _write(self, text: str) -> None:
        if text:
            self._out.stream(self._label, text)


@dataclass(slots=True)
class _Call:
    """A running call."""

    start: ToolStart
    reported: float
    """When something was last written about it."""
    last_line: str = ""

    @property
    def label(self) -> str:
        title, target = self.start.heading
        owner = f"{TOOL} of a sub-agent" if self.start.parent_id else TOOL
        words = (owner, safe_line(title).lower(), clip(safe_line(target), TARGET_CELLS))
        return " ".join(filter(None, words))


def _ending(end: ToolEnd) -> str:
    """Return how a call ended, in a few words."""
    ending = _ENDINGS[end.outcome] if end.outcome else "done" if end.success else "failed"
    parts = dict.fromkeys((ending, safe_line(end.summary), time_taken(end.duration_s)))
    return ", ".join(part for part in parts if part)


def _unknown_start(end: ToolEnd) -> ToolStart:
    return ToolStart(
        timestamp=end.timestamp,
        call_id=end.call_id,
        name=end.name,
        arguments={},
        title=end.name,
        parent_id=end.parent_id,
    )


def _for_user(end: ToolEnd) -> str:
    """Return the result without the parts that only the model needs."""
    text = end.result
    for note in filter(None, (end.aside, *end.model_notes)):
        text = text.replace(note, "")
    return text.strip("\n")


def _hint(number: int) -> str:
    return f"/show {number} shows all."
