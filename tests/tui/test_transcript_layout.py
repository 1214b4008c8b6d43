"""The window onto the blocks: heights, scrolling without a jump, following the end, O(visible)."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block, TextBlock
from forge_tui.widgets.blockview.heights import Heights
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.transcripts import STYLES, row_text


class Lines(Block):
    """A block of `count` numbered rows whose estimate is wrong by `off`; it counts its renders."""

    def __init__(self, name: str, count: int, off: int = 0) -> None:
        super().__init__()
        self.gap = 0
        self.name, self.count, self.off = name, count, off
        self.renders = 0

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self.renders += 1
        for number in range(self.count):
            canvas.text([(f"{self.name}.{number}", styles.text)])

    def estimate(self, width: int) -> int:
        return max(1, self.count + self.off)


def layout_with(*blocks: Lines, height: int = 10) -> Layout:
    layout = Layout()
    layout.configure(40, height, STYLES)
    for block in blocks:
        layout.append(block)
    return layout


def texts(layout: Layout) -> list[str]:
    return [row_text(row) for row in layout.frame().rows]


def test_block_heights_agree_with_a_plain_list() -> None:
    chance = random.Random(1)
    plain: list[int] = []
    heights = Heights()
    for _ in range(400):
        if plain and chance.random() < 0.5:
            index = chance.randrange(len(plain))
            plain[index] = chance.randrange(1, 9)
            heights.set(index, plain[index])
        else:
            plain.append(chance.randrange(1, 9))
            heights.append(plain[-1])
        assert heights.total == sum(plain)
        index = chance.randrange(len(plain))
        assert heights.offset(index) == sum(plain[:index])
        row = chance.randrange(sum(plain))
        block, rest = heights.find(row)
        assert sum(plain[:block]) + rest == row
        assert rest < plain[block]


def test_only_visible_blocks_are_rendered() -> None:
    blocks = [Lines(f"b{n}", 3) for n in range(10_000)]
    layout = layout_with(*blocks)
    layout.frame()
    layout.jump(15_000)
    layout.frame()
    layout.scroll(-4)
    layout.frame()
    assert sum(block.renders for block in blocks) < 20


def test_a_block_is_rendered_again_only_when_it_or_the_window_changed() -> None:
    block = Lines("a", 3)
    layout = layout_with(block)
    layout.frame()
    layout.frame()
    assert block.renders == 1
    block.changed()
    layout.frame()
    layout.configure(50, 10, STYLES)
    layout.frame()
    assert block.renders == 3


def test_the_end_is_followed_until_the_user_scrolls_up() -> None:
    layout = layout_with(Lines("a", 30))
    layout.append(Lines("b", 1))
    assert texts(layout)[-1] == "b.0"
    layout.scroll(-3)
    before = texts(layout)
    layout.append(Lines("c", 5))
    assert texts(layout) == before
    layout.scroll(100)
    assert layout.follows_end
    assert texts(layout)[-1] == "c.4"


@pytest.mark.parametrize("off", [-6, -1, 3, 40])
def test_scrolling_by_rows_never_jumps_whatever_the_estimates(off: int) -> None:
    layout = layout_with(*(Lines(f"b{n}", 7, off) for n in range(50)))
    expected = [f"b{n}.{row}" for n in range(50) for row in range(7)]
    top = len(expected) - 10
    assert texts(layout) == expected[top:]
    for delta in (-3, -3, -8, -1, 2, -30, 5, -60):
        layout.scroll(delta)
        top += delta
        assert texts(layout) == expected[top : top + 10]
        frame = layout.frame()
        assert frame.offset <= frame.total


def test_a_change_above_the_window_does_not_move_it() -> None:
    first = Lines("a", 5)
    layout = layout_with(first, Lines("b", 40), Lines("c", 40))
    layout.frame()
    layout.scroll(-30)
    before, offset = texts(layout), layout.frame().offset
    first.count = 25
    first.changed()
    layout.rendered(0)
    assert texts(layout) == before
    assert layout.frame().offset == offset + 20


def test_unchanged_rows_keep_their_identity() -> None:
    block = Lines("a", 5)
    layout = layout_with(block)
    before = list(layout.frame().rows)
    block.count = 6
    block.changed()
    after = list(layout.frame().rows)
    assert all(a is b for a, b in zip(before, after, strict=False))


def test_rows_keep_their_identity_when_their_block_is_split() -> None:
    layout = layout_with(Lines("a", 5))
    before = list(layout.frame().rows)
    layout.replace(0, [Lines("a", 5), Lines("b", 2)])
    after = list(layout.frame().rows)
    assert len(after) == 7
    assert all(a is b for a, b in zip(before, after, strict=False))


def test_a_long_jump_uses_estimates_and_stays_consistent() -> None:
    layout = layout_with(*(Lines(f"b{n}", 4, 2) for n in range(500)))
    for offset in (0, 1_000, 2_999, 10**9):
        layout.jump(offset)
        frame = layout.frame()
        assert len(frame.rows) == 10
        assert 0 <= frame.offset <= frame.total - 10


def test_the_rendered_row_cache_is_bounded() -> None:
    layout = layout_with(*(Lines(f"b{n}", 20) for n in range(2_000)))
    layout.frame()
    for _ in range(1_500):
        layout.scroll(-20)
        layout.frame()
    assert len(layout._cache) < 400


def test_a_change_of_width_keeps_the_text_at_the_top() -> None:
    class Long(Lines):
        def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
            canvas.text([(" ".join(f"{self.name}w{n}" for n in range(200)), styles.text)])

    layout = layout_with(*(Long(f"b{n}", 20) for n in range(20)))
    layout.frame()
    layout.scroll(-150)
    word = texts(layout)[0].split()[0]
    layout.configure(25, 10, STYLES)
    assert word in texts(layout)[0]
    layout.configure(90, 10, STYLES)
    assert word in texts(layout)[0] or word in texts(layout)[1]


def test_a_transcript_shorter_than_the_window_starts_at_its_top() -> None:
    layout = layout_with(Lines("a", 3))
    layout.scroll(-5)
    assert texts(layout) == ["a.0", "a.1", "a.2"]
    assert layout.follows_end


def test_an_empty_layout_can_be_scrolled() -> None:
    layout = layout_with()
    layout.follows_end = False
    for act in (lambda: layout.scroll(-3), lambda: layout.jump(7), layout.follow_if_at_end):
        act()
    assert layout.frame().rows == ()
    assert layout.follows_end


def test_a_frame_of_a_huge_block_lists_only_the_rows_that_show() -> None:
    layout = Layout()
    layout.configure(60, 20, STYLES)
    layout.append(TextBlock("\n".join(f"line {n}" for n in range(50_000))))
    layout.frame()
    tracemalloc.start()
    try:
        for step in (0, -25_000, -3, 7, -(10**6), 3):
            if step:
                layout.scroll(step)
            assert len(layout.frame().rows) == 20
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000, "a list of all its rows takes more than ten times that"
