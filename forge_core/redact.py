"""Removing secrets from what is shown, logged or recorded. Never applied to a file that is being edited.

A known secret is found in every spelling that a record or a listing gives it: with characters escaped as in
JSON or a URL, and broken over lines. One that is encoded otherwise (base64, for example) is not found.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MASK = "[redacted]"
MIN_LENGTH = 6
"""Shorter values are no secrets: they would blank out common words."""

_SHAPES = re.compile(
    r"sk-or-v1-[A-Za-z0-9]{8,}"
    r"|sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
    r"|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|Private-Lines: \d+\s.*?(?:Private-(?:MAC|Hash): [0-9a-f]+|\Z)",
    re.DOTALL,
)
_MARKERS = ("sk-", "gh", "github_pat_", "glpat-", "AKIA", "xox", "eyJ", "-----BEGIN", "Private-Lines:")
"""One of them is in every match of `_SHAPES`; searching for them first is cheaper."""
_SHAPE_BEGUN = re.compile(
    r"(?:sk-[\w-]*|gh[pousr]_\w*|github_pat_\w*|glpat-[\w-]*|AKIA[0-9A-Z]*|xox[abprs]-[\w-]*|eyJ[\w.-]*"
    r"|-{1,5}(?:B[A-Z -]*)?"
    r"|(?<![A-Za-z0-9])(?:sk?|gh?[pousr]?|git(?:h(?:u(?:b(?:_(?:p(?:at?)?)?)?)?)?)?|gi|gl(?:p(?:at?)?)?"
    r"|A(?:KI?)?|x(?:ox?[abprs]?)?|ey?))\Z"
)
_LINE_BREAK = (
    r"""(?:["'`]?[ \t]*(?:\\*\r?\n|(?:\\+r)?\\+n)[ \t]*(?:(?:\d{1,7}|\u21aa)[\t:|-])?"""
    r"""[ \t]*["'`+>|-]?[ \t]*)?"""
)
"""How a text may go on in the next line: continued, indented, numbered, quoted, or escaped as in JSON."""
_QUOTES = r"""(?:\\*["'`$]){1,6}"""
"""How a word may go on behind quotes that a shell or a programming language removes, escaped or not. Never
empty: with two ways to match nothing, the time would double with each character of a key."""
_DROPPED = re.compile(r"""\\+[rn]|\n[ \t]*\d{1,7}(?:[\t:|-]|\Z)|\u21aa|[\s\\"'`$+>|-]""")
"""All that `_LINE_BREAK` and `_QUOTES` can match, and more."""
_ESCAPED = re.compile(r"(?:\\+u00|%)([2-7][0-9a-fA-F])")
_ESCAPE_BEGUN = re.compile(r"(?:%[2-7]?|\\+u[0-9a-fA-F]{0,3})\Z")
_LONGEST_TOKEN = 2_048
_MAX_HELD = 16_384
"""Characters that `split` keeps back at most: more than the longest private key has."""


class Redactor:
    """Replaces known values and, with `finds_shapes`, well-known key shapes by a mask."""

    def __init__(self, secrets: tuple[str, ...] = (), *, finds_shapes: bool = True) -> None:
        self._values = _KnownValues(secrets)
        self._finds_shapes = finds_shapes

    @property
    def _known(self) -> tuple[str, ...]:
        return self._values.known

    def learn(self, *secrets: str) -> None:
        """Replace these values too from now on, also in what `known_only` has returned."""
        self._values.use((*self._known, *secrets))

    def known_only(self) -> Redactor:
        """Return a redactor for the known values alone."""
        only = Redactor(finds_shapes=False)
        only._values = self._values
        return only

    def __call__(self, text: str) -> str:
        for secret in self._known:
            text = _pattern(secret).sub(MASK, text)
        if self._may_have_shape(text):
            text = _SHAPES.sub(MASK, text)
        return text

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} secrets)"

    def values(self, value: Any) -> Any:
        """Return a JSON value with every string in it redacted, the names of an object's members included."""
        match value:
            case str():
                return self(value)
            case dict():
                return {self(str(name)): self.values(one) for name, one in value.items()}
            case list() | tuple():
                return [self.values(one) for one in value]
        return value

    def split(self, text: str) -> tuple[str, str]:
        """Return the beginning of a stream's text, redacted, and its end, unchanged, which may be the start
        of a secret: put it before what follows in the stream."""
        cut = self._first_open(text)
        # No match may be cut in two, and one of no fixed length that ends here may go on.
        if self._may_have_shape(text):
            cut = next((m.start() for m in _SHAPES.finditer(text) if m.start() < cut <= m.end()), cut)
        for secret in self._known:
            cut = next((m.start() for m in _pattern(secret).finditer(text) if m.start() < cut < m.end()), cut)
        if len(text) - cut > _MAX_HELD:
            return self(text), ""
        return self(text[:cut]), text[cut:]

    def start_outside(self, text: str, at: int) -> int:
        """Return the first place from `at` on where `text` can be cut so that no secret continues behind
        it."""
        return max((end for _, end in self._around(text, at)), default=at)

    def end_outside(self, text: str, at: int) -> int:
        """Return the last place up to `at` where `text` can be cut so that no secret begins before it."""
        return min((start for start, _ in self._around(text, at)), default=at)

    def _around(self, text: str, at: int) -> list[tuple[int, int]]:
        """Return the secrets across a place, and those that overlap with them. What is more than `_MAX_HELD`
        characters away is not looked at."""
        first = max(at - _MAX_HELD, 0)
        near = text[first : at + _MAX_HELD]
        patterns = [_pattern(secret) for secret in self._known]
        if self._may_have_shape(near):
            patterns.append(_SHAPES)
        spans = [(first + m.start(), first + m.end()) for one in patterns for m in one.finditer(near)]
        low = high = at
        found: list[tuple[int, int]] = []
        while across := [
            one
            for one in spans
            if one not in found
            and one[1] - one[0] < _MAX_HELD
            and (one[0] < low < one[1] or one[0] < high < one[1])
        ]:
            found += across
            low, high = min(one[0] for one in found), max(one[1] for one in found)
        return found

    def _first_open(self, text: str) -> int:
        """Return where the longest end of `text` begins that may be the beginning of a secret."""
        tail = text[-_MAX_HELD:]
        first = len(tail)
        if self._finds_shapes:
            found = _SHAPE_BEGUN.search(tail, max(len(tail) - _LONGEST_TOKEN, 0))
            first = found.start() if found is not None else first
        near = tail[-8 * max(map(len, self._values.squeezed), default=0) - 64 :]
        squeezed = _squeeze(near)
        last = squeezed[-1:]
        for secret in self._values.squeezed:
            sizes = (n for n in range(len(secret) - 1, 0, -1) if secret[n - 1] == last)
            if size := next((n for n in sizes if squeezed.endswith(secret[:n])), 0):
                at = next((n for n in reversed(range(len(near))) if _squeeze(near[n:]) == secret[:size]), 0)
                first = min(first, len(tail) - len(near) + at)
        return len(text) - len(tail) + first

    def _may_have_shape(self, text: str) -> bool:
        return self._finds_shapes and any(marker in text for marker in _MARKERS)


