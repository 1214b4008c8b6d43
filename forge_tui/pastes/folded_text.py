"""Text with folded parts: a big paste or an image is shown as a label, but edited, queued, kept and sent as a
whole.

A folded part is the pasted text, or what names the image, between two marks, which are noncharacters:
Unicode reserves them for use inside a program, and no text from outside keeps them (`without_marks`). So a
label that somebody types is never taken for a folded part.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from forge_core.images.image_reference import replace_written, written_image

BEGIN, END = "\ufdd0", "\ufdd1"
"""The marks around a folded part."""
FOLDED = re.compile(f"{BEGIN}([^{BEGIN}{END}]*){END}")
"""A folded part; its text is the first group."""
_PARTS = re.compile(f"({BEGIN}[^{BEGIN}{END}]*{END})")
IMAGE = "Image #"
"""Begins the label of an image."""
MOST_CHARACTERS = 1_000
MOST_LINES = 15
"""A paste with more than that is folded."""


def is_big(text: str) -> bool:
    """Return whether a paste is folded."""
    return len(text) > MOST_CHARACTERS or text.count("\n") >= MOST_LINES


def folded(text: str) -> str:
    """Return text, which has no marks, as one folded part."""
    return f"{BEGIN}{text}{END}"


def plain_text(text: str) -> str:
    """Return the text with its folded parts in full."""
    return FOLDED.sub(r"\1", text) if BEGIN in text else text


def without_marks(text: str) -> str:
    """Return text from outside, which must not contain marks, with the replacement character for each."""
    return text.replace(BEGIN, "\ufffd").replace(END, "\ufffd")


def with_paired_marks(text: str) -> str:
    """Return a text that was kept, without its marks if some of them are no pair."""
    rest = plain_text(text)
    return without_marks(text) if BEGIN in rest or END in rest else text


def spans(text: str) -> list[tuple[int, int]]:
    """Return where the folded parts begin and end in the plain text."""
    found, marks = [], 0
    for part in FOLDED.finditer(text) if BEGIN in text else ():
        found.append((part.start() - marks, part.end() - marks - 2))
        marks += 2
    return found


def with_folded(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return plain text with these parts folded; unchanged if it already contains marks."""
    if BEGIN in text or END in text:
        return text
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], folded(text[start:end])]
        at = end
    return "".join((*parts, text[at:]))


def refolded(text: str, earlier: str) -> str:
    """Return text, which has no marks, with the folded parts of `earlier` that it still contains folded."""
    at, parts = 0, []
    for part in FOLDED.findall(earlier):
        found = text.find(part, at)
        if part and found >= 0:
            parts += [text[at:found], folded(part)]
            at = found + len(part)
    return "".join((*parts, text[at:]))


def with_piped(message: str, piped: str) -> str:
    """Return a message, which may be empty, with text from a pipe below it, as one folded part."""
    if not piped:
        return message
    return f"{message}\n\n{folded(piped)}" if message else f"{folded(piped)} "


def images_folded(text: str) -> str:
    """Return the text with each image folded that it names outside of folded parts."""
    if "[Image " not in text:
        return text
    parts = _PARTS.split(text)
    return "".join(part if index % 2 else replace_written(part, folded) for index, part in enumerate(parts))


def label(number: int, text: str) -> str:
    """Return the name of a folded part, without brackets: of an image, or of a big paste."""
    if (image := written_image(text)) is not None:
        return f"{IMAGE}{number} {image.label}"
    lines = text.count("\n")
    size = f"+{lines:,} line{'s'[: lines != 1]}" if lines else f"{len(text):,} characters"
    return f"Pasted text #{number} {size}"


def with_labels(text: str) -> str:
    """Return the text as it is shown, with a label in brackets for each folded part."""
    if BEGIN not in text:
        return text
    numbers = itertools.count(1)
    return FOLDED.sub(lambda found: f"[{label(next(numbers), found[1])}]", text)
