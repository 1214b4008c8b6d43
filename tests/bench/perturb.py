"""The mistakes that models make when they quote a file, each as a function from one text to another."""

from __future__ import annotations

import difflib
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.tools.editing.text import split_keeping_ends
from tests.bench.replay_cut import Step

Change: TypeAlias = Callable[[str], str]

_LEADING = re.compile(r"^[ \t]+", re.MULTILINE)
_INNER = re.compile(r"(?<=[^ \t\n])  +(?=\S)")
_CURLY = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
_FOLDED = str.maketrans(_CURLY | {"\u00a0": " ", "\u2026": "..."})


@dataclass(frozen=True, slots=True)
class Mistake:
    """How a quote goes wrong."""

    name: str
    change: Callable[[Step, str], str]
    """From the step and its old or new text to what a model sends instead."""
    form: Change | None = None
    """Two changed lines with the same form count as the same text: what a new text that has the mistake too
    may leave in a changed line. None: nothing but the true line will do."""
    in_new: tuple[bool, ...] = (False, True)
    """Whether it is made in the old text alone, in both, or once each."""
    is_clear: Callable[[Step, str], bool] = lambda _, __: True
    """Whether the old text alone may be spoilt to this: not where the new one looks as if it had the mistake
    too, nor where the commit does to a line what the mistake does, so that what is sent calls it unchanged."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """An edit as a model sends it by mistake."""

    name: str
    old: str
    new: str
    form: Change | None


def perturbed(step: Step) -> Iterator[Perturbed]:
    """Every mistake that changes the step's old text."""
    for mistake in MISTAKES:
        old = mistake.change(step, step.old)
        if old == step.old or not old:
            continue
        for in_new in mistake.in_new:
            if not in_new and not mistake.is_clear(step, old):
                continue
            new = mistake.change(step, step.new) if in_new else step.new
            name = f"{mistake.name} (old and new)" if in_new else f"{mistake.name} (old)"
            yield Perturbed(name, old, new, mistake.form if in_new else None)


def _by_line(change: Change, *, some: bool = False) -> Callable[[Step, str], str]:
    """`change` on every line without its end; with `some`, on about half of them, always the same ones."""

    def changed(_: Step, text: str) -> str:
        done = []
        for line in split_keeping_ends(text):
            bare = line.rstrip("\r\n")
            is_chosen = not some or zlib.crc32(bare.strip().encode("utf-8", "replace")) % 2 == 0
            done.append((change(bare) if is_chosen else bare) + line[len(bare) :])
        return "".join(done)

    return changed


def _whole(change: Change) -> Callable[[Step, str], str]:
    return lambda _, text: change(text)


def _leading(change: Change) -> Callable[[Step, str], str]:
    return _by_line(lambda line: _LEADING.sub(lambda found: change(found[0]), line))


def _dedented(step: Step, text: str) -> str:
    """By what all lines of both texts have in common; only where whole lines are quoted."""
    if step.line is None:
        return text
    lines = [line for line in split_keeping_ends(step.old + "\n" + step.new) if line.strip()]
    heads = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines]
    common = min(heads, key=len, default="")
    if not common or not all(head.startswith(common) for head in heads):
        return text
    return "".join(line.removeprefix(common) for line in split_keeping_ends(text))


def _one_level_less(step: Step, text: str) -> str:
    lines = [line for line in split_keeping_ends(step.old + "\n" + step.new) if line.strip()]
    for unit in ("\t", "    ", "  "):
        if step.line is not None and lines and all(line.startswith(unit) for line in lines):
            return "".join(line.removeprefix(unit) for line in split_keeping_ends(text))
    return text


def _one_level_more(step: Step, text: str) -> str:
    if step.line is None:
        return text
    unit = "\t" if re.search(r"^\t", step.before, re.MULTILINE) else "    "
    return "".join(unit + line if line.strip() else line for line in split_keeping_ends(text))


def _numbered(pattern: str) -> Callable[[Step, str], str]:
    def numbered(step: Step, text: str) -> str:
        if step.line is None:
            return text
        rows = split_keeping_ends(text)
        return "".join(pattern.format(number) + row for number, row in enumerate(rows, step.line))

    return numbered


