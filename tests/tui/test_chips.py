"""Big pastes: one chip in the composer, edited as one character, sent and kept in full."""

from __future__ import annotations

import time

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_core.sanitize import safe_text
from forge_tui.pastes.chips import Chips, around, snapped, touched
from forge_tui.pastes.folded_text import (
    BEGIN,
    END,
    folded,
    is_big,
    label,
    plain_text,
    spans,
    with_folded,
    with_labels,
)
from forge_tui.screens.chat.queued.message_queue import MessageQueue
from forge_tui.submitted_line import Command, UserText, parse_line
from forge_tui.widgets.blockview.blocks import Passage, UserBlock
from forge_tui.widgets.blockview.folding import SharedFolding
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.chat_app import make_app, ready, shown, type_text, until
from tests.support.scripted_session import Gate, answer

LINES = "\n".join(f"line {number}" for number in range(43))
LABEL = "[Pasted text #1 +42 lines]"


def test_a_paste_is_big_above_a_thousand_characters_or_fifteen_lines() -> None:
    assert not is_big("x" * 1000) and is_big("x" * 1001)
    assert not is_big("\n".join("x" * 15)) and is_big("\n".join("x" * 16))


def test_a_label_tells_the_number_and_the_lines_or_the_characters() -> None:
    assert label(1, LINES) == "Pasted text #1 +42 lines"
    assert label(2, "x" * 1200) == "Pasted text #2 1,200 characters"
    assert label(3, "x" * 1200 + "\n") == "Pasted text #3 +1 line"


def test_folded_parts_survive_a_round_trip_through_the_document() -> None:
    chips = Chips()
    typed = f"see {folded(LINES)} and {folded('y' * 2000)}"
    document = chips.fold(typed)
    assert LINES not in document and len(document) < 100
    assert chips.unfold(document) == typed
    assert plain_text(typed) == f"see {LINES} and {'y' * 2000}"
    assert chips.fold(document) == document  # a completed line contains chips already
    assert with_labels(typed) == f"see {LABEL} and [Pasted text #2 2,000 characters]"


def test_folded_parts_are_found_in_the_plain_text_again() -> None:
    typed = f"see {folded(LINES)}{folded('y')} and {folded('z')}"
    text = plain_text(typed)
    assert [text[start:end] for start, end in spans(typed)] == [LINES, "y", "z"]
    assert with_folded(text, spans(typed)) == typed
    assert spans(text) == [] and with_folded(text, []) == text
    assert with_folded(f"a{BEGIN}b", [(0, 1)]) == f"a{BEGIN}b"


def test_positions_in_a_chip_belong_to_its_borders() -> None:
    line = f"ab{BEGIN}1234567{END}cd"  # the chip is from 2 to 11
    assert around(line, 2) == (2, 2) and around(line, 3) == (2, 11) and around(line, 11) == (11, 11)
    assert [touched(line, column) for column in (1, 2, 5, 11, 12)] == [None, *[(2, 11)] * 3, None]
    assert snapped(line, 3, 2) == 11 and snapped(line, 10, 11) == 2
    assert snapped(line, 4, None) == 2 and snapped(line, 9, 30) == 11


def test_a_folded_paste_at_the_beginning_is_never_a_command() -> None:
    typed = folded("/exit\n" + LINES)
    assert parse_line(typed, CommandTable()) == UserText("/exit\n" + LINES, typed)
    assert isinstance(parse_line("/exit", CommandTable()), Command)


def test_the_queue_keeps_folded_parts() -> None:
    queue = MessageQueue()
    typed = f"see {folded(LINES)}"
    line = parse_line(typed, CommandTable())
    assert isinstance(line, UserText) and line.text == f"see {LINES}"
    queue.add(line)
    assert queue.typed == [typed]
    assert parse_line(queue.typed[0], CommandTable()) == line


def test_a_message_shows_the_labels_until_it_is_unfolded() -> None:
    folding = SharedFolding()
    block, styles = UserBlock(f"see {LINES}", f"see {LABEL}", folding), TranscriptStyles.bare()
    assert block.render(80, styles).lines == [f"see {LABEL}"]
    before = block.revision
    assert block.lines_of(Passage(block), block.render(80, styles)) == range(0)
    assert block.reveal(Passage(block)) and block.revision != before
    assert len(block.render(80, styles).lines) == 43
    block.end_reveal(is_kept=False)
    assert len(block.render(80, styles).lines) == 1
    assert block.toggle(1) and len(block.render(80, styles).lines) == 43
    assert not block.toggle(5)  # a click on the text, as one that begins a selection
    assert block.toggle(1) and len(block.render(80, styles).lines) == 1
    folding.toggle_all()
    assert len(block.render(80, styles).lines) == 43


