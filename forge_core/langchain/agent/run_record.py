"""What a run has produced so far, and where another run can resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from forge_core.errors import BudgetExceededError, ForgeError, ProviderError
from forge_core.events import Error
from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.llm.models import Message, TokenUsage, UserContent
from forge_core.redact import Redactor
from forge_core.result import AgentResult, StoppedReason, ToolCallRecord


class CallWatch(Protocol):
    """Watches the tool calls of one run, in their order."""

    def observe(self, record: ToolCallRecord) -> str | None:
        """Return a sentence for the user when the run repeats itself without progress."""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """The step at which a run ended because the model call failed; another run can start with it."""

    text: UserContent
    """The input of the run."""
    iteration: int
    limit: int
    """Model calls after which the user is asked whether to continue."""
    watch: CallWatch | None
    partial: str
    """The partial answer, which the next message may refer to. A run that resumes drops it."""


class RunRecord:
    """Collects what goes into a run's result; messages also go into `memory`, and then to `on_message`."""

    def __init__(
        self,
        memory: ConversationMemory,
        iterations: int = 0,
        on_message: Callable[[Message], None] | None = None,
    ) -> None:
        self._memory = memory
        self._on_message = on_message
        self._started = time.monotonic()
        self._messages: list[Message] = []
        self._tool_calls: list[ToolCallRecord] = []
        self.iterations = iterations
        self.usage = TokenUsage()
        self.output = ""
        self.reason: StoppedReason | None = None
        """Why the run stops; None while it continues."""
        self.error: Exception | None = None
        self.finish_reason: str | None = None
        self.warning: str | None = None

    def add(self, message: Message) -> None:
        self._messages.append(message)
        self._memory.add_message(message)
        if self._on_message is not None:
            self._on_message(message)

    def add_results(self, records: Iterable[ToolCallRecord], messages: Iterable[Message]) -> None:
        """Add tool calls and the messages that answer them."""
        self._tool_calls.extend(records)
        for message in messages:
            self.add(message)

    def fail(self, error: Exception, output: str) -> None:
        """Stop the run because of a failed model call; a call that a limit forbids is no error."""
        self.output = output
        if isinstance(error, BudgetExceededError):
            self.reason, self.warning = "budget", str(error)
        else:
            self.reason, self.error = "error", error

    def result(self, reason: StoppedReason, *, is_resumable: bool) -> AgentResult:
        """Return the result of a run that stopped for `reason`."""
        warning = self.warning
        if reason == "max_iterations":
            warning = f"Stopped after {self.iterations} model calls, the maximum. Send “go on” to continue."
        return AgentResult(
            output=self.output,
            messages=self._messages,
            tool_calls=self._tool_calls,
            usage=self.usage,
            iterations=self.iterations,
            duration=time.monotonic() - self._started,
            stopped_reason=reason,
            error=None if self.error is None else error_text(self.error),
            warning=warning,
            finish_reason=self.finish_reason,
            is_resumable=is_resumable,
        )


def error_event(error: Exception) -> Error:
    """Return the event for an exception that ends a run."""
    is_recoverable = isinstance(error, ProviderError) and error.retryable
    return Error(error=error_text(error), kind=type(error).__name__, recoverable=is_recoverable)


def error_text(error: Exception) -> str:
    """Return an exception's message without secrets; with its class where it is not one of ours."""
    text = str(error) or type(error).__name__
    if not isinstance(error, ForgeError):
        text = f"{type(error).__name__}: {text}"
    return Redactor()(text)
