"""Bytes in, bytes out: what lies outside the replaced range must stay as it is."""

import random
import time

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import file_diff
from forge_core.tools.editing.replace import replace
from forge_core.tools.editing.text import decode, split_keeping_ends


def edited(data: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    return replace(data, old, new, replace_all=replace_all).data


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nx", b"a\r\nx\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "a\r\nx", b"a\nx\n"),
        (b"a\rb\rc", "a\nb", "a\nx\nb", b"a\rx\rb\rc"),
        (b"a\r\nb\nc\r\n", "b", "x\ny", b"a\r\nx\ny\nc\r\n"),
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nnew\nb\nc", b"a\r\nnew\r\nb\nc\r\nd\n"),
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nc\nd", b"a\r\nc\r\nd\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"a\nb", "b", "c\n", b"a\nc\n"),
        (b"a\nb\n", "b\n", "", b"a\n"),
        (b"\xef\xbb\xbfa\nb\n", "a", "x", b"\xef\xbb\xbfx\nb\n"),
        (b"\xff\xfea\x00\n\x00b\x00", "b", "\u00e9\u4e2d", b"\xff\xfea\x00\n\x00\xe9\x00\x2d\x4e"),
        (b"\xfe\xff\x00a\x00\n\x00b", "b", "c", b"\xfe\xff\x00a\x00\n\x00c"),
        (
            "caf\u00e9 \u2019 x\n".encode("cp1252"),
            "caf\u00e9",
            "th\u00e9",
            "th\u00e9 \u2019 x\n".encode("cp1252"),
        ),
        (b"\x81\x8d caf\xe9 x\n", "x", "\u00e9", b"\x81\x8d caf\xe9 \xe9\n"),
        (
            "\u4e2d\u6587\n".encode() + b"bad \xff byte\nx\n",
            "x",
            "\u00e9",
            "\u4e2d\u6587\n".encode() + b"bad \xff byte\n\xc3\xa9\n",
        ),
        (b"cost $& \\1 \\g<0>\n", "cost", "$& \\1 \\g<0>", b"$& \\1 \\g<0> $& \\1 \\g<0>\n"),
        (b"a\x0cb\xc2\x85c\xe2\x80\xa8d\ne\n", "e", "x\ny", b"a\x0cb\xc2\x85c\xe2\x80\xa8d\nx\ny\n"),
        (b"\ttab\n    spaces\n", "\ttab", "\ttab\n\tmore", b"\ttab\n\tmore\n    spaces\n"),
        ("e\u0301 \u00e9\n".encode(), "\u00e9", "x", "e\u0301 x\n".encode()),
        (b"whole", "whole", "", b""),
        (b"", "", "new\n", b"new\n"),
        (b"\xef\xbb\xbf", "", "new\n", b"\xef\xbb\xbfnew\n"),
        (b"progress\rdone\nx\n", "x", "y", b"progress\rdone\ny\n"),
        (b"a\r\r\nb\n", "b", "c", b"a\r\r\nc\n"),
    ],
)
def test_exactly_the_meant_bytes_change(data: bytes, old: str, new: str, after: bytes) -> None:
    assert edited(data, old, new) == after


@pytest.mark.parametrize(
    ("data", "old", "new", "words"),
    [
        (b"a\na\n", "a", "b", "2 times, at lines 1, 2"),
        (b"a\r\nb\na\nb\n", "a\nb", "x", "2 times, at lines 1, 3"),
        (b"aaa\n", "aa", "b", "overlapping"),
        (b"a\n", "a", "a", "the same"),
        (b"a\r\nb", "a\r\nb", "a\nb", "the same"),
        (b"a\n", "", "b", "old_string is empty"),
        (b"", "", "", "both empty"),
        (b"a\0b", "a", "b", "binary"),
        (b"a\n", "a", "b\0", "NUL"),
        ("caf\u00e9 x\n".encode("latin-1"), "x", "\u4e2d", "cannot represent \u4e2d (U+4E2D)"),
        (b"a\n", "a", "\ud800", "cannot represent"),
        (b"a\n", "zzzzzz", "b", "nothing in the file resembles it"),
    ],
)
def test_a_doubtful_edit_is_rejected(data: bytes, old: str, new: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        edited(data, old, new)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "difference"),
    [
        ("  def f(x):\n return 'a'", "indentation (the file uses tabs)"),
        ("\tdef f(x) :\n\t\treturn 'a'", "blanks within lines"),
        ("\tDEF f(x):\n\t\treturn 'a'", "upper and lower case"),
        ("\tdef f(x):\n\t\treturn 'b'", "wording (first at its line 2: you sent \"\\t\\treturn 'b'\")"),
        ("\tdef g(x):\n\t\treturn 'a'", "wording (first at its line 1"),
    ],
)
def test_the_nearest_text_is_shown_with_its_differences(old: str, difference: str) -> None:
    data = b"import x\n\nclass A:\n\tdef f(x):\n\t\treturn 'a'\n\n\tdef other(self):\n\t\tpass\n"
    with pytest.raises(ToolError) as caught:
        edited(data, old, "new")
    message = str(caught.value)
    assert "lines 4-5" in message
    assert difference in message
    assert message.endswith("\tdef f(x):\n\t\treturn 'a'")


