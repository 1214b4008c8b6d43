"""Model, tool and chain runs as log lines, with their durations and without secrets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from forge_core.langchain.callbacks.base import ForgeCallbackHandler
from forge_core.langchain.callbacks.usage import counted_usage, model_name_of
from forge_core.redact import Redactor
from forge_core.sanitize import safe_line

TEXT_LIMIT = 500
"""Characters of an untrusted text (an error, arguments) in one line."""


class LoggingCallback(ForgeCallbackHandler):
    """Logs "LLM start", "LLM end … duration=…", "Tool start: NAME", "Tool end: duration=…" and errors.

    Untrusted text is redacted, cut and put on one line, so that no model can forge a log entry. Prompts and
    answers are not logged; tool arguments are, at DEBUG, as are chain runs.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        log_level: int = logging.INFO,
        *,
        redact: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.logger = logger or logging.getLogger("forge.llm")
        self.log_level = log_level
        self._redact = redact or Redactor()
        self._clock = clock
        self._start_times: dict[UUID | None, float] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any] | None, messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.on_llm_start(serialized, messages[0] if messages else (), **kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: Sequence[object],
        *,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._begin(run_id)
        parameters: Mapping[str, Any] = kwargs.get("invocation_params") or {}
        metadata: Mapping[str, Any] = kwargs.get("metadata") or {}
        model = parameters.get("model") or parameters.get("model_name") or metadata.get("ls_model_name")
        self._log(f"LLM start: model={self._clean(str(model or 'unknown'))} messages={len(prompts)}")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        usage = counted_usage(response)
        figures = ""
        if usage is not None:
            cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:f}"
            figures = f" prompt={usage.prompt_tokens} completion={usage.completion_tokens} cost_usd={cost}"
        model = self._clean(model_name_of(response))
        self._log(f"LLM end: duration={self._duration(run_id)} model={model or 'unknown'}{figures}")

    def on_llm_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        self._log_error("LLM error", error, run_id)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._begin(run_id)
        name = str((serialized or {}).get("name") or kwargs.get("name") or "unknown")
        self._log(f"Tool start: {self._clean(name)}")
        if self.logger.isEnabledFor(logging.DEBUG):
            self._log(f"Tool input: {self._clean(input_str)}", logging.DEBUG)

    def on_tool_end(self, output: object, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        status = " status=error" if getattr(output, "status", None) == "error" else ""
        self._log(f"Tool end: duration={self._duration(run_id)}{status}")

    def on_tool_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        self._log_error("Tool error", error, run_id)

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: dict[str, Any],
        *,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._begin(run_id)
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "unknown")
        self._log(f"Chain start: {self._clean(name)}", logging.DEBUG)

    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID | None = None, **kwargs: Any) -> None:
        self._log(f"Chain end: duration={self._duration(run_id)}", logging.DEBUG)

    def on_chain_error(self, error: BaseException, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        self._log_error("Chain error", error, run_id)

    def on_custom_event(self, name: str, data: object, *, run_id: UUID | None = None, **kwargs: Any) -> None:
        fields = data.items() if isinstance(data, Mapping) else (("data", data),)
        words = " ".join(f"{key}={self._clean(str(value))}" for key, value in fields)
        self._log(f"Event {self._clean(name)}: {words}")

    def _log_error(self, what: str, error: BaseException, run_id: UUID | None) -> None:
        duration = self._duration(run_id)
        level = max(self.log_level, logging.WARNING)
        self._log(f"{what}: duration={duration} {type(error).__name__}: {self._clean(str(error))}", level)

    def _log(self, line: str, level: int | None = None) -> None:
        self.logger.log(self.log_level if level is None else level, line)

    def _begin(self, run_id: UUID | None) -> None:
        self._start_times[run_id] = self._clock()

    def _duration(self, run_id: UUID | None) -> str:
        started = self._start_times.pop(run_id, None)
        return "unknown" if started is None else f"{self._clock() - started:.2f}s"

    def _clean(self, text: str) -> str:
        """Return one safe line; redacted before it is cut, so that no half of a key is left."""
        line = safe_line(self._redact(text[: 20 * TEXT_LIMIT]))
        return line if len(line) <= TEXT_LIMIT else f"{line[:TEXT_LIMIT]}…"
