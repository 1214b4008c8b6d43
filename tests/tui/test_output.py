"""The output stage shows what Textual's own output shows, for a fraction of the bytes."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pyte
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from forge_tui.terminal.screen_model import ScreenModel, difference, render, style_change, true_colour
from tests.support.at_rest import AskedTerminal, agree
from tests.support.output_stream import check_stream
from tests.support.terminal import Emulator, python

pytestmark = pytest.mark.pty


ROOT = Path(__file__).resolve().parents[2]
F1, F2, F3, F4, F5, F6 = "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~", "\x1b[17~"
F9 = "\x1b[20~"
UP, DOWN, CARDS, CLOSE = "\x1b[5~", "\x1b[6~", "\x0f", "c"
WHEEL_UP, WHEEL_DOWN = "\x1b[<64;5;5M", "\x1b[<65;5;5M"

SCENES: dict[str, Sequence[str | tuple[int, int]]] = {
    "scrolling": [F1, F1, F1, F1, UP, UP, WHEEL_UP, WHEEL_UP, DOWN, WHEEL_DOWN, F1, DOWN, DOWN, DOWN],
    "overlays": [F1, F1, F2, "g", "g", CLOSE, F1, F2, F3, CLOSE],
    "a float": [F1, F1, F9, F1, F1, UP, F9, F1, F1, F1, F9, F1, F1, F1, F9],
    "themes": [F1, F1, F3, F1, F3],
    "resizes": [F1, F1, (50, 18), F1, (90, 40), UP, (70, 30), (70, 24), F1],
    "beside": [F6, F6, F1, F6, F4, F1, F1, F4, F1, UP],
    "wide characters": [F5, F5, F5, F1, F5, "日本", F5, UP, F5],
    "typing": ["hello", F1, "w", "\x7f", "\x7f", F1, "ö日x", "\x1b[D", "!"],
    "cards": [F1, F1, F1, CARDS, UP, CARDS, F1, CARDS, DOWN],
}


def start(output: str) -> AskedTerminal:
    environment = {"FORGE_OUTPUT": output, "TEXTUAL_ANIMATIONS": "none"}
    return AskedTerminal(
        python("-m", "tests.support.output_app"),
        size=(80, 30),
        environment=environment,
        folder=ROOT,
        is_preloaded=True,
    )


def do(terminal: AskedTerminal, step: str | tuple[int, int]) -> None:
    if isinstance(step, tuple):
        terminal.resize(*step)
    else:
        terminal.send(step)
    terminal.ask()


def test_the_output_screen_equals_the_one_textual_draws() -> None:
    with start("") as ours, start("textual") as theirs:
        both = (ours, theirs)
        for terminal in both:
            terminal.wait_for("side 0")
        for name, steps in SCENES.items():
            before = [len(terminal.output) for terminal in both]
            for number, step in enumerate(steps):
                for terminal in both:
                    do(terminal, step)
                for terminal in both:
                    terminal.settle_in_size()
                agree(ours, theirs, f"step {number} of {name!r}: {step!r}")
            written = [len(terminal.output) - old for terminal, old in zip(both, before, strict=True)]
            assert written[0] < written[1], name


def console() -> Console:
    return Console(force_terminal=True, color_system="truecolor")


def emulated(sequences: str, width: int, height: int) -> list[object]:
    emulator = Emulator(width, height)
    emulator.feed("\x1b[?7l" + sequences)
    return list(emulator.cells())


def whole(rows: Sequence[Strip]) -> str:
    return "".join(f"\x1b[{y + 1};1H{strip.render(console())}" for y, strip in enumerate(rows))


def random_strip(chance: random.Random, width: int) -> Strip:
    words = ["word", "日本", " ", "e\u0301", "──", "x", "✓ ", "long text here"]
    styles = [Style(), Style.parse("red"), Style.parse("bold on blue"), Style.parse("#102030 on #405060")]
    segments = [Segment(chance.choice(words), chance.choice(styles)) for _ in range(chance.randrange(1, 8))]
    return Strip(segments).adjust_cell_length(width)


@pytest.mark.parametrize("seed", range(30 if os.environ.get("FORGE_FULL") else 10))
def test_random_partial_frames_equal_a_full_redraw(seed: int) -> None:
    """Rows change, move up and down and are split in pieces; the last frame looks as if drawn alone."""
    chance = random.Random(seed)
    width, height = 32, 14
    model = ScreenModel(width, height)
    emulator = Emulator(width, height)
    emulator.feed("\x1b[?7l")
    rows = [random_strip(chance, width) for _ in range(height)]
    for _ in range(25):
        first, last = sorted(chance.sample(range(height), 2))
        match chance.randrange(4):
            case 0:
                rows[first] = random_strip(chance, width)
            case 1:
                rows[first : last + 1] = [*rows[first + 1 : last + 1], random_strip(chance, width)]
            case 2:
                rows[first : last + 1] = [random_strip(chance, width), *rows[first:last]]
            case _:
                count = min(3, last - first)
                new = [random_strip(chance, width) for _ in range(count)]
                rows[first : last + 1] = [*rows[first + count : last + 1], *new]
        cut = chance.choice((0, 0, 10, 25))
        pieces = []
        for y, strip in enumerate(rows):
            x = 0
            for part in strip.divide([cut, width]) if cut else [strip]:
                pieces.append((y, x, part))
                x += part.cell_length
        emulator.feed(model.update(pieces, true_colour))
        shown = [part for y, x, part in pieces if x == 0 or cut]
        assert shown
        drawn_alone = "".join(f"\x1b[{y + 1};{x + 1}H{part.render(console())}" for y, x, part in pieces)
        assert emulator.cells() == emulated(drawn_alone, width, height)


def test_an_unchanged_frame_writes_nothing() -> None:
    model = ScreenModel(20, 3)
    pieces = [(y, 0, Strip([Segment(f"row {y}".ljust(20))])) for y in range(3)]
    assert model.update(pieces, true_colour)
    again = [(y, 0, Strip([Segment(f"row {y}".ljust(20))])) for y in range(3)]
    assert model.update(again, true_colour) == ""


def test_one_more_character_is_written_alone() -> None:
    model = ScreenModel(20, 1)
    model.update([(0, 0, Strip([Segment("hell".ljust(20))]))], true_colour)
    assert model.update([(0, 0, Strip([Segment("hello".ljust(20))]))], true_colour) == "\x1b[1;5Ho"


def test_rows_that_moved_are_scrolled_by_the_terminal() -> None:
    model = ScreenModel(30, 10)
    rows = [Strip([Segment(f"line number {n}".ljust(30))]) for n in range(11)]
    first = model.update([(y, 0, rows[y]) for y in range(10)], true_colour)
    second = model.update([(y, 0, rows[y + 1]) for y in range(10)], true_colour)
    assert second.startswith("\x1b[1;10r\x1b[10;1H\n\x1b[r")
    assert len(second) < len(first) / 5


def test_a_scroll_keeps_the_columns_beside_the_view() -> None:
    model = ScreenModel(30, 6)
    emulator = Emulator(30, 6)
    side = [Strip([Segment(f"side {n}".ljust(10))]) for n in range(6)]
    rows = [Strip([Segment(f"line number {n}".ljust(20))]) for n in range(7)]
    before = [(y, 0, rows[y]) for y in range(6)] + [(y, 20, side[y]) for y in range(6)]
    emulator.feed(model.update(before, true_colour))
    emulator.feed(model.update([(y, 0, rows[y + 1]) for y in range(6)], true_colour))
    assert [line.rstrip() for line in emulator.lines()] == [
        f"line number {n + 1}".ljust(20) + f"side {n}" for n in range(6)
    ]


def test_differences_are_found_across_segment_borders() -> None:
    red, blue = Style.parse("red"), Style.parse("blue")
    old = Strip([Segment("abc", red), Segment("def", red), Segment("ghi", blue)])
    new = Strip([Segment("abcd", red), Segment("Xf", red), Segment("ghi", blue)])
    change = difference(old, new)
    assert change is not None
    assert change[0] == 4
    assert "".join(segment.text for segment in change[1]) == "X"
    assert difference(old, Strip([Segment("abcdef", red), Segment("ghi", blue)])) is None


def test_styles_are_switched_without_needless_resets() -> None:
    red = Style.parse("red")
    segments = [Segment("a", red), Segment("b", red), Segment("c", Style.parse("bold")), Segment("d")]
    assert render(segments, true_colour) == "\x1b[31mab\x1b[0;1mc\x1b[0md"


def test_a_style_is_written_as_its_difference_to_the_one_before() -> None:
    first, second = Style.parse("#010203 on #040506"), Style.parse("#070809 on #040506")
    rows = [Strip([Segment("a", first), Segment("bcd", second)]), Strip([Segment("abcd", second)])]
    written = ScreenModel(4, 2).update([(y, 0, row) for y, row in enumerate(rows)], true_colour)
    assert written == "\x1b[1;1H\x1b[38;2;1;2;3;48;2;4;5;6ma\x1b[38;2;7;8;9mbcd\x1b[2;1Habcd\x1b[0m"


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("", "1;31", "1;31"),
        ("31", "1;31", "1"),
        ("1;31", "31", "0;31"),
        ("1;31", "3;31", "0;3;31"),
        ("31;44", "44", "0;44"),
        ("31;44", "", "0"),
        ("38;5;9;101", "92;48;5;3", "92;48;5;3"),
        ("3;38;2;1;2;3;48;2;4;5;6", "3;38;2;1;2;3;48;2;4;5;7", "48;2;4;5;7"),
        ("39;49", "7;39;49", "7"),
    ],
)
def test_only_a_reset_ends_an_attribute_or_a_colour(before: str, after: str, change: str) -> None:
    assert style_change(before, after) == change


def test_blank_cells_in_other_pieces_are_not_written_again() -> None:
    """As when another screen or widget covers the row."""
    model = ScreenModel(20, 1)
    model.update([(0, 0, Strip([Segment("hello".ljust(20))]))], true_colour)
    pieces = [(0, 0, Strip([Segment("he".ljust(15))])), (0, 15, Strip([Segment(" " * 5)]))]
    assert model.update(pieces, true_colour) == "\x1b[1;3H   "
    assert model.update([(0, 0, Strip([Segment("he".ljust(20))]))], true_colour) == ""


def test_a_terminal_with_other_widths_of_emoji_keeps_the_rest_of_the_row_in_place() -> None:
    """pyte's own screen gives every part of a joined emoji cells of its own, as many terminals do."""
    text = "a 👩\u200d👩\u200d👧 b 🇩🇪 c 👍🏽 d".ljust(30)
    strip = Strip([Segment(text), Segment("|end")])
    written = ScreenModel(40, 1).update([(0, 0, strip)], true_colour)
    screen = pyte.Screen(60, 1)
    screen.reset_mode(7, private=True)
    pyte.Stream(screen).feed(written)
    row = [screen.buffer[0][x].data for x in range(60)]
    columns = {letter: cell_len(text[: text.index(letter)]) for letter in "abcd"}
    assert {letter: row[column] for letter, column in columns.items()} == {key: key for key in "abcd"}
    assert "".join(row[strip.cell_length - 4 : strip.cell_length]) == "|end"
    assert "".join(row[strip.cell_length :]).strip() == ""


@pytest.mark.parametrize("text", ["👩\u200d |", "a\u200db|", "\u200d |", "漢\u200d\u200d ||"])
def test_a_lone_joiner_does_not_lengthen_the_row(text: str) -> None:
    """Rich gives no cell to what stands behind a joiner, terminals do."""
    strip = Strip([Segment(text)])
    width = strip.cell_length
    row = Strip([Segment(text + "-" * (12 - width))])
    written = ScreenModel(12, 1).update([(0, 0, row)], true_colour)
    check_stream(f"\x1b[1;1H{written}", 12, 1)
    emulator = Emulator(12, 2, reply=lambda data: None)
    emulator.feed(written)
    first, second = emulator.lines()
    assert first.endswith("-" * (12 - width))
    assert not second.strip()
