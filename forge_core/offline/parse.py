"""Turns the user's text into requests: intents with arguments. Pure.

Quoted text is masked first, so that no rule matches inside it. What is left is divided into steps and halves,
politeness is removed, and each part is tried against the table of `intents`, misspelt verbs corrected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from forge_core.offline.intents import CLOSE, IT, OPEN, QUOTED, Intent, Request, argument_name, compiled
from forge_core.offline.source_code import LANGUAGES


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as text."""
    return frozenset(text.split())


_MAX_ASKED = 1_500
"""What is left to match once quoted text is set aside."""
_MAX_PARSED_STEPS = 20
_COMMAND = re.compile(r"^\s*(?:\$|!)\s*(\S.*)$", re.DOTALL)
_PLAN_APPROVED = re.compile(r"the plan is approved\b.*", re.IGNORECASE | re.DOTALL)
"""What `/plan approve` sends."""
_PLAN = re.compile(
    r"\s*(?:please\s+)?(?:(?:make|write|set up|keep|create|note)\s+)?(?:(?:a|the|my|this|our)\s+)?"
    r"(?:plan|to-?dos?(?:\s+list)?|task list|tasks)\s*:\s*(?P<content>.+)",
    re.I | re.DOTALL,
)
_ASK_ME = re.compile(
    r"\s*(?:please\s+)?ask me\s+(?:(?P<kind>whether|if|which|what)\s+)(?P<text>\S.*)", re.I | re.DOTALL
)
_TALK = (Intent.ACK, Intent.GREET, Intent.THANKS, Intent.BYE)
_LISTS = (Intent.READ, Intent.EXPLAIN, Intent.FIND_FILES)
_ANOTHER_FILE = re.compile(r"\s*[\w./-]+\.\w+ (?:with|containing)\b", re.I)
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
_FILE_LIKE = re.compile(
    r"[./*\\]|^(?:README|LICEN[CS]E|CHANGELOG|Makefile|Dockerfile|Procfile|Gemfile|Rakefile|Justfile|NOTICE)$",
    re.I,
)
_WHOLE = ("content", "new", "old", "text", "command", "purpose")
"""Arguments whose spaces and marks are kept as typed."""
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
_GROUPS = ("fenced", "double", "single", "straight", "curly", "low", "angle", "curly1", "plain")
_NOWHERE = word_set("""
    total all altogether
    . ./ app code codebase current directory everything everywhere files folder git github here package
    program project repo repository source sources workspace world
""")
"""Places that mean the whole folder: no path."""
_NO_NAMES = word_set("""
    a defined declared all an anything appear are bug bugs class code def do does error errors everything file
    files for function help here in is it me method more my of out problem project something that the them
    there they this to us we what where you
""")
"""Words that are no name of anything in code."""
_VERBS = word_set("""
    add append change commit continue copy create delete describe display edit execute explain find grep
    help insert launch list locate make move open outline print read remove rename replace restore revert
    run search show start status summarise summarize swap test tests undo update what where which write
""")
"""Verbs whose spelling is corrected."""
_MORE_STARTS = ("cat", "tell", "git", "look", "go", "who", "how", "give", "rm", "mv")
"""Words that begin a request beside the verbs; their spelling is never corrected."""
_NOUNS = word_set("""
    author branch called changelog changes class commits defined definition dependencies directory file
    files folder function implemented imported latest license line lines method overview project readme
    repository tests text usages used version word
""")
"""Nouns whose spelling is corrected."""
_PRONOUNS = frozenset({"it", "that", "this", "them", "there", "that file", "this file", "the file", "file"})
"""Words for the file that was mentioned last."""
_NAME_PRONOUNS = frozenset({"it", "that", "this", "them", "function", "class", "method", "thing"})
"""Words for the name that was mentioned last ("who calls it", "where is that function used")."""
_CODE_ENDINGS = frozenset(ending for endings in LANGUAGES.values() for ending in endings)
_ENDINGS = _CODE_ENDINGS | word_set("""
    bak bib crt cs csv diff dockerignore env example gitignore gradle graphql gz in ipynb key local lock log
    map mod orig out patch pdf pem proto sample service snap sum svelte tar tex tf tmp tsv vue work zip
""")
"""File extensions, those of source code included."""


