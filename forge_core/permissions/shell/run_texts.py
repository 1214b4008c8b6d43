"""The texts that a line makes programs run: what one of its commands prints into a shell, or writes into a
script that another runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from forge_core.permissions.programs.program_catalog import (
    INPUT_FEEDERS,
    INTERPRETERS,
    RUNS_INPUT,
    SHELLS,
)
from forge_core.permissions.programs.remote_commands import remote_command
from forge_core.permissions.shell.printed_text import decoded_by, printed_by

if TYPE_CHECKING:
    from forge_core.permissions.shell.syntax import SimpleCommand

_MAX_TEXTS = 40
_SUBSTITUTION = re.compile(r"\s*(?:\$\(|`|<\()")
_RUN_SHELL_TEXT = SHELLS | {".", "source", "eval", "at", "batch"}
_CALL = re.compile(
    r"\b(?:system|popen[23]?|Popen|run|call|check_call|check_output|getoutput|exec\w*|spawn\w*|shell_exec"
    r"|passthru|proc_open)\s*\(?\s*\[?\s*(?:'([^'\n]{1,500})'|\"([^\"\n]{1,500})\")"
)
"""A call of another language that runs its first argument."""
_BACKQUOTED = re.compile(r"`([^`\n]{1,500})`")
_WITH_BACKQUOTES = ("perl", "ruby", "php")


def called(program: str, text: str) -> list[str]:
    """Return the commands that a script in a language such as awk passes to a function that runs them."""
    found = [one[0] or one[1] for one in islice(_CALL.findall(text), _MAX_TEXTS)]
    return found + (_BACKQUOTED.findall(text)[:_MAX_TEXTS] if program.startswith(_WITH_BACKQUOTES) else [])


def run_texts(commands: Sequence[SimpleCommand]) -> Iterator[tuple[str, SimpleCommand, bool]]:
    """Yield each text, the command that runs it, and whether it runs elsewhere."""
    written: dict[str, list[SimpleCommand]] = {}
    for one in commands:
        targets = one.words[1:] if one.program == "tee" else ()
        for target in (*one.writes, *targets):
            written.setdefault(target.rpartition("/")[2], []).append(one)
    for one in commands:
        for text, is_elsewhere in dict.fromkeys(_texts(one, commands, written)):
            yield text, one, is_elsewhere


def _texts(
    one: SimpleCommand, commands: Sequence[SimpleCommand], written: Mapping[str, Sequence[SimpleCommand]]
) -> Iterator[tuple[str, bool]]:
    program, words = one.program, one.words[1:]
    remote = remote_command(program, words)
    feeds = not INPUT_FEEDERS.isdisjoint((program, *one.wrappers))
    if feeds:
        listed = words[words.index(":::") + 1 :] if ":::" in words else ()
        for text in (*_inputs(one, commands), *listed[:_MAX_TEXTS]):
            yield from ((filled, False) for filled in _filled(one, text))
    elif remote is not None:
        if any(not text or not SHELLS.isdisjoint(_names(text.split())) for text in remote):
            yield from ((text, True) for text in _inputs(one, commands))
    elif program in _RUN_SHELL_TEXT:
        if one.is_opaque or program in ("at", "batch"):
            yield from ((text, False) for text in chain(_inputs(one, commands), _inner(one, commands)))
    elif program in INTERPRETERS or re.match(r"(?:python|perl|ruby|php|lua)[\d.]+$", program):
        for text in _inputs(one, commands):
            yield from ((inner, False) for inner in called(program, text))
    elif one.is_opaque and one.words and _SUBSTITUTION.match(one.words[0]):
        for text in _inner(one, commands):
            yield " ".join([text.strip(), *map(shlex.quote, words)]), False
    yield from ((text, False) for text in _from_files(one, commands, written))


def _from_files(
    one: SimpleCommand, commands: Sequence[SimpleCommand], written: Mapping[str, Sequence[SimpleCommand]]
) -> Iterator[str]:
    """Yield what the line has written into a file that the command runs."""
    runs_files = one.program in RUNS_INPUT
    names = _names((*one.words, *one.reads) if runs_files else one.words[:1])
    writers = [writer for name in names for writer in written.get(name, ()) if writer is not one]
    for writer in writers:
        texts = _printed([*_before(writer, commands), writer])
        if one.program in INTERPRETERS:
            yield from (inner for text in texts for inner in called(one.program, text))
        else:
            yield from texts


def _names(words: Sequence[str]) -> list[str]:
    return [word.rpartition("/")[2] for word in words]


def _inputs(one: SimpleCommand, commands: Sequence[SimpleCommand]) -> list[str]:
    """Return the texts that the command may read from its input."""
    fed = printed_by("", (), one.fed)
    inner = _inner(one, commands) if any(map(_SUBSTITUTION.match, one.reads)) else []
    return [*fed, *_printed(_before(one, commands)), *inner]


def _before(one: SimpleCommand, commands: Sequence[SimpleCommand]) -> list[SimpleCommand]:
    """Return the commands before it in its pipelines."""
    return [
        other
        for other in commands
        if other is not one
        and other.source == one.source
        and any(start <= other.span[0] and other.span[1] <= end for start, end in one.piped_from)
    ]


def _inner(one: SimpleCommand, commands: Sequence[SimpleCommand]) -> list[str]:
    """Return what the substitutions print with which one of the command's words begins."""
    if not any(map(_SUBSTITUTION.match, (*one.words, *one.reads))):
        return []
    return _printed(
        [
            other
            for other in commands
            if other.source == one.source
            and one.span[0] < other.span[0]
            and other.span[1] < one.span[1]
            and other.depth >= one.depth
        ]
    )


def _printed(commands: Sequence[SimpleCommand]) -> list[str]:
    """Return the texts that come out of commands which print, decode or pass on, in any combination."""
    in_order = sorted(commands, key=lambda one: one.span)
    texts: dict[str, None] = {}
    for one in in_order:
        texts.update(dict.fromkeys(printed_by(one.program, one.words[1:], one.fed)))
    for one in in_order:
        for text in list(texts)[:_MAX_TEXTS]:
            decoded = decoded_by(one.program, one.words[1:], text)
            if decoded and decoded.strip():
                texts[decoded] = None
    return list(texts)[:_MAX_TEXTS]


def _filled(one: SimpleCommand, text: str) -> Iterator[str]:
    """Yield the commands that xargs or parallel make of their input."""
    text = " ".join(text.split())
    words = [word for word in one.words if word.rpartition("/")[2] not in INPUT_FEEDERS]
    if one.program in INPUT_FEEDERS:
        words = words[: words.index(":::")] if ":::" in words else words
        while words and words[0].startswith("-"):
            words = words[1:]
    marks = [after for before, after in pairwise(one.written) if before in ("-I", "--replace")]
    marks += [word[2:] for word in one.written if re.match(r"-I.", word)]
    joined = " ".join(shlex.quote(word) for word in words)
    for mark in (*marks, "{}"):
        if mark and any(mark in word for word in words):
            yield " ".join(word.replace(mark, text) for word in words)
            yield joined.replace(mark, text)
            return
    yield f"{joined} {text}".strip()
