"""The person's text made ready for matching: quotes masked, politeness dropped, steps told apart, typos mended."""

from __future__ import annotations

import re
from dataclasses import dataclass

OPEN, CLOSE = "\ue000", "\ue001"
QUOTED = f"{OPEN}\\d+{CLOSE}"
"""Matches what stands for a quoted or fenced text."""

_PRIVATE = re.compile("[\ue000\ue001]")
_AFTER = r"(?=$|[\s).,;:!?\]}])"
_BEFORE = r"(?:(?<=^)|(?<=[\s(=\[{,:]))"
_QUOTES = re.compile(
    r"(?P<fence>(?:```|~~~)[^\n`]*\n(?P<fenced>.*?)(?:\n[ \t]*(?:```|~~~)[ \t]*(?=\n|$)|\Z))"
    r"|(?P<ticks>``(?P<double>[^\n]+?)``|`(?P<single>[^`\n]+)`)"
    rf"|{_BEFORE}(?:\"(?P<straight>(?:\\.|[^\"\\])*)\"|“(?P<curly>[^”]*)[”\"]|„(?P<low>[^“”]*)[“”]"
    rf"|«\s?(?P<angle>[^»]*?)\s?»|‘(?P<curly1>.+?)[’']{_AFTER}|'(?P<plain>(?:\\'|.)*?)'{_AFTER})",
    re.DOTALL | re.MULTILINE,
)
_ESCAPED = re.compile(r"\\([\"'])")
_POLITE = re.compile(
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|well|so|alright|right|good|great|thanks|thank you|perfect|nice|cool|yes|sure)[,!.]\s+"
    r"|(?:hey|hi|hello) (?:forge|there)[,!.]?\s+(?=\S)"
    r"|(?:please|pls|plz|kindly|now|also|and|just|first|firstly|next|finally|lastly|then|quickly|maybe|ok|okay|forge,?)[,:]?\s+"
    r"|(?:can|could|would|will|may) (?:you|we|i)(?: please| kindly| maybe| also| just)?\s+(?!do\b[?.! ]*$|do with)"
    r"|(?:i(?:'d| would) like|i want|i need|i wish)(?: for)? (?:you )?to\s+"
    r"|(?:i(?:'d| would) like|i want|i need) (?=(?:a|the|an|to see)\b)"
    r"|(?:let(?:'s| us)|go ahead and|try to|help me (?:to )?|be so kind and|i'm trying to|do you mind|would you mind)\s+)",
    re.I,
)
_FLUFF = re.compile(
    r"(?:[,\s]+(?:please|pls|plz|thanks|thank you|thx|for me|right now|if you can|if possible|now)"
    r"|[,\s]+and (?:save(?: it)?|report(?: back)?|tell me|let me know|summari[sz]e)"
    r"(?: (?:the|me|about|if|whether|what|how|which|to)\b.*)?"
    r"|(?<=[^\s./])[.!?…]+|[!?…]+|[,;:])$",
    re.I,
)
_STEP = re.compile(r"^\s*(?:(?:step\s*)?\d{1,2}[.):]|[-*•])\s+", re.I)
_THEN = re.compile(
    r"\s*(?:[,;.]\s*)?(?:\band\s+)?\b(?:then|after that|afterwards|finally)\b[,:]?\s+|\s*;\s+", re.I
)
_MAYBE = re.compile(r"\s*,\s*and\s+|\s+and\s+|[.!?]\s+|\s*,\s+", re.I)
_PASTED = re.compile(
    r"^(?P<head>[^\n]*\b(?:create|write|make|add|generate|save|put)\b[^\n]*(?:with|content|contents|containing|text|lines|following"
    r"|code|\.\w{1,6})[^\n]*?)\s*:[ \t]*\n(?P<body>.+)$",
    re.I | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Masked:
    """A text whose quoted parts are replaced by marks; `fill` puts them back."""

    text: str
    quoted: tuple[str, ...]

    def fill(self, text: str, quote: str = "") -> str:
        """`text` with the quoted parts back, between `quote` marks."""
        return re.sub(f"{OPEN}(\\d+){CLOSE}", lambda mark: f"{quote}{self.quoted[int(mark[1])]}{quote}", text)


def mask(text: str) -> Masked:
    """Quoted, backticked and fenced parts become marks; so does what follows "create x with:" on new lines."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        content = next(found[name] for name in _GROUPS if found[name] is not None)
        if found["fence"] is not None:
            content += "\n"
        elif found["straight"] is not None or found["plain"] is not None:
            content = _ESCAPED.sub(r"\1", content)
        kept.append(content)
        return f"{OPEN}{len(kept) - 1}{CLOSE}"

    text = _PRIVATE.sub("", text)
    pasted = _PASTED.match(text)
    if pasted and not re.match(r"\s*(```|~~~)", pasted["body"]):
        head = _QUOTES.sub(keep, pasted["head"])
        kept.append(pasted["body"].rstrip("\n") + "\n")
        return Masked(f"{head}: {OPEN}{len(kept) - 1}{CLOSE}", tuple(kept))
    return Masked(_QUOTES.sub(keep, text), tuple(kept))


_GROUPS = ("fenced", "double", "single", "straight", "curly", "low", "angle", "curly1", "plain")


def plain(text: str) -> str:
    """Without politeness before and after, closing marks, and doubled spaces."""
    text = " ".join(text.replace("’", "'").split())
    while True:
        shorter = _FLUFF.sub("", _POLITE.sub("", text)).strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def steps(text: str) -> list[str]:
    """The steps that are told apart by lines, numbers, "then" or semicolons."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if lines and re.fullmatch(rf"(?:{QUOTED}\s*)+", bare):
            lines[-1] += " " + bare  # a fenced block belongs to the line above it
        elif bare:
            lines.append(_STEP.sub("", bare))
    return [part for line in lines for part in _THEN.split(line) if part and part.strip(" .,;")]


def halves(step: str) -> list[tuple[str, str]]:
    """Ways to read one step as two ("find x and read it"), the earliest cut first."""
    return [(step[: cut.start()], step[cut.end() :]) for cut in _MAYBE.finditer(step)][:12]


def mend(text: str, verbs: frozenset[str]) -> str:
    """`text` with a misspelt verb among its first two words put right; the rest is never touched."""
    words = text.split(" ")
    for position in range(min(2, len(words))):
        word = words[position].lower()
        if word in verbs:
            return text
        nearest = [verb for verb in sorted(verbs) if _is_near(word, verb)]
        if nearest:
            words[position] = min(nearest, key=lambda verb: abs(len(verb) - len(word)))
            return " ".join(words)
    return text


def _is_near(word: str, verb: str) -> bool:
    """One slip apart (two in long words): a letter too many, missing, wrong, or two swapped."""
    if len(verb) < 4 or len(word) < 3 or abs(len(word) - len(verb)) > 2:
        return False
    return 0 < _slips(word, verb) <= (2 if len(verb) >= 7 else 1)


def _slips(a: str, b: str) -> int:
    """Edit distance with swaps of neighbours (optimal string alignment)."""
    rows = [list(range(len(b) + 1))]
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, rows[i - 2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
