"""Reasoning: how much of it shows, in every state; and that its length costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.settings import ThinkingSetting
from forge_core.events import LLMChunk
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.folding import SharedFolding
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.chat_app import make_app, make_config, ready, say, until
from tests.support.scripted_session import answer
from tests.support.transcripts import STYLES, drawn, said

pytestmark = pytest.mark.slow


TEXT = "".join(f"step {n} of it\n" for n in range(12))


def reasoned(
    text: str = TEXT, thinking: ThinkingSetting = "folded", end: float | None = 13.0
) -> ReasoningBlock:
    block = ReasoningBlock(1.0, thinking)
    block.gap = 0
    block.feed(text)
    if end is not None:
        block.finish(end)
    return block


def test_reasoning_shows_its_last_rows_while_streaming_and_one_line_afterwards() -> None:
    block = reasoned(end=None)
    assert drawn(block) == [" ▾ Thinking…", *(f"   step {n} of it" for n in range(8, 12))]
    block.finish(13.0)
    assert drawn(block) == [" ▸ Thought for 12 s (~58 tokens)"]
    assert block.toggle(0)
    assert drawn(block)[1:] == [f"   step {n} of it" for n in range(12)]


def test_a_click_on_the_reasoning_header_folds_it_and_a_click_on_its_text_does_not() -> None:
    block = reasoned()
    block.gap = 1
    drawn(block)
    assert not block.toggle(0), "the empty row above"
    assert block.toggle(1)
    drawn(block)
    assert not block.toggle(2)
    assert block.is_open
    assert block.fold_at(5), "the key folds it from anywhere"
    assert block.row_to_keep(5) == 1
    assert drawn(block)[1:] == [" ▸ Thought for 12 s (~58 tokens)"]
    narrow = block.render(12, STYLES)
    assert len(narrow.rows) > 2
    assert block.toggle(len(narrow.rows) - 1)
    assert block.toggle_back()
    assert not block.is_open


def test_reasoning_unfolded_while_streaming_stays_unfolded_afterwards() -> None:
    block = reasoned(end=None)
    assert block.toggle(0)
    assert len(drawn(block)) == 13
    block.feed("step 12 of it\n")
    block.finish(13.0)
    assert len(drawn(block)) == 14
    block = reasoned(end=None)
    assert block.toggle(0)
    drawn(block)
    assert block.toggle(0)
    assert len(drawn(block)) == 5, "its last rows again"


@pytest.mark.parametrize(
    ("thinking", "open_after"),
    [
        ("folded", [False, True, False, True]),
        ("full", [True, True, True, True]),
        ("hidden", [False, False, False, False]),
    ],
)
def test_toggling_all_reasoning_unfolds_it_and_then_restores_the_setting(
    thinking: ThinkingSetting, open_after: list[bool]
) -> None:
    everyone = SharedFolding()
    block = ReasoningBlock(1.0, thinking, everyone)
    states = [block.is_open]
    for _ in range(3):
        before = block.revision
        everyone.toggle_all()
        assert block.revision != before, "it is drawn again"
        states.append(block.is_open)
    assert states == open_after


def test_toggling_all_reasoning_first_unfolds_manually_folded_blocks() -> None:
    everyone = SharedFolding()
    blocks = [ReasoningBlock(1.0, "full", everyone) for _ in range(3)]
    everyone.toggle_all()
    assert blocks[0].set_open(False)
    everyone.toggle_all()
    assert all(block.is_open for block in blocks)
    everyone.toggle_all()
    assert not everyone.is_open
    assert blocks[0].set_open(False)
    for block in blocks:
        block.show_as("folded")
    assert not any(block.is_open for block in blocks)
    everyone.toggle_all()
    assert all(block.is_open for block in blocks)


def test_hidden_reasoning_does_not_need_an_extra_key_press() -> None:
    everyone = SharedFolding()
    everyone.toggle_all()
    hidden = ReasoningBlock(1.0, "hidden", everyone)
    assert not hidden.is_open
    everyone.toggle_all()
    assert not everyone.is_open


def test_very_short_reasoning_shows_no_duration() -> None:
    block = reasoned(end=None)
    block.finish(1.01)
    assert drawn(block) == [" ▸ Thought briefly (~58 tokens)"]


def test_full_reasoning_is_shown_completely_during_and_after_streaming() -> None:
    block = ReasoningBlock(1.0, "full")
    block.gap = 0
    for at in range(0, len(TEXT), 5):
        block.feed(TEXT[at : at + 5])
        shown = drawn(block, 40)
        assert shown[0] == " ▾ Thinking…"
        assert [row[3:] for row in shown[1:]] == [
            line.rstrip() for line in TEXT[: at + 5].removesuffix("\n").split("\n")
        ]
    block.finish(13.0)
    assert [row[3:] for row in drawn(block, 40)[1:]] == TEXT.strip().split("\n")


def test_rows_of_full_reasoning_map_to_their_lines() -> None:
    rendered = reasoned(thinking="full", end=None).render(60, STYLES)
    assert [rendered.lines[row.line] for row in rendered.rows[1:]] == TEXT.strip().split("\n")


def test_hidden_reasoning_takes_no_row_and_is_not_searched() -> None:
    for end in (None, 13.0):
        block = reasoned(thinking="hidden", end=end)
        assert drawn(block) == []
        assert block.find_text() == ""
        assert not block.toggle(0)


def test_hidden_reasoning_at_the_end_does_not_stop_following() -> None:
    layout = Layout()
    layout.configure(40, 5, STYLES)
    conversation = TranscriptBuilder(layout)
    conversation.show_thinking("hidden")
    conversation.apply(said("\n\n".join("word" for _ in range(20))))
    conversation.apply(LLMChunk(text="secret", kind="reasoning"))
    layout.frame()
    layout.scroll(-3)
    layout.frame()
    assert not layout.follows_end
    layout.scroll(3)
    assert layout.follows_end
    assert all(layout.frame().rows)


def test_the_thinking_setting_applies_to_existing_and_later_reasoning() -> None:
    layout = Layout()
    layout.configure(60, 30, STYLES)
    conversation = TranscriptBuilder(layout)
    conversation.apply(LLMChunk(text="one", kind="reasoning"))
    conversation.apply(said("x"))
    conversation.finish_text(0.0)
    for thinking, rows in (("full", 2), ("hidden", 0), ("folded", 1)):
        conversation.show_thinking(thinking)  # type: ignore[arg-type]
        assert len(drawn(layout.blocks[0])) - layout.blocks[0].gap * bool(rows) == rows
    conversation.show_thinking("hidden")
    conversation.apply(LLMChunk(text="two", kind="reasoning"))
    assert drawn(layout.blocks[-1]) == []


@pytest.mark.parametrize("thinking", ["hidden", "folded", "full"])
@pytest.mark.parametrize("text", ["some words that go on and on " * 30, "a line of thought\n"])
def test_long_reasoning_wraps_only_its_new_text(
    thinking: ThinkingSetting, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge_tui.widgets.blockview import rows

    wrapped: list[int] = []
    original = rows._wrap

    def counted(wrap: object, text: str, width: int, hanging: int) -> list[tuple[int, int]]:
        wrapped.append(len(text))
        return original(wrap, text, width, hanging)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "_wrap", counted)
    block = ReasoningBlock(0.0, thinking)
    for _ in range(100_000 // len(text) + 1):
        block.feed(text)
        wrapped.clear()
        block.render(80, STYLES)
        assert sum(wrapped) < 10_000


async def test_the_thinking_command_cycles_through_the_settings_and_saves_the_choice(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path), [answer("done")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        transcript = app.chat.transcript
        for typed, thinking in (
            ("/thinking", "full"),
            ("/thinking hidden", "hidden"),
            ("/thinking", "folded"),
        ):
            await say(pilot, typed)
            await until(pilot, lambda thinking=thinking: transcript.thinking == thinking)  # type: ignore[misc]
        assert app.saved == [("thinking", "full"), ("thinking", "hidden"), ("thinking", "folded")]
        await say(pilot, "/thinking loudly")
        await pilot.pause()
        assert transcript.thinking == "folded"
        assert "/thinking does not know 'loudly'" in "".join(drawn(transcript.model.blocks[-1], 78))
