"""What is at the top of the screen stays there unless the person asks for something else."""

from __future__ import annotations

import os
import random

import pytest

from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block, NoticeBlock, UserBlock
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.bench.script import MARKDOWN
from tests.support.transcripts import STYLES, row_text, said, tool_ended, tool_started

HEIGHT = 12


class Folding(Block):
    """Long lines that can be folded away, with an estimate far off and a gap that changes."""

    def __init__(self, name: str, chance: random.Random) -> None:
        super().__init__()
        self.name = name
        self.gap = chance.randrange(2)
        self.lines = [f"{name}.{n} " + "word " * chance.randrange(60) for n in range(chance.randrange(1, 30))]
        self.guess = chance.choice((1, 3, 40, 400))
        self.is_open = True

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        for line in self.lines if self.is_open else self.lines[:1]:
            canvas.text([(line, styles.text)])
        canvas.gap()

    def toggle(self, row: int) -> bool:
        self.is_open = not self.is_open
        self.changed()
        return True

    def estimate(self, width: int) -> int:
        return self.guess


class Reader:
    """A person before a layout: what they do, what happens meanwhile, and what they see."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.layout = Layout()
        self.width = 60
        self.layout.configure(self.width, HEIGHT, STYLES)
        self.conversation = TranscriptBuilder(self.layout)
        for number in range(30):
            self.layout.append(Folding(f"b{number}", self.chance))
        self.calls = 0
        self.frame = self.layout.frame()

    def look(self) -> list[str]:
        self.frame = self.layout.frame()
        return [row_text(row) for row in self.frame.rows]

    def whole(self) -> list[tuple[int, int]]:
        """Every row there is."""
        return [
            (block, row)
            for block in range(len(self.layout.blocks))
            for row in range(len(self.layout.rendered(block).rows))
        ]

    def something_happens(self) -> None:
        """Below, or anywhere out of sight; the person has not asked for it."""
        chance = self.chance
        match chance.randrange(7):
            case 0 | 1 | 2:
                start = chance.randrange(len(MARKDOWN))
                self.conversation.apply(said(MARKDOWN[start : start + chance.randrange(300)]))
                self.conversation.flush()
            case 3:
                self.calls += 1
                self.conversation.apply(tool_started("bash", str(self.calls), command="make"))
            case 4:
                self.conversation.apply(
                    tool_ended("bash", "out\n" * chance.randrange(40), call_id=str(self.calls))
                )
            case 5:
                self.conversation.add(NoticeBlock("notice " * chance.randrange(30), "info"))
            case 6:
                above = [
                    n for n in range(self.frame.places[0][0]) if isinstance(self.layout.blocks[n], Folding)
                ]
                if above:
                    self.layout.blocks[chance.choice(above)].toggle(0)


@pytest.mark.parametrize("seed", range(60 if os.environ.get("FORGE_FULL") else 6))
def test_the_visible_text_moves_only_when_the_user_scrolls(seed: int) -> None:
    reader = Reader(seed)
    layout, chance = reader.layout, reader.chance
    reader.look()
    for _ in range(60):
        before = reader.look()
        if chance.random() < 0.5:
            was_at_end, rows = layout.follows_end, before
            reader.something_happens()
            now = reader.look()
            if not was_at_end:
                assert now[0] == rows[0]
        else:
            rows_of_all = reader.whole()
            place = rows_of_all.index(reader.frame.places[0])
            delta = chance.choice((-30, -10, -3, -1, 1, 3, 10))
            layout.scroll(delta)
            reader.look()
            wanted = min(max(0, place + delta), max(0, len(rows_of_all) - HEIGHT))
            assert rows_of_all.index(reader.frame.places[0]) == wanted
        assert 0 <= reader.frame.offset <= max(0, reader.frame.total - len(reader.frame.rows))


@pytest.mark.parametrize("seed", range(40 if os.environ.get("FORGE_FULL") else 4))
def test_changing_widths_keep_the_text_at_the_top(seed: int) -> None:
    reader = Reader(seed)
    layout, chance = reader.layout, reader.chance
    for _ in range(6):
        layout.jump(chance.randrange(layout.frame().total))
        if layout.follows_end:
            continue
        before = reader.look()
        block, _ = reader.frame.places[0]
        held = reader.frame.rows[0]
        for _ in range(5):
            layout.configure(chance.randrange(20, 120), HEIGHT, STYLES)
            reader.look()
            top = reader.frame.rows[0]
            if not layout.follows_end and reader.frame.places[-1][0] < len(layout.blocks) - 1:
                assert reader.frame.places[0][0] == block
                assert top.line == held.line
                assert top.start <= held.start <= top.end
        layout.configure(60, HEIGHT, STYLES)
        if not layout.follows_end:
            assert reader.look() == before


def test_splitting_an_answer_into_blocks_does_not_move_the_view() -> None:
    layout = Layout()
    layout.configure(50, 6, STYLES)
    conversation = TranscriptBuilder(layout)
    conversation.apply(said("\n".join(f"- item {n} of a list" for n in range(30))))
    conversation.flush()
    layout.frame()
    layout.scroll(-12)
    before = [row_text(row) for row in layout.frame().rows]
    for fragment in ("\n- item 30\n- item 31\n", "- item\n" * 20, "\n\nA paragraph.\n\n", "# Title\n\nMore"):
        conversation.apply(said(fragment))
        conversation.flush()
        assert [row_text(row) for row in layout.frame().rows] == before
    assert len(layout.blocks) > 3


def test_text_streamed_before_a_notice_does_not_re_estimate_the_history() -> None:
    class Counted(UserBlock):
        estimates = 0

        def estimate(self, width: int) -> int:
            Counted.estimates += 1
            return super().estimate(width)

    layout = Layout()
    layout.configure(50, 6, STYLES)
    conversation = TranscriptBuilder(layout)
    for _ in range(1_000):
        layout.append(Counted("hello"))
    conversation.apply(said("One"))
    conversation.flush()
    conversation.add(NoticeBlock("a notice amid the answer", "info"))
    Counted.estimates = 0
    for number in range(50):
        conversation.apply(said(f" word{number}\n\nparagraph"))
        conversation.flush()
        layout.frame()
    assert Counted.estimates == 0
    assert layout.frame().total == sum(len(layout.rendered(n).rows) for n in range(len(layout.blocks)))


def test_prompt_navigation_works_in_both_directions() -> None:
    layout = Layout()
    layout.configure(50, 6, STYLES)
    chance = random.Random(3)
    prompts = []
    for number in range(40):
        if number % 7 == 2:
            prompts.append(len(layout.blocks))
            layout.append(UserBlock(f"prompt {number}"))
        layout.append(Folding(f"b{number}", chance))
    layout.frame()
    visited = []
    while (block := layout.landmark(-1)) is not None:
        visited.append(block)
        layout.move_to(block, layout.blocks[block].gap)
        assert "prompt" in row_text(layout.frame().rows[0])
    assert visited == prompts[::-1]
    visited = [prompts[0]]
    while (block := layout.landmark(1)) is not None:
        visited.append(block)
        layout.move_to(block, layout.blocks[block].gap)
        layout.frame()
    assert visited == prompts
