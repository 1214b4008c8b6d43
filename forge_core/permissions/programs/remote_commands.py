"""Finds the command that a program runs on another host, in another machine or in a container."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from forge_core.permissions.programs.program_catalog import REMOTES
from forge_core.permissions.programs.records.program import Remote


def remote_command(program: str, words: Sequence[str]) -> list[str] | None:
    """Return the texts that the program runs elsewhere, of its arguments `words`; one that is empty stands
    for a shell that reads its input. None when it runs nothing elsewhere."""
    remote = REMOTES.get(program)
    if remote is None:
        return None
    if remote.text_options:
        return _values(words, remote.text_options.split()) or None
    rest = list(words)
    if remote.subcommand:
        if remote.subcommand not in rest:
            return None
        rest = rest[rest.index(remote.subcommand) + 1 :]
    command = _behind_operands(rest, remote)
    return [" ".join(command) if remote.joins_words else shlex.join(command)]


def _behind_operands(rest: list[str], remote: Remote) -> list[str]:
    """Return the words of the command: what follows the host and the options around it."""
    operands, ended = remote.operands, False
    while rest:
        word = rest[0]
        if word == "--" and not ended:
            ended = True
        elif word.startswith("-") and len(word) > 1 and not ended:
            if word in remote.options.split() or _takes_next(word, remote.letters):
                rest = rest[1:]
        elif operands:
            operands -= 1
        else:
            break
        rest = rest[1:]
    return rest


def _takes_next(word: str, letters: str) -> bool:
    """Return whether the last letter of `-tp` is an option whose value is the next word."""
    return (
        not word.startswith("--")
        and next((at for at, letter in enumerate(word) if at and letter in letters), 0) == len(word) - 1
    )


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    values: list[str] = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and name in options:
            values.append(value)
        elif word in options:
            values += words[at + 1 : at + 2]
    return values
