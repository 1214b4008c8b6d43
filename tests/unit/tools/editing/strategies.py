"""What the property tests of the edit engine draw: files as they are found, and what models make of their text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st

stable = settings(
    deadline=None, derandomize=True, database=None, max_examples=500 if os.environ.get("FORGE_FULL") else 60
)
"""The same examples each time: a test that fails once in a hundred runs helps nobody."""

ALPHABET = "ab \t\u201c\"'\u2019\u2014-\u00a0\u00e9e\u0301\u200b\u2026.\x0c\u2028{}=\u4e2d"
ENDS = ("\n", "\r\n", "\r")
WORDS = (
    "alpha",
    "beta = 1",
    "return x",
    "if a:",
    "}",
    "say(\u201chi\u201d)",
    "don\u2019t",
    'x = "a"  # note',
    "caf\u00e9",
    "\u4e2d\u6587",
    "a \u2014 b",
    "end",
)

texts = st.text(ALPHABET + "\n\r", max_size=40)
files = st.one_of(
    st.binary(max_size=60),
    texts.map(str.encode),
    texts.map(lambda text: b"\xef\xbb\xbf" + text.encode()),
    texts.map(lambda text: text.encode("utf-16")),
    st.text("ab \n\r\u00e9\u2019", max_size=30).map(lambda text: text.encode("cp1252")),
)


@dataclass(frozen=True)
class Edit:
    """A file, and an edit of some of its lines that is right."""

    data: bytes
    old: str
    new: str


@st.composite
def indented_lines(draw: st.DrawFn) -> list[str]:
    unit = draw(st.sampled_from(["    ", "\t", "  "]))
    size = draw(st.integers(2, 12))
    lines: list[str] = []
    for _ in range(size):
        depth = draw(st.integers(0, 3))
        word = draw(st.sampled_from(WORDS))
        tail = draw(st.sampled_from(["", "", "", " ", "  ", "\t"]))
        lines.append(draw(st.sampled_from(["", "", " "])) if word == "" else unit * depth + word + tail)
        if draw(st.integers(0, 4)) == 0:
            lines.append("")
    return lines


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    """Whole lines replaced by some of them with others in between, as commits do it."""
    lines = draw(indented_lines())
    end = draw(st.sampled_from(ENDS))
    first = draw(st.integers(0, len(lines) - 1))
    last = draw(st.integers(first, min(first + 5, len(lines) - 1)))
    block = lines[first : last + 1]
    fresh = list(block)
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(fresh)))
        indent = re.match(r"[ \t]*", block[min(at, len(block) - 1)])
        line = (indent[0] if indent else "") + draw(st.sampled_from(["new = 2", "pass", "\u201cq\u201d"]))
        fresh[at : at + draw(st.integers(0, 1))] = [line]
    has_end = draw(st.booleans())
    text = end.join(lines) + (end if draw(st.booleans()) else "")
    tail = "\n" if has_end else ""
    return Edit(text.encode(), "\n".join(block) + tail, "\n".join(fresh) + tail)


def with_trailing(text: str) -> str:
    return "\n".join(line + "  " if line.strip() else line for line in text.split("\n"))


def without_trailing(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


def with_plain_quotes(text: str) -> str:
    return text.translate(str.maketrans("\u201c\u201d\u2019\u2014", '""\'-'))


def without_first_indent(text: str) -> str:
    """Dedented as a whole, the way models quote a method."""
    lines = text.split("\n")
    indents = [re.match(r"[ \t]*", line) for line in lines if line.strip()]
    common = min((one[0] for one in indents if one), key=len, default="")
    return "\n".join(line.removeprefix(common) for line in lines)


def numbered(text: str, first: int) -> str:
    body, newline = (text[:-1], "\n") if text.endswith("\n") else (text, "")
    return "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(body.split("\n"), first)) + newline


def with_tabs_for_spaces(text: str) -> str:
    return re.sub(r"^(?:    )+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.MULTILINE)


def with_spaces_for_tabs(text: str) -> str:
    return re.sub(r"^\t+", lambda found: "    " * len(found[0]), text, flags=re.MULTILINE)


def with_blank_edges(text: str) -> str:
    return "\n" + text + ("\n" if text.endswith("\n") else "\n\n")
