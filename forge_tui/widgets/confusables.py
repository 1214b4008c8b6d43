"""Characters that can be mistaken for ASCII ones, or that show nothing: the means of deceptive text.

The tables contain the common entries of Unicode's confusables (UTS 39). Whatever folds to ASCII by
compatibility (fullwidth, mathematical, superscript forms) needs no entry.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from forge_core.sanitize import exact_text

_LETTERS = frozenset(
    "аАВсСеЕНһіІјЈКкМоОрРѕЅТуУхХԁԛԝѵѴѡЗзЬьгпӏӀԑҮүԌԚԜвмнтԍҺЅ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγηικνορσςτυχωϲϳϒϹϺ"  # Greek
    "ոօսհզցյլսՏՕԼՍաղոպքֆ"  # Armenian
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏆᏎᏏᏐᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏴᏳ"  # Cherokee
    "ıȷɑɡɩɪʋƅƽɴʀʏʙʜʟꞁǀǃ"  # Latin
    "ⲟⲞⲣⲢⲥⲤⲕⲘⲎⲒⲦⲬⲨ"  # Coptic
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # Lisu
)
"""Letters that look like an ASCII letter or digit."""

_MARKS = frozenset(
    "‐‑‒–—―−⁃˗➖﹘"  # hyphen
    "⁄∕⧸╱⟋〳∖⧵╲⟍"  # slashes
    "‘’‚‛“”„‟′″‵‶ʹʺʻʼʽˈˊˋ´˴׳״❛❜❝❞〝〞"  # quotes
    "ː˸꞉∶ː։׃⁏;؛،"  # colon, semicolon, comma
    "․·•∙⋅ꓸ۔"  # dots, and the sign for a trailing blank
    "│┃∣❘׀¦ǀ"  # bar
    "˜∼∽⁓〜"  # tilde
    "∗⁎٭✱✲⚹"  # asterisk
    "‹›❮❯˂˃〈〉⟨⟩⧼⧽‹›«»"  # angles, and the frame of our own escapes
    "═꞊᐀⩵﹦"  # equals
    "ˍ‗"  # underscore
    "❨❩❲❳❴❵⟮⟯⦅⦆⁅⁆"  # brackets
    "˄ˆ‸٪⁒ʔ﹟♯→"  # the rest, and the sign for a tab
)
"""Signs that look like those with a meaning in a shell or a path."""

_DRAWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Fillers, joiners and variation selectors: letters and marks by category, and still invisible."""

_PICTURES = range(0x2400, 0x2427)
"""The symbols that stand for control characters."""

_OWN_SCRIPT = re.compile(r"LATIN|CJK|HIRAGANA|KATAKANA|HANGUL|BOPOMOFO|THAI|DEVANAGARI")
"""Scripts whose letters are not mistaken for Latin ones in the same word."""

_IDEOGRAPHIC = re.compile(r"CJK UNIFIED|HIRAGANA|KATAKANA|HANGUL|BOPOMOFO")
_MARKS_IN_A_ROW = 2


def is_hidden(character: str) -> bool:
    """Return whether a character draws nothing of its own; a plain space does not count."""
    return (
        exact_text(character) != character
        or not character.isprintable()
        or _DRAWS_NOTHING.match(character) is not None
        or ord(character) in _PICTURES
    )


def is_mark_like(character: str) -> bool:
    """Return whether a sign can be mistaken for one of ASCII."""
    return character in _MARKS or (not character.isalnum() and _folds_to_ascii(character))


def is_ideographic(character: str) -> bool:
    """Return whether a character belongs to an East Asian script, whose characters are two cells wide."""
    return bool(_IDEOGRAPHIC.match(_name(character)))


@lru_cache(maxsize=2048)
def is_right_to_left(character: str) -> bool:
    """Return whether a terminal may reorder the text beside it."""
    return unicodedata.bidirectional(character) in ("R", "AL", "AN")


def like_ascii(word: str) -> frozenset[str]:
    """Return the letters of a word that can be mistaken for ASCII ones.

    Those are letters of another script beside Latin letters, all letters of a word that has no others, and
    every form that folds to ASCII.
    """
    others = {c for c in word if not c.isascii() and c.isalnum()}
    if not others:
        return frozenset()
    folding = {c for c in others if c in "ǀǃ" or _folds_to_ascii(c) or "SMALL CAPITAL" in _name(c)}
    passing = others & _LETTERS
    # Beside Latin letters, any letter that can be mistaken; alone, only if all letters of the word can.
    if any(c.isascii() and c.isalnum() for c in word):
        passing |= {c for c in others if not _OWN_SCRIPT.match(_name(c))}
    elif passing | folding != others:
        passing = set()
    return frozenset(folding | passing)


def odd_marks(text: str) -> frozenset[int]:
    """Return the positions of combining marks that are more than a part of their letter.

    Those are marks on ASCII, marks that a composed letter would replace, and so many that they cover their
    neighbours.
    """
    odd: set[int] = set()
    run = 0
    for index, character in enumerate(text):
        if character.isascii() or unicodedata.category(character) not in ("Mn", "Me"):
            run = 0
            continue
        run += 1
        before = text[index - run] if index >= run else ""
        if not before or before.isascii() or run > _MARKS_IN_A_ROW or _composes(before, character):
            odd.add(index)
    return frozenset(odd)


def _composes(before: str, mark: str) -> bool:
    return len(unicodedata.normalize("NFC", before + mark)) == 1


@lru_cache(maxsize=2048)
def _folds_to_ascii(character: str) -> bool:
    folded = unicodedata.normalize("NFKC", character)
    return folded != character and folded.isascii() and bool(folded.strip())


@lru_cache(maxsize=2048)
def _name(character: str) -> str:
    return unicodedata.name(character, "")
