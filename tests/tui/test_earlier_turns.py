"""The turns of a continued session are put before what shows: nothing that the user sees or uses moves."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from forge_core.events import AgentEvent
from forge_core.session.replay import ReplayedTurn
from forge_tui.widgets.blockview.blocks import NoticeBlock, UserBlock
from forge_tui.widgets.blockview.selection import TextSelection, end_of
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from tests.support.transcripts import (
    TranscriptApp,
    call_ended,
    said,
    tool_ended,
    tool_started,
    turn_ended,
)
from tests.tui.test_transcript_anchor import Reader

pytestmark = pytest.mark.slow

SIZE = (60, 16)


def turn(number: int, *events: AgentEvent) -> ReplayedTurn:
    """A turn of a saved session: by default an answer of two paragraphs."""
    events = events or (said(f"answer {number}\n\nmarker {number}"), call_ended(), turn_ended())
    return ReplayedTurn(f"question {number}", [event.as_record() for event in events])


def turns(count: int) -> list[ReplayedTurn]:
    return [turn(number) for number in range(count)]


async def begin_loading(app: TranscriptApp, saved: list[ReplayedTurn]) -> asyncio.Task[None]:
    """Show turns, and return when the newest of them are there; the others are still being built."""
    loading = asyncio.create_task(app.transcript.show_earlier_turns(saved))
    while not app.transcript.answers:
        await asyncio.sleep(0)
    return loading


async def flushed(app: TranscriptApp, pilot: Pilot[None]) -> None:
    while app.transcript._flush_handle is not None:
        await pilot.pause(0.01)
    await pilot.pause()


async def test_the_newest_turns_show_at_the_end_and_all_are_there_in_order() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        app.transcript.add_notice("what the settings say")
        await app.transcript.show_earlier_turns(turns(30))
        await pilot.pause()
        assert any("marker 29" in row for row in app.rows())
        assert app.rows()[-3].strip() != "" and any("what the settings say" in row for row in app.rows())
        blocks = app.transcript.model.blocks
        said_by_user = [block.find_text() for block in blocks if isinstance(block, UserBlock)]
        assert said_by_user == [f"question {n}" for n in range(30)]
        assert isinstance(blocks[-1], NoticeBlock)
        assert [block.gap for block in blocks[:2]] == [0, 1] and blocks[-1].gap == 1
        answers = [answer.source for answer in app.transcript.answers]
        assert answers == [f"answer {n}\n\nmarker {n}" for n in range(30)]
        app.transcript.scroll_to_start()
        assert any("question 0" in row for row in app.rows())


async def test_the_newest_turns_show_before_the_older_ones_are_built() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        loading = await begin_loading(app, turns(600))
        assert not loading.done()
        assert app.transcript.answers[0].source.startswith("answer 590")
        await loading
        await pilot.pause()
        assert app.transcript.answers[0].source.startswith("answer 0")


@pytest.mark.parametrize("seed", range(6))
async def test_the_view_stays_at_its_text_wherever_it_has_been_scrolled_to(seed: int) -> None:
    reader = Reader(seed)
    reader.look()
    for _ in range(20):
        reader.layout.scroll(-reader.chance.randrange(40))
        is_at_end = reader.layout.follows_end
        before = reader.look()
        await reader.conversation.prepend_turns(turns(reader.chance.randrange(1, 4)))
        now = reader.look()
        assert now[-1] == before[-1] if is_at_end else now[0] == before[0] or not before[0].strip()
        reader.layout.scroll(reader.chance.randrange(60))
        reader.something_happens()


async def test_a_turn_that_streams_meanwhile_goes_on_in_its_own_blocks() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add_user("now")
        view.apply(said("first *half"))
        await flushed(app, pilot)
        await view.show_earlier_turns(turns(25))
        view.apply(said("* second half\n\nnext"))
        view.apply(tool_started("bash", "7", command="make"))
        await view.show_earlier_turns(turns(5))
        view.apply(tool_ended("bash", "built", call_id="7"))
        view.apply(turn_ended())
        await flushed(app, pilot)
        assert view.answers[-1].source == "first *half* second half\n\nnext"
        last = view.model.blocks[-1]
        assert isinstance(last, ToolCard) and last.state == "done"
        assert any("first half second half" in row for row in app.rows())


async def test_the_selection_stays_on_its_text() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add_user("keep this selected")
        await pilot.pause()
        start = end_of(view.model, 0)
        start.at -= len("selected")
        view.select(TextSelection(view.model.track(start), view.model.track(end_of(view.model, 0))))
        await view.show_earlier_turns(turns(15))
        await pilot.pause()
        assert view.selected_text() == "selected"


async def test_finding_goes_on_at_the_same_match_and_counts_the_earlier_ones() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        for number in range(3):
            view.add_user(f"marker here {number}")
        await pilot.pause()
        view.finder.begin()
        view.finder.find("marker")
        await searched(app, pilot)
        view.finder.step(-1)
        assert view.find_status == "2/3"
        await view.show_earlier_turns(turns(20))
        await searched(app, pilot)
        assert view.find_status == "22/23"
        view.finder.step(-1)
        assert view.find_status == "21/23" and any("marker here 0" in row for row in app.rows())
        view.finder.step(-1)
        await pilot.pause()
        assert view.find_status == "20/23" and any("marker 19" in row for row in app.rows())
        view.finder.end(is_kept=False)
        await pilot.pause()
        assert any("marker here 2" in row for row in app.rows())


async def test_a_step_to_another_match_works_while_the_earlier_turns_are_being_searched() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        for number in range(3):
            view.add_user(f"marker here {number}")
        await pilot.pause()
        view.finder.begin()
        view.finder.find("marker")
        await searched(app, pilot)
        await view._builder.prepend_turns(turns(300))
        view.finder.prepended(600)
        view.finder.step(-1)  # at once
        await searched(app, pilot)
        assert view.finder.current is not None
        view.finder.step(1)
        assert view.find_status.endswith("/303")


async def searched(app: TranscriptApp, pilot: Pilot[None]) -> None:
    while not app.transcript.finder.search.is_done:
        await pilot.pause(0.01)
    await pilot.pause()


async def test_what_is_cleared_while_it_loads_does_not_come_back() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        loading = await begin_loading(app, turns(600))
        view.clear_blocks()
        view.add_user("something else")
        await loading
        await pilot.pause()
        assert [block.find_text() for block in view.model.blocks if isinstance(block, UserBlock)] == [
            "something else"
        ]
        assert view.answers == []


async def test_cards_and_reasoning_fold_with_those_of_the_running_session() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        records = [
            {"type": "llm_chunk", "timestamp": 1.0, "data": {"text": "hm", "kind": "reasoning"}},
            tool_started("bash", "1", command="ls").as_record(),
            tool_ended("bash", "\n".join(f"out {n}" for n in range(5))).as_record(),
            turn_ended().as_record(),
        ]
        await view.show_earlier_turns([ReplayedTurn("look", records)])
        await pilot.pause()
        [card] = [block for block in view.model.blocks if isinstance(block, ToolCard)]
        assert not card.is_open
        view.toggle_cards()
        assert card.is_open
        view.show_thinking("hidden")
        [thought] = [block for block in view.model.blocks if isinstance(block, ReasoningBlock)]
        assert not view.model.rendered(view.model.blocks.index(thought)).rows


async def test_a_change_of_what_shows_of_the_reasoning_reaches_turns_that_are_loading() -> None:
    async with (app := TranscriptApp()).run_test(size=SIZE) as pilot:
        view = app.transcript
        thought = {"type": "llm_chunk", "timestamp": 1.0, "data": {"text": "hm", "kind": "reasoning"}}
        first = ReplayedTurn("first", [thought, turn_ended().as_record()])
        loading = await begin_loading(app, [first, *turns(600)])
        view.show_thinking("hidden")
        await loading
        await pilot.pause()
        [block] = [block for block in view.model.blocks if isinstance(block, ReasoningBlock)]
        assert not view.model.rendered(view.model.blocks.index(block)).rows


def test_a_notice_after_a_turn_does_not_make_it_look_interrupted() -> None:
    notice = {"type": "notice", "timestamp": 2.0, "data": {"level": "info", "text": "Job 1 has ended."}}
    kinds = [event.type for event in ReplayedTurn("x", [turn_ended().as_record(), notice]).events]
    assert kinds == ["agent_end", "notice"]


def test_a_killed_turn_ends_as_interrupted_whatever_its_last_event_is() -> None:
    whole = [
        said("text").as_record(),
        tool_started("bash", "1", command="ls").as_record(),
        {"type": "notice", "timestamp": 2.0, "data": {"level": "info", "text": "Job 1 has ended."}},
        tool_ended("bash", "x").as_record(),
        said("more").as_record(),
    ]
    for end in range(len(whole) + 1):
        events = ReplayedTurn("x", whole[:end]).events
        assert events[-1].type == "agent_end"
        starts = sum(event.type == "tool_start" for event in events)
        assert starts == sum(event.type == "tool_end" for event in events)
