"""Words of a shell line: quotes taken off, braces and known variables put in, what stays unknown marked.

While a word is assembled, characters that mean something to the shell because they are *not* quoted are
mapped to a private range of code points, so that they differ from the same characters in quotes: braces,
tildes and globs are seen exactly where bash would see them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

_PRIVATE = 0xF0000
_SPECIAL = "{},.~*?[]+@!()|= \t\n"
_MARK = {ord(char): chr(_PRIVATE + ord(char)) for char in _SPECIAL}
QUOTED_NOTHING = chr(_PRIVATE + 0x1FF)
"""In place of empty quotes: such a word is kept, though it is empty."""
_UNMARK: dict[int, str | None] = {_PRIVATE + ord(char): char for char in _SPECIAL}
_UNMARK[ord(QUOTED_NOTHING)] = None
_BLANK = re.compile("[" + "".join(chr(_PRIVATE + ord(char)) for char in " \t\n") + "]+")
_STAR, _ANY, _FROM, _TO = (chr(_PRIVATE + ord(char)) for char in "*?[]")
_GLOB = re.compile(f"[{_STAR}{_ANY}]|{_FROM}.*{_TO}")
_OPEN, _CLOSE, _COMMA, _TILDE, _EQUALS = (chr(_PRIVATE + ord(char)) for char in "{},~=")
_MAX_BRACES = 64
_MAX_COUNT = 10**12
_MAX_READINGS = 8
"""Of a word whose variables have several values, so many are looked at; beyond that it counts as unknown."""
_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.(-?\d{1,6}))?")

_ANY_RANGE = re.compile(
    r"([-+]?\d{1,19}|[A-Za-z])\.\.([-+]?\d{1,19}|[A-Za-z])(?:\.\.([-+]?\d{1,19}))?", re.ASCII
)
"""What bash counts; numbers of more digits are text to it."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the program gets it."""

    text: str
    """Unquoted. Expansions that are unknown before it runs are kept as written: `$X`, `$(date)`."""
    is_dynamic: bool = False
    """It holds something that is not known before it runs."""
    has_glob: bool = False
    """It names whatever files match."""
    has_tilde: bool = False
    """It begins with a tilde that the shell replaces."""
    is_simple: bool = True
    """Whatever is dynamic in it is only the value of a variable, `$X` or `${X}`."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A piece of a word whose value is not known from the line."""

    raw: str
    name: str = ""
    """The variable, when it is nothing but `$name` or `${name}`, or has a default."""
    is_quoted: bool = False
    defaults: tuple[str, ...] = ()
    """Values that it may have besides: those of `${X:-this}`."""
    is_simple: bool = False


Piece = str | Hole
Pieces = tuple[Piece, ...]