def test_replace_all_counts_matches_and_keeps_the_line_ending_of_each() -> None:
    done = replace(b"x\r\nx\nx", "x", "y\nz", replace_all=True)
    assert done.data == b"y\r\nz\r\ny\nz\ny\nz"
    assert len(done.pieces) == 3


def test_the_result_states_the_match_tier() -> None:
    assert replace(b"a\r\nb", "a\nb", "x").tier == "line ends"
    assert replace(b"a\nb", "a\nb", "x").tier == "exact"


def test_a_line_of_a_megabyte_is_edited() -> None:
    line = b"x" * 500_000 + b"needle" + b"y" * 500_000
    assert (
        edited(b"a\n" + line + b"\nb\n", "needle", "pin")
        == b"a\n" + line.replace(b"needle", b"pin") + b"\nb\n"
    )


def test_a_hint_for_a_large_file_is_quick() -> None:
    data = "".join(f"line number {number} of many, with some words\n" for number in range(50_000)).encode()
    started = time.process_time()  # what others do on the machine does not count
    with pytest.raises(ToolError):
        edited(data, "line nomber 400 of mani, with sum words\nanother", "x")
    assert time.process_time() - started < 3


def test_a_typical_edit_costs_about_a_millisecond() -> None:
    data = "".join(f"    value_{number} = compute({number})\r\n" for number in range(2_000)).encode()
    best = min(_timed(data) for _ in range(5))
    assert best < 0.01  # far from the usual figure, so that a busy machine does not fail it


def _timed(data: bytes) -> float:
    started = time.process_time()
    edited(data, "    value_1000 = compute(1000)\n    value_1001", "    x\n    y")
    return time.process_time() - started


@pytest.mark.parametrize("seed", range(30))
def test_random_pieces_of_random_files_are_replaced_exactly(seed: int) -> None:
    """The oracle: what a model sees has \\n only; mapped back, only the piece may change, in the file's bytes."""
    chance = random.Random(seed)
    ends = chance.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])
    words = ["alpha", "b\u00eata", "  ", "\t", "\u4e2d", "x = 1", "}", "", "'q'", "\u200b"]
    encoding = chance.choice(["utf-8", "utf-16"])
    lines = ["".join(chance.choices(words, k=chance.randint(0, 4))) for _ in range(chance.randint(1, 30))]
    text = "".join(line + chance.choice(ends) for line in lines)
    data = text.encode(encoding)
    file = decode(data)
    own = split_keeping_ends(file.text)
    first = chance.randrange(len(own))
    last = chance.randrange(first, len(own))
    old = "".join(own[first : last + 1]).replace("\r\n", "\n").replace("\r", "\n")
    seen = file.text.replace("\r\n", "\n").replace("\r", "\n")
    new = old[: len(old) // 2] + "INSERTED" + old[len(old) // 2 :]
    try:
        after = edited(data, old, new)
    except ToolError:
        assert seen.count(old) != 1 or any(seen.startswith(old, at) for at in range(1, len(seen)))
        return
    head = file.text[: sum(map(len, own[:first]))]
    tail = "".join(own[last + 1 :])
    result = decode(after)
    assert (result.encoding, result.bom) == (file.encoding, file.bom)
    assert result.text.startswith(head)
    assert result.text.endswith(tail)
    middle = result.text[len(head) : len(result.text) - len(tail)]
    assert middle.replace("\r\n", "\n").replace("\r", "\n") == new
    assert middle.replace("INSERTED", "") == "".join(own[first : last + 1])


def test_a_diff_is_a_unified_diff_without_header() -> None:
    before = "".join(f"{number}\n" for number in range(1, 31))
    after = before.replace("10\n", "ten\n").replace("25\n", "")
    diff = file_diff("a", before, after)
    assert (diff.added, diff.removed) == (1, 2)
    assert diff.diff.splitlines()[0] == "@@ -7,7 +7,7 @@"
    assert "@@ -22,7 +22,6 @@" in diff.diff
    assert "-10\n+ten\n" in diff.diff


def test_a_missing_final_newline_shows_in_the_diff() -> None:
    assert file_diff("a", "x\n", "x").diff == "@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file"


def test_the_diff_of_a_new_file_is_all_additions() -> None:
    assert file_diff("a", "", "x\ny\n").diff == "@@ -0,0 +1,2 @@\n+x\n+y"


def test_a_rewritten_large_file_is_compared_quickly_and_shown_in_part() -> None:
    started = time.process_time()
    diff = file_diff(
        "a", "".join(f"a{n}\n" for n in range(20_000)), "".join(f"b{n}\n" for n in range(20_000))
    )
    assert time.process_time() - started < 3
    assert (diff.added, diff.removed) == (20_000, 20_000)
    assert diff.diff.count("\n") < 2_100