def _blank_line(where: Literal["before", "after"], count: int = 1) -> Callable[[Step, str], str]:
    """Blank lines at an edge of a quote of whole lines."""

    def changed(step: Step, text: str) -> str:
        if step.line is None or (where == "after" and not (step.old.endswith("\n") and text.endswith("\n"))):
            return text
        return "\n" * count + text if where == "before" else text + "\n" * count

    return changed


def _begins_with_text(step: Step, _: str) -> bool:
    return not step.new.startswith(("\n", "\r"))


def _ends_with_text(step: Step, _: str) -> bool:
    return not step.new.endswith(("\n\n", "\r\n\r\n", "\r\r"))


def _is_not_the_change(step: Step, spoilt: str) -> bool:
    """Whether no line was spoilt to what the commit makes of that same line: old and new text then agree on
    it, and nothing that is sent tells that it is to change."""
    old, ours, new = (split_keeping_ends(text) for text in (step.old, spoilt, step.new))
    if len(old) != len(ours):
        return True
    matcher = difflib.SequenceMatcher(None, _stripped(old), _stripped(new), autojunk=False)
    return not any(
        ours[block.a + at] == new[block.b + at] != old[block.a + at]
        for block in matcher.get_matching_blocks()
        for at in range(block.size)
    )


def _stripped(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines]


def _is_not_filled(step: Step, spoilt: str) -> bool:
    """Whether the new text has no line that is filled as the spoilt ones are: else it says that these stay."""
    filled = {line for line in split_keeping_ends(spoilt) if not line.strip()} - set(
        split_keeping_ends(step.old)
    )
    return filled.isdisjoint(split_keeping_ends(step.new))


def _within(change: Callable[[list[str]], list[str]], least: int) -> Callable[[Step, str], str]:
    """A change of the lines of a quote that has at least so many."""

    def changed(step: Step, text: str) -> str:
        lines = split_keeping_ends(text)
        return text if step.line is None or len(lines) < least else "".join(change(lines))

    return changed


def _invented(lines: list[str]) -> list[str]:
    middle = len(lines) // 2
    head = _LEADING.match(lines[middle])
    return [*lines[:middle], f"{head[0] if head else ''}invented = None\n", *lines[middle:]]


def _swapped(lines: list[str]) -> list[str]:
    """The first two lines; each place keeps its line end, or its lack of one."""
    first, second = (line.rstrip("\r\n") for line in lines[:2])
    return [second + lines[0][len(first) :], first + lines[1][len(second) :], *lines[2:]]


def _left_out(lines: list[str]) -> list[str]:
    """Without the middle line, where text stands at both edges: what is left beside a blank edge cannot be
    told from a quote with a blank line too many."""
    middle = len(lines) // 2
    if not (lines[0].strip() and lines[-1].strip()):
        return lines
    return lines[:middle] + lines[middle + 1 :]


def _curled(text: str) -> str:
    text = re.sub(r"(^|[\s(\[{=,])\"", "\\1\u201c", text, flags=re.MULTILINE).replace('"', "\u201d")
    return text.replace("'", "\u2019")


def _typo(text: str) -> str:
    return re.sub(r"([a-z])(?!\1)([a-z])", r"\2\1", text, count=1)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_FOLDED)


def _collapsed(text: str) -> str:
    """Inner runs of blanks as one; the indentation counts."""
    return _INNER.sub(" ", text)


def _unindented(text: str) -> str:
    """Where a new text has lost its depth, nothing can give a changed line its own back."""
    return text.lstrip(" \t")


def _unfilled(text: str) -> str:
    """A line of blanks only has lost its depth when it was sent less deep than by all of them."""
    return text if text.strip() else text.strip(" \t")


def _widened(width: int) -> Change:
    return lambda text: _LEADING.sub(lambda found: found[0].expandtabs(width), text)


