"""The composer's place, lent to one prompt at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual import events

from forge_tui.screens.attention import PersonAsked
from forge_tui.screens.overlay import Overlay
from forge_tui.widgets.activity import Working
from forge_tui.widgets.composer import writes

if TYPE_CHECKING:
    from forge_core.approval import ApprovalReply, ApprovalRequest, QuestionReply, QuestionRequest
    from forge_tui.screens.chat_keys import ChatKeys
    from forge_tui.screens.prompt import Prompt

Reply = TypeVar("Reply")
ASKING = "Waiting for your answer"


class PromptPlace:
    """Puts prompts where the composer is and takes them away again; what is typed meanwhile goes to the
    draft."""

    def __init__(
        self,
        screen: ChatKeys,
        clock: Callable[[], float],
        workspace: Path,
        check_rule: Callable[[str], str | None],
    ) -> None:
        self._screen = screen
        self._clock = clock
        self._workspace = workspace
        self._check_rule = check_rule
        self._prompt: Prompt[ApprovalReply] | Prompt[QuestionReply] | None = None
        self._waiting = 0

    @property
    def is_taken(self) -> bool:
        """Whether a prompt stands, or is about to."""
        return self._prompt is not None

    async def ask(self, request: ApprovalRequest) -> ApprovalReply:
        """May this be done?"""
        from forge_tui.screens.permission import PermissionPrompt

        prompt = PermissionPrompt(
            request,
            workspace=self._workspace,
            clock=self._clock,
            on_stray=self._type_into_draft,
            check_rule=self._check_rule,
        )
        self._prompt = prompt
        self._screen.post_message(PersonAsked(request.tool))
        return await self._answer_of(prompt)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """What the model wants to know."""
        from forge_tui.screens.questionnaire import Questionnaire

        self._screen.post_message(PersonAsked(""))
        prompt = Questionnaire(request, clock=self._clock, on_stray=self._type_into_draft)
        self._prompt = prompt
        return await self._answer_of(prompt)

    def show_waiting(self, count: int) -> None:
        """Say how many prompts wait behind the one on the screen."""
        self._waiting = count
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.show_waiting(count)

    @contextmanager
    def clock_stopped(self, call_id: str) -> Iterator[None]:
        """While it is open, the call's time does not go on: it waits for the person."""
        self._screen.transcript.stop_clock(call_id)
        try:
            yield
        finally:
            self._screen.transcript.go_on_clock(call_id)

    def rearm(self) -> None:
        """Let keys and clicks answer only after another grace."""
        if self._prompt is not None:
            self._prompt.rearm()

    def resume(self) -> None:
        """The screen is on top again: the prompt takes the keys back."""
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.rearm()
            if not self._prompt.is_writing:
                self._prompt.focus()

    async def _answer_of(self, prompt: Prompt[Reply]) -> Reply:
        self._screen.call_later(self._put, prompt)  # in the screen's own task: the caller may be any task
        try:
            return await prompt.reply
        finally:
            self._prompt = None
            self._screen.call_later(self._take_away, prompt)

    async def _put(self, prompt: Prompt[Reply]) -> None:
        if prompt is not self._prompt:
            return  # answered by a cancel before it could be shown
        screen = self._screen
        self._close_overlays()  # a question must not wait unseen
        screen.end_find(is_kept=True)
        screen.popup.close(screen.composer.text)
        screen.composer.display = False
        screen.add_class("-asking")
        if (working := screen.activity.working) is not None:
            screen.activity.working = replace(
                working, verb=ASKING, hint="Ctrl+C to interrupt", asked_at=self._clock()
            )
        await screen.mount(prompt, after=screen.composer)
        prompt.show_waiting(self._waiting)

    async def _take_away(self, prompt: Prompt[Reply]) -> None:
        screen = self._screen
        if prompt.is_attached:
            from forge_tui.screens.full_view import FullView

            self._close_overlays(FullView)  # it showed what that prompt was about
            await prompt.remove()
        if self._prompt is not None:
            return  # the next one has come already
        screen.composer.display = True
        screen.remove_class("-asking")
        screen.composer.focus()
        if (working := screen.activity.working) is not None and working.verb == ASKING:
            screen.activity.working = Working(working.since)

    def _close_overlays(self, kind: type[Overlay[None]] | None = None) -> None:
        for above in reversed(self._screen.app.screen_stack):
            if isinstance(above, kind or Overlay):
                above.action_leave()

    def _type_into_draft(self, event: events.Key | events.Paste) -> None:
        """Keep for the next message what was typed or pasted while a prompt stands."""
        composer = self._screen.composer
        if isinstance(event, events.Paste):
            composer.paste(event.text)  # now: keys that come right behind it are written at once
        elif writes(event):
            composer.keep(event)
        else:
            return
        self._screen.activity.note("Kept for your next message")
