"""What became of an edit, judged without the engine's help: by the bytes of the commit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from enum import StrEnum

from forge_core.tools.editing.text import TERMINATOR, FileText, split_keeping_ends, with_newlines
from tests.bench.perturb import Perturbed
from tests.bench.replay_cut import Step, occurrences


class Outcome(StrEnum):
    EXACT = "exact"
    """The commit's bytes."""
    ALIKE = "alike"
    """Every line that the commit left alone is byte for byte as it was; a changed line is the commit's up to
    the mistake that the new text had too, or up to a line end where the file mixes several."""
    AS_ASKED = "as asked"
    """The mistake happens to stand in the file exactly once: what was literally asked for was done."""
    REFUSED = "refused"
    WRONG = "WRONG"


def judge(step: Step, file: FileText, made: bytes | None, asked: Perturbed) -> Outcome:
    """`made`: the bytes that the engine made of the file before the step; None when it refused."""
    if made is None:
        return Outcome.REFUSED
    if made == file.bom + file.encode(step.after):
        return Outcome.EXACT
    text = _decoded(file, made)
    if text is None:
        return Outcome.WRONG
    if _is_literal(step.before, text, asked):
        return Outcome.AS_ASKED
    form = asked.form or _unchanged
    if has_mixed_ends(step.before) or has_mixed_ends(step.after):
        form = _without_line_end(form)
    return Outcome.ALIKE if _is_alike(step, text, form) else Outcome.WRONG


def has_mixed_ends(text: str) -> bool:
    """Whether the text has more than one kind of line end."""
    pairs = text.count("\r\n")
    kinds = (pairs, text.count("\n") - pairs, text.count("\r") - pairs)
    return sum(1 for count in kinds if count) > 1


def _decoded(file: FileText, made: bytes) -> str | None:
    if not made.startswith(file.bom):
        return None
    try:
        return made[len(file.bom) :].decode(file.encoding, file.errors)
    except UnicodeError:
        return None


def _is_literal(before: str, made: str, asked: Perturbed) -> bool:
    """Whether the old text stood there once, line ends aside, and gave way to the new one and nothing else."""
    old, new = with_newlines(asked.old), with_newlines(asked.new)
    return any(_gave_way(before, made, *pair) for pair in _readings(with_newlines(before), old, new))


def _readings(text: str, old: str, new: str) -> Iterator[tuple[str, str]]:
    """What is asked for, word by word. Lines stay apart where one text has a line end at its edge and the
    other has none; at the end of a file whose last line has no end, a quote may have one; and a blank line
    that both have at an edge may stand there or not."""
    if old.endswith("\n") and new.endswith("\n") and old not in text and text.endswith(old[:-1]):
        old, new = old[:-1], new[:-1]
    yield old, new
    if old in text and old.endswith("\n") and new and not new.endswith("\n"):
        yield old, new + "\n"
    if old in text and old.startswith("\n") and not new.startswith("\n"):
        yield old, "\n" + new
    if old not in text and old.startswith("\n") and new.startswith("\n"):
        yield old[1:], new[1:]
    if old not in text and old.endswith("\n\n") and new.endswith("\n\n"):
        yield old[:-1], new[:-1]


def _gave_way(before: str, made: str, old: str, new: str) -> bool:
    text = with_newlines(before)
    if occurrences(text, old, 2) != 1:
        return False
    at = text.index(old)
    head, tail = before[: _source(before, at)], before[_source(before, at + len(old)) :]
    if not set(TERMINATOR.findall(made)) <= set(TERMINATOR.findall(before) or ["\n"]):
        return False
    if len(made) < len(head) + len(tail) or not (made.startswith(head) and made.endswith(tail)):
        return False
    return with_newlines(made[len(head) : len(made) - len(tail)]) == new


def _source(text: str, position: int) -> int:
    """Where in `text` the character lies that is at `position` once every line end is one character."""
    done = 0
    for line in split_keeping_ends(text):
        length = len(with_newlines(line))
        if position < length:
            return done + position
        position -= length
        done += len(line)
    return done


def _is_alike(step: Step, made: str, form: Callable[[str], str]) -> bool:
    """Whether what differs from the commit are changed lines only, each of the same form.

    Which lines a commit changed is not always one answer: a block that is put in may as well begin with the
    line that follows it. So it is asked whether the other lines can all have been there before.
    """
    wanted, lines = split_keeping_ends(step.after), split_keeping_ends(made)
    if len(wanted) != len(lines):
        return False
    differing = [at for at, (ours, theirs) in enumerate(zip(lines, wanted, strict=True)) if ours != theirs]
    if any(form(lines[at]) != form(wanted[at]) for at in differing):
        return False
    if all(at in step.changed for at in differing):
        return True
    first, last = min(differing[0], step.changed.start), max(differing[-1] + 1, step.changed.stop)
    was = split_keeping_ends(step.before)
    before = was[first : len(was) - (len(wanted) - last)]
    matcher = difflib.SequenceMatcher(None, before, lines[first:last], autojunk=False)
    kept = sum(block.size for block in matcher.get_matching_blocks())
    return kept >= (last - first) - len(step.changed)


def _unchanged(line: str) -> str:
    return line


def _without_line_end(form: Callable[[str], str]) -> Callable[[str], str]:
    return lambda line: form(line.rstrip("\r\n"))
