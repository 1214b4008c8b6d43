"""Command output as a terminal would show it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_core.tools.shell.terminal_text import MAX_ROW_CELLS, MAX_SEQUENCE, TerminalText
from tests.support.hostile import TRICKS

pytestmark = pytest.mark.slow


MEGABYTE = 1_000_000
PIECES = st.sampled_from(
    [
        *(
            "\x1b",
            "[",
            "]",
            "0;",
            "31",
            "m",
            "K",
            "2K",
            "1K",
            "J",
            "G",
            "3G",
            "C",
            "D",
            "\x07",
            "\\",
            "(",
            "B",
        ),
        *("\r", "\n", "\b", "\r\n", "\t", "\x00", "\x9b", "\x1b[31m", "\x1b]8;;u\x1b\\", "\x1bP1$r\x1b\\"),
        *("a", "bcd", "50%", " ", "\u4e2d", "\U0001f600", "e\u0301", "\u200e"),
    ]
)
OUTPUT = st.one_of(
    st.lists(PIECES, max_size=40).map(lambda pieces: "".join(pieces).encode()), st.binary(max_size=80)
)
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=60)


def shown(data: bytes) -> str:
    output = TerminalText()
    return output.feed(data) + output.finish()


def shown_in_pieces(data: bytes, sizes: list[int]) -> str:
    output, settled, at = TerminalText(), [], 0
    for size in sizes:
        settled.append(output.feed(data[at : at + size]))
        at += size
    return "".join([*settled, output.feed(data[at:]), output.finish()])


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("\x1b[01;34msrc\x1b[0m\n", "src\n"),
        ("\x1b[38;2;1;2;3mred\x1b[m \x1b[4:3mcurly\x1b[0m", "red curly"),
        ("grep\x1b[35m\x1b[Kname\x1b[m\x1b[K:hit", "grepname:hit"),
        ("\x1b[?25l\x1b[2Jdone\x1b[?25h\x1b[6 q", "done"),
        ("\x1b]0;a title\x07prompt", "prompt"),
        ("\x1b]8;;http://a.b/c?d=e\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\a\x1b_Gx\x1b\\b\x1b(B\x1b7\x1b8\x1b=\x1b>c", "abc"),
        ("plain\ttext\n\n  e\u0301 \u4e2d \u200e\n", "plain\ttext\n\n  e\u0301 \u4e2d \u200e\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
    ],
)
def test_escape_sequences_are_removed_and_text_is_kept(printed: str, text: str) -> None:
    assert shown(printed.encode()) == text


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (" 10%\r 50%\r100%\n", "100%\n"),
        ("downloading\rdone\n", "doneloading\n"),
        ("downloading\r\x1b[Kdone\n", "done\n"),
        ("downloading\x1b[2K\rdone\n", "done\n"),
        ("downloading\x1b[1G\x1b[0Kdone\n", "done\n"),
        ("abcdef\x1b[3D\x1b[1KX", "   Xef"),
        ("|\b/\b-\b\\\b \bready", "ready"),
        ("N\bNA\bA", "NA"),
        ("ok\x1b[10Gend", "ok       end"),
        ("ok\x1b[9999C.", "ok" + " " * 198 + "."),
        ("\u4e2d\u6587 1\rab", "ab\u6587 1"),
        ("\u4e2d\u6587 1\ra", "a \u6587 1"),
        ("abcd\r\u4e2d", "\u4e2dcd"),
        ("a\u4e2d\r\u4e2d", "\u4e2d "),
        ("kept\nabc\rX\nkept", "kept\nXbc\nkept"),
        ("line\n\x1b[1Aother", "line\nother"),
    ],
)
def test_a_line_that_was_rewritten_shows_its_last_state(printed: str, text: str) -> None:
    assert shown(printed.encode()) == text


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("\x1b", "\u241b"),
        ("a\x1b[31", "a\u241b[31"),
        ("\x1b[3\x1b[31mred", "\u241b[3red"),
        ("\x1b\x1b[m[31mtext", "\u241b[31mtext"),
        ("\x1b]0;no end\nnext", "\u241b]0;no end\nnext"),
        ("\x1b]0;" + "x" * MAX_SEQUENCE + "\x07", "\u241b]0;" + "x" * MAX_SEQUENCE + "\u2407"),
        ("\x1bq \x00 \x07 \x7f \x0b \x9b31m", "\u241bq \u2400 \u2407 \u2421 \u240b \\x9b31m"),
    ],
)
def test_malformed_sequences_are_shown(printed: str, text: str) -> None:
    assert shown(printed.encode()) == text


@given(OUTPUT, CUTS)
def test_the_text_is_the_same_however_the_bytes_are_cut(data: bytes, sizes: list[int]) -> None:
    assert shown_in_pieces(data, sizes) == shown(data)


@given(OUTPUT)
def test_no_control_remains_but_newline_and_tab(data: bytes) -> None:
    text = shown(data)
    assert not [
        character
        for character in text
        if character not in "\n\t" and (character < " " or "\x7f" <= character < "\xa0")
    ]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t")))
def test_text_without_controls_is_unchanged(text: str) -> None:
    assert shown(text.encode()) == text


@given(st.binary().filter(lambda data: not set(data) & {*range(9), *range(11, 32), 0x7F, 0xC2}), CUTS)
def test_bytes_that_are_no_text_are_replaced_however_they_are_cut(data: bytes, sizes: list[int]) -> None:
    assert shown_in_pieces(data, sizes) == data.decode("utf-8", "replace")


@pytest.mark.parametrize("printed", [b"\xc2\x1b[m\x9b31m", b"\xe2\x80\x1b[K\xae", b"\xc2\r\x1b[m\x9b"])
def test_bytes_do_not_join_across_a_removed_sequence(printed: bytes) -> None:
    assert set(shown(printed)) <= set("\ufffd31m")


@pytest.mark.parametrize("trick", TRICKS)
def test_no_hostile_input_leaves_a_control_character(trick: str) -> None:
    text = shown(trick.encode("utf-8", "surrogatepass"))
    assert not set(text) & {"\x1b", "\x9b", "\r", "\b", "\x00", "\x7f"}


@pytest.mark.parametrize(
    "line", ["x" * (3 * MAX_ROW_CELLS + 1), "\u4e2d" * (2 * MAX_ROW_CELLS), "x" * MAX_ROW_CELLS]
)
def test_a_long_line_is_kept_and_a_carriage_return_goes_to_the_start_of_its_last_row(line: str) -> None:
    assert shown(line.encode() + b"\r\n") == line + "\n"
    assert shown(line.encode() + b"\r").startswith(line[: 2 * MAX_ROW_CELLS - 1][: MAX_ROW_CELLS // 2])


@pytest.mark.parametrize(
    "unit", ["\x1b[", "\x1b]", "\x1b", "\x1b]a", "\ra", "a\b", "a\x1b[K", "\x1b[4000Gx\r", "x\x1b[", "\x00"]
)
def test_processing_hostile_output_takes_linear_time(unit: str) -> None:
    """Four times as much takes about four times as long, in CPU time: a busy machine shows the same."""

    def cost(size: int) -> float:
        data = (unit * (size // len(unit))).encode()
        before = time.process_time()
        shown(data)
        return time.process_time() - before

    size = MEGABYTE // 2
    limit = 12 * max(min(cost(size // 4) for _ in range(2)), 0.02)
    assert any(cost(size) < limit for _ in range(3))


def test_a_progress_bar_with_many_updates_uses_little_memory() -> None:
    output = TerminalText()
    for state in range(2_000):
        assert output.feed(b"\r%6d of a million" % state * 50) == ""
    assert output.row == "  1999 of a million"
