"""Three ways to print a run: the answer, one JSON object, or every event as a JSON line.

Forge's own keys are redacted, also where they are split over chunks. Nothing else is changed on standard
output: it may be a file that the user wants. Whatever else has the form of a key is redacted
on standard error only.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, Protocol, TextIO, TypeAlias, get_args

from forge_core.errors import ForgeError
from forge_core.events import (
    SCHEMA_VERSION,
    AgentEnd,
    AgentEvent,
    ChunkKind,
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
    as_json,
)
from forge_core.redact import Redactor, StreamRedactor
from forge_core.result import AgentResult
from forge_core.sanitize import mark_invisible, safe_line, safe_text

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


class OutputError(ForgeError):
    """What was to be printed could not be written."""


class Printer(Protocol):
    """Takes every event of a run, in order."""

    def event(self, event: AgentEvent) -> None: ...


_ANSWER = "answer"
RESTART = "[The answer broke off here and starts again.]"
"""Printed before the new text where the text of a broken answer can't be taken back."""


class TextPrinter:
    """The answer on `out`; what happens besides on `err`.

    On a terminal the text is made safe; into a pipe or a file it goes as it is. A file gets each answer when
    it is whole: what broke off is not in it, unless no retry brings a whole answer. A terminal and a pipe get
    the text as it streams, and the line RESTART where an answer starts again.
    """

    def __init__(self, out: TextIO, err: TextIO, redact: Redactor | None = None) -> None:
        self._out = out
        self._err = err
        self._redact = redact or Redactor()
        self._answers = StreamRedactor(self._redact.known_only())
        self._cleaner = _Cleaner() if out.isatty() else None
        self._is_live = not _is_file(out)
        self._held: list[str] = []
        """The current answer, where it is not printed as it streams."""
        self._broken: list[str] = []
        """The last answer that broke off, where it is not printed yet."""
        self._has_answer = False
        """Whether text of the current step is printed."""
        self._is_void = False
        """Whether that text is of an answer that broke off."""
        self._ends_line = True

    def event(self, event: AgentEvent) -> None:
        if event.parent_id is not None:
            if line := status_line(event, self._redact):
                self._say(line)
            return
        match event:
            case LLMChunk(text=text, kind="answer"):
                self._answer(text)
            case Retry(discards_answer=True):
                self._end_stream()
                self._is_void = self._has_answer
                self._broken, self._held = self._held or self._broken, []
                self._say(status_line(event, self._redact) or "")
            case LLMStart() if not (self._is_void or self._broken):
                self._end_answer()
            case ToolStart():
                self._broken = []
                self._end_answer()
            case AgentEnd(result=result):
                self._held = self._held or (self._broken if result.is_resumable else [])
                self._end_answer()
                if result.warning:
                    self._say(self._redact(result.warning))
            case Error():
                self._held = self._held or self._broken
                self._broken = []
                self._end_answer()
                self._say(status_line(event, self._redact) or "")
            case ToolEnd(document=text) if text:
                self._say(status_line(event, self._redact) or "")
                self._answer(text)
                self._end_answer()
            case _:
                if line := status_line(event, self._redact):
                    self._say(line)

    def _answer(self, text: str) -> None:
        if not self._is_live:
            self._broken = []
            self._held.append(text)
            return
        if self._is_void:
            self._write(f"{RESTART}\n")
        self._is_void, self._has_answer = False, True
        text = self._answers.feed(_ANSWER, text)
        self._write(self._cleaner.feed(text) if self._cleaner else text)

    def _end_answer(self) -> None:
        if self._held:
            self._write(self._answers.feed(_ANSWER, "".join(self._held)))
        self._held = []
        self._has_answer = self._is_void = False
        self._end_stream()

    def _end_stream(self) -> None:
        """Write what is held back of the answer, and end its line."""
        rest = self._answers.end(_ANSWER)
        self._write(self._cleaner.feed(rest) + self._cleaner.end() if self._cleaner else rest)
        self._break_line()

    def _write(self, text: str) -> None:
        if not text:
            return
        self._out.write(text)
        self._out.flush()
        self._ends_line = text.endswith("\n")

    def _break_line(self) -> None:
        if not self._ends_line:
            self._write("\n")

    def _say(self, line: str) -> None:
        print(line, file=self._err, flush=True)


class _Cleaner:
    """Makes the fragments of an answer safe to show. The last character waits for the next fragment: whether
    an invisible one is marked depends on its neighbours."""

    def __init__(self) -> None:
        self._before = ""
        """The last characters that were returned, as received."""
        self._waiting = ""

    def feed(self, fragment: str) -> str:
        text = self._waiting + fragment
        keeps = bool(text) and not text[-1].isascii()
        self._waiting = text[-1] if keeps else ""
        return self._safe(text[: len(text) - keeps], self._waiting)

    def end(self) -> str:
        """Return what is left of an answer."""
        rest, self._waiting = self._safe(self._waiting), ""
        self._before = ""
        return rest

    def _safe(self, text: str, after: str = "") -> str:
        head = self._before
        shown = mark_invisible(head + text + after)[len(head) : len(head) + len(text)]
        self._before = (head + text)[-2:]
        return safe_text(shown, keep_invisible=True)


