"""The question before something is done: exactly what, why, and four answers.

It stands where the composer was, so the conversation above stays visible; the draft is kept. Keys count only
after half a second without any, so that what was being typed when it appeared never answers it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.sanitize import exact_text, safe_line, safe_text
from forge_tui.keymap import Where, bindings
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.exact_view import ExactView, Line, command_lines, diff_lines, oddities

GRACE_S = 0.5
SMALL = 20
"""Rows of a terminal below which the prompt has no blank lines."""
RULE_MARGIN = 34
"""Cells of the second answer's row that its rule cannot use."""
KEYS_HINT = "Enter answer · Esc no"


@dataclass(frozen=True, slots=True)
class Option:
    """One answer on offer."""

    label: str
    answer: Answer
    hint: str = ""
    asks_why: bool = False


def title_of(request: ApprovalRequest) -> str:
    """What Forge wants, in words."""
    verbs = {
        Effect.RUN: "run a command",
        Effect.READ: "read a file",
        Effect.NETWORK: "use the network",
        Effect.WRITE: "create or replace a file" if request.tool == "write" else "edit a file",
    }
    if request.tool not in ("bash", "read", "write", "edit"):
        return f"Forge wants to {verbs[request.effect]} with the tool {safe_line(request.tool)}"
    return f"Forge wants to {verbs[request.effect]}"


def body_of(request: ApprovalRequest) -> list[Line]:
    """What would be done, line by line, as it is."""
    if request.effect is Effect.RUN:
        return command_lines(request.target)
    lines = [Line(request.target, marks_foreign=True)] if request.target else []
    for diff in request.diffs:
        if diff.path != request.target:
            lines.append(Line(diff.path, marks_foreign=True))
        lines += diff_lines(diff.diff)
    if not request.diffs:
        for name, value in request.arguments.items():
            text = value if isinstance(value, str) else repr(value)
            if text != request.target:
                lines += [
                    Line(f"{name}: {text}" if i == 0 else text) for i, text in enumerate(text.split("\n"))
                ]
    return lines


def facts_of(request: ApprovalRequest) -> str:
    """Why it asks, how much it is, and what the tool has to add."""
    target = request.target
    line_count = target.count("\n") + 1
    size = f"{line_count} line{'s'[: line_count != 1]}, {len(target)} character{'s'[: len(target) != 1]}"
    if request.diffs:
        added, removed = sum(d.added for d in request.diffs), sum(d.removed for d in request.diffs)
        size = f"+{added} −{removed}"
    details = [f"{safe_line(name)}: {safe_line(value)}" for name, value in request.details.items()]
    return " · ".join([safe_line(request.reason), size, *details])


def rule_of(request: ApprovalRequest) -> str:
    """The rule that "yes, for this session" would add, as one line in which every character shows."""
    return safe_line(exact_text(request.session_rule))


def options_of(request: ApprovalRequest) -> list[Option]:
    rule = rule_of(request)
    options = [Option("Yes, once", Answer.ONCE)]
    if rule:
        options.append(Option("Yes, for this session:", Answer.SESSION, hint=rule))
    return [*options, Option("No", Answer.NO), Option("No, and tell it why", Answer.NO, asks_why=True)]


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
        & > #oddities { color: $warning; display: none; }
        & > #oddities.-found { display: block; }
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
        clock: Callable[[], float],
        on_stray: Callable[[events.Key], None],
    ) -> None:
        super().__init__(id="permission")
        self._request = request
        self._clock = clock
        self._on_stray = on_stray
        self._options = options_of(request)
        self._body = ExactView(body_of(request))
        rows = [Choice(f"{n} {option.label}", option.hint) for n, option in enumerate(self._options, 1)]
        self._choices = ChoiceList(rows, chosen=self._default_index())
        self._armed_at = clock() + GRACE_S
        self.reply: asyncio.Future[ApprovalReply] = asyncio.get_running_loop().create_future()

    def compose(self) -> ComposeResult:
        request = self._request
        self.set_class(request.is_destructive, "-danger")
        self.border_title = Content(title_of(request))
        self.border_subtitle = Content(KEYS_HINT)
        yield self._body
        odd = oddities(request.target)
        note = Static(Content(safe_text(odd)), id="oddities", markup=False)
        note.set_class(bool(odd), "-found")
        yield note
        facts = facts_of(request)
        if cell_len(rule_of(request)) > self.screen.size.width - RULE_MARGIN:
            facts += f"\nAnswer 2 would allow: {rule_of(request)}"  # its own row has no room for all of it
        yield Static(Content(facts), id="facts", markup=False)
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
        """Give the body the rows that are left, so that the answers always show."""
        rows = self.screen.size.height
        is_small = rows < SMALL
        self.set_class(is_small, "-small")
        around, conversation = (9, 2) if is_small else (11, 4)
        self._body.styles.max_height = max(min(rows - around - conversation, rows // 2), 2)
        self.call_after_refresh(self._say_whether_there_is_more)

    def _say_whether_there_is_more(self) -> None:
        rows = self._body.row_count
        more = f" · {rows} rows, PageDown for more" if self._body.size.height < rows else ""
        self.border_subtitle = Content(KEYS_HINT + more)

    def on_resize(self) -> None:
        self._fit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the reason is being written, the keys belong to it."""
        if self.has_class("-why"):
            return action == "deny"
        return True

    async def on_event(self, event: events.Event) -> None:
        """Keys in the grace go to the draft, and start it anew."""
        if isinstance(event, events.Key) and not self._is_armed:
            self.rearm()
            event.stop()
            self._on_stray(event)
            return
        await super().on_event(event)

    def action_choose(self, by: int) -> None:
        self._choices.move(by)

    def action_answer(self, index: int | None = None) -> None:
        chosen = self._choices.chosen if index is None else index
        if chosen >= len(self._options):
            return
        option = self._options[chosen]
        if option.asks_why:
            self._choices.choose(chosen)
            self.add_class("-why")
            self.border_subtitle = Content("Enter send · Esc back")
            self.query_one(Input).focus()
        else:
            self._resolve(ApprovalReply(option.answer))

    def action_deny(self) -> None:
        if self.has_class("-why"):
            self.remove_class("-why")
            self._say_whether_there_is_more()
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
