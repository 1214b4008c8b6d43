"""Carries what client, journal and jobs report to the session, which is built after them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from forge_core.events import Notice, Retry

if TYPE_CHECKING:
    from forge_core.llm.retry import RetryNotice
    from forge_core.session.session import ForgeSession

_ADVICE = re.compile(r"\s*\bTry again\b[^.]*\.$")
"""What a failure's last sentence tells the person to do, where Forge does it itself."""


class Notifier:
    """Mute until it has a session."""

    def __init__(self) -> None:
        self.session: ForgeSession | None = None

    def retry(self, notice: RetryNotice) -> None:
        when = "at once" if notice.wait_s < 0.5 else f"in {notice.wait_s:.0f} s"
        reason = _ADVICE.sub("", notice.reason)
        self._put(
            Retry(
                level="warning",
                text=f"{reason} Trying again {when}.",
                attempt=notice.attempt,
                max_retries=notice.max_retries,
                wait_s=notice.wait_s,
                reason=reason,
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
