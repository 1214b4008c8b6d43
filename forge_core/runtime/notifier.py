"""Carries what client, journal and jobs report to the session, which is built after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from forge_core.events import Notice, Retry

if TYPE_CHECKING:
    from forge_core.llm.http.retry import RetryNotice
    from forge_core.session.session import ForgeSession


class Notifier:
    """Mute until it has a session."""

    def __init__(self) -> None:
        self.session: ForgeSession | None = None

    def retry(self, notice: RetryNotice) -> None:
        self._put(
            Retry.of(
                notice.reason,
                attempt=notice.attempt,
                max_retries=notice.max_retries,
                wait_s=notice.wait_s,
            )
        )

    def abandoned(self, generation_id: str) -> None:
        if self.session is not None:
            self.session.generation_abandoned(generation_id)

    def news(self, text: str) -> None:
        """Something happened beside the turns: a job has ended."""
        self._tell("info", text)

    def warning(self, text: str) -> None:
        self._tell("warning", text)

    def trouble(self, text: str) -> None:
        self._tell("error", text)

    def _tell(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self._put(Notice(level=level, text=text))

    def _put(self, notice: Notice) -> None:
        if self.session is not None:
            self.session.notify(notice)
