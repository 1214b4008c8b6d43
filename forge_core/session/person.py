"""Requests of a session to its user."""

from __future__ import annotations

from forge_core.approval import ReplyT, Responder, UserRequest
from forge_core.langchain.agent.run_control import RunClock


class Person:
    """The user of a session. While `is_away`, every request gets the reply for when no user is available."""

    def __init__(self, responder: Responder, clock: RunClock) -> None:
        """`clock` counts the time of the agent's runs; it is paused while the user thinks."""
        self.is_away = False
        self._responder = responder
        self._clock = clock

    async def ask(self, request: UserRequest[ReplyT], /) -> ReplyT:
        """Return the user's reply."""
        if self.is_away:
            return request.unanswered("the user is away")
        with self._clock.paused():
            return await self._responder(request)