def test_a_long_message_without_labels_shows_its_beginning() -> None:
    text, styles = "\n".join(map(str, range(100))), TranscriptStyles.bare()
    block = UserBlock(text)
    rendered = block.render(80, styles).lines
    assert len(rendered) == 13 and rendered[-1] == "… +88 lines (Ctrl+O)"
    assert block.fold_at(3) and block.render(80, styles).lines == text.split("\n")
    short = UserBlock("one\ntwo")
    assert not short.fold_at(0) and not short.toggle(0)


async def paste(pilot: Pilot[None], text: str) -> None:
    composer = pilot.app.chat.composer  # type: ignore[attr-defined]
    composer.post_message(events.Paste(text))
    await pilot.pause()


@pytest.mark.slow
async def test_a_big_paste_is_one_chip_that_is_deleted_and_passed_as_one(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await type_text(pilot, "see ")
        await paste(pilot, LINES)
        await type_text(pilot, "!")
        await until(pilot, lambda: f"see {LABEL}!" in shown(app))
        assert plain_text(composer.typed) == f"see {LINES}!"
        await pilot.press("left", "left")
        assert composer.cursor_location == (0, 4)
        await pilot.press("right")
        assert composer.cursor_location == (0, 4 + len(LABEL))
        await pilot.press("backspace")
        assert composer.text == "see !"
        composer.action_undo()
        assert plain_text(composer.typed) == f"see {LINES}!"
        composer.action_redo()
        assert composer.text == "see !"
        composer.action_undo()
        await pilot.press("home", "right", "right", "right", "right", "delete")
        assert composer.text == "see !"
        composer.action_undo()
        composer.move_cursor((0, 4 + len(LABEL)))
        await pilot.press("ctrl+w")
        assert composer.text == "see !"


@pytest.mark.slow
async def test_editing_beside_a_chip_does_not_break_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await paste(pilot, LINES)
        await type_text(pilot, "b")
        await pilot.press("home")
        await type_text(pilot, "a")
        await pilot.press("ctrl+j", "up", "down")
        composer.replace("-", (1, 5), (1, 5))  # inside of it
        assert plain_text(composer.typed) == f"a\n{LINES}-b"
        composer.replace("", (1, 5), (1, 6))
        assert composer.text == "a\n-b"


@pytest.mark.slow
async def test_control_o_expands_the_chip_at_the_cursor_and_undo_folds_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await paste(pilot, LINES)
        await pilot.press("ctrl+o")
        assert composer.text == LINES
        composer.action_undo()
        assert composer.has_chips and plain_text(composer.typed) == LINES
        await type_text(pilot, " x")
        await pilot.press("ctrl+o")
        assert composer.has_chips


@pytest.mark.slow
async def test_a_typed_label_stays_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await paste(pilot, LINES)
        await type_text(pilot, f" {LABEL}")
        await paste(pilot, f"{BEGIN}Pasted text #1 +42 lines{END}")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.scripted.sent))
        assert app.scripted.sent == [f"{LINES} {LABEL}\ufffdPasted text #1 +42 lines\ufffd"]


@pytest.mark.slow
async def test_a_chip_is_sent_in_full_shown_folded_and_recalled_as_a_chip(config: ForgeConfig) -> None:
    app = make_app(config, [answer("done")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "see ")
        await paste(pilot, LINES)
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.scripted.sent))
        assert app.scripted.sent == [f"see {LINES}"]
        assert app.scripted.folded == [[(4, 4 + len(LINES))]]
        await until(pilot, lambda: f"see {LABEL}" in shown(app) and "line 20" not in shown(app))
        await pilot.press("up")
        assert plain_text(app.chat.composer.typed) == f"see {LINES}" and app.chat.composer.has_chips
        await pilot.press("ctrl+c")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "line 10" in shown(app))


@pytest.mark.slow
async def test_a_queued_chip_is_recalled_as_a_chip(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "go")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.has_turn)
        await paste(pilot, LINES)
        await pilot.press("enter")
        await until(pilot, lambda: "1 queued" in shown(app))
        await pilot.press("up")
        assert app.chat.composer.has_chips and plain_text(app.chat.composer.typed) == LINES
        gate.open()


@pytest.mark.slow
async def test_a_paste_of_a_million_characters_costs_little(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        text = ("y" * 99 + "\n") * 9_999
        started = time.process_time()
        app.chat.composer.paste(safe_text(text, keep_invisible=True))
        await pilot.pause()
        assert time.process_time() - started < 0.5
        assert plain_text(app.chat.composer.typed) == text
