"""A crude reading of lines that the parser cannot read: words between operators, quotes taken off and also
taken for borders. It finds more commands than there are, and costs time in proportion to the line."""

from __future__ import annotations

import re

from forge_core.permissions.shell.words import ansi_c

MAX_COMMANDS = 250
"""Different commands that are looked at; a line with more is in doubt anyway."""
_MAX_WORDS = 100
_BREAK = re.compile(r"[;&|()\r\n`{}<>]+|\$\(|&&")
_ANSI = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
_GRAVE = re.compile(r"(?:^|[ /])(?:rm|srm|dd|mkfs|git|find|mv|chmod|chown|shred|kill|cd)\b|/dev/")
"""Looked at first where there are more than can be looked at."""
_REDIRECT = re.compile(r">[>|&]?\s*([^\s;&|()<>]+)")


def crude_commands(line: str) -> list[tuple[str, ...]]:
    """Every sequence of words that may be a command, without repetitions."""
    line = re.sub(r"\\\r?\n", "", line).replace("\0", "")
    line = _ANSI.sub(lambda found: ansi_c(found[1]), line)
    line = re.sub(r"\$\{?IFS\}?", " ", line)
    found: dict[tuple[str, ...], None] = {}
    for text in (re.sub(r"[\\'\"]", "", line), re.sub(r"['\"]", " ; ", line).replace("\\", "")):
        for part in dict.fromkeys(_BREAK.split(text)):
            words = tuple(part.split(maxsplit=_MAX_WORDS)[:_MAX_WORDS])
            while words and re.match(r"(?:then|do|else|elif|if|while|until|!|\w+=.*)$", words[0]):
                words = words[1:]
            if words:
                found[words] = None
            if words and "," in words[0]:  # {rm,x}
                found[(*words[0].split(","), *words[1:])] = None
    return (
        sorted(found, key=lambda words: not _GRAVE.search(" ".join(words[:8])))
        if len(found) > MAX_COMMANDS
        else list(found)
    )


def crude_writes(line: str) -> tuple[str, ...]:
    """What a redirection may write."""
    return tuple(dict.fromkeys(re.sub(r"['\"\\]", "", one) for one in _REDIRECT.findall(line)))
