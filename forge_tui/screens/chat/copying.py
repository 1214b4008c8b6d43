"""What `/copy` means: an answer as the model wrote it, or a block of its code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_line

if TYPE_CHECKING:
    from forge_tui.widgets.transcript.answer.answer_text import AnswerText

_ARGUMENT = re.compile(r"(?P<answer>\d+)?\s*(?P<code>code\s*(?P<block>\d+)?)?", re.IGNORECASE)
_USAGE = "/copy 2 takes the answer before the last one, /copy code 1 the first block of code of the last one"


class CannotCopyError(Exception):
    """There is no such thing; its text is for the person."""


def pick(answers: Sequence[AnswerText], argument: str) -> str:
    """The text that `/copy` with this argument copies. Answers count from the last one, code from the first.

    Raises:
        CannotCopyError: with what there is instead.
    """
    asked = _ARGUMENT.fullmatch(argument.strip())
    if asked is None:
        raise CannotCopyError(f"/copy does not know {safe_line(argument[:60])!r}: {_USAGE}.")
    written = [answer for answer in answers if answer.source.strip()]
    if not written:
        raise CannotCopyError("There is no answer yet that could be copied.")
    number = int(asked["answer"] or 1)
    if not 1 <= number <= len(written):
        there = _count(len(written), "answer")
        raise CannotCopyError(f"There is no answer {number} among {there}; the last one is 1.")
    answer = written[-number]
    if asked["code"] is None:
        return answer.source.strip("\n")
    blocks = answer.code_blocks
    block = int(asked["block"] or len(blocks))
    if not blocks:
        raise CannotCopyError(f"Answer {number} has no block of code. /copy {number} takes all of it.")
    if not 1 <= block <= len(blocks):
        there = _count(len(blocks), "block")
        raise CannotCopyError(f"There is no block {block}: answer {number} has {there} of code.")
    return blocks[block - 1].text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s'[: number != 1]}"
