"""Parts of command lines: operands, options of sed, here-documents, printed texts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.permissions.shell.parser import MAX_NODES, parsed
from forge_core.permissions.shell.syntax import SimpleCommand

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_CHARACTERS = 4_000
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)\n")
_SED_VALUES = "efl"
_NAME = re.compile(r"[A-Za-z][\w-]{1,40}")


def parsed_source(text: str) -> tuple[Node | None, bytes]:
    """Return the root of the syntax tree of a text, None where it cannot be parsed, and the text's bytes."""
    try:
        source = text.encode()
    except UnicodeEncodeError:
        return None, b""
    root, problem = parsed(text, source, MAX_NODES)
    return (None if problem else root), source


def operands(one: SimpleCommand, valued: str = "") -> list[str]:
    """Return the words that are not options; letters in `valued` are options that take the next word."""
    found: list[str] = []
    words = iter(one.words[1:])
    for word in words:
        if word == "--":
            return [*found, *words]
        if word.startswith("-") and len(word) > 1:
            if len(word) == 2 and word[1] in valued:
                next(words, None)
        else:
            found.append(word)
    return found


def option_value(words: Sequence[str], *names: str) -> str | None:
    """Return the word after the first of these options."""
    return next((value for word, value in pairwise(words) if word in names), None)


def without_bodies(line: str) -> tuple[str, tuple[str, ...]]:
    """Return a line that reads a file `__here_N__` in place of each here-document, and the texts of these.

    Linear time: a script may hold many here-documents that never end.
    """
    if "<<" not in line:
        return line, ()
    starts: dict[str, list[int]] = {}
    """Text without leading tabs → the offsets of the rows that consist of it, ascending."""
    offset = 0
    for row in line.split("\n"):
        starts.setdefault(row.lstrip("\t"), []).append(offset)
        offset += len(row) + 1
    plain: list[str] = []
    bodies: list[str] = []
    done = at = 0
    while (found := _HERE_DOCUMENT.search(line, at)) is not None:
        ends = starts.get(found["end"], [])
        index = bisect_left(ends, found.end())
        if index == len(ends):
            at = found.start() + 1
            continue
        plain += [line[done : found.start()], f"<__here_{len(bodies)}__ {found['rest']}\n"]
        bodies.append(line[found.end() : ends[index]])
        row_end = line.find("\n", ends[index])
        done = at = len(line) if row_end < 0 else row_end + 1
    return "".join([*plain, line[done:]]), tuple(bodies)


def with_texts(one: SimpleCommand, bodies: Sequence[str]) -> SimpleCommand:
    """Return a command whose input includes the here-documents that `without_bodies` removed."""
    texts = {f"__here_{number}__": body for number, body in enumerate(bodies)}
    fed = (*one.fed, *(texts[name] for name in one.reads if name in texts))
    return replace(one, fed=fed, reads=tuple(name for name in one.reads if name not in texts))


def printed_text(one: SimpleCommand) -> str | None:
    """Return what `echo`, `printf` or `cat` with a here-document prints; None where it is unknown."""
    words = one.words[1:]
    text: str | None = None
    if not one.is_known or any(part.has_glob or part.has_tilde for part in one.parts):
        return None
    match one.program:
        case "echo":
            has_end = words[:1] != ("-n",)
            words = words if has_end else words[1:]
            if not any(word.startswith("-") for word in words[:1]) and "\\" not in " ".join(words):
                text = " ".join(words) + "\n" * has_end
        case "printf" if len(words) == 1 and "%" not in words[0]:
            plain = words[0].replace("\\n", "\n").replace("\\t", "\t")
            text = plain if "\\" not in plain else None
        case "printf" if len(words) == 2 and words[0] in ("%s", "%s\\n"):
            text = words[1] + "\n" * (words[0] != "%s")
        case "cat" if not words and len(one.fed) == 1 and not one.reads:
            text = one.fed[0] if re.search(r"[$`\\]|^\t", one.fed[0], re.MULTILINE) is None else None
    return text if text is not None and len(text) <= _MAX_CHARACTERS else None


def sed_words(words: Sequence[str]) -> tuple[tuple[str, ...], list[str], str | None]:
    """Return the arguments of sed without files and `-i`, the files, and the suffix of backups; the suffix is
    None where sed only prints."""
    kept: list[str] = []
    plain: list[str] = []
    suffix: str | None = None
    has_script = False
    rest: Iterator[str] = iter(words[1:])
    for word in rest:
        if word == "--":
            plain += rest
        elif word.startswith("--in-place"):
            suffix = word.partition("=")[2]
        elif word.startswith("--"):
            has_script = has_script or word.startswith(("--expression", "--file"))
            kept.append(word)
            if word in ("--expression", "--file", "--line-length"):
                kept.append(next(rest, ""))
        elif word.startswith("-") and len(word) > 1:
            at = next((at for at, letter in enumerate(word[1:], 1) if letter in "i" + _SED_VALUES), len(word))
            flags, letter, value = word[1:at], word[at : at + 1], word[at + 1 :]
            kept += [f"-{flags}"] if flags else []
            if letter == "i":
                suffix = value
            elif letter:
                has_script = has_script or letter in "ef"
                kept += [f"-{letter}", value or next(rest, "")]
        else:
            plain.append(word)
    if not has_script:
        kept += ["-e", *plain[:1]]
        plain = plain[1:]
    return tuple(kept), plain, suffix


def patches_of(one: SimpleCommand, cwd: Path) -> tuple[str, ...]:
    """Return the patches that `patch` reads: files, or the text of a here-document."""
    named = [*one.reads, *one.words[1:]]
    named += [word.partition("=")[2] for word in one.words[1:] if "=" in word]
    named += [word[2:] for word in one.words[1:] if word.startswith("-i") and len(word) > 2]
    files = [
        str(cwd / word) for word in named if len(word) < 300 and "\n" not in word and (cwd / word).is_file()
    ]
    return (*files, *(f"{text}\n" for text in one.fed))


def with_arguments(text: str, arguments: Sequence[str]) -> str:
    """Return a script with `$1`, `$2` … replaced by the arguments."""
    for number, word in enumerate(arguments[:9], 1):
        if re.fullmatch(r"[\w./=+-]+", word):
            text = re.sub(rf"\$(?:{number}\b|\{{{number}\}})", word, text)
    return text


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text that may be parts of file names."""
    return frozenset(_NAME.findall(text))


def snake_case(word: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()