def _is_file(out: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(out.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # no descriptor: something in memory
        return False


class JsonPrinter:
    """One object on `out` when the run is over; its progress on `err`."""

    def __init__(self, out: TextIO, err: TextIO, redact: Redactor | None = None) -> None:
        self._out = out
        self._err = err
        self._redact = redact or Redactor()
        self._model = ""

    def event(self, event: AgentEvent) -> None:
        match event:
            case LLMEnd(model=model, parent_id=None):
                self._model = model
            case AgentEnd(result=result):
                record = result_record(result, self._model)
                print_json(self._redact.known_only().values(record), self._out)
            case _:
                if line := status_line(event, self._redact):
                    print(line, file=self._err, flush=True)


class StreamJsonPrinter:
    """Every event as one JSON line on `out`."""

    def __init__(self, out: TextIO, redact: Redactor | None = None) -> None:
        self._out = out
        self._redact = (redact or Redactor()).known_only()
        self._streams = StreamRedactor(self._redact)

    def event(self, event: AgentEvent) -> None:
        for one in self._split(event):
            print_json(self._redact.values(one.as_record()), self._out)

    def _split(self, event: AgentEvent) -> Iterator[AgentEvent]:
        """Yield the event, without an end of its text that may be the beginning of a key. Such an end comes
        with the next fragment, or before the event that ends the stream."""
        match event:
            case LLMChunk(kind=kind):
                text = self._streams.feed(kind, event.text)
                if text or not event.text:
                    yield replace(event, text=text)
                return
            case ToolProgress(call_id=call_id):
                if event.text.startswith("\r"):  # replaces the line, so nothing before it goes on
                    yield from self._rest_of_call(call_id)
                text = self._streams.feed(f"call {call_id}", event.text)
                if text or not event.text:
                    yield replace(event, text=text)
                return
            case ToolEnd(call_id=call_id):
                yield from self._rest_of_call(call_id)
            case LLMEnd(parent_id=None) | AgentEnd():
                for kind in get_args(ChunkKind):
                    if rest := self._streams.end(kind):
                        yield LLMChunk(timestamp=event.timestamp, text=rest, kind=kind)
        yield event

    def _rest_of_call(self, call_id: str) -> Iterator[AgentEvent]:
        if rest := self._streams.end(f"call {call_id}"):
            yield ToolProgress(call_id=call_id, text=rest)


def print_json(record: Mapping[str, object], out: TextIO) -> None:
    """Print one line of JSON at once."""
    print(json.dumps(record, ensure_ascii=False), file=out, flush=True)


def make_printer(output: OutputFormat, out: TextIO, err: TextIO, redact: Redactor) -> Printer:
    match output:
        case "text":
            return TextPrinter(out, err, redact)
        case "json":
            return JsonPrinter(out, err, redact)
        case "stream-json":
            return StreamJsonPrinter(out, redact)


def result_record(result: AgentResult, model: str = "") -> dict[str, object]:
    """Return a run's result, JSON-ready; the messages are left to the journal."""
    return {
        "v": SCHEMA_VERSION,
        "output": result.output,
        "stopped_reason": result.stopped_reason,
        "error": result.error,
        "warning": result.warning,
        "model": model,
        "iterations": result.iterations,
        "duration_s": round(result.duration, 3),
        "usage": result.usage.as_dict(),
        "tool_calls": as_json(result.tool_calls),
    }


def status_line(event: AgentEvent, redact: Redactor) -> str | None:
    """Return one safe line about what happened, or None for what needs none; that of a sub-agent is indented.
    It is redacted before it is cut, so that no half of a key is left."""
    line = _status(event, redact)
    return line if line is None or event.parent_id is None else f"  {line}"


def _status(event: AgentEvent, redact: Redactor) -> str | None:
    match event:
        case ToolEnd():
            mark = "✓" if event.success else "✗"
            detail = event.summary or ("" if event.success else redact(event.result).partition("\n")[0])
            return safe_line(f"{mark} {event.name}  {redact(detail)}".rstrip())[:300]
        case Permission(decision="deny"):
            return safe_line(redact(f"denied: {event.rule}"))
        case Steered():
            return safe_line(f"sent while it worked: {redact(event.text)}")[:300]
        case Notice() | Compaction():
            return safe_line(redact(event.text))
        case Error():
            return safe_line(redact(f"error: {event.error}"))
        case _:
            return None
