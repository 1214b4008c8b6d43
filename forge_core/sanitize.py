"""Making untrusted text safe to show: control characters become visible, and no other character is lost.

All text from a model, a tool, a file, a file name or a provider passes through here before a screen or a
terminal shows it. Control characters are replaced by visible ones (U+2400 pictures, escapes for the rest).
"""

from __future__ import annotations

import re

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


def safe_text(text: str) -> str:
    """Return `text` for reading: line ends become \\n; newline and tab stay; other controls, bidirectional
    overrides and lone surrogates become visible. Joiners of emoji and scripts stay."""
    if not _is_suspect(text):
        return text
    return text.replace("\r\n", "\n").translate(_TEXT_TABLE)


def safe_line(text: str) -> str:
    """Return `text` as one line: like `safe_text`, with line ends and tabs shown as a return sign and a
    space."""
    return safe_text(text).replace("\n", "\u23ce").replace("\t", " ")


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
