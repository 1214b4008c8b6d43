"""A tool call: one header line, live output while it runs, and its result, folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal

from rich.segment import Segment
from rich.style import Style

from forge_core.commands.figures import dollars, tokens_text
from forge_core.events import AgentEvent, LLMEnd, LLMStart, Notice, ToolEnd, ToolStart
from forge_core.result import ToolOutcome
from forge_core.sanitize import safe_line, safe_text
from forge_tui.terminal.editor_links import Links, find_mentions
from forge_tui.widgets.blockview.blocks import MARGIN, RIGHT_EDGE, Linkable, Passage
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.card_block import HEADER, CardBlock, CardPart, ClickTarget
from forge_tui.widgets.transcript.calls.card_body import CardBody, beyond_changes, omission_row
from forge_tui.widgets.transcript.calls.card_header import draw_header, time_so_far, time_taken
from forge_tui.widgets.transcript.path_links import link_style

CardState = Literal["running", "done", "background", "failed", "denied", "declined", "interrupted"]
SIGNS: Mapping[CardState, str] = {
    "running": "●",
    "done": "✓",
    "background": "↷",
    "failed": "✗",
    "denied": "⊘",
    "declined": "⊘",
    "interrupted": "◌",
}
_STATES: Mapping[ToolOutcome, CardState] = {
    "done": "done",
    "background": "background",
    "failed": "failed",
    "timed_out": "failed",
    "unknown_tool": "failed",
    "unreadable": "failed",
    "denied": "denied",
    "declined": "declined",
    "interrupted": "interrupted",
}
Failure = Literal["fresh", "recovered", "final"]
"""What happened to the turn after a call had failed: unknown yet, it continued, or it ended."""

_REFUSED = "not allowed"
_REASON_LINES = 8
"""The most lines of the user's reason that show if the card is folded."""