def parse(text: str) -> tuple[Request, ...]:
    """Return the requests in `text`, in order. At least one; what is not understood has Intent.UNKNOWN."""
    text = text.strip()
    command = _COMMAND.match(text)
    if command and "\n" not in text:
        return (Request(Intent.RUN, {"command": command[1].strip()}, text),)
    undivided = _whole_request(text)
    if undivided is not None:
        return (Request(undivided[0], undivided[1], text),)
    # Quotes first: no rule may match inside them, and no step may be cut there.
    masked = mask(text)
    asked = re.sub(r"[ \t]+", " ", masked.text)[:_MAX_ASKED]
    parts = [expand_short_forms(step) for step in steps(asked)[:_MAX_PARSED_STEPS]]
    found = [request for part in parts for request in _parse_step(masked, part)]
    # What was cut wrongly may fit as a whole. Only then the looser rows, which take almost any question.
    if any(request.intent is Intent.UNKNOWN for request in found):
        whole = _match(masked, plain(asked.replace("\n", " ")))
        if whole is not None:
            return (whole,)
        loose = {masked.fill_typed(part).strip(): _match(masked, plain(part), last=True) for part in parts}
        found = [loose.get(one.text) or one if one.intent is Intent.UNKNOWN else one for one in found]
        if all(request.intent is Intent.UNKNOWN for request in found):
            found = []
    return tuple(found) or (Request(Intent.UNKNOWN, {}, text),)


def _whole_request(text: str) -> tuple[Intent, Mapping[str, str]] | None:
    """Return the request of a message that is never divided, whatever commas and "then" it contains."""
    if plan := _PLAN.fullmatch(text):
        return Intent.PLAN, {"content": plan["content"].strip()}
    if _PLAN_APPROVED.fullmatch(text):
        return Intent.PLAN, {}
    if asked := _ASK_ME.fullmatch(text):
        return Intent.ASK_ME, {"kind": (asked["kind"] or "").lower(), "text": asked["text"].strip(" .?!")}
    return None


def _parse_step(masked: Masked, step: str) -> list[Request]:
    """Return the request in a step, or two where it reads as "this and that"."""
    exact = _match(masked, step.strip().rstrip("?!. "))
    if exact is not None and exact.intent in (*_TALK, Intent.MORE):
        return [exact]
    # The earliest cut wins at which both sides are requests of their own.
    for first, second in halves(step):
        left, right = _match(masked, plain(first)), _parse_rest(masked, second)
        if left is not None and left.intent is Intent.CREATE and not right:
            right = _parse_rest(masked, f"create {second}") if _ANOTHER_FILE.match(second) else []
        if left is not None and left.intent in _LISTS and not right:
            other = _match(masked, f"{plain(first).split(' ')[0]} {plain(second)}")  # "read a.md and b.md"
            right = [other] if other is not None and other.intent is left.intent else []
        if left and right and left.intent is not Intent.BEYOND and not _is_open_ended(left, first):
            return right if left.intent in _TALK else [left, *right]
    # As typed first: a word that is spelt like a verb may be the name of a file.
    ways = (plain(step), correct_spelling(plain(step), _VERBS, _NOUNS))
    request = next((found for way in ways if (found := _match(masked, way))), None)
    return [request or Request(Intent.UNKNOWN, {}, masked.fill_typed(step).strip())]


def _parse_rest(masked: Masked, text: str) -> list[Request]:
    """Return the second half, itself maybe two; empty when any part of it is not a request of its own."""
    whole = _match(masked, plain(text))
    for first, second in halves(text):
        left, right = _match(masked, plain(first)), _match(masked, plain(second))
        if left and right and _starts_request(first) and _starts_request(second):
            return [left, right]
    if whole is None or whole.intent is Intent.BEYOND or not _starts_request(text):
        return []
    return [whole]


def _starts_request(text: str) -> bool:
    """Return whether a half begins like a request (a verb, a question), not like the rest of a list."""
    first = plain(text).lower().split(" ")[0]
    return first in _VERBS or first in _MORE_STARTS


def _is_open_ended(request: Request, text: str) -> bool:
    """Return whether cutting here would divide content that is not quoted ("create x.md with salt and show
    pepper")."""
    return request.intent is Intent.CREATE and "content" in request.args and OPEN not in text


@lru_cache(maxsize=256)
def _match(masked: Masked, text: str, *, last: bool = False) -> Request | None:
    """Return the first row of the table that fits the whole text."""
    if not text:
        return None
    for intent, pattern in compiled(last=last):
        found = pattern.fullmatch(text)
        if found:
            given = {
                argument_name(name): value for name, value in found.groupdict().items() if value is not None
            }
            args = {name: _argument(masked, name, value) for name, value in given.items()}
            if _is_plausible(intent, args):
                kept = {name: value for name, value in args.items() if value or name == "new"}
                return Request(intent, kept, masked.fill_typed(text))
    return None


