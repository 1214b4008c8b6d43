"""Loops in shell text: those over known words are unrolled, so that each command is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forge_core.permissions.shell.parser import MAX_LINE_BYTES
from forge_core.tools.effect_analysis.command_words import parsed_source

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ROUNDS = 60
_MAX_LOOPS = 12
_SEQ = re.compile(r"(?:\$\(|`)seq (\d{1,5})(?: (\d{1,5}))?[)`]")
_RANGE = re.compile(r"\{(\d{1,5})\.\.(\d{1,5})\}")
_COUNTED = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})(?:\.\.\d+)?\}")
_LOOP = re.compile(r"(?<![\w$-])(do|done)(?![\w-])")
_WORD = re.compile(r"[\w./@%+:,-]+")
_LEAVES = re.compile(r"\b(?:break|continue|return|exit|exec|read|unset|getopts|mapfile|readarray)\b|\(\(|<<")
"""What may end an iteration early or set the variable, or cannot be repeated as text."""


def unrolled(text: str) -> str:
    """Return `text` with its loops over known words unrolled, as long as the result stays short."""
    for _ in range(_MAX_LOOPS if "for" in text and "do" in text else 0):
        shorter = _with_one_unrolled(text)
        if shorter is None or len(shorter) > MAX_LINE_BYTES // 2:
            return text
        text = shorter
    return text


def loop_bodies(line: str) -> Iterator[str]:
    """Yield the texts between the outermost `do` and `done`."""
    depth, start = 0, 0
    for found in _LOOP.finditer(line):
        if found[1] == "do":
            start = found.end() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield line[start : found.start()]


def shortened(line: str) -> str:
    """Return a line in which ranges in braces with too many numbers are replaced by a pattern."""

    def pattern(found: re.Match[str]) -> str:
        return "[0-9]*" if abs(int(found[2]) - int(found[1])) > _MAX_ROUNDS else found[0]

    return _COUNTED.sub(pattern, line)


def _with_one_unrolled(text: str) -> str | None:
    root, source = parsed_source(text)
    nodes = [root] if root is not None else []
    while nodes:
        node = nodes.pop()
        rounds = _rounds(node, source) if node.type == "for_statement" else None
        if rounds is not None:
            body = "{ " + "\n".join(rounds) + "\n}"
            # Only one loop per parse: the offsets of all other nodes are wrong now.
            return (source[: node.start_byte] + body.encode() + source[node.end_byte :]).decode()
        nodes += reversed(node.children)
    return None


def _rounds(node: Node, source: bytes) -> list[str] | None:
    """Return the body once for each word; None where the words are unknown."""
    name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    if name is None or body is None or body.type != "do_group":
        return None
    variable = source[name.start_byte : name.end_byte].decode()
    words = [
        word
        for value in node.children_by_field_name("value")
        for word in _words(source[value.start_byte : value.end_byte].decode())
    ]
    text = source[body.start_byte : body.end_byte].decode().removeprefix("do").removesuffix("done")
    text = re.sub(r";\s*$", "", text.strip())
    use = rf"\$(?:{variable}\b|\{{{variable}\}})"
    # In single quotes, escaped or with an operator (`${i%.txt}`), replacing the variable as text would be
    # wrong.
    is_quoted = re.search(rf"'[^']*{use}[^']*'|\${{{variable}[^}}]|\\\$", text)
    if not words or not all(words) or len(words) > _MAX_ROUNDS:
        return None
    if _LEAVES.search(text) or is_quoted or re.search(rf"(?<![\w$]){variable}\+?=", text):
        return None
    return [re.sub(use, word, text) for word in words]


def _words(value: str) -> list[str]:
    """Return what one word of the list expands to; an empty string where that is unknown."""
    counted = _SEQ.fullmatch(value) or _RANGE.fullmatch(value)
    if counted is None:
        plain = value.strip("'\"")
        return [plain if _WORD.fullmatch(plain) else ""]
    first, last = (int(counted[1]), int(counted[2])) if counted[2] else (1, int(counted[1]))
    # Braces count down too; `seq 3 1` of GNU prints nothing.
    step = -1 if first > last and value.startswith("{") else 1
    # One more than the limit, so that the caller sees that there are too many.
    return list(map(str, range(first, last + step, step)))[: _MAX_ROUNDS + 1]
