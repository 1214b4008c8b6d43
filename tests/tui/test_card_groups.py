"""Calls that belong together: reads and searches in a row, and the calls that a call makes itself."""

from __future__ import annotations

from typing import Any

import pytest

from forge_core.events import Permission, ToolProgress, ToolStart
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    TranscriptApp,
    drawn,
    layout_of,
    said,
    shown,
    tool_ended,
    tool_started,
    turn_ended,
)


def looked(call_id: str, name: str = "read", result: str = "x", **arguments: object) -> list[Any]:
    return [tool_started(name, call_id, **arguments), tool_ended(name, result, call_id=call_id)]


def inner(call_id: str, name: str, parent: str, **arguments: object) -> ToolStart:
    return tool_start(call_id, name, arguments, parent_id=parent, timestamp=100.0)


def group_of(*events: Any) -> ToolGroup:
    layout = layout_of(*events)
    block = layout.blocks[-1]
    assert isinstance(block, ToolGroup)
    return block


def words(row: str) -> str:
    return " ".join(row.split())


def test_consecutive_reads_and_searches_are_one_card_with_counts() -> None:
    rows = shown(
        layout_of(
            *looked("1", path="src/a.py"),
            *looked("2", path="./src/a.py"),
            *looked("3", path="b.py"),
            *looked("4", "grep", pattern="def x"),
            *looked("5", "glob", pattern="*.py"),
            *looked("6", "ls"),
        ),
        120,
    )
    assert [words(row) for row in rows] == [
        "✓ Read 2 files, searched 2 patterns, listed 1 folder a.py, b.py, def x, *.py, . 0.4 s"
    ]


def test_a_running_group_shows_its_current_target_and_elapsed_time() -> None:
    layout = layout_of(*looked("1", path="a.py"), tool_started("grep", "2", pattern="needle"))
    group = layout.blocks[0]
    assert words(drawn(group)[0]) == "● Read 1 file, searched 1 pattern needle"
    (card,) = [block for block in group.calls._blocks if block.is_running]  # type: ignore[attr-defined]
    assert card.tick(112.0)
    assert words(drawn(group)[0]).endswith("needle 12 s")


@pytest.mark.parametrize(
    "between",
    [
        [said("Now the other one.")],
        [tool_started("bash", "b", command="ls"), tool_ended("bash", call_id="b")],
        [tool_started("edit", "b", path="a"), tool_ended("edit", call_id="b")],
    ],
)
def test_text_a_command_or_an_edit_ends_a_group(between: list[Any]) -> None:
    layout = layout_of(*looked("1", path="a"), *looked("2", path="b"), *between, *looked("3", path="c"))
    kinds = [type(block).__name__ for block in layout.blocks]
    assert kinds[0] == "ToolGroup" and kinds[-1] == "ToolCard" and len(kinds) == 3


def test_a_group_unfolds_to_its_calls_and_each_of_them_to_its_output() -> None:
    group = group_of(*looked("1", path="a", result="one\ntwo"), *looked("2", path="b", result="three"))
    assert len(drawn(group)) == 1
    assert group.toggle(0)
    assert [words(row) for row in drawn(group)[1:]] == ["│ ✓ Read a 0.4 s", "│ ✓ Read b 0.4 s"]
    assert group.toggle(1)
    assert [words(row) for row in drawn(group)[1:]] == [
        "│ ✓ Read a 0.4 s",
        "│ │ one",
        "│ │ two",
        "│ ✓ Read b 0.4 s",
    ]
    assert not group.toggle(2), "a click on the text leaves it"
    assert group.toggle(1) and group.toggle(0)
    assert len(drawn(group)) == 1


def test_a_failure_in_a_group_stays_visible() -> None:
    group = group_of(
        *looked("1", path="a"),
        tool_started("read", "2", path="gone.py"),
        tool_ended("read", "Error: no such file", call_id="2", success=False),
        tool_started("read", "3", path=".env"),
        Permission(call_id="3", decision="deny", rule="r", by="person"),
        tool_ended("read", "Error: denied", call_id="3", success=False, outcome="denied"),
    )
    rows = [words(row) for row in drawn(group, 80)]
    assert rows[0] == "✓ Read 1 file a 0.4 s"
    assert rows[1:] == ["│ ✗ Read gone.py no such file 0.4 s", "│ ⊘ Read .env not allowed"]
    for number in range(10, 20):
        group.add(ToolCard(tool_started("read", path=str(number))))
        card = group.calls.last
        assert isinstance(card, ToolCard)
        card.finish(tool_ended("read", "Error: no", success=False))
    assert len(drawn(group)) == 1 + 3 + 1 and "9 more failed" in drawn(group)[-1]


