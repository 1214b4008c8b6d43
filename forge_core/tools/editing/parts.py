"""The parts of a long text where a looser search can find something at all, so that it need not look at the
rest."""

from __future__ import annotations

import re

from forge_core.tools.editing.fold import is_plain

_WORD = re.compile(r"(?<!\w)[A-Za-z_]\w{2,}(?!\w)", re.ASCII)
_TRIED_WORDS = 2
_MARGIN = 2
"""Lines more at either edge: a blank line taken off, and one for a line cut short."""


def parts_with(text: str, old: str) -> list[range]:
    """Ranges of whole lines, in order and apart, that hold every place where `old` may stand: around its
    rarest word, which no way of looking at a text changes. The whole text when that cannot be told so."""
    whole = [range(len(text))]
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return whole
    words = sorted({found[0] for found in _WORD.finditer(old)}, key=len)[-_TRIED_WORDS:]
    if not words:
        return whole
    count, word = min((text.count(one), one) for one in words)
    wanted = old.split("\n")
    index = next(at for at, line in enumerate(wanted) if _stands_in(word, line))
    if count * (len(wanted) + 2 * _MARGIN) > text.count("\n") // 2 or not is_plain(text) or not is_plain(old):
        return whole
    parts: list[range] = []
    at = text.find(word)
    while at >= 0:
        start = _lines_back(text, at, index + _MARGIN)
        stop = _lines_on(text, at, len(wanted) - index + _MARGIN)
        if parts and start <= parts[-1].stop:
            parts[-1] = range(parts[-1].start, max(stop, parts[-1].stop))
        else:
            parts.append(range(start, stop))
        at = text.find(word, at + len(word))
    return parts


def _stands_in(word: str, line: str) -> bool:
    return any(found[0] == word for found in _WORD.finditer(line))


def _lines_back(text: str, at: int, count: int) -> int:
    """Where the line begins that is `count` lines before that of `at`."""
    at = text.rfind("\n", 0, at)
    while at >= 0 and count:
        at = text.rfind("\n", 0, at)
        count -= 1
    return at + 1


def _lines_on(text: str, at: int, count: int) -> int:
    """Where the line ends, its terminator included, that is `count` lines after that of `at`."""
    at = text.find("\n", at)
    while at >= 0 and count:
        at = text.find("\n", at + 1)
        count -= 1
    return len(text) if at < 0 else at + 1
