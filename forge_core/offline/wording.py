"""The person's text made ready for matching: quotes masked, politeness dropped, steps told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

OPEN, CLOSE = "\ue000", "\ue001"
QUOTED = f"{OPEN}\\d+{CLOSE}"
"""Matches what stands for a quoted or fenced text."""

_MARK = re.compile(f"{OPEN}(\\d+){CLOSE}")
_MAX_HEAD = 400
"""Characters of a first line that may announce content below it."""
_PRIVATE = re.compile("[\ue000\ue001]")
_AFTER = r"(?=$|[\s).,;:!?\]}])"
_BEFORE = r"(?:(?<=^)|(?<=[\s(=\[{,:]))"
_QUOTES = re.compile(
    r"(?P<fence>(?:```|~~~)[^\n`]*\n(?P<fenced>.*?)(?:\n[ \t]*(?:```|~~~)[ \t]*(?=\n|$)|\Z))"
    r"|(?P<ticks>``(?P<double>[^\n]+?)``|`(?P<single>[^`\n]+)`)"
    rf"|{_BEFORE}(?:"
    r"\"(?P<straight>(?:\\.|[^\"\\])*)\"|“(?P<curly>[^”]{0,5000})[”\"]|„(?P<low>[^“”]{0,5000})[“”]"
    r"|«\s?(?P<angle>[^»]{0,5000}?)\s?»"
    rf"|‘(?P<curly1>[^\n]{{1,500}}?)[’']{_AFTER}|'(?P<plain>(?:\\'|[^\n]){{0,500}}?)'{_AFTER})",
    re.DOTALL | re.MULTILINE,
)
_ESCAPED = re.compile(r"\\([\"'])")
_POLITE = re.compile(
    r"^(?:(?:(?:good )?(?:morning|evening|afternoon)|hey|hi|hello|hiya|yo"
    r"|ok(?:ay)?|well|so|alright|right|good|great|thanks|thank you|perfect|nice|cool|yes"
    r"|sure)[,!.]\s+"
    r"|(?:hey|hi|hello) (?:forge|there)[,!.]?\s+(?=\S)"
    r"|(?:please|pls|plz|kindly|now|also|and|just|first(?!\s+(?:\d|few|line|commit))|firstly|next|finally|lastly|then|quickly|maybe|ok|okay|forge,?)[,:]?\s+"
    r"|(?:hey|hi|hello|yo|so|well|um+|hm+|oh|but|btw|wait|actually)\s+(?=(?:what|whats|where|wheres|who|whos|how|which|when|is|are|does|do|did|can|any|show|open|find|list|read|run|tell|give)\b)"
    r"|(?:can|could|would|will|may) (?:you|u|we|i)(?: please| pls| kindly| maybe| also| just)?\s+"
    r"(?!do\b[?.! ]*$|do with)"
    r"|(?:i(?:'d| would) like|i want|i need|i wish)(?: for)? (?:you )?to\s+"
    r"|(?:i(?:'d| would) like|i want|i need) (?=(?:a|the|an|to see)\b)"
    r"|(?:let(?:'s| us)|go ahead and|try to|help me(?: to)?(?= (?!out\b|with\b))|be so kind and|i'm trying to"
    r"|(?:do you |would you )?mind)\s+)",
    re.I,
)
_FLUFF = re.compile(
    r"(?:[,\s]+(?:please|pls|plz|thanks|thank you|thx|for me|right now|if you can|if possible|now|btw|though?"
    r"|exactly|or (?:so|something|something like that|similar|anything|whatever))"
    r"|[,\s]+and (?:save(?: it)?|report(?: back)?|tell me|let me know|summari[sz]e)"
    r"(?: (?:the|me|about|if|whether|what|how|which|to)\b.*)?"
    r"|(?<=[^\s./])[.!?…]+|[!?…]+|[,;:])$",
    re.I,
)
_CARRIES = re.compile(
    r"(?:run|execute|exec|create|write|make|add|append|insert|prepend|put|save|replace|change|rename|move|copy|commit"
    r"|search|grep|rg|find|delete|remove|in|git)\b|s/|\W",
    re.I,
)
"""Begins a request that may hold a text of its own: its words are left as they are."""
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTED = r"(?= (?:(?:last|latest|recent|biggest|longest|python) )*(?:commits?|lines?|files?)\b)"
_SHORT_FORMS = tuple(
    (re.compile(rf"\b{short}\b", re.I), long)
    for short, long in (
        (r"wh?at(?:'s|s)", "what is"), (r"(where|who|how|when)(?:'s|s)", r"\1 is"), (r"wat", "what"),
        (r"r(?= (?:u|you|ya|we)\b)", "are"), (r"(?:u|ya)", "you"), (r"ur", "your"), (r"im", "i'm"),
        (r"(do|does|did|is|are|was|ca|wo|should|has|have)nt", r"\1n't"), (r"nvm", "never mind"),
        (r"(?:nr|num|nb)\.?(?= ?\d)", "number"), (r"lookup", "look up"), (r"gimme", "give me"),
        (r"lemme", "let me"), (r"wanna", "want to"), (r"s(?:me?)?th", "something"), (r"dirs", "folders"),
        (r"docu", "documentation"), (r"deps", "dependencies"), (r"ver(?= |$)", "version"),
        *((rf"{word}{_COUNTED}", str(n)) for n, word in enumerate(_NUMBERS, 2)),
        (r"py(?= ?3| ver| files| file)", "python")
    )
)  # fmt: skip
_STEP = re.compile(r"^\s*(?:(?:step\s*)?\d{1,2}[.):]|[-*•])\s+", re.I)
_THEN = re.compile(
    r"\s*(?:[,;.]\s*)?(?:\band\s+)?\b(?:then|after that|afterwards|finally)\b[,:]?\s+|\s*;\s+", re.I
)
_MAYBE = re.compile(rf"\s*,\s*and\s+|\s+and\s+|(?<=[\w{CLOSE})])[.!?]\s+|\s*,\s+", re.I)
_IN_LINE = re.compile(r"\s+(?=\d{1,2}[.)]\s)")
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
    """What stood between the quotes."""
    typed: tuple[str, ...]
    """The same with the quotes."""

    def fill(self, text: str) -> str:
        """`text` with the quoted parts back, without their quotes."""
        return _MARK.sub(lambda mark: self.quoted[int(mark[1])], text)

    def fill_typed(self, text: str) -> str:
        """`text` as it was typed, with all quotes."""
        return _MARK.sub(lambda mark: self.typed[int(mark[1])], text)


def mask(text: str) -> Masked:
    """Quoted and fenced parts become marks; so does what follows "create x with:" on new lines."""
    kept: list[tuple[str, str]] = []

    def keep(found: re.Match[str]) -> str:
        content = next(found[name] for name in _GROUPS if found[name] is not None)
        if found["fence"] is not None:
            content += "\n"
        elif found["straight"] is not None or found["plain"] is not None:
            content = _ESCAPED.sub(r"\1", content)
        kept.append((content, found[0]))
        return f"{OPEN}{len(kept) - 1}{CLOSE}"

    text = _PRIVATE.sub("", text)
    pasted = _PASTED.match(text) if len(text.split("\n", 1)[0]) <= _MAX_HEAD else None
    if pasted and not re.match(r"\s*(```|~~~)", pasted["body"]):
        text = _QUOTES.sub(keep, pasted["head"]) + f": {OPEN}{len(kept)}{CLOSE}"
        kept.append((pasted["body"].rstrip("\n") + "\n", pasted["body"]))
    else:
        text = _QUOTES.sub(keep, text)
    return Masked(text, tuple(content for content, _ in kept), tuple(typed for _, typed in kept))


_GROUPS = ("fenced", "double", "single", "straight", "curly", "low", "angle", "curly1", "plain")


def plain(text: str) -> str:
    """Without politeness before and after, closing marks, and doubled spaces."""
    text = " ".join(text.replace("’", "'").split())
    while True:
        shorter = _FLUFF.sub("", _POLITE.sub("", text)).strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def spelt_out(text: str) -> str:
    """`text` with the short forms of chat written in full ("whats" → "what is", "u" → "you")."""
    if _CARRIES.match(plain(text)):
        return text
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    return text


def steps(text: str) -> list[str]:
    """The steps that are told apart by lines, numbers, "then" or semicolons."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if re.match(r"1[.)]\s", bare) and len(_IN_LINE.split(bare)) > 1:
            lines += [_STEP.sub("", part) for part in _IN_LINE.split(bare)]
        elif lines and re.fullmatch(rf"(?:{QUOTED}\s*)+", bare):
            lines[-1] += " " + bare  # a fenced block belongs to the line above it
        elif bare:
            lines.append(_STEP.sub("", bare))
    return [part for line in lines for part in _THEN.split(line) if part and part.strip(" .,;")]


def halves(step: str) -> list[tuple[str, str]]:
    """Ways to read one step as two ("find x and read it"), the earliest cut first."""
    return [(step[: cut.start()], step[cut.end() :]) for cut in _MAYBE.finditer(step)][:12]


def mend(text: str, verbs: frozenset[str], nouns: frozenset[str] = frozenset()) -> str:
    """`text` with a misspelt verb among its first two words put right ("listing" becomes "list"), and a
    misspelt noun among the next ones; the rest is never touched."""
    words = text.split(" ")
    has_verb = False
    for position, word in enumerate(map(str.lower, words[:6])):
        known = verbs if position < 2 and not has_verb else nouns
        if word in verbs or word in nouns:
            has_verb = has_verb or word in verbs
            continue
        stems = [
            stem for stem in (word[:-3], word[:-3] + "e", word[:-4]) if word.endswith("ing") and stem in known
        ]
        near = stems or [one for one in sorted(known) if _is_near(word, one)]
        if near:
            words[position] = min(near, key=lambda one: abs(len(one) - len(word)))
            has_verb = has_verb or position < 2
    return " ".join(words)


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