def unquoted(text: str) -> str:
    """Plain text of a word, backslashes removed, what is special marked."""
    return re.sub(r"\\(.)|[^\\]+", _unescaped, text, flags=re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    return found[0].translate(_MARK) if found[1] is None else found[1].removeprefix("\n")


def in_double_quotes(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', lambda found: "" if found[1] == "\n" else found[1], text)


def ansi_c(text: str) -> str:
    """Return the text of `$'…'` without its quotes; it ends at a NUL, as in bash."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return _ESCAPES[found[1]]
        if found[6]:
            return chr(ord(found[6].upper()) & 0x1F)
        number = int(found[2], 8) & 0xFF if found[2] else int(found[3] or found[4] or found[5], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else found[0]

    return _ANSI.sub(value, text).partition("\0")[0]


def plain(text: str) -> str:
    """Marked text as it is read."""
    return text.translate(_UNMARK)


def as_written(pieces: Pieces) -> str:
    """Return the text of a word whose variables are not put in."""
    return "".join(plain(one) if isinstance(one, str) else one.raw for one in pieces)


def readings(
    words: Sequence[Pieces], variables: Mapping[str, Sequence[Pieces]]
) -> Iterator[tuple[tuple[Word, ...], bool]]:
    """Yield each reading of a command's words, with whether something was put in that may be otherwise
    when it runs. At least one; at most a few."""
    names = dict.fromkeys(
        piece for pieces in words for piece in pieces if isinstance(piece, Hole) and _values(piece, variables)
    )
    choices = [_values(hole, variables) for hole in names]
    # Not all combinations are looked at: yield the words with unknown variables too, which covers the rest.
    if prod(len(one) for one in choices) > _MAX_READINGS:
        yield tuple(word for pieces in words for word in _resolved(pieces, {})), True
    for chosen in islice(product(*choices), _MAX_READINGS):
        values = dict(zip(names, chosen, strict=True))
        yield tuple(word for pieces in words for word in _resolved(pieces, values)), bool(names)


def _values(hole: Hole, variables: Mapping[str, Sequence[Pieces]], depth: int = 0) -> list[str]:
    """Return the marked texts that it may be replaced by; none when nothing is known of it."""
    known = list(hole.defaults)
    for pieces in variables.get(hole.name, ()) if hole.name else ():
        parts: list[list[str]] = []
        for piece in pieces:
            if isinstance(piece, str):
                parts.append([piece])
            # Values may refer to each other without end: `A=$B; B=$A`.
            elif depth < 3:
                parts.append(_values(piece, variables, depth + 1) or [piece.raw])
            else:
                parts.append([piece.raw])
        known += ["".join(one) for one in islice(product(*parts), _MAX_READINGS)]
    # An operator may change the value (`${X%.txt}`): the result may also be something else.
    if known and not hole.is_simple:
        known.append(hole.raw)
    # A value's blanks, braces and globs have no meaning in quotes. Without quotes its blanks separate words
    # and its globs match, even if they were quoted in the assignment.
    if known and hole.is_quoted:
        return list(dict.fromkeys(plain(one) for one in known))
    return list(
        dict.fromkeys(re.sub(r"[ \t\n*?\[\]]", lambda found: found[0].translate(_MARK), one) for one in known)
    )


def _resolved(pieces: Pieces, values: Mapping[Hole, str]) -> Iterator[Word]:
    text = ""
    is_dynamic, is_simple = False, True
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        elif piece in values:
            text += values[piece]
            is_dynamic = is_dynamic or bool(re.search(r"[$`]", values[piece]))
        # An unquoted `$IFS` separates words: `cat$IFS/etc/passwd`.
        elif piece.name == "IFS" and not piece.is_quoted:
            text += " ".translate(_MARK)
        else:
            text += piece.raw
            is_dynamic = True
            is_simple = is_simple and piece.is_simple
    has_hole = any(not isinstance(piece, str) for piece in pieces)
    parts = _BLANK.split(text) if has_hole and _BLANK.search(text) else [text]
    for part in parts:
        if not part and len(parts) > 1:
            continue
        found = braces(part)
        for one in found:
            if one or (len(found) == 1 and not has_hole):  # `{a,}` is one word, `{a,""}` two
                yield _word(one, is_dynamic, is_simple)


def _word(text: str, is_dynamic: bool, is_simple: bool) -> Word:
    if _OPEN in text and _COMMA in text and _CLOSE in text:  # more alternatives than are looked at
        is_dynamic, is_simple = True, False
    return Word(
        plain(text),
        is_dynamic,
        has_glob=_GLOB.search(text) is not None,
        has_tilde=text.startswith(_TILDE) or _EQUALS + _TILDE in text or ":" + _TILDE in text,
        is_simple=is_simple,
    )


def braces(text: str) -> list[str]:
    """Return the words that marked braces stand for."""
    if _OPEN not in text or _CLOSE not in text:
        return [text]
    done: list[str] = []
    todo = [text]
    while todo:
        one = todo.pop()
        # Beyond the limit braces remain as they are written, and `_word` marks the word as dynamic.
        found = None if len(done) + len(todo) > _MAX_BRACES else _first_braces(one)
        if found is None:
            done.append(one)
            continue
        start, end, choices = found
        todo.extend(one[:start] + choice + one[end:] for choice in reversed(choices))
    return done


@dataclass(slots=True)
class _OpenBrace:
    """A brace expression that is being counted."""

    start: int
    finished: int = 0
    """Words of the alternatives before the last comma."""
    current: int = 1
    """Words of the alternative behind it."""
    as_text: int = 1
    """The same where the brace turns out to be text: what is in it multiplies, commas do not count."""


def expanded_count(pieces: Iterable[Piece]) -> int:
    """Return how many words bash makes of one by its braces: {1..3}{a,b} makes 6. At most `_MAX_COUNT`."""
    text = "".join(one if isinstance(one, str) else "$" for one in pieces)
    waiting = [_OpenBrace(0)]
    for at, char in enumerate(text):
        top = waiting[-1]
        if char == _OPEN:
            waiting.append(_OpenBrace(at + 1))
        elif char == _COMMA and len(waiting) > 1:
            top.finished, top.current = min(top.finished + top.current, _MAX_COUNT), 1
        elif char == _CLOSE and len(waiting) > 1:
            waiting.pop()
            if top.finished:
                count = top.finished + top.current
            else:
                count = _counted_length(plain(text[top.start : at])) or top.as_text
            _multiply(waiting[-1], count)
    # Braces that are not closed are text.
    while len(waiting) > 1:
        _multiply(waiting[-2], waiting.pop().as_text)
    return waiting[0].current


def _multiply(brace: _OpenBrace, count: int) -> None:
    brace.current = min(brace.current * count, _MAX_COUNT)
    brace.as_text = min(brace.as_text * count, _MAX_COUNT)


def _counted_length(text: str) -> int:
    """Return how many words `1..30000` or `a..e` counts; 0 when it is no range."""
    found = _ANY_RANGE.fullmatch(text)
    if found is None:
        return 0
    first, last = (ord(one) if one.isalpha() else int(one) for one in (found[1], found[2]))
    return abs(last - first) // (abs(int(found[3] or 1)) or 1) + 1


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Return the position of the first brace expression, and its expansions."""
    for start in (found.start() for found in islice(re.finditer(_OPEN, text), _MAX_BRACES)):
        depth, last = 0, start + 1
        choices: list[str] = []
        for at in range(start, len(text)):
            char = text[at]
            if char == _OPEN:
                depth += 1
            elif char == _COMMA and depth == 1:
                choices.append(text[last:at])
                last = at + 1
            elif char == _CLOSE:
                depth -= 1
                if depth == 0:
                    if choices:
                        return start, at + 1, [*choices, text[last:at]]
                    counted = _counted(plain(text[start + 1 : at]))
                    if counted:
                        return start, at + 1, counted
                    break
    return None


def _counted(text: str) -> list[str]:
    """Return what `1..3` or `a..e` counts."""
    found = _RANGE.fullmatch(text)
    if found is None or found[1].isalpha() != found[2].isalpha():
        return []
    is_letters = found[1].isalpha()
    first, last = (ord(found[1]), ord(found[2])) if is_letters else (int(found[1]), int(found[2]))
    step = abs(int(found[3] or 1)) or 1
    numbers: Iterable[int] = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [chr(number) if is_letters else str(number) for number in islice(numbers, _MAX_BRACES)]
