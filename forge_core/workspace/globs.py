"""One glob language for the patterns of .gitignore lines, permission rules and the search tools.

`*` and `?` stay within one path segment, `**` as a whole segment spans any number of them, `[a-z]` and `[!a]`
are classes, a backslash quotes. The regular expressions are built from atomic groups: a hostile pattern such
as `*a*a*a*a*b` costs linear time, where the usual translation needs hours.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_ALTERNATIVES = 64
"""Braces expand to at most this many patterns; further braces are literal."""

_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


@lru_cache(maxsize=1024)
def compile_glob(pattern: str, *, braces: bool = True, any_depth: bool = False) -> re.Pattern[str]:
    """Return a regular expression for `fullmatch` with a path with forward slashes and without a leading
    `./`.

    With `any_depth`, a pattern without a slash matches the last segment at any depth, as in .gitignore.
    """
    patterns = expand_braces(pattern) if braces else [pattern]
    return re.compile("|".join(f"(?:{_translate(one, any_depth)})" for one in patterns), re.DOTALL)


def expand_braces(pattern: str) -> list[str]:
    """Return the expansions of `{a,b}`; unbalanced braces are literal."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        found = _first_braces(one)
        if found is None or len(done) + len(todo) > MAX_ALTERNATIVES:
            done.append(one)
            continue
        start, end, choices = found
        todo.extend(one[:start] + choice + one[end:] for choice in reversed(choices))
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    depth, start, last = 0, -1, 0
    choices: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            index += 1
        elif char == "{":
            depth += 1
            if depth == 1:
                start, last, choices = index, index + 1, []
        elif char == "," and depth == 1:
            choices.append(pattern[last:index])
            last = index + 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and choices:
                return start, index + 1, [*choices, pattern[last:index]]
        index += 1
    return None


def _translate(pattern: str, any_depth: bool) -> str:
    anywhere = any_depth and "/" not in pattern.rstrip("/")
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if anywhere:
        segments.insert(0, "**")
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            if groups[-1] or len(groups) == 1:
                groups.append([])
        else:
            groups[-1].append(_segment(segment))
    if len(groups) == 1:
        return "/".join(groups[0])
    head = "".join(segment + "/" for segment in groups[0])
    inner = ("".join(segment + "/" for segment in group) for group in groups[1:-1])
    # An atomic group never gives up its first match: the leftmost match of an inner group leaves the most
    # room for the rest, so backtracking into it could not succeed either.
    middle = "".join(f"(?>(?:[^/]+/)*?{group})" for group in inner)
    tail = "(?:[^/]+/)*" + "/".join(groups[-1]) if groups[-1] else ".+"
    return head + middle + tail


def _segment(segment: str) -> str:
    chunks = _chunks(segment)
    if len(chunks) == 1:
        return chunks[0]
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return f"{chunks[0]}{middle}[^/]*{chunks[-1]}"


def _chunks(segment: str) -> list[str]:
    """Return the regular expressions between the stars of one segment."""
    chunks = [""]
    index = 0
    while index < len(segment):
        char = segment[index]
        index += 1
        if char == "*":
            chunks.append("")
        elif char == "?":
            chunks[-1] += "[^/]"
        elif char == "[":
            expression, index = _character_class(segment, index)
            chunks[-1] += expression
        elif char == "\\" and index < len(segment):
            chunks[-1] += re.escape(segment[index])
            index += 1
        else:
            chunks[-1] += re.escape(char)
    return chunks


def _character_class(segment: str, start: int) -> tuple[str, int]:
    """Return the class that opens just before `start`, and the index after it; a lone bracket is literal."""
    index = start
    negated = segment[index : index + 1] in ("!", "^")
    index += negated
    body = ""
    first = True
    while index < len(segment):
        char = segment[index]
        if char == "]" and not first:
            return (f"(?!/)[^{body}]" if negated else f"(?!/)[{body}]"), index + 1
        named = re.match(r"\[:([a-z]+):\]", segment[index:]) if char == "[" else None
        if named and named[1] in _POSIX:
            body += _POSIX[named[1]]
            index += named.end()
        elif char == "\\" and index + 1 < len(segment):
            body += re.escape(segment[index + 1])
            index += 2
        elif re.fullmatch(r"[^\\]-[^\]\\]", span := segment[index : index + 3], re.DOTALL):
            # A range in the wrong order is only its first character, as in git.
            body += re.escape(span[0]) + (f"-{re.escape(span[2])}" if span[0] <= span[2] else "")
            index += 3
        else:
            body += re.escape(char)
            index += 1
        first = False
    return re.escape("["), start
