"""Making untrusted text safe to show: control characters become visible, and no other character is lost.

All text from a model, a tool, a file, a file name or a provider passes through here before a screen or a
terminal shows it. Control characters are replaced by visible ones (U+2400 pictures, escapes for the rest),
each invisible character by `MARK`. A mark is as long as what it replaces, so that a view can show marks and
still copy the original text (`keep_invisible`).

Invisible are the characters with Default_Ignorable_Code_Point (but for bidirectional controls and tags, which
have escapes) and the interlinear annotations. A joiner or a variation selector stays where it shapes its
neighbours: in emoji, and between letters of the scripts with joining letters (Joining_Type) or viramas
(Indic_Syllabic_Category). The tables are from the Unicode Character Database, version 17.0;
`tests/unit/test_sanitize.py` compares them with the properties.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from unicodedata import category

MARK = "\u25cc"
"""Shown for an invisible character: a dotted circle."""

_C0 = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_SPECIAL = {
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
_BIDI = {
    code: f"\\u{code:04x}"
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_INVISIBLE = {
    code: f"\\u{code:04x}" for code in (0x00AD, 0x180E, 0x200B, 0x2060, *range(0x2061, 0x2065), 0xFEFF)
}
_TAGS = {code: f"\\U{code:08x}" for code in range(0xE0000, 0xE0080)}
_SURROGATES = dict.fromkeys(range(55296, 57344), "�")

_TEXT_TABLE = {**_C0, **_SPECIAL, **_BIDI, **_TAGS, **_SURROGATES}
_EXACT_TABLE = {**_TEXT_TABLE, **_INVISIBLE, 0x200C: "\\u200c", 0x200D: "\\u200d"}
_CONTROL_TABLE = {**_C0, **{code: _SPECIAL[code] for code in range(0x7F, 0xA0)}}
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_SUSPECT = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_IGNORABLE = (
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

_JOINERS = "\u200c\u200d"
_EMOJI_JOINER = "\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"

# Ranges of code points in hexadecimal.
_JOINING_SCRIPTS = (
    "610-77f 7ca-7fd 840-950 955-df3 1000-109d 1780-18aa 1a20-1aa7 1b00-1bbf a800-a8ff a980-a9fe aa60-aa7f "
    "aae0-aaf6 abc0-abed fb50-fdfb fe70-fefc 10a00-10a3f 10ac0-10ae6 10b80-10b91 10d00-10d27 10ec2-10eff "
    "10f30-10fc4 11000-110c2 11100-11147 11180-11241 11300-116b8 11800-1183a 11900-11a9d 11b0a-11b67 "
    "11c00-11c40 11d00-11d98 11df0-11df1 11f00-11f5a 1e900-1e94b 1ee00-1eebb"
)
"""Scripts with joining letters or viramas; of these ranges only letters and marks count."""
_PICTOGRAPHS = (
    "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab "
    "25b6 25c0 25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f "
    "2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c "
    "26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea "
    "26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 "
    "274c 274e 2753-2755 2757 2763-2764 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 "
    "3030 303d 3297 3299 1f004-1f0d0 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f201-1f265 1f300-1f64f "
    "1f680-1f6ff 1f7dc-1f7f0 1f90c-1f9ff 1fa6e-1faff"
)
"""Emoji and what may become one (Extended_Pictographic) or change its colour (Emoji_Modifier)."""
_IDEOGRAPHS = "3400-4dbf 4e00-9fff f900-faff 20000-3fffd"
_VARYING = f"1000-109f a840-a877 {_IDEOGRAPHS}"
"""Letters before which variation selectors 1 to 3 mean something; so they do after mathematical signs."""
_MONGOLIAN = "1807 1820-18aa"


def safe_text(text: str, *, keep_invisible: bool = False) -> str:
    """Return `text` for reading: line ends become \\n; newline and tab stay; other controls, bidirectional
    overrides, lone surrogates and invisible characters become visible.

    `keep_invisible` is for a view that shows `mark_invisible` of its text and copies the text itself.
    """
    if _is_suspect(text):
        text = text.replace("\r\n", "\n").translate(_TEXT_TABLE)
    return text if keep_invisible else mark_invisible(text)


def safe_line(text: str, *, keep_invisible: bool = False) -> str:
    """Return `text` as one line: like `safe_text`, with line ends and tabs shown as a return sign and a
    space."""
    safe = safe_text(text, keep_invisible=keep_invisible)
    return safe.replace("\n", "\u23ce").replace("\t", " ")


def mark_invisible(text: str) -> str:
    """Return `text`, which must be whole words, with `MARK` in place of each invisible character."""
    return text if text.isascii() else re.sub(_IGNORABLE, _marked, text)


def _marked(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if at and before in _EMOJI_STYLES and found[0] == _EMOJI_JOINER:
        before = text[at - 2 : at - 1]
    return found[0] if before and _is_in_place(found[0], before, after) else MARK


def _is_in_place(character: str, before: str, after: str) -> bool:
    """Return whether an invisible character shapes its neighbours."""
    if character in _JOINERS:
        if character == _EMOJI_JOINER and after and _is_in(after, _PICTOGRAPHS):
            return _is_in(before, _PICTOGRAPHS)
        return bool(after) and _takes_joiners(before) and _takes_joiners(after)
    if character in _EMOJI_STYLES:
        return _is_in(before, _PICTOGRAPHS) or (before in "#*0123456789" and after == _KEYCAP)
    if "\ufe00" <= character <= "\ufe02":
        return category(before) == "Sm" or _is_in(before, _VARYING)
    if "\u180b" <= character <= "\u180f" and character != "\u180e":
        return _is_in(before, _MONGOLIAN)
    return "\U000e0100" <= character <= "\U000e01ef" and _is_in(before, _IDEOGRAPHS)


def _takes_joiners(character: str) -> bool:
    is_letter = category(character)[0] in "LM" and re.match(_IGNORABLE, character) is None
    return is_letter and _is_in(character, _JOINING_SCRIPTS)


def _is_in(character: str, table: str) -> bool:
    code = ord(character)
    starts, ends = _spans(table)
    at = bisect_right(starts, code) - 1
    return at >= 0 and code <= ends[at]


@lru_cache(maxsize=8)
def _spans(table: str) -> tuple[list[int], list[int]]:
    """Return the first and the last code points of the ranges, in order."""
    spans = [entry.partition("-") for entry in table.split()]
    return [int(first, 16) for first, _, _ in spans], [int(last or first, 16) for first, _, last in spans]


def visible_controls(text: str) -> str:
    """Return `text` with every control but newline and tab made visible, and nothing else changed."""
    if text.isascii():  # 8 times as fast as the pattern there, and a tenth as fast elsewhere
        return text.translate(_CONTROL_TABLE)
    return text.translate(_CONTROL_TABLE) if re.search(_CONTROLS, text) else text


def _is_suspect(text: str) -> bool:
    """Return whether `text` contains characters to make visible. Most text is printable and therefore safe,
    so that the pattern is not needed: it takes longer to compile than the first frame can wait."""
    return not text.isprintable() and re.search(_SUSPECT, text) is not None


def exact_text(text: str) -> str:
    """Return `text` for a decision (a permission prompt): like `safe_text`, with every invisible character
    shown, carriage returns included."""
    if not _is_suspect(text):
        return text
    return text.translate(_EXACT_TABLE)
