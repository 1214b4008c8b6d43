"""Markdown as rows: every construct, every width, and text that means harm."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len
from textual.color import Color

from forge_core.sanitize import safe_text
from forge_tui.terminal.colours import Depth
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.answer.answer_blocks import MarkdownBlock
from tests.support.transcripts import STYLES, drawn, row_text


def lines(source: str, width: int = 60) -> list[str]:
    return [line[3:] for line in drawn(MarkdownBlock(source, gap=0), width)]


def test_headings_are_shown_bold_and_without_marks() -> None:
    block = MarkdownBlock("## Title", gap=0)
    row = block.render(60, STYLES).rows[0]
    assert row_text(row).strip() == "Title"
    assert row.segments[-1].style is not None
    assert row.segments[-1].style.bold


def test_lists_keep_nesting_numbering_and_blank_lines() -> None:
    assert lines("3. a\n4. b\n   - c\n     - d\n") == ["3. a", "4. b", "   • c", "     ◦ d"]
    assert lines("- a\n\n- b") == ["• a", "", "• b"]


def test_long_list_items_have_a_hanging_indent() -> None:
    assert lines("- one two three four", 20) == ["• one two three", "  four"]


def test_task_items_show_boxes() -> None:
    assert lines("- [ ] open\n- [x] done\n- plain") == ["☐ open", "☑ done", "• plain"]


def test_quotes_have_a_bar_on_every_row() -> None:
    assert lines("> a\n>\n> - b") == ["▎ a", "▎", "▎ • b"]


def test_a_link_shows_its_target_unless_the_text_is_the_target() -> None:
    assert lines("see [docs](https://a.example/x)") == ["see docs (https://a.example/x)"]
    assert lines("<https://a.example/x>") == ["https://a.example/x"]


def test_only_web_and_mail_links_can_be_opened() -> None:
    for target, opens in (("https://a.example", True), ("file:///etc/passwd", False), ("x:y", False)):
        rows = MarkdownBlock(f"[text]({target})").render(60, STYLES).rows
        styles = [segment.style for row in rows for segment in row.segments if segment.style is not None]
        assert any(style.link for style in styles) is opens


def test_a_newline_in_the_source_is_a_line_break() -> None:
    assert lines("roses are red\nviolets are blue") == ["roses are red", "violets are blue"]


def test_code_is_a_card_with_its_language_at_the_right_of_the_first_line() -> None:
    source = "```python\nif x:\n    y\n```"
    assert drawn(MarkdownBlock(source, gap=0), 40) == [
        "  " + "▄" * 37,
        "   if x:                        python",
        "       y",
        "  " + "▀" * 37,
    ]


def test_a_long_first_line_leaves_room_for_the_language() -> None:
    rows = lines(f"```python\n{'x' * 60}\n```", 40)[1:-1]
    assert rows == [f"{'x' * 27}  python", "x" * 33]
    assert lines(f"```python\n{'x' * 20}\n```", 20)[1:-1] == ["x" * 15, "x" * 5]


def test_code_in_a_list_or_quote_begins_a_cell_before_the_text_around_it() -> None:
    rows = [row.rstrip() for row in drawn(MarkdownBlock("- a\n  ```\n  b\n  ```", gap=0), 40)]
    assert rows == ["   • a", "    " + "▄" * 35, "     b", "    " + "▀" * 35]
    rows = [row.rstrip() for row in drawn(MarkdownBlock("> ```\n> b\n> ```", gap=0), 40)]
    assert rows == ["   ▎" + "▄" * 35, "   ▎ b", "   ▎" + "▀" * 35]


@pytest.mark.parametrize("depth", [Depth.NONE, Depth.SIXTEEN])
def test_code_without_a_background_is_indented(depth: Depth) -> None:
    styles = TranscriptStyles.from_theme({}, Color.parse("#101010"), depth)
    rows = MarkdownBlock("```python\nx\n```", gap=0).render(40, styles).rows
    assert [row_text(row).rstrip() for row in rows] == ["     x                          python"]


def test_a_table_aligns_its_columns() -> None:
    source = "| a | right |\n|---|------:|\n| long one | 1 |\n| 日本 | 22 |"
    assert lines(source) == [
        "a          right",
        "────────────────",
        "long one       1",
        "日本          22",
    ]


def grounds(source: str, depth: Depth = Depth.TRUE, width: int = 60) -> list[tuple[str, int]]:
    """The rows of a table below its header, each with the number of cells that have a background."""
    styles = TranscriptStyles.from_theme({}, Color.parse("#101010"), depth)
    rows = MarkdownBlock(source, gap=0).render(width, styles).rows[2:]
    return [
        (
            row_text(row).strip(),
            sum(part.cell_length for part in row.segments if part.style and part.style.bgcolor),
        )
        for row in rows
    ]


def table(rows: int, words: str = "x") -> str:
    return "| n | text |\n|--:|---|\n" + "".join(f"| {n} | {words} |\n" for n in range(rows))


def test_every_other_row_of_a_table_of_more_than_five_has_a_background() -> None:
    assert [cells for _, cells in grounds(table(5))] == [0] * 5
    assert [cells for _, cells in grounds(table(6))] == [0, 10, 0, 10, 0, 10]  # "n   text" and a cell around
    assert [cells for _, cells in grounds(table(6), Depth.SIXTEEN)] == [0] * 6


def test_wrapped_rows_of_a_table_are_apart() -> None:
    few = grounds(table(2, "word " * 8), width=30)
    assert [text for text, _ in few] == ["0   word word word word", "word word word word", ""] * 1 + [
        "1   word word word word",
        "word word word word",
    ]
    many = grounds(table(6, "word " * 8), width=30)
    assert [cells > 0 for _, cells in many] == [False, False, True, True] * 3
    assert "" in [text for text, _ in grounds(table(6, "word " * 8), Depth.SIXTEEN, 30)]


@pytest.mark.parametrize("width", [24, 30, 44, 60, 120])
def test_a_table_never_exceeds_the_width(width: int) -> None:
    cells = " | ".join(f"column number {n} with words" for n in range(5))
    source = f"| {cells} |\n|{'---|' * 5}\n| {cells} |\n| {cells} |"
    assert all(cell_len(line) <= width for line in drawn(MarkdownBlock(source), width))
    assert any("number 4" in line or "4 with" in line for line in lines(source, width))


@pytest.mark.parametrize("width", [20, 33, 80])
def test_wide_and_combining_characters_are_wrapped_by_cells(width: int) -> None:
    source = (
        "混ぜる文章 " * 9 + "e\u0301tude " * 9 + "👩\u200d💻 family 👨\u200d👩\u200d👧 " * 6 + "עברית " * 8
    )
    rows = drawn(MarkdownBlock(source), width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(source.split())


def test_an_entity_cannot_smuggle_a_control_character() -> None:
    for source in ("&#27;[2J", "&#x1b;]0;title&#7;", "`&#27;`", "[&#27;](https://x.example/&#27;)"):
        assert "\x1b" not in "".join(drawn(MarkdownBlock(source)))


def test_console_markup_is_plain_text() -> None:
    source = "[red]x[/] [@click=app.quit]y[/] [link=http://x]z[/link] [/nope]"
    assert lines(source, 100) == [source]


def test_random_markdown_stays_within_its_width() -> None:
    chance = random.Random(7)
    alphabet = [
        "#",
        "-",
        "*",
        "`",
        "\n",
        "\n\n",
        " ",
        "|",
        ">",
        "[",
        "](",
        ")",
        "a",
        "word ",
        "1. ",
        "日",
        "\t",
        "~~",
        "\\",
    ]
    for _ in range(600):
        source = safe_text("".join(chance.choice(alphabet) for _ in range(chance.randrange(1, 90))))
        width = chance.choice((20, 40, 80))
        for row in MarkdownBlock(source).render(width, STYLES).rows:
            assert "\n" not in row_text(row)
            depth = row_text(row).count("▎") + row_text(row).count("• ")
            assert cell_len(row_text(row)) <= max(width, 24 + 6 * depth)


def test_tabs_expand_to_the_next_tab_stop() -> None:
    assert lines("```python\nx\t= 1\n\ty  # a\tb\n```")[1:3] == [
        "x   = 1                                          python",
        "    y  # a  b",
    ]
