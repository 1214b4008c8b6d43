"""Tool cards, diffs, reasoning, notices: what each shows in each state."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from forge_core.events import (
    Compaction,
    Error,
    LLMChunk,
    Notice,
    Permission,
    ToolEnd,
    ToolProgress,
)
from forge_core.result import FileDiff, ToolOutcome
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    STYLES,
    call_ended,
    drawn,
    layout_of,
    row_text,
    said,
    shown,
    tool_ended,
    tool_started,
    turn_ended,
)

DIFF = "@@ -9,3 +9,3 @@\n context\n-old word here\n+new word here\n\\ No newline at end of file\n tail"


def card(layout_events: list[object]) -> ToolCard:
    layout = layout_of(*layout_events)  # type: ignore[arg-type]
    block = layout.blocks[0]
    assert isinstance(block, ToolCard)
    return block


def test_a_call_is_one_line_with_verb_target_summary_and_time() -> None:
    rows = drawn(card([tool_started("read", path="src/a.py"), tool_ended("read", "…", summary="42 lines")]))
    assert [row.split() for row in rows] == [["✓", "Read", "src/a.py", "42", "lines", "0.4", "s"]]


def test_a_long_target_is_cut_in_its_middle() -> None:
    path = "/very/long/" + "folder/" * 20 + "name.py"
    for width in (30, 50, 80):
        (row,) = drawn(card([tool_started("read", path=path), tool_ended("read")]), width)
        assert "…" in row
        assert "name.py" in row
        assert cell_len(row) <= width


def test_a_running_command_shows_the_tail_of_its_output() -> None:
    output = "".join(f"line {n}\n" for n in range(50))
    rows = drawn(card([tool_started("bash", command="make"), ToolProgress(call_id="1", text=output)]))
    assert [row.split("│ ")[-1] for row in rows[1:]] == [f"line {n}" for n in range(45, 50)]


def test_a_progress_bar_is_one_line_updated_in_place() -> None:
    pieces = ("start\n 10%", "\r 20%", "\r100%\n\rno re\x1bturn", " at all")
    events = [ToolProgress(call_id="1", text=piece) for piece in pieces]
    rows = drawn(card([tool_started("bash", command="make"), *events]))
    assert [row.split("│ ")[-1] for row in rows[1:]] == ["start", "100%", "\u240dno re\u241bturn at all"]


def test_a_command_s_output_is_folded_and_unfolds() -> None:
    output = "\n".join(f"line {n}" for n in range(30))
    block = card([tool_started("bash", command="make"), tool_ended("bash", output)])
    assert len(drawn(block)) == 1 + 1 + 5
    assert "25 more lines (Ctrl+O)" in drawn(block)[1]
    assert block.toggle(0)
    assert len(drawn(block)) == 1 + 30 + 1
    assert block.toggle(0)
    assert len(drawn(block)) == 7


def test_a_quick_read_stays_one_line_until_unfolded() -> None:
    block = card([tool_started("read", path="a"), tool_ended("read", "one\ntwo", summary="2 lines")])
    assert len(drawn(block)) == 1
    block.toggle(0)
    assert [row[3:] for row in drawn(block)[1:]] == ["one", "two"]


def test_a_very_long_output_unfolds_to_one_page_with_a_count_of_the_rest() -> None:
    block = card([tool_started("read", path="a"), tool_ended("read", "x\n" * 5_000)])
    block.toggle(0)
    rows = drawn(block)
    assert len(rows) == 1 + 200 + 2
    assert rows[-2:] == [" │ … 4,800 more lines (PageDown)", " │ ▴ fold"]


def test_a_failure_shows_its_reason() -> None:
    rows = drawn(card([tool_started("edit", path="a"), tool_ended("edit", "Error: no match", success=False)]))
    assert "✗" in rows[0]
    assert "no match" in rows[0]


def test_a_denied_call_stays_marked_as_denied_after_its_end() -> None:
    events = [
        tool_started("bash", command="rm -rf /"),
        Permission(call_id="1", decision="deny", rule="r", by="person"),
        tool_ended("bash", "Error: denied", success=False),
    ]
    rows = drawn(card(list(events)))
    assert rows == [" ⊘ Run rm -rf /  not allowed"]


def test_a_denied_call_shows_the_reason_given_by_the_user() -> None:
    rows = drawn(refused("no, [b]use[/b] tox\x1b[2J"))
    assert rows == [" ⊘ Run make  not allowed", " │ no, [b]use[/b] tox␛[2J"]


@pytest.mark.parametrize("width", [40, 60, 120])
def test_the_whole_denial_reason_is_shown(width: int) -> None:
    reason = "use tox instead of make, and only for the three files that you changed"
    rows = drawn(refused(f"use tox\nand {reason}"), width)
    assert rows[:2] == [" ⊘ Run make  not allowed", " │ use tox"]
    assert " ".join(row.removeprefix(" │ ").strip() for row in rows[2:]) == f"and {reason}"


def test_a_refused_call_in_a_group_shows_the_reason_in_its_row() -> None:
    events = [
        tool_started("read", call_id="1", path="a.py"),
        tool_ended("read", "x", call_id="1"),
        tool_started("read", call_id="2", path=".env"),
        Permission(call_id="2", decision="deny", rule="r", by="person", reason="it has keys"),
        tool_ended("read", "Error: denied", call_id="2", success=False, outcome="denied"),
    ]
    layout = layout_of(*events)
    layout.blocks[0].set_open(True)  # type: ignore[attr-defined]
    assert any("Read .env  not allowed: it has keys" in row for row in drawn(layout.blocks[0], 80))


def test_a_denied_call_omits_text_meant_for_the_model() -> None:
    block = refused("")
    assert drawn(block) == [" ⊘ Run make  not allowed"]
    block.toggle(0)
    assert drawn(block) == [" ⊘ Run make  not allowed"]


def refused(reason: str) -> ToolCard:
    events = [
        tool_started("bash", command="make"),
        Permission(call_id="1", decision="deny", rule="it asks", by="person", reason=reason),
        tool_ended("bash", f"Error: the user did not allow this call. They said: {reason}", success=False),
    ]
    return card(list(events))


def test_a_call_denied_without_asking_shows_the_reason() -> None:
    why = "plan mode writes \x1b[2J[b]nothing[/b]"
    events = [
        tool_started("edit", file_path="a.py"),
        Permission(call_id="1", decision="deny", rule=why, by="mode"),
        tool_ended("edit", "Error: denied", success=False),
    ]
    rows = drawn(card(list(events)), 80)
    assert rows == [" ⊘ Edit a.py  not allowed: plan mode writes ␛[2J[b]nothing[/b]"]


def test_a_call_without_an_end_is_marked_when_the_turn_ends() -> None:
    rows = drawn(card([tool_started("bash", command="sleep 9"), turn_ended("cancelled")]))
    assert "interrupted" in rows[0]


def test_a_changing_elapsed_time_does_not_shift_the_row() -> None:
    block = ToolCard(tool_started("bash", command="make"))
    block.gap = 0
    rows = []
    for now in (100.2, 101.0, 109.0, 175.0, 8_000.0):
        block.tick(now)
        rows.append(drawn(block)[0])
    assert [row.split("make")[1].strip() for row in rows] == ["", "1 s", "9 s", "1 min 15 s", "2 h 11 min"]
    assert len({row.index("make") for row in rows}) == 1
    assert len({len(row) for row in rows[1:]}) == 1


def test_a_tick_that_shows_nothing_new_changes_nothing() -> None:
    block = ToolCard(tool_started("bash", command="make"))
    block.tick(103.1)
    revision = block.revision
    assert not block.tick(103.9)
    assert block.revision == revision


def test_waiting_for_the_user_does_not_count_as_time_of_the_call() -> None:
    layout = Layout()
    layout.configure(60, 20, STYLES)
    conversation = TranscriptBuilder(layout)
    conversation.calls.pause_clock("1")  # the question may be there before the call's start has come
    conversation.apply(tool_started("bash", "1", command="make"))
    conversation.apply(tool_started("bash", "2", command="lint"))
    assert conversation.tick(130.0)
    asked, other = layout.blocks
    assert drawn(asked) == [" ● Run make"]
    assert drawn(other)[-1].endswith("30 s")
    conversation.calls.resume_clock("1", 140.0)
    assert conversation.tick(143.0)
    assert drawn(asked)[0].endswith(" 3 s")
    assert drawn(other)[-1].endswith("43 s")


def test_consecutive_calls_have_no_gap_between_them() -> None:
    layout = layout_of(
        tool_started("read", "1", path="a"),
        tool_ended("read", call_id="1"),
        tool_started("bash", "2", command="b"),
        tool_started("read", "3", path="c"),
        tool_ended("bash", "output", call_id="2"),
        tool_ended("read", call_id="3"),
    )
    assert [block.gap for block in layout.blocks] == [0, 0, 0]


def test_calls_of_a_sub_agent_are_nested() -> None:
    layout = layout_of(
        tool_started("task", "1", prompt="look"),
        tool_start("2", "read", {"path": "a"}, parent_id="1"),
    )
    outer, inner = shown(layout)
    assert inner.index("Read") == outer.index("Agent") + 2


@pytest.mark.parametrize(
    ("name", "arguments", "heading"),
    [
        ("grep", {"pattern": "x", "path": "src"}, "Search x in src"),
        ("bash", {"command": "a\nb"}, "Run a⏎b"),
        ("mcp_lookup", {"query": "q"}, "Mcp lookup q"),
        ("", {}, "Tool"),
        ("read", {"path": "\x1b]0;x\x07"}, "Read ␛]0;x␇"),
    ],
)
def test_a_card_shows_the_calls_title_and_target_on_one_safe_line(
    name: str, arguments: dict[str, object], heading: str
) -> None:
    row = drawn(card([tool_started(name, **arguments)]))[0]
    assert " ".join(row.split()) == f"● {heading}"


def test_an_edit_shows_its_diff_with_a_background_to_the_edge() -> None:
    diff = FileDiff("a", DIFF, 1, 1)
    block = card([tool_started("edit", path="a"), tool_ended("edit", "ok", diffs=(diff,))])
    row = next(row for row in block.render(60, STYLES).rows if "new word" in row_text(row))
    assert cell_len(row_text(row)) == 59
    assert row.segments[-1].style is not None
    assert row.segments[-1].style.bgcolor == STYLES.added.bgcolor


def test_a_long_diff_is_folded() -> None:
    diff = FileDiff("a", "@@ -1 +1,300 @@\n" + "\n".join(f"+line {n}" for n in range(300)), 300, 0)
    block = card([tool_started("write", path="a"), tool_ended("write", "ok", diffs=(diff,))])
    assert len(drawn(block)) < 30
    assert "276 more lines" in drawn(block)[-1]


def test_reasoning_shows_its_tail_and_folds_to_a_line() -> None:
    block = ReasoningBlock(started=100.0)
    block.gap = 0
    block.feed("first thought\n" * 100 + "the last thought")
    rows = drawn(block)
    assert rows[0].strip() == "▾ Thinking…"
    assert rows[-1].strip() == "the last thought"
    assert len(rows) == 5
    block.finish(112.0)
    assert drawn(block) == [" ▸ Thought for 12 s (~281 tokens)"]
    assert block.toggle(0)
    assert len(drawn(block)) == 102


def test_the_answer_ends_the_reasoning() -> None:
    layout = layout_of(
        LLMChunk(text="hm", kind="reasoning", timestamp=100.0),
        LLMChunk(text="Yes.", timestamp=103.0),
        call_ended(104.0),
    )
    assert [line.strip() for line in shown(layout) if line] == ["▸ Thought for 3.0 s (~1 tokens)", "Yes."]


def test_raw_tool_arguments_are_not_shown() -> None:
    assert layout_of(LLMChunk(text='{"path"', kind="tool_args")).blocks == []


def test_an_interrupted_answer_is_kept_and_marked() -> None:
    layout = layout_of(said("Half an ans"), turn_ended("cancelled"))
    assert [line.strip() for line in shown(layout) if line] == ["Half an ans", "· interrupted"]


@pytest.mark.parametrize("reason", ["max_iterations", "timeout", "budget", "loop", "length", "refusal"])
def test_an_abnormal_turn_end_shows_its_reason(reason: str) -> None:
    layout = layout_of(said("x"), turn_ended(reason))  # type: ignore[arg-type]
    assert any(line.startswith(" ! ") for line in shown(layout))


def test_notices_and_errors_are_shown_verbatim() -> None:
    layout = layout_of(
        Notice(level="warning", text="wait 4 s\nthen go on"),
        Error(error="402: no credits", kind="PaymentRequiredError", recoverable=False),
        Compaction(before=100_000, after=8_000),
    )
    assert [line for line in shown(layout) if line] == [
        " ! wait 4 s",
        "   then go on",
        " ✗ 402: no credits",
        " · Conversation summarised: ~100,000 → ~8,000 tokens",
    ]


def test_a_message_of_the_user_has_a_bar_on_every_row() -> None:
    rows = drawn(UserBlock("one two three four five six seven\n\nlast"), 30)
    assert all(row.startswith(" ▎") for row in rows[1:])


def test_a_result_of_an_unknown_call_is_still_shown() -> None:
    assert "✓ Read" in shown(layout_of(tool_ended("read", "x")))[0]


@pytest.mark.parametrize(
    ("name", "outcome", "summary", "wanted"),
    [
        ("nosuch", "unknown_tool", "unknown tool", "✗ Unknown tool nosuch"),
        ("x\x1b[2J", "unknown_tool", "unknown tool", "✗ Unknown tool x␛[2J"),
        ("read", "unreadable", "", "✗ Read unreadable arguments"),
        ("read", "interrupted", "interrupted", "◌ Read interrupted"),
        ("read", "denied", "refused", "⊘ Read not allowed"),
        ("read", "timed_out", "timed out", "✗ Read timed out"),
        ("read", "failed", "", "✗ Read some words"),
        ("read", None, "", "✗ Read some words"),
    ],
)
def test_an_unsuccessful_call_shows_a_short_summary(
    name: str, outcome: ToolOutcome | None, summary: str, wanted: str
) -> None:
    end = ToolEnd(
        call_id="c",
        name=name,
        result="Error: some words",
        success=False,
        duration_s=0.0,
        summary=summary,
        outcome=outcome,
    )
    rows = shown(layout_of(tool_start("c", name, {}), end))
    assert [" ".join(row.split()) for row in rows] == [wanted]


@pytest.mark.parametrize("words", ["this call of 'x'", "interrupted by the user", "[exit code 0, 1.2 s]"])
def test_printed_text_does_not_change_the_status_of_a_command(words: str) -> None:
    rows = drawn(card([tool_started("bash", command="x"), tool_ended("bash", words, summary="exit 0")]))
    assert "✓" in rows[0] and rows[1].endswith(words)


def test_the_source_of_every_answer_is_available() -> None:
    layout = Layout()
    conversation = TranscriptBuilder(layout)
    for event in (said("**one**\n"), said("two"), tool_started("read", path="a"), said("```\nx\n```\n")):
        conversation.apply(event)
    assert [answer.source for answer in conversation.answers] == ["**one**\ntwo", "```\nx\n```\n"]
    conversation.clear()
    assert conversation.answers == []
