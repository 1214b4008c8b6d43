"""What is approved is what is seen: whatever two texts differ in shows, and nothing is folded away."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from forge_core.sanitize import exact_text
from forge_tui.widgets.exact_text import (
    ExactLine,
    command_lines,
    diff_lines,
    exact_line,
    exact_rows,
    oddities,
)

pytestmark = pytest.mark.property


def text_of(command: str, width: int = 40) -> list[str]:
    """The rows as bare text, without any colour."""
    return ["".join(piece for _, piece in row) for row in exact_rows(command_lines(command), width)]


def roles_of(command: str) -> set[str]:
    return {role for row in exact_rows(command_lines(command), 60) for role, _ in row}


def test_a_command_is_shown_in_full() -> None:
    command = "echo " + "x" * 500 + " ; rm -rf ~"
    rows = text_of(command)
    assert "".join(row[2:] for row in rows) == command
    assert rows[0].startswith("$ ") and all(row.startswith("↪ ") for row in rows[1:])
    assert max(len(row) for row in rows) == 40


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("ls \x1b[2K", "$ ls ␛[2K"),
        ("ls \x9b2K", "$ ls ‹U+009B›2K"),
        ("echo \u202etxt.exe", "$ echo ‹U+202E›txt.exe"),
        ("a\u200bb", "$ a‹U+200B›b"),
        ("ls\rrm x", "$ ls␍rm x"),
        ("ls\t-l", "$ ls→   -l"),
        ("ls  ", "$ ls··"),
        ("ls" + " " * 6 + "-l", "$ ls······-l"),
        ("  ls -l", "$   ls -l"),
        ("x\u00a0y", "$ x‹U+00A0›y"),
        ("x\u2003y", "$ x‹U+2003›y"),
        ("x\u3164y\ufe0f", "$ x‹U+3164›y‹U+FE0F›"),
        ("ls\U000e0072\U000e006d", "$ ls‹U+E0072›‹U+E006D›"),
        ("日本 café", "$ 日本 café"),
        ("cafe\u0301", "$ cafe‹U+0301›"),
        ("x\u20dd", "$ x‹U+20DD›"),
        ("echo हिन्दी ไทยนี้", "$ echo हिन्दी ไทยนี้"),
        ("cat p\u0430sswd", "$ cat p‹U+0430›sswd"),
        ("с\u043e\u0440", "$ ‹U+0441›‹U+043E›‹U+0440›"),
        ("echo привет", "$ echo привет"),
        ("\uff52\uff4d x", "$ ‹U+FF52›‹U+FF4D› x"),
        ("ls \u2215etc", "$ ls ‹U+2215›etc"),
        ("ls \u2010l", "$ ls ‹U+2010›l"),
        ("echo a\u037e rm b", "$ echo a‹U+037E› rm b"),
        ("echo \u2018$(x)\u2019", "$ echo ‹U+2018›$(x)‹U+2019›"),
        ("echo \u241b", "$ echo ‹U+241B›"),
        ("echo \u2039U+202E\u203a", "$ echo ‹U+2039›U+202E‹U+203A›"),
        ("ls·", "$ ls‹U+00B7›"),
        ("echo \u05d0 12", "$ echo ‹U+05D0› 12"),
        ("\ud800", "$ ‹U+D800›"),
    ],
)
def test_invisible_and_confusable_characters_are_written_as_escapes(command: str, wanted: str) -> None:
    assert text_of(command, 60) == [wanted]


HONEST = (
    "ls -la /etc/passwd",
    "rm -rf build",
    "curl https://example.com/install.sh",
    "git commit -m 'Fix the parser'",
    "pip install requests",
    "echo done; exit 0",
)
DISGUISES = {
    "zero width": lambda s: s[:4] + "\u200b" + s[4:],
    "joiner": lambda s: s[:4] + "\u200d" + s[4:],
    "word joiner": lambda s: s[:4] + "\u2060" + s[4:],
    "soft hyphen": lambda s: s[:4] + "\u00ad" + s[4:],
    "byte order mark": lambda s: "\ufeff" + s,
    "override": lambda s: s[:4] + "\u202e" + s[4:] + "\u202c",
    "isolate": lambda s: s[:4] + "\u2066" + s[4:] + "\u2069",
    "right-to-left mark": lambda s: s + "\u200f",
    "tags": lambda s: s + "".join(chr(0xE0000 + ord(c)) for c in "rm"),
    "no-break space": lambda s: s.replace(" ", "\u00a0", 1),
    "thin space": lambda s: s.replace(" ", "\u2009", 1),
    "ideographic space": lambda s: s.replace(" ", "\u3000", 1),
    "braille blank": lambda s: s.replace(" ", "\u2800", 1),
    "hangul filler": lambda s: s + "\u3164",
    "variation selector": lambda s: s + "\ufe0f",
    "trailing blank": lambda s: s + " ",
    "tab": lambda s: s.replace(" ", "\t", 1),
    "four blanks for a tab": lambda s: s.replace(" ", "    ", 1),
    "carriage return": lambda s: "rm -rf ~ #\r" + s,
    "erase line": lambda s: "rm -rf ~ #\x1b[2K\r" + s,
    "backspace": lambda s: s + "x\b",
    "bell": lambda s: s + "\x07",
    "c1": lambda s: s + "\x9b1A",
    "cyrillic letters": lambda s: s.translate(str.maketrans("aeopcxi", "аеорсхі")),
    "greek letters": lambda s: s.translate(str.maketrans("ovipa", "ονιρα")),
    "fullwidth letters": lambda s: s.translate({c: c + 0xFEE0 for c in range(0x61, 0x7B)}),
    "mathematical letters": lambda s: s.translate({c: 0x1D5BA + c - 0x61 for c in range(0x61, 0x7B)}),
    "dotless": lambda s: s.replace("i", "ı").replace("g", "ɡ").replace("a", "ɑ"),
    "hyphen": lambda s: s.replace("-", "\u2010") + "\u2011",
    "slash": lambda s: s.replace("/", "\u2215") + "\u2044",
    "quotes": lambda s: s.replace("'", "\u2019") + "\u02bc",
    "semicolon": lambda s: s.replace(";", "\u037e") + "\u037e",
    "combining": lambda s: s[:3] + "\u0335" + s[3:],
    "pictures for controls": lambda s: s + "\u241b[2K",
    "next line": lambda s: s + "\x85rm -rf ~",
    "line separator": lambda s: s + "\u2028rm -rf ~",
    "new line": lambda s: s + "\n# ",
    "far right": lambda s: s + " " * 3000 + "; rm -rf ~",
    "private use": lambda s: s + "\ue000",
    "unassigned": lambda s: s + "\U0003ffff",
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_deceptive_command_looks_different_even_without_colours(disguise: str) -> None:
    for honest in HONEST:
        check_that_it_looks_different(honest, DISGUISES[disguise](honest))


def check_that_it_looks_different(honest: str, deceptive: str) -> None:
    assert deceptive != honest
    for width in (24, 74, 200):
        honest_rows, deceptive_rows = text_of(honest, width), text_of(deceptive, width)
        assert honest_rows != deceptive_rows
        # and not by something that only a computer sees
        assert [row.strip() for row in honest_rows] != [row.strip() for row in deceptive_rows]
        shown = "".join(deceptive_rows)
        assert exact_text(shown).replace("\\ufe0f", "") == shown and shown.isprintable()
    assert exact_line(deceptive) != exact_line(honest)


def test_characters_shown_unescaped_are_visible_and_not_bidirectional() -> None:
    for code in (
        *range(0x80, 0x3200),
        *range(0xFB00, 0x10000),
        *range(0x1D000, 0x1D800),
        *range(0xE0000, 0xE0200),
    ):
        character = chr(code)
        if exact_line(f"a{character}b") == f"a{character}b":
            folded = unicodedata.normalize("NFKC", character)
            assert character.isprintable() and folded.strip() and not folded.isascii(), hex(code)
            assert unicodedata.bidirectional(character) not in ("R", "AL", "AN", "RLO", "LRO"), hex(code)


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(codec=None) | st.sampled_from(" \t\n‹›·→␛↪аеo0;'\u0301\u202e"), max_size=12),
    st.text(st.characters(codec=None) | st.sampled_from(" \t\n‹›·→␛↪аеo0;'\u0301\u202e"), max_size=12),
    st.integers(6, 60),
)
def test_different_commands_never_give_the_same_picture(one: str, other: str, width: int) -> None:
    if one != other:
        assert text_of(one, width) != text_of(other, width)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60), st.integers(6, 40))
def test_no_row_is_too_wide_and_nothing_that_acts_gets_through(text: str, width: int) -> None:
    for row in exact_rows([*command_lines(text), *diff_lines("+" + text), ExactLine(text)], width):
        shown = "".join(piece for _, piece in row)
        assert cell_len(shown) <= width
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in shown)


def test_an_escape_is_not_split_when_it_fits_on_a_row() -> None:
    rows = text_of("x" * 33 + "\u202e", 40)
    assert rows == ["$ " + "x" * 33, "↪ ‹U+202E›"]


def test_unusual_characters_have_their_own_style() -> None:
    assert roles_of("echo \\u202e") == {"gutter", "plain"}
    assert "strange" in roles_of("echo \u202e")
    assert "foreign" in roles_of("echo привет")


def test_unusual_characters_are_named_and_counted() -> None:
    assert oddities("cat p\u0430sswd") == "Looks like another character: U+0430 CYRILLIC SMALL LETTER A."
    assert oddities("\u202e") == "Invisible: U+202E RIGHT-TO-LEFT OVERRIDE."
    assert oddities("echo é") == "Not ASCII: U+00E9 LATIN SMALL LETTER E WITH ACUTE."
    assert "and 6 more" in oddities("абвгдежзик")
    assert oddities("plain -l 'text'\n\tmore") == ""
    assert oddities("cat 日本語 한국 ひらがな") == ""


def test_only_deceptive_characters_are_reported_in_file_text() -> None:
    assert oddities("# “quoted” — naïve… \u2192 日本", is_code=False) == ""
    assert "CYRILLIC SMALL LETTER A" in oddities("if is_\u0430dmin:", is_code=False)
    assert "RIGHT-TO-LEFT OVERRIDE" in oddities("# \u202e", is_code=False)
    rows = exact_rows(diff_lines("+if is_\u0430dmin: # \u201cx\u201d\u200b"), 60)
    assert "".join(text for _, text in rows[0]) == "+ if is_‹U+0430›dmin: # “x”‹U+200B›"


def test_windows_line_ends_of_a_file_are_muted_and_a_carriage_return_within_a_line_is_marked() -> None:
    rows = exact_rows(diff_lines("+one\r\n+two\rthree\r"), 40)
    assert ["".join(text for _, text in row) for row in rows] == ["+ one␍", "+ two␍three␍"]
    assert rows[0][-1] == ("blank", "␍") and ("strange", "␍") in rows[1]
    assert oddities("one\r\ntwo\r", is_code=False) == "" and "U+000D" in oddities("one\r")


def test_a_very_long_line_is_split_into_rows_quickly() -> None:
    rows = exact_rows(command_lines("echo " + "a b \u200b" * 20_000), 80)
    assert len(rows) > 1000
