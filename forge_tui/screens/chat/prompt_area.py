"""The area of the composer, in which one prompt at a time replaces it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from forge_core.errors import ForgeError
from forge_tui.keys.grace import NO_KEY
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.activity import Working

if TYPE_CHECKING:
    from forge_core.approval import Answer, ApprovalReply, PlanReply, QuestionReply, UserRequest
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.screens.prompts.prompt import Draft, Prompt

Reply = TypeVar("Reply")
ASKING = "Waiting for your answer"
RECENT_S = 5.0
"""Text that was edited within this time before a prompt opened counts as half typed."""
LATE_ENTER_S = 0.5
"""Within this time after a prompt has closed, an Enter may have been meant for it."""


class MakePrompt(Protocol[Reply]):
    """Makes a prompt, when its turn has come."""

    def __call__(self, *, clock: Callable[[], float], draft: Draft) -> Prompt[Reply]: ...


class PromptArea:
    """Shows prompts in place of the composer and removes them. Implements `prompt.Draft`: text that was typed
    at a prompt returns to the composer."""

    def __init__(self, screen: ChatScreen, clock: Callable[[], float], workspace: Path) -> None:
        self._screen = screen
        self._clock = clock
        self._workspace = workspace
        self._prompt: Prompt[Any] | None = None
        self._turn = asyncio.Lock()
        """Held while a prompt is open."""
        self._outstanding = 0
        """Requests without a reply, the one of the open prompt included."""
        self._typed_at = float("-inf")
        """When the user last typed at the composer, or in a prompt's line."""
        self._last_key = NO_KEY
        self._opened_at = 0.0
        self._is_interrupting = False
        self._closed_at = float("-inf")

    @property
    def is_taken(self) -> bool:
        """Whether a prompt is open, or about to open."""
        return self._prompt is not None

    async def ask(self, request: UserRequest[Reply], /) -> Reply:
        """Show a prompt for the request, after those that came before, and return the user's reply.

        The clock of the tool call is stopped meanwhile. A cancelled wait removes the prompt.
        """
        self._screen.transcript.pause_clock(request.call_id)
        try:
            return await self.show(partial(self._make_prompt, request))
        finally:
            self._screen.transcript.resume_clock(request.call_id)

    async def show(self, make: MakePrompt[Reply]) -> Reply:
        """Show the prompt that `make` returns, after those that came before; return the user's reply."""
        self._count(+1)
        try:
            async with self._turn:
                return await self._reply_of(make(clock=self._clock, draft=self))
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        """Count the requests without a reply; the prompt shows how many wait behind it."""
        self._outstanding += change
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.show_waiting(self._outstanding - 1)

    def _make_prompt(
        self, request: UserRequest[Reply], *, clock: Callable[[], float], draft: Draft
    ) -> Prompt[Reply]:
        from forge_core.approval import ApprovalRequest, PlanRequest, QuestionRequest

        prompt: Prompt[ApprovalReply] | Prompt[QuestionReply] | Prompt[PlanReply]
        match request:
            case ApprovalRequest():
                from forge_tui.screens.prompts.permission import PermissionPrompt

                prompt = PermissionPrompt(
                    request,
                    workspace=self._workspace,
                    clock=clock,
                    draft=draft,
                    check_rule=self._check_rule,
                )
                self._screen.attention.asked(request.tool)
            case QuestionRequest():
                from forge_tui.screens.prompts.question import QuestionPrompt

                prompt = QuestionPrompt(request, workspace=self._workspace, clock=clock, draft=draft)
                self._screen.attention.asked("")
            case PlanRequest():
                from forge_tui.screens.prompts.plan import PlanPrompt

                prompt = PlanPrompt(request, workspace=self._workspace, clock=clock, draft=draft)
                self._screen.attention.asked("")
            case _:
                raise TypeError(f"There is no prompt for a {type(request).__name__}.")
        return cast("Prompt[Reply]", prompt)  # the class of the request decides that of the reply

    def _check_rule(self, rule: str, answer: Answer) -> str | None:
        """Return why this answer cannot grant a permission rule, or None."""
        if (session := self._screen.session) is not None:
            policy = session.policy
            check = policy.check_grant if answer.value == "always" else policy.check_session_grant
            try:
                check(rule)
            except ForgeError as error:
                return str(error)
        return None

    def rearm(self) -> None:
        """Accept keys and clicks as an answer only after another grace period."""
        if self._prompt is not None:
            self._prompt.rearm()

    def button_pressed(self, pressed_at: float) -> None:
        """Take note of when a mouse button was pressed: `time.monotonic()`."""
        if self._prompt is not None:
            self._prompt.button_pressed(pressed_at)

    def covered(self) -> None:
        """Close what has just opened over the prompt: the result of a command that was sent before."""
        from forge_tui.screens.prompts.full_view import FullView

        if self._prompt is not None and not isinstance(self._screen.app.screen, FullView):
            self._close_overlays()

    def resume(self) -> None:
        """Give the focus back to the prompt: the screen is on top again."""
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.rearm()
            self._screen.set_focus(self._prompt)

    def key_arrived(self, key: str) -> None:
        """Take note of a key that has not been handled yet."""
        self._last_key = (key, self._clock())

    def text_arrived(self) -> None:
        """Take note of typed text that has not been handled yet."""
        is_composing = self._screen.focused is self._screen.composer
        if is_composing or (self._prompt is not None and self._prompt.is_writing):
            self._typed_at = self._clock()
        if is_composing:
            self._closed_at = float("-inf")

    def may_send(self) -> bool:
        """Whether an Enter in the composer is meant for it, not for a prompt that has just closed."""
        now = self._clock()
        is_meant = now - self._closed_at >= LATE_ENTER_S
        if not is_meant:
            self._closed_at = now  # a key that is held repeats
        return is_meant

    async def _reply_of(self, prompt: Prompt[Reply]) -> Reply:
        self._prompt = prompt
        self._screen.call_later(self._put, prompt)  # in the screen's own task: the caller may be any task
        try:
            return await prompt.reply
        finally:
            self._prompt = None
            self._screen.call_later(self._take_away, prompt)

    async def _put(self, prompt: Prompt[Any]) -> None:
        if prompt is not self._prompt:
            return  # cancelled before it could be shown
        screen = self._screen
        has_draft = self._screen.composer.display and bool(self._screen.composer.text.strip())
        self._is_interrupting = has_draft or self._screen.find.is_open or screen.app.screen is not screen
        self._close_overlays()  # a question must not wait unseen
        self._screen.find.close(is_kept=True)
        self._screen.popup.close(self._screen.composer.text)
        self._screen.composer.display = False
        screen.add_class("-asking")
        if (working := self._screen.activity.working) is not None:
            self._screen.activity.working = replace(
                working, verb=ASKING, hint="Ctrl+C to interrupt", asked_at=self._clock()
            )
        self._opened_at = self._clock()
        await screen.mount(prompt, after=self._screen.composer)
        prompt.show_waiting(self._outstanding - 1)

    async def _take_away(self, prompt: Prompt[Any]) -> None:
        screen = self._screen
        if prompt.is_attached:
            from forge_tui.screens.prompts.full_view import FullView

            self._close_overlays(FullView)  # it showed what that prompt was about
            if prompt.reply.cancelled():
                prompt.return_text()
            await prompt.remove()
        if self._prompt is not None:
            return  # the next one is open already
        self._closed_at = self._clock()
        self._screen.composer.display = True
        screen.remove_class("-asking")
        self._screen.composer.focus()
        if (working := self._screen.activity.working) is not None and working.verb == ASKING:
            self._screen.activity.working = Working(working.since)

    def _close_overlays(self, kind: type[Overlay[None]] | None = None) -> None:
        for above in reversed(self._screen.app.screen_stack):
            if isinstance(above, kind or Overlay):
                # One that is still being mounted would fail without its widgets.
                above.withdraw() if above.is_mounted else above.call_later(above.withdraw)

    # The message in the composer

    @property
    def is_interrupted(self) -> bool:
        """Whether the user was doing something else when the prompt opened: an Enter may belong to that."""
        return self._is_interrupting or self.is_half_typed

    @property
    def is_half_typed(self) -> bool:
        """Whether the composer's text was being typed when the prompt opened."""
        is_recent = self._opened_at - self._typed_at < RECENT_S
        return is_recent and bool(self._screen.composer.text.strip())

    @property
    def last_key(self) -> tuple[str, float]:
        """The last key that the app has received, and when."""
        return self._last_key

    def take(self) -> tuple[str, int]:
        """Remove the composer's text; return it and the index of its cursor. A text with chips stays: it is
        no text for a line."""
        composer = self._screen.composer
        if composer.has_chips:
            return "", 0
        cursor = composer.cursor_index
        return composer.take(), cursor

    def restore_draft(self, text: str, cursor: int) -> None:
        """Append text to the composer's."""
        self._screen.composer.restore_draft(text, cursor)

    def say(self, text: str) -> None:
        """Show a note for a moment."""
        self._screen.activity.note(text)