def test_an_unfolded_card_is_not_added_to_a_group() -> None:
    layout = layout_of(*looked("1", path="a"))
    block = layout.blocks[0]
    drawn(block)
    assert block.toggle(1)
    before = drawn(block)
    more = layout_of(*looked("1", path="a"))
    assert isinstance(more.blocks[0], ToolCard)
    from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder

    conversation = TranscriptBuilder(more)
    drawn(more.blocks[0])
    assert more.blocks[0].toggle(0)
    conversation.apply(tool_started("read", "2", path="b"))
    assert [type(each) for each in more.blocks] == [ToolCard, ToolCard]
    assert drawn(block) == before


def test_a_group_of_2000_calls_shows_pages_of_100() -> None:
    layout = layout_of(*(event for n in range(2_000) for event in looked(str(n), path=f"{n}.py")))
    (group,) = layout.blocks
    assert words(drawn(group)[0]).startswith("✓ Read 2,000 files")
    assert group.toggle(0)
    rows = drawn(group)
    assert len(rows) == 1 + 100 + 1 and "1,900 more below" in rows[-1]
    assert group.toggle(len(rows) - 1)
    assert len(drawn(group)) == 1 + 200 + 1
    assert group.row_to_keep(0) == 101, "what was clicked becomes the first of the new ones"


def test_nested_calls_show_below_their_parent_while_it_runs_and_then_fold() -> None:
    events: list[Any] = [tool_started("other", "1", prompt="look around")]
    for number in range(6):
        events.append(inner(f"c{number}", "bash", "1", command=f"echo {number}"))
        events.append(tool_ended("bash", "out", call_id=f"c{number}", parent_id="1"))
    events += [inner("r1", "read", "1", path="a"), inner("r2", "read", "1", path="b")]
    layout = layout_of(*events)
    (card,) = layout.blocks
    rows = [words(row) for row in drawn(card)]
    assert rows == [
        "● Other look around 8 calls",
        "│ … 3 before (Ctrl+O)",
        "│ ✓ Run echo 3 0.4 s",
        "│ ✓ Run echo 4 0.4 s",
        "│ ✓ Run echo 5 0.4 s",
        "│ ● Read 2 files b",
    ]
    more = [*events, tool_ended("other", "All is well.", summary="done")]
    layout = layout_of(*more)
    (card,) = layout.blocks
    assert [words(row) for row in drawn(card)] == ["✓ Other look around 8 calls, done 0.4 s"]
    assert card.toggle(0)
    rows = [words(row) for row in drawn(card)]
    assert rows[1:] == [
        *(f"│ ✓ Run echo {n} 0.4 s" for n in range(6)),
        "│ ◌ Read 2 files a, b",
        "│ All is well.",
    ]
    assert card.toggle(1)
    assert words(drawn(card)[2]) == "│ │ out"


def test_nested_calls_are_shown_at_any_depth() -> None:
    layout = layout_of(
        tool_started("other", "1", prompt="x"),
        inner("2", "other", "1", prompt="y"),
        inner("3", "bash", "2", command="z"),
        ToolProgress(call_id="3", text="working"),
    )
    (card,) = layout.blocks
    drawn(card)
    assert card.toggle(0)
    rows = drawn(card)
    assert [row.index(verb) for row, verb in zip(rows, ("Other", "Other"), strict=False)] == [3, 5]
    assert card.toggle(1)
    assert drawn(card)[2].index("Run") == 7


def test_a_call_of_an_unknown_parent_is_shown_alone() -> None:
    layout = layout_of(inner("2", "bash", "nobody", command="ls"), inner("3", "bash", "3", command="ls"))
    assert [type(block) for block in layout.blocks] == [ToolCard, ToolCard]


def test_events_out_of_order_leave_no_card_running() -> None:
    layout = layout_of(
        tool_ended("bash", "early", call_id="1"),
        tool_started("bash", "2", command="a"),
        tool_started("bash", "2", command="b"),
        tool_ended("bash", "b's", call_id="2"),
        tool_ended("bash", "again", call_id="2", success=False),
        ToolProgress(call_id="2", text="late"),
        ToolProgress(call_id="9", text="nobody's"),
        Permission(call_id="2", decision="deny", rule="r", by="rule"),
        inner("3", "bash", "2", command="late child"),
        turn_ended(),
    )
    cards = [block for block in layout.blocks if isinstance(block, ToolCard | ToolGroup)]
    assert [words(drawn(card)[card.gap])[:9] for card in cards] == ["✓ Bash 0.", "◌ Run a i", "✓ Run b 1"]
    assert not any("late" in row or "again" in row for row in shown(layout))


async def test_a_growing_group_does_not_move_a_scrolled_up_view() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.add_text("\n".join(f"line {n}" for n in range(40)))
        app.transcript.apply(tool_started("read", "0", path="0.py"))
        await pilot.pause()
        app.transcript.page(-1)
        await pilot.pause()
        before = app.rows()
        for number in range(1, 20):
            app.transcript.apply(tool_started("read", str(number), path=f"{number}.py"))
            app.transcript.apply(tool_ended("read", "no", call_id=str(number), success=number % 3 > 0))
            while app.transcript._flush_handle is not None:
                await pilot.pause(0.01)
            assert app.rows() == before
