"""An answer as it was written: exactly, while it comes and after, in its place."""

from __future__ import annotations

from pathlib import Path

from forge_tui.terminal.input import TerminalInput
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerBlock
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.chat_app import make_app, make_config, ready, say, until
from tests.support.scripted_session import answer
from tests.support.transcripts import STYLES, TranscriptApp, call_ended, drawn, said

SOURCE = (
    "# Title\n\n\nSome **bold** text\nand more.\n\n"
    "1. one\n\n   ```python\n   x\t= 1\n   ```\n2. two\n\n"
    "```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" + "".join(f"- item {n}\n" for n in range(90))
)


def raw_rows(layout: Layout) -> list[str]:
    return [row[3:] for block in layout.blocks for row in drawn(block, 100)]


def talk(source: str, *, size: int = 7) -> tuple[Layout, TranscriptBuilder]:
    layout = Layout()
    layout.configure(100, 30, STYLES)
    conversation = TranscriptBuilder(layout)
    for at in range(0, len(source), size):
        conversation.apply(said(source[at : at + size]))
        conversation.flush()
    return layout, conversation


def test_the_raw_view_is_the_source_line_by_line() -> None:
    layout, conversation = talk(SOURCE)
    conversation.apply(call_ended())
    shown = raw_rows(layout)
    conversation.answers[0].toggle_raw()
    assert raw_rows(layout) == SOURCE.rstrip("\n").expandtabs(4).split("\n")
    conversation.answers[0].toggle_raw()
    assert raw_rows(layout) == shown


def test_the_raw_view_updates_while_the_answer_streams() -> None:
    layout, conversation = talk(SOURCE[:40])
    conversation.answers[0].toggle_raw()
    for at in range(40, len(SOURCE), 11):
        conversation.apply(said(SOURCE[at : at + 11]))
        conversation.flush()
        so_far = conversation.answers[0].source.rstrip("\n").expandtabs(4)
        assert so_far.startswith("\n".join(raw_rows(layout)).rstrip("\n "))
    conversation.apply(call_ended())
    assert "\n".join(raw_rows(layout)) == SOURCE.rstrip("\n").expandtabs(4)


def test_raw_lines_are_copied_with_tabs() -> None:
    layout, conversation = talk("```\na\tb\n```\n")
    conversation.apply(call_ended())
    conversation.answers[0].toggle_raw()
    rendered = layout.rendered(0)
    assert [line.original or line for line in rendered.lines] == [
        "```",
        "a\tb",
        "```",
    ]


def test_toggling_one_answer_to_raw_leaves_others_unchanged() -> None:
    layout, conversation = talk("**one**")
    conversation.apply(call_ended())
    conversation.add(UserBlock("next"))
    conversation.apply(said("**two**"))
    conversation.apply(call_ended())
    conversation.answers[1].toggle_raw()
    assert [row for row in raw_rows(layout) if row] == ["one", "next", "**two**"]


async def test_the_raw_key_toggles_the_last_visible_answer_and_keeps_the_scroll_position() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 20)) as pilot:
        for name in ("first", "second"):
            app.transcript.add_user(f"ask {name}")
            text = "\n\n".join(f"**{name}** part {n}" for n in range(30))
            app.transcript.apply(said(text))
            app.transcript.apply(call_ended())
            await pilot.pause()
        await until(pilot, lambda: app.transcript.model.blocks[-1].gap == 1 and bool(app.rows()[-1]))
        assert app.transcript.toggle_raw()
        await pilot.pause()
        assert "**second** part 29" in "".join(app.rows())
        assert app.transcript.at_end
        app.transcript.scroll_to_start()
        await pilot.pause()
        top = app.rows()[:3]
        assert app.transcript.toggle_raw()
        await pilot.pause()
        assert [answer.is_raw for answer in app.transcript.answers] == [True, True]
        assert app.rows()[0] == top[0]
        assert any("**first** part" in row for row in app.rows())


async def test_the_raw_key_toggles_the_answer_under_the_pointer() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 20)) as pilot:
        for name in ("first", "second"):
            app.transcript.apply(said(f"**{name}**"))
            app.transcript.apply(call_ended())
            await pilot.pause()
        await until(pilot, lambda: any("first" in row for row in app.rows()))
        row = next(y for y, text in enumerate(app.rows()) if "first" in text)
        await pilot.hover(app.transcript, offset=(5, row))
        assert app.transcript.toggle_raw()
        assert [answer.is_raw for answer in app.transcript.answers] == [True, False]


async def test_toggling_raw_without_an_answer_does_nothing() -> None:
    async with (app := TranscriptApp()).run_test() as pilot:
        await pilot.pause()
        assert not app.transcript.toggle_raw()


async def test_the_raw_command_and_key_toggle_the_last_answer(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path), [answer("It is **so**.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        transcript = app.chat.transcript
        await until(pilot, lambda: bool(transcript.answers) and not app.chat.has_turn)
        await say(pilot, "/raw")
        await until(pilot, lambda: transcript.answers[0].is_raw)
        await pilot.press("alt+r")
        await until(pilot, lambda: not transcript.answers[0].is_raw)
        block = next(block for block in transcript.model.blocks if isinstance(block, AnswerBlock))
        assert "It is so." in drawn(block)[-1]


async def test_the_raw_key_types_nothing_in_any_terminal_encoding(tmp_path: Path) -> None:
    """Most send Alt+R as ESC and the letter; the kitty protocol has a sequence without one."""
    app = make_app(make_config(tmp_path), [answer("It is **so**.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        transcript = app.chat.transcript
        await until(pilot, lambda: bool(transcript.answers) and not app.chat.has_turn)
        for turns, sent in enumerate((b"\x1br", b"\x1b[114;3u"), 1):
            for key in TerminalInput().feed(sent):
                app.post_message(key)
            await until(pilot, lambda turns=turns: transcript.answers[0].toggles == turns)
            assert app.chat.composer.text == ""