class _KnownValues:
    """The values that a redactor and those made of it know. Set at once, as other threads read them."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self.use(secrets)

    def use(self, secrets: tuple[str, ...]) -> None:
        self.known = tuple(sorted({one for one in secrets if len(one) >= MIN_LENGTH}, key=len, reverse=True))
        self.squeezed = tuple(_DROPPED.sub("", one) for one in self.known)
        """Without what may be in a line break."""


class StreamRedactor:
    """Redacts streams whose fragments come in turns. Of each, an end that may be the beginning of a secret
    waits for what follows."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._held: dict[str, str] = {}
        """Stream → its end, as received."""

    def feed(self, stream: str, text: str) -> str:
        """Return what can be shown of the stream by now."""
        shown, held = self._redact.split(self._held.pop(stream, "") + text)
        if held:
            self._held[stream] = held
        return shown

    def end(self, stream: str) -> str:
        """Return the rest of a stream that has ended."""
        return self._redact(self._held.pop(stream, ""))


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    """Return a pattern for all spellings of a secret.

    Compiling it takes 0.3 ms per character, so it waits for the first text. There is one pattern for each
    secret: a pattern with a literal first character is searched for with memchr.
    """
    return re.compile(f"(?:{_QUOTES}|{_LINE_BREAK})".join(map(_spellings, secret)))


def _squeeze(text: str) -> str:
    """Return `text` with escapes decoded and without what may be in a line break."""
    whole = _ESCAPE_BEGUN.sub("", text)
    return _DROPPED.sub("", _ESCAPED.sub(lambda found: chr(int(found[1], 16)), whole))


def _spellings(char: str) -> str:
    """Return a pattern for the character as it is, and as JSON and URLs escape it."""
    plain = re.escape(char)
    if char.isalnum():
        return plain
    code = ord(char)
    return rf"(?:\\+u(?i:{code:04x})|%(?i:{code:02x})|\\+{plain}|{plain})"
