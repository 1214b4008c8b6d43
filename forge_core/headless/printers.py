"""Three ways to print a run: the answer, one JSON object, or every event as a JSON line."""

from __future__ import annotations

import json
from typing import Literal, Protocol, TextIO, TypeAlias

from forge_core.errors import ForgeError
from forge_core.events import (
    SCHEMA_VERSION,
    AgentEnd,
    AgentEvent,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    ToolEnd,
    ToolStart,
    as_json,
)
from forge_core.result import AgentResult
from forge_core.sanitize import safe_line, safe_text

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


class OutputError(ForgeError):
    """What was to be printed could not be written."""


class Printer(Protocol):
    """Takes every event of a run, in order."""

    def event(self, event: AgentEvent) -> None: ...


class TextPrinter:
    """The answer on `out` as it streams; what happens besides on `err`.

    On a terminal the text is made safe; into a pipe or a file it goes as it is.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._clean = safe_text if out.isatty() else str
        self._ends_line = True

    def event(self, event: AgentEvent) -> None:
        match event:
            case LLMChunk(text=text, kind="answer"):
                self._write(text)
            case LLMStart():
                self._break_line()
            case ToolStart():
                self._break_line()
            case AgentEnd():
                self._break_line()
                if event.result.warning:
                    self._say(event.result.warning)
            case _:
                if line := status_line(event):
                    self._say(line)

    def _write(self, text: str) -> None:
        self._out.write(self._clean(text))
        self._out.flush()
        self._ends_line = text.endswith("\n")

    def _break_line(self) -> None:
        if not self._ends_line:
            self._write("\n")

    def _say(self, line: str) -> None:
        print(line, file=self._err, flush=True)


class JsonPrinter:
    """One object on `out` when the run is over; its progress on `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._model = ""

    def event(self, event: AgentEvent) -> None:
        match event:
            case LLMEnd(model=model):
                self._model = model
            case AgentEnd(result=result):
                print(
                    json.dumps(result_record(result, self._model), ensure_ascii=False),
                    file=self._out,
                    flush=True,
                )
            case _:
                if line := status_line(event):
                    print(line, file=self._err, flush=True)


class StreamJsonPrinter:
    """Every event as one JSON line on `out`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def event(self, event: AgentEvent) -> None:
        print(json.dumps(event.as_record(), ensure_ascii=False), file=self._out, flush=True)


def make_printer(output: OutputFormat, out: TextIO, err: TextIO) -> Printer:
    match output:
        case "text":
            return TextPrinter(out, err)
        case "json":
            return JsonPrinter(out, err)
        case "stream-json":
            return StreamJsonPrinter(out)


def result_record(result: AgentResult, model: str = "") -> dict[str, object]:
    """A run's result, JSON-ready; the messages are left to the journal."""
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


def status_line(event: AgentEvent) -> str | None:
    """One safe line about what happened, or None for what needs none."""
    match event:
        case ToolEnd():
            mark = "✓" if event.success else "✗"
            detail = event.summary or ("" if event.success else event.result.partition("\n")[0])
            return safe_line(f"{mark} {event.name}  {detail}".rstrip())[:300]
        case Permission(decision="deny"):
            return safe_line(f"denied: {event.rule}")
        case Notice():
            return safe_line(event.text)
        case Error():
            return safe_line(f"error: {event.error}")
        case _:
            return None
