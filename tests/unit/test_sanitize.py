"""Invisible characters are marked wherever text is shown; what they shape is left alone."""

from __future__ import annotations

import io
import time
from unicodedata import category

import pytest
import regex

from forge_core import sanitize
from forge_core.events import LLMChunk
from forge_core.headless.printers import TextPrinter
from forge_core.sanitize import MARK, mark_invisible, safe_line, safe_text

EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
ESCAPED = regex.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")

SHAPED = {
    "a family": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "a heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "a skin tone": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "a keycap": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "text style": "\u2764\ufe0e",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Persian with a vowel": "\u0645\u06cc\u064e\u200c\u062e",
    "Devanagari": "\u0915\u094d\u200d\u0937",
    "Bengali": "\u09b0\u200d\u09cd\u09af",
    "Sinhala": "\u0d9a\u0dca\u200d\u0dbb",
    "Malayalam": "\u0d28\u0d4d\u200d\u0d2e",
    "Mongolian": "\u1820\u180b",
    "a variant of an ideograph": "\u845b\U000e0100",
    "a variant of a sign": "\u2268\ufe00",
}
MISPLACED = {
    "zero width space": ("a\u200bb", "a\u25ccb"),
    "word joiner": ("a\u2060b", "a\u25ccb"),
    "byte order mark": ("\ufeffab", "\u25ccab"),
    "soft hyphen": ("co\u00adop", "co\u25ccop"),
    "Mongolian vowel separator": ("a\u180eb", "a\u25ccb"),
    "joiner in Latin": ("pass\u200dwd", "pass\u25ccwd"),
    "non-joiner in Latin": ("pass\u200cwd", "pass\u25ccwd"),
    "joiner in Cyrillic": ("\u0430\u200d\u0431", "\u0430\u25cc\u0431"),
    "joiner before a Latin letter": ("\u0645\u200cx", "\u0645\u25ccx"),
    "joiner at the end": ("\u0645\u200c", "\u0645\u25cc"),
    "joiner at the beginning": ("\u200d\u0645", "\u25cc\u0645"),
    "two joiners": ("\u0645\u200c\u200c\u062e", "\u0645\u25cc\u25cc\u062e"),
    "joiner between digits": ("\u0661\u200c\u0662", "\u0661\u25cc\u0662"),
    "joiner after an emoji": ("\U0001f469\u200dx", "\U0001f469\u25ccx"),
    "selector after a letter": ("x\ufe0f", "x\u25cc"),
    "selector after a digit": ("1\ufe0f", "1\u25cc"),
    "two selectors": ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f\u25cc"),
    "supplementary selector": ("x\U000e0100", "x\u25cc"),
    "Hangul fillers": ("\u115f\u1160\u3164\uffa0", "\u25cc" * 4),
    "grapheme joiner": ("a\u034fb", "a\u25ccb"),
    "annotation": ("\ufff9a\ufffab\ufffb", "\u25cca\u25ccb\u25cc"),
    "invisible times": ("a\u2062b", "a\u25ccb"),
    "musical controls": ("\U0001d173", "\u25cc"),
    "unassigned": ("\u2065\U000e0fff", "\u25cc" * 2),
}


@pytest.mark.parametrize("text", SHAPED.values(), ids=SHAPED)
def test_joiners_and_selectors_that_shape_their_neighbours_stay(text: str) -> None:
    assert safe_text(text) == text
    assert safe_line(f"a {text} b") == f"a {text} b"


@pytest.mark.parametrize(("text", "shown"), MISPLACED.values(), ids=MISPLACED)
def test_other_invisible_characters_are_marked(text: str, shown: str) -> None:
    assert safe_text(text) == safe_line(text) == mark_invisible(text) == shown
    assert safe_text(text, keep_invisible=True) == text


def test_every_default_ignorable_character_is_marked_or_escaped() -> None:
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    for character in EVERY:
        if ignorable.match(character):
            shown = safe_text(f"a{character}b")
            assert (MARK in shown) != bool(ESCAPED.match(character)), ascii(character)
            assert len(mark_invisible(f"a{character}b")) == 3


def test_characters_that_show_are_never_marked() -> None:
    hidden = regex.compile(r"[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]")
    assert not [c for c in EVERY if c != MARK and not hidden.match(c) and MARK in mark_invisible(f"a{c}b")]


def test_the_tables_hold_the_scripts_and_pictographs_of_unicode() -> None:
    joining = regex.compile(r"[\p{JT=D}\p{JT=L}\p{JT=R}\p{InSC=Virama}\p{InSC=Invisible_Stacker}]")
    letter = regex.compile(r"[\p{L}\p{M}]")
    foreign = regex.compile(
        r"[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Thai}]"
    )
    pictograph = regex.compile(r"[\p{Extended_Pictographic}--\p{Cn}]", regex.V1)
    for character in EVERY:
        if category(character) == "Cn":  # newer than this Python
            continue
        takes_joiners = sanitize._takes_joiners(character)
        assert not (joining.match(character) and letter.match(character)) or takes_joiners
        assert not (foreign.match(character) and takes_joiners)
        assert not pictograph.match(character) or sanitize._is_in(character, sanitize._PICTOGRAPHS)


def test_marking_takes_time_in_proportion_to_the_text() -> None:
    started = time.perf_counter()
    mark_invisible("\u200b\u200d" * 50_000)
    assert time.perf_counter() - started < 5


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("size", [1, 2, 3])
def test_fragments_on_a_terminal_are_marked_as_the_whole_answer_would_be(size: int) -> None:
    text = " ".join([*SHAPED.values(), *(given for given, _ in MISPLACED.values()), "\u0645\u200c"])
    out = Terminal()
    printer = TextPrinter(out, io.StringIO())
    for at in range(0, len(text), size):
        printer.event(LLMChunk(text=text[at : at + size], kind="answer"))
    printer._end_answer()
    assert out.getvalue().rstrip("\n") == safe_text(text)
