"""The question before something is done: exactly what, why, and four answers.

It stands where the composer was, so the conversation above stays visible; the draft is kept. Keys count only
after half a second without any, so that what was being typed when it appeared never answers it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.geometry import Size
from textual.widgets import Input, Static

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.sanitize import safe_text
from forge_tui.keymap import Where, bindings
from forge_tui.screens.question import body_of, facts_of, options_of, rule_lines, title_of
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.exact_view import ExactView, oddities

GRACE_S = 0.5
SMALL = 20
"""Rows of a terminal below which the prompt has no blank lines."""
FRAME_CELLS = 4
"""Of a row: the border and the padding."""
FRAME_ROWS = 2
NOTE_ROWS = 2
"""The most that the facts, and that the warning, may take: a model words them."""
KEYS_HINT = "Enter answer · Esc no"
WHY_HINT = "Enter send · Esc back"
BESIDE_ROWS = 2
"""The activity line and the status bar."""
WRAP_CELLS = 12
"""What wrapping between words may leave empty."""
NO_ROOM_HINT = "Enlarge the window to answer · Esc no"


class PermissionPrompt(Vertical, can_focus=True):
    """Puts the question and resolves `reply`."""

    DEFAULT_CSS = """
    PermissionPrompt {
        height: auto;
        max-height: 100%;
        padding: 0 1;
        background: $background;
        border: round $accent;
        border-title-color: $accent;
        border-title-style: bold;
        border-subtitle-color: $forge-muted;
        &.-danger { border: round $warning; border-title-color: $warning; }
        & > #facts { color: $forge-muted; margin-top: 1; }
        & > #oddities { color: $warning; }
        & > ChoiceList { margin-top: 1; }
        & > Input { display: none; border: none; padding: 0 2; height: 1; background: $panel; }
        &.-why > Input { display: block; }
    }
    PermissionPrompt.-small > #facts, PermissionPrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.PROMPT)]

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        workspace: Path,
        clock: Callable[[], float],
        on_stray: Callable[[events.Key | events.Paste], None],
    ) -> None:
        super().__init__(id="permission")
        self._request = request
        self._workspace = workspace
        self._clock = clock
        self._on_stray = on_stray
        self._options = options_of(request)
        self._body = ExactView(body_of(request))
        self._warning = safe_text(oddities(request.target))
        self._note = Static(id="oddities", markup=False)
        self._facts = Static(id="facts", markup=False)
        rows = [Choice(f"{n} {option.label}", option.hint) for n, option in enumerate(self._options, 1)]
        self._choices = ChoiceList(rows, chosen=self._default_index())
        self._armed_at = clock() + GRACE_S
        self.reply: asyncio.Future[ApprovalReply] = asyncio.get_running_loop().create_future()

    def compose(self) -> ComposeResult:
        self.set_class(self._request.is_destructive, "-danger")
        self.border_title = Content(title_of(self._request))
        self.border_subtitle = Content(KEYS_HINT)
        yield self._body
        yield self._note
        yield self._facts
        yield self._choices
        why = Input(placeholder="What should it know or do instead?", compact=True)
        why.cursor_blink = False
        yield why

    def on_mount(self) -> None:
        self._fit()
        self.focus()

    def show_waiting(self, count: int) -> None:
        """Say how many more questions wait."""
        more = f" ({count} more waiting)" if count else ""
        self.border_title = Content(title_of(self._request) + more)

    def rearm(self) -> None:
        """Let keys and clicks count only after another grace."""
        self._armed_at = self._clock() + GRACE_S

    @property
    def _is_armed(self) -> bool:
        return self._clock() >= self._armed_at

    def _default_index(self) -> int:
        if not self._request.is_destructive:
            return 0
        return next(i for i, option in enumerate(self._options) if option.answer is Answer.NO)

    def _fit(self) -> None:
        """Give each part its rows. The answers come first, then two rows of what it is about, the warning
        and the facts; the body and the conversation share what is left."""
        width, rows = max(self.screen.size.width - FRAME_CELLS, 2), self.screen.size.height
        blank = int(rows >= SMALL)
        conversation = 4 if blank else 2
        self.set_class(not blank, "-small")
        left = rows - BESIDE_ROWS - FRAME_ROWS - 2 * blank - len(self._options) - self.has_class("-why")
        wanted = self._fill_body(width)
        least = min(wanted, 2)
        left -= _place(self._note, self._warning, width, min(left - least, NOTE_ROWS))
        is_whole = wanted <= min(left - NOTE_ROWS - blank - conversation, rows // 2)
        spare = min(left - least - blank, NOTE_ROWS)
        room = max(width * spare - WRAP_CELLS, 0)
        facts = facts_of(self._request, self._workspace, room=room, is_whole=is_whole)
        taken = _place(self._facts, facts, width, spare)
        left -= taken + blank if taken else 0
        self._body.styles.max_height = max(min(left - conversation, rows // 2), min(left, least), 0)
        self.call_after_refresh(self._say_hint)

    def _fill_body(self, width: int) -> int:
        """Put the rule below what is asked about when its own row cannot hold it; gives the body's rows."""
        lines = body_of(self._request)
        if any(not self._choices.fits(index, width) for index in range(len(self._options))):
            lines += rule_lines(self._request)
        self._body.show(lines)
        return len(self._body.rows_for(width - 1))

    @property
    def _is_answerable(self) -> bool:
        """Whether all answers, and something of what they are about, are on the screen."""
        try:
            choices, body = (self.screen.find_widget(part) for part in (self._choices, self._body))
        except (NoWidget, NoScreen):
            return False
        return choices.visible_region.height >= len(self._options) and body.visible_region.height > 0

    def _say_hint(self) -> None:
        """Say below what the keys do now."""
        hint, rows = KEYS_HINT, self._body.row_count
        if self.has_class("-why"):
            hint = WHY_HINT
        elif not self._is_answerable:
            hint = NO_ROOM_HINT
        elif self._body.size.height < rows:
            hint += f" · {rows} rows, PageDown for more"
        self.border_subtitle = Content(hint)

    def on_resize(self) -> None:
        self._fit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the reason is being written, the keys belong to it."""
        if self.has_class("-why"):
            return action == "deny"
        return True

    async def on_event(self, event: events.Event) -> None:
        """Keys in the grace, text that is no answer and pastes go to the draft, and start the grace anew."""
        if isinstance(event, events.Key | events.Paste) and self._is_stray(event):
            self.rearm()
            event.stop()
            self._on_stray(event)
            return
        await super().on_event(event)

    def _is_stray(self, event: events.Key | events.Paste) -> bool:
        if self.has_class("-why"):
            return False  # the reason's own
        if isinstance(event, events.Paste) or not self._is_armed:
            return True
        is_text = event.is_printable or event.key == "backspace"
        return is_text and event.key not in self._bindings.key_to_bindings

    def action_choose(self, by: int) -> None:
        self._choices.move(by)

    def action_answer(self, index: int | None = None) -> None:
        chosen = self._choices.chosen if index is None else index
        if chosen >= len(self._options) or not self._is_answerable:
            return
        option = self._options[chosen]
        if option.asks_why:
            self._choices.choose(chosen)
            self.add_class("-why")
            self._fit()
            self.query_one(Input).focus()
        else:
            self._resolve(ApprovalReply(option.answer))

    def action_deny(self) -> None:
        if self.has_class("-why"):
            self.remove_class("-why")
            self._fit()
            self.focus()
        else:
            self._resolve(ApprovalReply(Answer.NO))

    def action_scroll_body(self, pages: int) -> None:
        body = self._body
        body.scroll_relative(y=pages * max(body.size.height - 1, 1), animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._resolve(ApprovalReply(Answer.NO, event.value.strip()))

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.stop()
        if self._is_armed:
            self.action_answer(event.index)

    def _resolve(self, reply: ApprovalReply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)


def _place(part: Static, text: str, width: int, rows: int) -> int:
    """Show the text in at most so many rows; gives the rows it takes."""
    part.display = bool(text) and rows > 0
    if not part.display:
        return 0
    part.update(Content(text))
    part.styles.max_height = rows
    return min(part.get_content_height(Size(width, rows), Size(width, rows), width), rows)
