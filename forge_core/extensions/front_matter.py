"""The one reader of Markdown files with front matter: YAML between two `---` lines, then a body.

Files made for other assistants are read as those read them. YAML that cannot be parsed is tried again with
the values quoted (`description: Use when: asked` is common), then with text at the left margin joined to the
field above it; if that fails too, the body counts without fields. Unknown fields are kept, and ignored by
whoever reads the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 256 * 1024
"""Of one file."""
MAX_FRONT_MATTER = 32 * 1024
"""Characters."""
_MAX_DEPTH = 20
_SUSPECT = re.compile(r"[&\[{?]|-[ \t]+-[ \t]|^ {40}", re.MULTILINE)
"""What aliases and deep nesting need. Most files have none of it, and are parsed only once."""
_FENCE = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"---[ \t]*\n[ \t]*[A-Za-z_][\w-]*:(?:[ \t]|$)", re.MULTILINE)
"""The beginning of front matter; text that begins with a rule has no field below it."""
_UNCLOSED = "the front matter has no second line of three dashes; it was read as text"
_PAIR = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*)")
_FIELD = re.compile(r"[A-Za-z_][\w-]*:(?:[ \t]+.*)?")
_CONTINUATION = re.compile(r"(?!-[ \t])[^\s#].*")
"""Text at the left margin, if it is no field: not a list item, a comment or a blank line."""
_INDICATORS = "'\"[{*&!|>"
"""What begins a value that is not plain text in YAML."""
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?")
"""What begins a value of several lines."""
_LOADER_FAULTS = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError)
"""What PyYAML raises besides its own errors where a value does not fit its tag: `!!bool maybe`."""
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_PLAIN = re.compile(r"^([A-Za-z][A-Za-z0-9_-]*): ([A-Za-z](?:.*\S)?)$", re.MULTILINE)
"""A line whose value is text, as long as neither part is one of the words below and no comment follows."""
_NO_TEXT = frozenset({"true", "yes", "on", "false", "no", "off", "null"})


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """A file with front matter."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """As YAML has them; names are strings."""
    body: str = ""
    """What follows the front matter, without blank lines around it."""
    problems: tuple[str, ...] = ()
    """What is wrong with the front matter, as sentences without a subject: "the front matter …"."""
    is_readable: bool = True
    """False if it has front matter whose fields could not be read."""

    def text(self, name: str) -> str:
        """Return a field as one line; empty where it is missing or holds a list or an object."""
        value = self.fields.get(name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a field as a boolean: true, yes, on or 1, and their opposites, in any case."""
        word = self.text(name).lower()
        return True if word in _TRUE else False if word in _FALSE else default

    def number(self, name: str) -> int | None:
        """Return a field that is a whole number above 0; else None."""
        text = self.text(name)
        return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else None

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list, or a string whose words are separated by commas or spaces. Commas
        and spaces inside parentheses do not separate: `Bash(git add *), Read`."""
        value = self.fields.get(name)
        if isinstance(value, list):
            return tuple(word for one in value if isinstance(one, str | int) and (word := str(one).strip()))
        return tuple(split_words(value)) if isinstance(value, str) else ()


def parse_markdown_file(data: bytes) -> MarkdownFile:
    """Return the document that the bytes of a file hold. Never raises for what is in the file."""
    text = data[:MAX_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    problems = (
        [f"it is longer than {MAX_BYTES:,} bytes; the rest was not read"] if len(data) > MAX_BYTES else []
    )
    found = _FENCE.match(text)
    if found is None:
        is_open = _OPENING.match(text) is not None
        problems += [_UNCLOSED] if is_open else []
        return MarkdownFile({}, text.strip(), tuple(problems), is_readable=not is_open)
    fields, problem = _parse_fields(found[1])
    problems += [problem] if problem else []
    return MarkdownFile(fields or {}, text[found.end() :].strip(), tuple(problems), fields is not None)


def split_words(text: str) -> list[str]:
    """Split at commas and spaces outside parentheses."""
    words, current, depth = [], "", 0
    for character in text:
        depth = max(0, depth + (character == "(") - (character == ")"))
        if depth == 0 and (character == "," or character.isspace()):
            words.append(current)
            current = ""
        else:
            current += character
    return [word for word in (*words, current) if word]


def _parse_fields(text: str) -> tuple[dict[str, Any] | None, str]:
    """Return the fields, and what is wrong; None if they cannot be read. Fields that could be read only with
    their values quoted are not wrong."""
    if len(text) > MAX_FRONT_MATTER:
        return None, f"the front matter is longer than {MAX_FRONT_MATTER // 1024} KB; it was ignored"
    if (plain := _plain_fields(text)) is not None:
        return plain, ""
    fields, problem = _load(text)
    if fields is None:
        fields, _ = _load(_quoted(text))
    if fields is not None:
        return fields, ""
    fields, _ = _load(_quoted(_joined(text)))
    if fields is None:
        return None, f"the front matter is not valid YAML ({problem}); it was ignored"
    return fields, "the front matter is not valid YAML; it was read line by line"


def _joined(text: str) -> str:
    """Return the lines, text at the left margin added to the field above it."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and not _FIELD.fullmatch(line) and _CONTINUATION.fullmatch(line):
            above = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), 0)
            if _FIELD.fullmatch(lines[above]):
                lines[above] += f" {line}"
                continue
        lines.append(line)
    return "\n".join(lines)


