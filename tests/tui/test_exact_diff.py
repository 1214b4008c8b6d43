"""Changes in a prompt: each line exactly, with the numbers, colours and words of the card."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_core.result import FileDiff
from forge_core.tools.editing.diff import file_diff
from forge_tui.widgets.diff.exact_diff import exact_diff
from forge_tui.widgets.exact_text import ExactLine, diff_lines, spans

HOSTILE = "x\x1b[2J\u202e\t\r y"


def texts(lines: list[ExactLine]) -> list[str]:
    return [line.gutter + line.text for line in lines]


def marked(line: ExactLine) -> list[tuple[str, str]]:
    """The parts of a line that look different, by what they are."""
    return [(line.text[first:last], role) for first, last, role in line.marks]


def test_a_change_has_line_numbers_of_both_sides_and_no_header() -> None:
    lines = exact_diff(FileDiff("a.txt", "@@ -9,3 +9,3 @@\n one\n-two\n+three\n four", 1, 1))
    assert texts(lines) == [" 9  9   one", "10    - two", "   10 + three", "11 11   four"]
    assert [line.role for line in lines] == ["plain", "removed", "added", "plain"]


def test_each_of_several_hunks_is_titled_by_its_lines() -> None:
    lines = exact_diff(FileDiff("a.txt", "@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9 @@ def f():\n-c\n d", 1, 2))
    assert [line.text for line in lines if line.role == "hunk"] == ["line 1", "line 9  def f():"]


def test_changed_words_and_the_language_are_marked() -> None:
    removed, added = exact_diff(FileDiff("a.py", '@@ -1 +1 @@\n-return "old"\n+return "new"', 1, 1))
    assert ("return", "syntax-keyword") in marked(removed) and ("return", "syntax-keyword") in marked(added)
    assert ("old", "removed-word") in marked(removed)
    assert ("new", "added-word") in marked(added)


LINE = st.text(st.sampled_from("ab \t\r\x1b\u202e日#\"'@-+\\"), max_size=9)


@given(before=st.lists(LINE, max_size=12), after=st.lists(LINE, max_size=12))
def test_every_line_of_a_diff_is_shown_exactly(before: list[str], after: list[str]) -> None:
    rows = [*difflib.unified_diff(before, after, lineterm="", n=3)][2:]
    lines = exact_diff(FileDiff("a.py", "\n".join(rows), 0, 0))
    shown = [(line.role, line.text) for line in lines if line.role != "hunk"]
    roles = {"+": "added", "-": "removed", " ": "plain"}
    wanted = [(roles[row[0]], row[1:]) for row in rows if not row.startswith("@@ ")]
    assert sorted(shown) == sorted(wanted)  # a stretch shows what it removes before what it adds
    for line in lines:
        plain = ExactLine(line.text, line.role, line.gutter)
        assert "".join(text for _, text in spans(line)) == "".join(text for _, text in spans(plain))


def test_text_that_hides_something_is_shown_as_by_any_exact_line() -> None:
    (line,) = exact_diff(FileDiff("a.py", f"@@ -0,0 +1 @@\n+{HOSTILE}", 1, 0))
    assert line.text == HOSTILE
    assert [text for role, text in spans(line) if role == "strange"] == ["␛", "‹U+202E›", "␍"]


@pytest.mark.parametrize("before", ["diff --git a/x b/x", "no sign"])
def test_lines_outside_of_a_hunk_are_not_hidden(before: str) -> None:
    text = f"{before}\n@@ -1 +1 @@\n-a\n+b"
    assert exact_diff(FileDiff("a.py", text, 1, 1)) == diff_lines(text)


def test_a_missing_newline_and_a_cut_change_are_shown() -> None:
    lines = exact_diff(file_diff("a.txt", "one", "two"))
    assert texts(lines) == [
        "1   - one",
        "      no newline at end of file",
        "  1 + two",
        "      no newline at end of file",
    ]
    long = file_diff("a.txt", "", "".join(f"{n}\n" for n in range(3_000)))
    assert exact_diff(long)[-1].text == "The rest of the change is not shown"


def test_a_long_change_is_not_coloured() -> None:
    text = "".join(f"-x = {n}\n+x = {n + 1}\n" for n in range(300))
    lines: list[Any] = exact_diff(FileDiff("a.py", f"@@ -1,300 +1,300 @@\n{text}", 300, 300))
    assert len(lines) == 600 and not any(line.marks for line in lines)