class ToolCard(CardBlock):
    """One tool call, from its start to its end, with the calls that it made itself."""

    latest_calls = 4
    """How many of these show while it is folded and runs; the others are counted."""

    def __init__(self, start: ToolStart, fold: Fold | None = None) -> None:
        super().__init__(fold or Fold())
        self.state: CardState = "running"
        self.failure: Failure = "fresh"
        self.subject = start.subject
        self.elapsed_s = 0.0
        self.started = start.timestamp
        self._name = start.name
        self._verb, self._target = (safe_line(text.strip()) for text in start.heading)
        self._summary = ""
        self._refusal = _REFUSED
        self._reason: str | None = None
        """Why the user denied it, "" without a reason; None if the user did not deny it."""
        self._is_whole_in_header = False
        """Whether the header contains the whole result."""
        self.body: CardBody = CardBody(start.preview_rows)
        self._is_looked_through = False
        """Whether its paths have been looked for."""

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def can_unfold(self) -> bool:
        return bool(self.calls.count) or not (self.body.is_empty or self._shows_all_when_folded())

    def progress(self, text: str) -> None:
        """Add live output; a text that begins with \\r replaces the last line. Ignored after the end."""
        if self.is_running:
            safe = safe_text(text.removeprefix("\r"), keep_invisible=True)
            self.body.feed(safe, again=text.startswith("\r"))
            self.changed()

    def tick(self, now: float) -> bool:
        """Update the time; return whether its text changed."""
        before = self._time()
        self.elapsed_s = max(0.0, now - self.started)
        if self._time() == before:
            return False
        self.changed()
        return True

    def resume_clock(self, now: float) -> None:
        """Continue the time from where it stopped."""
        self.started = now - self.elapsed_s

    def finish(self, end: ToolEnd) -> None:
        """Show how it ended; ignore a second end."""
        if self.state not in ("running", "denied"):
            return
        outcome = end.outcome or ("done" if end.success else "failed")
        self.state = "denied" if self.state == "denied" and not end.success else _STATES[outcome]
        self.elapsed_s = max(0.0, end.duration_s)
        self._summary = self._summarised(end, outcome)
        text = self._user_text(end)
        self.body.finish(text, end.diffs, end.omission, is_failure=self.state == "failed")
        self._is_whole_in_header = end.is_in_header and self.state in ("done", "declined")
        self._close()

    def deny(self, why: str = "") -> None:
        """Show that it was denied; `why` names the rule, mode or guard that decided."""
        if self.is_running:
            self.state = "denied"
            self._refusal = f"{_REFUSED}: {safe_line(why)}" if why else _REFUSED
            self.changed()

    def refuse(self, reason: str) -> None:
        """Show that the user denied it, with the reason given, if any."""
        if self.is_running:
            self._reason = safe_text(reason, keep_invisible=True).strip()
            self.body.preview_rows, self.body.is_wrapped = _REASON_LINES, True
            self.deny()

    def interrupt(self) -> None:
        """Show that the turn ended without this call's end."""
        if self.is_running:
            self.state = "interrupted"
        self._close()

    def set_failure(self, failure: Failure) -> None:
        """Set what happened to the turn after this call had failed."""
        if self.failure != failure:
            self.failure = failure
            self.body.is_error_bright = failure != "recovered"
            self.changed()

    def turn_page(self, part: CardPart) -> ClickTarget | None:
        if part in ("more_calls", "earlier_calls"):
            return super().turn_page(part)
        has_turned = self.body.turn_page(1 if part == "next_page" else -1)
        return ClickTarget(self, "new_page") if has_turned else None

    def passages(self) -> Iterator[tuple[Passage, str]]:
        yield Passage(self, HEADER), f"{self._verb} {self._target}  {self._result()}".rstrip()
        yield from self.calls.passages()
        for number, text in enumerate(self.body.find_texts(), 1):
            yield Passage(self, number), text

    def show_passage(self, number: int) -> None:
        if number != HEADER:
            self.set_open(True)
            if self.body.show_page(number - 1):
                self.changed()

    def set_open(self, is_open: bool) -> bool:
        if not is_open:
            self.body.reset_pages()
        return super().set_open(is_open)

    def without_links(self) -> Iterator[Linkable]:
        if not self.is_running and not self._is_looked_through:
            yield self
        if self.is_open:
            yield from self.calls.without_links()

    def text_with_paths(self) -> str:
        return f"{self._target}\n{self.body.text_with_paths()}"

    def set_links(self, links: Links) -> None:
        self._is_looked_through = True
        if links:
            self.body.links = links
            self.changed()

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented([Segment(MARGIN)]):
            self._draw(canvas, styles, is_alone=True)

    def draw_in_list(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw(canvas, styles, is_alone=False)

    def draw_header(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        canvas.mark(ClickTarget(self, "header"))
        canvas.mark(Passage(self, HEADER))
        sign, verb, target, result = self._colours(styles)
        first = [Segment(SIGNS[self.state], sign), Segment(" ")]
        with canvas.limited(RIGHT_EDGE), canvas.indented([Segment("  ")], first):
            words = (self._verb, verb), (self._target, self._linked(target)), (self._result(), result)
            draw_header(canvas, styles, *words, self._time(), name=self._name_span(styles))

    def _draw(self, canvas: Canvas, styles: TranscriptStyles, *, is_alone: bool) -> None:
        self.draw_header(canvas, styles)
        with canvas.indented([Segment("│ ", styles.faint)]):
            if self.is_open:
                self.calls.draw(canvas, styles)
                self.body.draw(canvas, styles, self, is_preview=False)
            elif is_alone:
                if self.is_running:
                    self.calls.draw_latest(canvas, styles, self.latest_calls)
                if self._preview_rows():
                    self.body.draw(canvas, styles, self, is_preview=True)

    def _colours(self, styles: TranscriptStyles) -> tuple[Style, Style, Style, Style]:
        """Return the styles of sign, verb, target and result."""
        quiet, strong = styles.muted, styles.text + styles.strong
        match self.state, self.failure:
            case "running", _:
                return styles.warning, strong, styles.text, quiet
            case "failed", "recovered":
                return styles.error, quiet, quiet, quiet
            case ("failed", _) | ("denied", "final"):
                return styles.error, strong, styles.text, styles.error
            case "denied", "fresh":
                return styles.text, strong, styles.text, quiet
            case (("done" | "background"), _):
                sign = styles.success if self.state == "done" else styles.accent
                return sign, quiet, styles.text, quiet
            case _:
                return quiet, quiet, quiet, quiet

    def _name_span(self, styles: TranscriptStyles) -> StyledSpan | None:
        """Return the part of the target that is shown in the colour of an agent."""
        return None

    def _linked(self, style: Style) -> Style:
        """Return the style of the target, as a link if all of it is the path of a file."""
        if self.body.links:
            for start, end, mention in find_mentions(self._target):
                if (start, end) == (0, len(self._target)) and mention in self.body.links:
                    return style + link_style(mention, self.body.links[mention])
        return style

    def _result(self) -> str:
        words = {"denied": self._refusal, "interrupted": "interrupted"}.get(self.state, self._summary)
        if self._reason and self.owner is not None:  # in a list only the header shows
            words = f"{words}: {safe_line(self._reason)}"
        return ", ".join(filter(None, (self._calls_text(), words)))

    def _calls_text(self) -> str:
        """Return how many calls it has made; empty for none."""
        count = self.calls.count
        return f"{count:,} call{'s'[: count != 1]}" if count else ""

    def _time(self) -> str:
        if self.is_running:
            return time_so_far(self.elapsed_s)
        return time_taken(self.elapsed_s) if self.state in ("done", "failed", "background") else ""

    def _summarised(self, end: ToolEnd, outcome: ToolOutcome) -> str:
        """Return a few words about the result; only why, for a call that never ran."""
        summary = safe_line(end.summary)
        if outcome == "unknown_tool":
            self._verb, self._target = "Unknown tool", safe_line(self._name)
            return ""
        if outcome == "unreadable":
            return "unreadable arguments"
        if not self._beyond_target(summary) and not end.success:
            line = self._beyond_target(safe_line(end.result.removeprefix("Error: ").split("\n", 1)[0]))
            return line.partition(". ")[0].removesuffix(".")  # what follows is advice to the model
        return self._beyond_target(summary)

    def _beyond_target(self, summary: str) -> str:
        """Return `summary` without the target (a job, a file, "2 files"), which the header contains
        already."""
        if not self._target:
            return summary
        rest = summary.removeprefix(f"{self._target}: ").removeprefix(f"{self._target!r} ")
        rest = rest.replace(f": {self._target}: ", ": ", 1)
        return "" if summary == self._target else rest

    def _user_text(self, end: ToolEnd) -> str:
        """Return the text of the result for the user."""
        if self._reason is not None:  # the result is worded for the model
            return self._reason
        if end.display:
            return safe_text(end.display, keep_invisible=True)
        text = end.result
        if end.aside:
            text = text.removeprefix(end.aside).removesuffix(end.aside)
        for note in end.model_notes:
            text = without_part(text, note)
        if end.omission is not None:
            text = text.replace(f"\n{end.omission.line}\n", f"\n{omission_row(end.omission)}\n", 1)
        if not end.success:
            text = text.removeprefix("Error: ")
        if self.state == "interrupted" and text.startswith("interrupted") and "\n" not in text:
            return ""  # the header says so
        return safe_text(beyond_changes(text, end.diffs), keep_invisible=True).strip("\n")

    def _close(self) -> None:
        self.changed()
        if self.owner is not None:
            self.owner.call_ended(self)

    def _preview_rows(self) -> int:
        if self.state == "denied":
            return self.body.rows_when_folded() if self._reason else 0
        if self.state == "background" or self._is_whole_in_header:
            return 0
        return self.body.rows_when_folded()

    def _shows_all_when_folded(self) -> bool:
        return self.owner is None and self._preview_rows() > 0 and self.body.is_whole_in_preview

    def estimate(self, width: int) -> int:
        return self.gap + 1 + self._preview_rows()


class AgentCard(ToolCard):
    """One call of a sub-agent. The calls that the sub-agent makes are the cards in it."""

    latest_calls = 1

    def __init__(self, start: ToolStart, fold: Fold | None = None) -> None:
        super().__init__(start, fold)
        self.body.shows_beginning = True
        self._color = start.color
        self._step = "starting"
        self._tokens = 0
        self._cost_usd = Decimal(0)

    def follow(self, event: AgentEvent) -> None:
        """Show what an event of the sub-agent says of its progress."""
        match event:
            case LLMStart():
                self._step = "thinking"
            case LLMEnd():
                self._step = ""
                self._tokens += event.usage.total_tokens
                self._cost_usd += event.cost_usd or 0
            case Notice():
                self._step = safe_line(event.text)
            case _:
                self._step = ""
        self.changed()

    def _result(self) -> str:
        if not self.is_running:
            return super()._result()
        calls = self.calls.count
        figures = (
            f"{calls:,} call{'s'[: calls != 1]}" if calls else "",
            f"{tokens_text(self._tokens)} tokens" if self._tokens else "",
            dollars(self._cost_usd) if self._cost_usd else "",
            self._step,
        )
        return " · ".join(filter(None, figures))

    def _name_span(self, styles: TranscriptStyles) -> StyledSpan | None:
        name, colon, _ = self._target.partition(": ")
        color = styles.agents.get(self._color)
        return (name, color) if color is not None and colon and self.state != "interrupted" else None

    def _calls_text(self) -> str:
        return ""  # the summary says how many


def without_part(text: str, part: str) -> str:
    """Return `text` without the last occurrence of `part` as whole lines."""
    # Framed, so that the first and the last line are found as whole lines too.
    framed = f"\n{text}\n"
    at = framed.rfind(f"\n{part}\n")
    if at < 0:
        return text
    return (framed[: at + 1] + framed[at + len(part) + 2 :])[1:].removesuffix("\n")