def _plain_fields(text: str) -> dict[str, str] | None:
    """Return what YAML returns for lines `name: text`, in a tenth of its time; None if there are others."""
    lines, pairs = text.rstrip("\n").split("\n"), _PLAIN.findall(text)
    if len(pairs) != len(lines) or " #" in text or not all(map(str.isprintable, lines)):
        return None
    return dict(pairs) if _NO_TEXT.isdisjoint(word.lower() for pair in pairs for word in pair) else None


def _load(text: str) -> tuple[dict[str, Any] | None, str]:
    """Return the fields of YAML; None, and why, if it is not valid or no mapping."""
    import yaml  # here: nothing is read before the first frame

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _SUSPECT.search(text) and (problem := _hostile(yaml.parse(text, loader))):
            return None, problem
        value = yaml.load(text, loader)
        repr(value)  # raises for a number of more digits than Python turns into text
    except (yaml.YAMLError, *_LOADER_FAULTS) as error:
        return None, " ".join(str(getattr(error, "problem", None) or error).split())[:120]
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return None, "it is no mapping"
    return {str(name): one for name, one in value.items()}, ""


def _hostile(events: Iterable[object]) -> str:
    """Return why the events of YAML must not become values; empty if they may.

    An alias makes a few bytes grow without limit as soon as somebody prints the value. The parser recurses in
    C for each level, and ends the process when its stack is full; its events come without recursion.
    """
    depth = 0
    for event in events:
        name = type(event).__name__
        if name == "AliasEvent":
            return "aliases are not supported"
        depth += name in ("MappingStartEvent", "SequenceStartEvent")
        depth -= name in ("MappingEndEvent", "SequenceEndEvent")
        if depth > _MAX_DEPTH:
            return f"it is nested more than {_MAX_DEPTH} levels deep"
    return ""


def _quoted(text: str) -> str:
    """Return the lines with those values in quotes that are no YAML by themselves: `Use when: asked`,
    `[file] [options]`."""
    return "\n".join(map(_quoted_line, text.split("\n")))


def _quoted_line(line: str) -> str:
    found = _PAIR.fullmatch(line)
    if found is None or _BLOCK.fullmatch(found[2]):
        return line
    if found[2][0] in _INDICATORS and _load(line)[0] is not None:
        return line
    return f"{found[1]}: '{found[2].strip().replace(chr(39), chr(39) * 2)}'"