def _argument(masked: Masked, name: str, value: str) -> str:
    quoted = value.startswith(OPEN) and value.endswith(CLOSE) and value.count(OPEN) == 1
    if name in ("purpose", "command") and not quoted:
        return masked.fill_typed(value).strip()
    value = masked.fill(value)
    if quoted:
        return value
    if name in _WHOLE:
        return value.strip()
    value = value.strip().removeprefix("@").rstrip(",;:!?")
    if name in ("file", "path", "other"):
        return _place(name, value)
    if name == "name":
        return IT if value.lower() in _NAME_PRONOUNS else value.removesuffix("()")
    return value


def _place(name: str, value: str) -> str:
    """Return a path as typed; IT for a pronoun; "" where it means the whole folder."""
    if value.lower() in _PRONOUNS:
        return IT
    if name == "path" and value.lower() in _NOWHERE:
        return ""
    if value.endswith(".") and value.strip("./"):
        value = value.rstrip(".")
    return value


def _is_plausible(intent: Intent, args: Mapping[str, str]) -> bool:
    """Return whether the arguments can be what the pattern took them for."""
    ending = args.get("name", "").rpartition(".")
    if ending[0] and ending[2].lower() in _CODE_ENDINGS:
        return False  # a file, not a name in one
    if args.get("name", "x").lower() in _NO_NAMES or ("name" in args and not args["name"].strip()):
        return False
    if intent is Intent.REPLACE:
        return bool(args.get("old"))
    file = args.get("file", "")
    path = args.get("path", "")
    if intent is Intent.LIST and re.search(r"\w\.\w+$", path):
        return False
    if _ATTRIBUTE.fullmatch(file) and file.rsplit(".", 1)[-1].lower() not in _ENDINGS:
        return intent not in (Intent.READ, Intent.EXPLAIN, Intent.FIND_FILES)
    if "\n" in file or (" " in file and not _FILE_LIKE.search(file)):
        return False
    if intent is Intent.FIND_FILES and file:
        return bool(_FILE_LIKE.search(file)) and " " not in file
    if intent in (Intent.READ, Intent.EXPLAIN, Intent.CREATE):
        return file.lower() not in _NO_NAMES
    return True


@dataclass(frozen=True, slots=True)
class Masked:
    """A text whose quoted parts are replaced by marks; `fill` puts them back."""

    text: str
    quoted: tuple[str, ...]
    """The texts between the quotes."""
    typed: tuple[str, ...]
    """The same with the quotes."""

    def fill(self, text: str) -> str:
        """Return `text` with the quoted parts back, without their quotes."""
        return _MARK.sub(lambda mark: self.quoted[int(mark[1])], text)

    def fill_typed(self, text: str) -> str:
        """Return `text` as it was typed, with all quotes."""
        return _MARK.sub(lambda mark: self.typed[int(mark[1])], text)


def mask(text: str) -> Masked:
    """Replace quoted and fenced parts by marks, and the lines that follow "create x with:"."""
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


def plain(text: str) -> str:
    """Remove politeness before and after, closing marks, and doubled spaces."""
    text = " ".join(text.replace("’", "'").split())
    while True:
        shorter = _FLUFF.sub("", _POLITE.sub("", text)).strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def expand_short_forms(text: str) -> str:
    """Return `text` with the short forms of chat written in full ("whats" → "what is", "u" → "you")."""
    if _CARRIES.match(plain(text)):
        return text
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    return text


def steps(text: str) -> list[str]:
    """Return the steps of a text: its lines, numbered items, and parts around "then" or semicolons."""
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
    """Return the ways to divide one step into two ("find x and read it"), the earliest cut first."""
    return [(step[: cut.start()], step[cut.end() :]) for cut in _MAYBE.finditer(step)][:12]


def correct_spelling(text: str, verbs: frozenset[str], nouns: frozenset[str] = frozenset()) -> str:
    """Return `text` with a misspelt verb among its first two words put right ("listing" becomes "list"), and
    a misspelt noun among the next ones; the rest is never touched."""
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
        near = stems or [one for one in sorted(known) if _is_misspelt(word, one)]
        if near:
            words[position] = min(near, key=lambda one: abs(len(one) - len(word)))
            has_verb = has_verb or position < 2
    return " ".join(words)


def _is_misspelt(word: str, verb: str) -> bool:
    """Return whether two words are one typing error apart (two in long words)."""
    if len(verb) < 4 or len(word) < 3 or abs(len(word) - len(verb)) > 2:
        return False
    return 0 < _edit_distance(word, verb) <= (2 if len(verb) >= 7 else 1)


def _edit_distance(a: str, b: str) -> int:
    """Return the edit distance with swaps of neighbours (optimal string alignment)."""
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
