"""The files of `--output-dir`: what a run did, for programs that look at it later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.listing import setting_rows
from forge_core.errors import ConfigError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd
from forge_core.headless.printers import OutputError, StreamJsonPrinter, result_record
from forge_core.llm.endpoints import shown_url
from forge_core.redact import Redactor
from forge_core.session.session import ForgeSession

FILES = {
    "events.jsonl": "every event as one JSON line, as in `--output stream-json`, while it happens",
    "result.json": "the result, as in `--output json`, with the session's id",
    "cost.json": "tokens and dollars: the total, and by model",
    "changes.patch": "what the last turn changed in files, as a unified diff; empty without changes",
    "config.json": "every setting with where its value came from; no keys",
}
"""File → what it holds."""


class OutputFolder:
    """Writes the files of one run. Forge's own keys are redacted in all of them but the patch's file."""

    def __init__(self, folder: Path, config: ForgeConfig, redact: Redactor) -> None:
        """Create the folder and the first two files.

        Raises:
            ConfigError: the folder cannot be written to, or holds files of another run.
        """
        self._folder = folder
        self._redact = redact.known_only()
        self._model = ""
        self._result: dict[str, Any] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if taken := next((name for name in FILES if (folder / name).exists()), None):
                raise ConfigError(f"--output-dir {str(folder)!r} already holds {taken!r}. Name a new folder.")
            self._events: TextIO = (folder / "events.jsonl").open(
                "x", encoding="utf-8", errors="backslashreplace"
            )
        except OSError as error:
            raise ConfigError(f"--output-dir {str(folder)!r} cannot be used: {error.strerror}.") from error
        self._printer = StreamJsonPrinter(self._events, redact)
        rows = setting_rows(config)
        settings = {name: {"value": value, "from": str(origin)} for name, value, origin in rows}
        settings["base_url"]["value"] = shown_url(config.endpoint.base_url) or None
        self._write("config.json", {"working_dir": str(config.working_dir), "settings": settings})

    def event(self, event: AgentEvent) -> None:
        """Record an event.

        Raises:
            OutputError: it cannot be written.
        """
        if isinstance(event, LLMEnd) and event.parent_id is None:
            self._model = event.model
        elif isinstance(event, AgentEnd):
            self._result = result_record(event.result, self._model)
        try:
            self._printer.event(event)
        except OSError as error:
            raise OutputError(f"{self._events.name!r} cannot be written: {error.strerror}.") from error

    async def finish(self, session: ForgeSession) -> None:
        """Write the files that need the whole run.

        Raises:
            OutputError: one cannot be written.
        """
        self._events.close()
        spending = session.spending()
        self._write("result.json", {"session": session.id, **(self._result or {})})
        by_model = {model: one.usage.as_dict() for model, one in spending.by_model.items()}
        self._write("cost.json", {"total": spending.total.usage.as_dict(), "models": by_model})
        source = session.changes("turn")
        changes = await source.read()
        patches = [(await source.patch(file)).text for file in changes.files]
        self._put("changes.patch", "".join(patches).encode("utf-8", "surrogateescape"))

    def _write(self, name: str, value: Any) -> None:
        text = json.dumps(self._redact.values(value), indent=2)
        self._put(name, f"{text}\n".encode())

    def _put(self, name: str, data: bytes) -> None:
        try:
            (self._folder / name).write_bytes(data)
        except OSError as error:
            raise OutputError(f"{str(self._folder / name)!r} cannot be written: {error.strerror}.") from error
