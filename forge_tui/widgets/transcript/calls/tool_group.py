"""Consecutive reads and searches as one card: the targets counted; unfolded, each call by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.segment import Segment

from forge_core import durations
from forge_core.config.settings import ThinkingSetting
from forge_core.events import Subject
from forge_core.sanitize import safe_line
from forge_tui.keys.effective import fold_key
from forge_tui.widgets.blockview.blocks import MARGIN, RIGHT_EDGE, Linkable, Passage
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.card_block import HEADER, CardBlock, ClickTarget
from forge_tui.widgets.transcript.calls.card_header import (
    WORTH_TELLING_S,
    draw_header,
    time_so_far,
    time_taken,
)
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import SIGNS, CardState, ToolCard

_FAILED_ROWS = 3
"""Failed calls that show if the group is folded; the others are counted."""
_NAMES = 24
"""Targets whose names are listed after the counts, as far as there is room."""


class ToolGroup(CardBlock):
    """Two or more calls that only read, with nothing but folded reasoning between them."""

    def __init__(self, first: ToolCard, fold: Fold) -> None:
        super().__init__(fold)
        self._calls_of: dict[tuple[str, str], Counter[str]] = {}
        """By verb and noun: the targets, with the number of calls for each that have not failed."""
        self._names: Counter[str] = Counter()
        """The number of calls that have not failed, for each of the first names."""
        self._thoughts: list[ReasoningBlock] = []
        self._thought_s = 0.0
        self._is_open_for_thoughts = False
        self._running: dict[ToolCard, None] = {}
        self._failed: list[ToolCard] = []
        self._busy_s = 0.0
        self._busy_until = 0.0
        self._last_ended: ToolCard | None = None
        self.add(first)

    @property
    def can_unfold(self) -> bool:
        return True

    def add(self, card: ToolCard) -> None:
        """Add one more call."""
        assert card.subject is not None, "only calls that look are grouped"
        card.fold.detach()
        self.calls.append(card)
        self.calls.count += 1
        self._calls_of.setdefault(_way(card.subject), Counter())[card.subject.key] += 1
        name = safe_line(card.subject.name)
        # Known names are counted beyond the limit too: `_note_end` subtracts from them.
        if name in self._names or len(self._names) < _NAMES:
            self._names[name] += 1
        if card.is_running:
            self._running[card] = None
        else:
            self._note_end(card)
        self.changed()

    def add_reasoning(self, reasoning: ReasoningBlock) -> None:
        """Add the reasoning between two calls."""
        reasoning.fold.detach()
        self.calls.append(reasoning)
        self._thoughts.append(reasoning)
        self._thought_s += reasoning.duration_s
        self.changed()

    def show_as(self, thinking: ThinkingSetting) -> None:
        """Set how the reasoning in it is shown."""
        for thought in self._thoughts:
            thought.show_as(thinking)
        if self._thoughts and thinking == "full":
            self._is_open_for_thoughts |= self.set_open(True)
        elif self._is_open_for_thoughts:
            self._is_open_for_thoughts = False
            self.set_open(False)

    def call_ended(self, call: CardBlock) -> None:
        if isinstance(call, ToolCard) and call in self._running:
            del self._running[call]
            self._note_end(call)
            self.changed()

    def passages(self) -> Iterator[tuple[Passage, str]]:
        yield Passage(self, HEADER), f"{self._counts()}  {self._result()}"
        yield from self.calls.passages()

    def without_links(self) -> Iterator[Linkable]:
        return self.calls.without_links() if self.is_open else iter(())

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented([Segment(MARGIN)]):
            self.draw_in_list(canvas, styles)

    def draw_in_list(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self.draw_header(canvas, styles)
        with canvas.indented([Segment("│ ", styles.faint)]):
            if self.is_open:
                self.calls.draw(canvas, styles)
            else:
                self._draw_failed(canvas, styles)

    def draw_header(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        canvas.mark(ClickTarget(self, "header"))
        canvas.mark(Passage(self, HEADER))
        state = self._state()
        colours = {"running": styles.warning, "done": styles.success, "failed": styles.error}
        sign, colour = SIGNS[state], colours.get(state, styles.muted)
        verb, _, counts = self._counts().partition(" ")
        verb_style = styles.text + styles.strong if self._running else styles.muted
        words = (verb, verb_style), (counts, styles.text), (self._result(), styles.muted)
        first = [Segment(sign, colour), Segment(" ")]
        with canvas.limited(RIGHT_EDGE), canvas.indented([Segment("  ")], first):
            draw_header(canvas, styles, *words, self._time(), self._note(), is_target_kept=True)

    def _state(self) -> CardState:
        if self._running:
            return "running"
        if self._last_ended is not None and self._last_ended.state == "interrupted":
            return "interrupted"
        if len(self._failed) < self.calls.count:
            return "done"
        return "denied" if all(card.state == "denied" for card in self._failed) else "failed"

    def _counts(self) -> str:
        """Return, for example, "Read 4 files, searched 2 patterns", in the order in which they began.

        Failed calls do not count, unless all have failed: then the sign before the text says so.
        """
        done = {way: sum(map(bool, calls.values())) for way, calls in self._calls_of.items()}
        counts = done if any(done.values()) else {way: len(calls) for way, calls in self._calls_of.items()}
        text = ", ".join(_counted(way, count) for way, count in counts.items() if count)
        return text[:1].upper() + text[1:]

    def _result(self) -> str:
        """Return the current target; after the end, all targets."""
        if self._running:
            last = next(reversed(self._running))
            return "" if last.subject is None else safe_line(last.subject.name)
        names = [name for name, calls in self._names.items() if name and calls]
        return ", ".join(names or filter(None, self._names))

    def _note(self) -> str:
        """Return how long the model reasoned between the calls."""
        is_shown = self._thought_s >= WORTH_TELLING_S and not self._thoughts[-1].is_hidden
        return f"thought {durations.time_taken(self._thought_s)}" if is_shown else ""

    def _time(self) -> str:
        if self._running:
            card = next(iter(self._running))
            # The oldest running card: it began first, so it covers the time of the others.
            since = max(card.started, self._busy_until)
            return time_so_far(self._busy_s + max(0.0, card.started + card.elapsed_s - since))
        return time_taken(self._busy_s)

    def _note_end(self, card: ToolCard) -> None:
        """Add the time in which none of the others ran; note whether the call failed."""
        # Calls may overlap: only time after the end of the last one counts.
        end = card.started + card.elapsed_s
        self._busy_s += max(0.0, end - max(card.started, self._busy_until))
        self._busy_until = max(self._busy_until, end)
        self._last_ended = card
        if card.state in ("failed", "denied"):
            self._failed.append(card)
        if card.state in ("failed", "denied", "interrupted") and card.subject is not None:
            self._calls_of[_way(card.subject)][card.subject.key] -= 1
            if (name := safe_line(card.subject.name)) in self._names:
                self._names[name] -= 1

    def _draw_failed(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        for card in self._failed[:_FAILED_ROWS]:
            card.draw_header(canvas, styles)
        if (more := len(self._failed) - _FAILED_ROWS) > 0:
            canvas.mark(ClickTarget(self, "text"))
            canvas.decoration([(f"… {more:,} more failed ({fold_key()})", styles.muted)])

    def estimate(self, width: int) -> int:
        return self.gap + 1 + min(len(self._failed), _FAILED_ROWS + 1)


def _way(subject: Subject) -> tuple[str, str]:
    return subject.verb, subject.noun


def _counted(way: tuple[str, str], count: int) -> str:
    """Return, for example, "read 4 files"."""
    verb, noun = way
    return safe_line(f"{verb} {count:,} {noun}{'s'[: count != 1]}")