MISTAKES = (
    Mistake("trailing blanks added", _by_line(lambda line: line + "  "), str.rstrip, is_clear=_is_not_filled),
    Mistake(
        "trailing blanks added to some",
        _by_line(lambda line: line + "\t", some=True),
        str.rstrip,
        is_clear=_is_not_filled,
    ),
    Mistake("trailing blanks lost", _by_line(str.rstrip), str.rstrip, is_clear=_is_not_the_change),
    Mistake("blank lines filled", _by_line(lambda line: line or "    "), str.rstrip, is_clear=_is_not_filled),
    Mistake("tabs as 4 spaces", _leading(lambda head: head.expandtabs(4)), _widened(4)),
    Mistake("tabs as 8 spaces", _leading(lambda head: head.expandtabs(8)), _widened(8)),
    Mistake("tabs as 2 spaces", _leading(lambda head: head.replace("\t", "  ")), _widened(2)),
    Mistake("4 spaces as tabs", _leading(lambda head: head.replace("    ", "\t")), _widened(4)),
    Mistake("2 spaces as tabs", _leading(lambda head: head.replace("  ", "\t")), _widened(2)),
    Mistake("dedented", _dedented, _unfilled, is_clear=_is_not_the_change),
    Mistake("one level less", _one_level_less, _unfilled, is_clear=_is_not_the_change),
    Mistake("one level more", _one_level_more, is_clear=_is_not_the_change),
    Mistake("indentation halved", _leading(lambda head: head[: len(head) // 2]), _unindented),
    Mistake("indentation doubled", _leading(lambda head: head * 2), _unindented),
    Mistake("indentation as one space", _leading(lambda _: " "), _unindented),
    Mistake("indentation lost", _leading(lambda _: ""), _unindented),
    Mistake("quotes curled", _whole(_curled), _folded),
    Mistake("quotes and dashes straightened", _whole(_folded), _folded),
    Mistake("hyphens as dashes", _whole(lambda text: text.replace(" - ", " \u2013 ")), _folded),
    Mistake("dots as an ellipsis", _whole(lambda text: text.replace("...", "\u2026")), _folded),
    Mistake("spaces as NBSP", _whole(lambda text: re.sub(r"(?<=\S) (?=\S)", "\u00a0", text)), _folded),
    Mistake("indentation as NBSP", _leading(lambda head: head.replace(" ", "\u00a0")), _folded),
    Mistake("CRLF lost", _whole(lambda text: text.replace("\r\n", "\n"))),
    Mistake("LF as CRLF", _whole(lambda text: re.sub(r"(?<!\r)\n", "\r\n", text))),
    Mistake("our line numbers", _numbered("{:>6}\t")),
    Mistake("our line numbers, unpadded", _numbered("{}\t")),
    Mistake("foreign line numbers |", _numbered("{:>4} | ")),
    Mistake("foreign line numbers :", _numbered("{}: ")),
    Mistake("a blank line before", _blank_line("before"), is_clear=_begins_with_text),
    Mistake("two blank lines before", _blank_line("before", 2), is_clear=_begins_with_text),
    Mistake("a blank line after", _blank_line("after"), is_clear=_ends_with_text),
    Mistake("two blank lines after", _blank_line("after", 2), is_clear=_ends_with_text),
    Mistake("a line invented", _within(_invented, 2)),
    Mistake("a line left out", _within(_left_out, 3)),
    Mistake("two lines swapped", _within(_swapped, 2)),
    Mistake("the middle elided", _within(lambda rows: [rows[0], "...\n", rows[-1]], 4)),
    Mistake("a commented elision", _within(lambda rows: [rows[0], "# ... existing code ...\n", rows[-1]], 4)),
    Mistake("in a code fence", _within(lambda rows: ["```\n", *rows, "\n```"], 1)),
    Mistake("inner blanks collapsed", _by_line(_collapsed), _collapsed),
    Mistake("inner blanks doubled", _by_line(lambda line: re.sub(r"(?<=\S) (?=\S)", "  ", line)), _collapsed),
    Mistake("a typo", _whole(_typo), in_new=(False,)),
    Mistake("upper case", _whole(str.upper), in_new=(False,)),
    Mistake("decomposed", _whole(lambda text: unicodedata.normalize("NFD", text)), _folded),
    Mistake("a zero-width space", _whole(lambda text: text.replace(" ", " \u200b", 1)), in_new=(False,)),
    Mistake("a look-alike letter", _whole(lambda text: text.replace("a", "\u0430", 1)), in_new=(False,)),
    Mistake("quotes escaped", _whole(lambda text: text.replace('"', '\\"'))),
    Mistake("line ends escaped", _whole(lambda text: text.replace("\n", "\\n"))),
    Mistake("HTML entities", _whole(lambda text: text.replace("&", "&amp;").replace("<", "&lt;"))),
)
