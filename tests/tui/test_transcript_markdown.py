"""Markdown as rows: every construct, every width, and text that means harm."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len

from forge_core.sanitize import safe_text
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


def test_code_has_a_label_and_its_own_indentation() -> None:
    assert lines("```python\nif x:\n    y\n```") == [" python", " if x:", "     y"]


def test_a_table_aligns_its_columns() -> None:
    source = "| a | right |\n|---|------:|\n| long one | 1 |\n| 日本 | 22 |"
    assert lines(source) == [
        "a        │ right",
        "─────────┼──────",
        "long one │     1",
        "日本     │    22",
    ]


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
    assert lines("```python\nx\t= 1\n\ty  # a\tb\n```")[1:] == [" x   = 1", "     y  # a  b"]
