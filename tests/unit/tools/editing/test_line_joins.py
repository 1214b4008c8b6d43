"""Lines stay apart when a line end stands at an edge of the old text and not at that of the new."""

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing.replace import replace

FOUR = b"one\n  two\n  three\n\nfour\n"


@pytest.mark.parametrize(
    ("data", "old", "new", "after", "tier"),
    [
        (FOUR, "one\n", "1", b"1\n  two\n  three\n\nfour\n", "line ends"),
        (FOUR, "two\n", "2", b"one\n  2\n  three\n\nfour\n", "line ends"),
        (b"a\r\nb\r\nc\r\n", "b\n", "B", b"a\r\nB\r\nc\r\n", "line ends"),
        (b"a\r\nb\r\nc\r\n", "b\r\n", "B\nx", b"a\r\nB\r\nx\r\nc\r\n", "line ends"),
        (b"a\rb\rc\r", "b\n", "B", b"a\rB\rc\r", "line ends"),
        (FOUR, "\n  two", "  2", b"one\n  2\n  three\n\nfour\n", "blank edges"),
        (b"a\r\n  b\r\nc\r\n", "\n  b\n", "  B\n", b"a\r\n  B\r\nc\r\n", "blank edges"),
        (b"a\r\n  b\r\nc\r\n", "\n  b\r\n", "  B\r\n", b"a\r\n  B\r\nc\r\n", "blank edges"),
        (FOUR, "\n  two\n", "  2", b"one\n  2\n  three\n\nfour\n", "blank edges"),
        (FOUR, "\n  two\n", "", b"one\n  three\n\nfour\n", "blank edges"),
        (FOUR, "\n  two", "", b"one\n  three\n\nfour\n", "exact"),
        (FOUR, "one\n", "", b"  two\n  three\n\nfour\n", "exact"),
        (FOUR, "\nfour", "four", b"one\n  two\n  three\nfour\n", "exact"),
        (FOUR, "  three\n", "  3", b"one\n  two\n  3\nfour\n", "exact"),
        (FOUR, "four\n", "4", b"one\n  two\n  three\n\n4", "exact"),
        (b"f(a,\nb)\n", ",\n", ", ", b"f(a, b)\n", "exact"),
        (b"if x\n{\n", "\n{", " {", b"if x {\n", "exact"),
        (b"a\nb", "\n", " ", b"a b", "exact"),
        (b"a\n\nb\n", "\n\n", "\n", b"a\nb\n", "exact"),
        (b"x = (1,\n     2)\n", ",\n     2", ", 2", b"x = (1, 2)\n", "exact"),
    ],
)  # fmt: skip
def test_a_habitual_trailing_newline_is_ignored_and_a_requested_line_join_is_made(
    data: bytes, old: str, new: str, after: bytes, tier: str
) -> None:
    done = replace(data, old, new)
    assert (done.data, done.tier) == (after, tier)


@pytest.mark.parametrize(
    ("data", "old", "new", "words"),
    [
        (b"a\nfoo\nb\n", "\nfoo", "bar", "joined to line 1, 'a'"),
        (b"a\n  foo\nb\n", "\n  foo", "bar", "with the end of line 1 too"),
        (b"  foo\n  foo\nb\n", "\n  foo", "  bar", "joined to line 1"),
        (b"a \nfoo\nb\n", " \nfoo", "bar", "joined to line 1"),
        (b"foo\nb\n", "foo\n", "foo", "joined to line 2, 'b'"),
        (b"foo\nb\n", "foo\n", "bar ", "with the beginning of line 2 too"),
        (b"foo\nb\n", "foo\n", "\nbar", "joined to line 2"),
        (b"foo  \nb\n", "foo\n", "bar", "joined to line 2"),
        (b"foo\n\n\nb\n", "foo\n\n\n", "bar", "joined to line 4"),
        (b"x = 1 # c\ny\n", " # c\n", "", "joined to line 2, 'y'"),
        (b"  x\n  y\n", "x\n", "", "joined to line 2, '  y'"),
        (b"a\n\n  x\nb\n", "\n\n  x\n", "", "joined to line 1"),
    ],
)  # fmt: skip
def test_an_ambiguous_line_join_is_rejected_with_a_hint(data: bytes, old: str, new: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        replace(data, old, new)
    assert words in str(caught.value)


def test_every_replacement_keeps_its_line_ending() -> None:
    done = replace(b"a\nx\na\r\ny\na\n", "a\n", "b", replace_all=True)
    assert (done.data, len(done.pieces)) == (b"b\nx\nb\r\ny\nb", 3)


@pytest.mark.parametrize("old", ["\nb\r\n", "a\r", "\r", "\nb"])
def test_a_carriage_return_is_never_separated_from_its_newline(old: str) -> None:
    data = b"a\r\nb\r\n"
    try:
        after = replace(data, old, "X\n" if old.endswith("\n") else "X").data
    except ToolError:
        return
    assert after.replace(b"\r\n", b"").count(b"\r") == 0
    assert after.replace(b"\r\n", b"").count(b"\n") == 0


def test_an_edit_without_effect_is_rejected() -> None:
    with pytest.raises(ToolError, match="Nothing would change"):
        replace(b"a\nb\n", "a  \n", "a\n")


@pytest.mark.parametrize(("line", "old"), [("x ", "x"), ("x\u201c", '"'), ("x\u201c", 'x"')])
def test_very_many_matches_in_one_line_are_replaced(line: str, old: str) -> None:
    """Quadratic work for each place would take minutes here."""
    done = replace((line * 20_000 + "\n").encode(), old, "q", replace_all=True)
    assert (len(done.pieces), done.data.count(b"q")) == (20_000, 20_000)
