"""The edges of the conversation: marks in column 1, text in column 3, and one right edge in wide windows."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from forge_core.result import FileDiff
from forge_tui.terminal.colours import Depth
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import RIGHT_EDGE, Block, NoticeBlock, UserBlock
from forge_tui.widgets.transcript.answer.answer_blocks import CodeBlock, MarkdownBlock
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.last_lines import last_lines
from tests.support.transcripts import (
    STYLES,
    call_ended,
    drawn,
    layout_of,
    row_text,
    said,
    tool_ended,
    tool_started,
)

WIDE = 200
WORDS = "word " * 80
CHANGE = "-x = 1 " + "b" * 140


def code(line: str) -> CodeBlock:
    block = CodeBlock("text")
    block.add(line)
    return block


def thought() -> ReasoningBlock:
    block = ReasoningBlock(1.0, "full")
    block.feed(WORDS)
    block.finish(3.0)
    return block


def edge(block: Block, width: int) -> int:
    """The column after the last cell that the block paints."""
    return max(cell_len(row_text(row)) for row in block.render(width, STYLES).rows)


@pytest.mark.parametrize("width", [60, WIDE])
@pytest.mark.parametrize(
    "block",
    [
        UserBlock("hello"),
        code("short"),
        code("x" * 300),
        MarkdownBlock("---"),
        MarkdownBlock("- a list\n\n  ```python\n  x = 1\n  ```"),
        MarkdownBlock("> ```\n> quoted\n> ```"),
    ],
    ids=["user", "code", "long code", "rule", "code in a list", "code in a quote"],
)
def test_bars_code_and_rules_end_at_the_right_edge(block: Block, width: int) -> None:
    assert edge(block, width) == min(width - 1, RIGHT_EDGE)


@pytest.mark.parametrize(
    "block",
    [
        MarkdownBlock(WORDS),
        MarkdownBlock(f"- {WORDS}\n  - {WORDS}"),
        MarkdownBlock(f"> {WORDS}"),
        NoticeBlock(WORDS, "warning"),
        thought(),
    ],
    ids=["prose", "list", "quote", "notice", "reasoning"],
)
def test_text_is_wrapped_at_the_right_edge(block: Block) -> None:
    assert RIGHT_EDGE - 5 < edge(block, WIDE) <= RIGHT_EDGE


def test_the_time_of_a_call_ends_at_the_right_edge_and_its_changes_may_be_wider() -> None:
    diff = FileDiff("a.py", f"@@ -1 +1 @@\n{CHANGE}\n+x = 2", 1, 1)
    (block,) = layout_of(tool_started("edit", file_path="a.py"), tool_ended("edit", diffs=(diff,))).blocks
    header = drawn(block, WIDE)[0]
    assert header.endswith("s") and len(header) == RIGHT_EDGE
    assert edge(block, WIDE) > RIGHT_EDGE


def test_marks_are_in_column_1_and_text_in_column_3() -> None:
    call = layout_of(tool_started("bash", command="ls"), tool_ended("bash", "out")).blocks[0]
    for block in (UserBlock("text"), NoticeBlock("text", "info"), thought(), call):
        rows = [row for row in drawn(block) if row]
        assert all(row[0] == " " and row[2] == " " and row[3] != " " for row in rows)
        assert rows[0][1] != " "
    for block in (MarkdownBlock("text"), MarkdownBlock("# text"), code("text")):
        assert [len(row) - len(row.lstrip()) for row in drawn(block) if "text" in row] == [3]


def answer_with_code() -> Layout:
    layout = layout_of(said("```python\nx = 1\n```\n"), call_ended())
    layout.prepend([UserBlock("show it")])
    return layout


def test_half_blocks_do_not_stay_on_the_terminal_where_the_background_does_not() -> None:
    text = "\n".join(last_lines(answer_with_code(), 20, {}, Depth.TRUE))
    assert "x = 1" in text
    assert not set(text) & set("▄▀")


def test_half_blocks_do_not_stand_out_from_a_discarded_answer() -> None:
    block = answer_with_code().blocks[-1]
    assert isinstance(block, CodeBlock)
    rows = len(drawn(block))
    block.answer.is_discarded = True
    assert len(drawn(block)) == rows
    assert not set("".join(drawn(block))) & set("▄▀")
