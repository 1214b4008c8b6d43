"""What a shell line would run, seen through quotes, lists, pipes, wrappers, substitutions and here-documents.

A reading on the safe side, meant for guards that say no: it finds more commands than bash would run, never
knowingly fewer. It is not fit to say yes by: allow rules compare text (see `rules.py`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from forge_core.permissions.tables import table

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "su"})
_PUNCTUATION = ";&|()<>`"
_OPERATORS = frozenset(_PUNCTUATION)
_KEYWORDS = table("if then else elif fi do done while until time ! { }")
_WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": table("-u -g -h -p -C -D -R -T -U -r -t"),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C", "-S", "--unset", "--chdir"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "xargs": table("-I -n -P -L -d -a -s -E"),
    "parallel": table("-j -a"),
    "coproc": frozenset(),
    "pkexec": frozenset(),
    "flock": frozenset({"-w", "-E"}),
    "taskset": frozenset(),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "busybox": frozenset(),
    "chroot": frozenset(),
    "unshare": frozenset(),
    "strace": frozenset({"-o", "-e", "-p"}),
}
_MAX_DEPTH = 6
_OPERATOR = re.compile(r"<<<|<<-?|<>|>>|>\||[<>]&|&>>?|[<>](?!\()|[<>]\(|&&|\|[|&]?|[;&()`]")
_REDIRECT = re.compile(r"<<<|<<-?|<>|>>|>\||[<>]&|&>>?|[<>]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\(|`|<\(|>\(")
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:^\t*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command: its words unquoted, without assignments, wrappers and redirections."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    """Files it redirects its output to."""
    fed: tuple[str, ...] = ()
    """Here-strings that it reads."""
    wrappers: tuple[str, ...] = ()
    """Programs taken off the front: sudo, env, timeout …"""
    is_guessed: bool = False
    """Whether it may have other words when it runs: a variable was put in, or more comes from backquotes."""

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""


@dataclass(slots=True)
class _Reading:
    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    fed: list[str] = field(default_factory=list)
    redirect: str = ""
    is_guessed: bool = False


def words_of(line: str) -> list[str]:
    """Every word of a line, unquoted, those of substitutions and of quoted scripts after them."""
    words: list[str] = []
    todo = [line]
    for _ in range(_MAX_DEPTH):
        tokens = [token for one in todo for token in _tokens(one) if not _is_operator(token)]
        words += tokens
        todo = [token for token in tokens if re.search(r"[\s;&|()`]", token)]
    return words


def simple_commands(line: str) -> list[SimpleCommand]:
    """The commands that the line would run, in order, those in substitutions and in `sh -c` text included."""
    return list(_commands(line, {}, 0))


def _commands(line: str, variables: dict[str, str], depth: int) -> Iterator[SimpleCommand]:
    if depth > _MAX_DEPTH:
        return
    outer, documents = _without_here_documents(line)
    commands = list(_split(_tokens(outer), variables))
    fed = any(command.program in SHELLS for command in commands)
    for command in commands:
        yield command
        for text in _nested(command, fed):
            yield from _commands(text, variables, depth + 1)
    for text in documents if fed else ():
        yield from _commands(text, variables, depth + 1)


def _nested(command: SimpleCommand, fed: bool) -> Iterator[str]:
    """Texts among a command's words that a shell would run in turn."""
    for word in command.words:
        found = _SUBSTITUTION.search(word)
        if found:
            yield word[found.start() :].lstrip("$<>(`").rstrip(")`")
    if command.program in ("eval", "watch", "trap") or (command.program == "ssh" and len(command.words) > 2):
        yield " ".join(command.words[1:])
    elif command.program in SHELLS:
        yield from command.fed
        yield from (word for word in command.words[1:] if " " in word or word in command.words[2:3])
    elif command.program == "env":
        yield from command.words[1:]
    elif fed and command.program in ("echo", "printf"):
        yield " ".join(command.words[1:])
    if command.program == "find":
        for at, word in enumerate(command.words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                yield shlex.join(command.words[at + 1 :])


def _split(tokens: list[str], variables: dict[str, str]) -> Iterator[SimpleCommand]:
    reading = _Reading()
    for token in tokens:
        if not _is_operator(token):
            if reading.redirect:
                into = reading.fed if reading.redirect == "<<<" else reading.writes
                if reading.redirect == "<<<" or ">" in reading.redirect:
                    into.append(_expanded(token, variables))
                reading.redirect = ""
            else:
                reading.words.append(token)
            continue
        for operator in _OPERATOR.findall(token):
            if _REDIRECT.fullmatch(operator):
                if reading.words and reading.words[-1].isdigit():
                    reading.words.pop()
                reading.redirect = operator
            else:
                reading.is_guessed = operator == "`"
                yield from _finished(reading, variables)
                reading = _Reading()
    yield from _finished(reading, variables)


def _finished(reading: _Reading, variables: dict[str, str]) -> Iterator[SimpleCommand]:
    words = reading.words
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[0])):
        found = _ASSIGNMENT.fullmatch(words[0])
        if found:
            variables[found[1]] = _expanded(found[2], variables)
        words = words[1:]
    expanded = [_expanded(word, variables) for word in words]
    if words and words[0].startswith("$") and " " in expanded[0]:
        expanded[:1] = expanded[0].split()
    stripped, wrappers = _without_wrappers(expanded)
    if stripped or wrappers or reading.writes:
        yield SimpleCommand(
            tuple(stripped),
            tuple(reading.writes),
            tuple(reading.fed),
            tuple(wrappers),
            is_guessed=reading.is_guessed or expanded != words,
        )


def _without_wrappers(words: list[str]) -> tuple[list[str], list[str]]:
    wrappers: list[str] = []
    while words:
        program = words[0].rpartition("/")[2]
        options = _WRAPPERS.get(program)
        if options is None:
            break
        wrappers.append(program)
        words = words[1:]
        while words and (words[0].startswith("-") or _ASSIGNMENT.fullmatch(words[0])):
            words = words[2:] if words[0] in options else words[1:]
        if program in ("timeout", "chroot", "flock", "taskset") and words:
            words = words[1:]
        if program == "coproc" and words[1:2] == ["{"]:  # coproc NAME { …; }
            words = words[1:]
        while words and words[0] in _KEYWORDS:
            words = words[1:]
    return words, wrappers


def _expanded(word: str, variables: dict[str, str]) -> str:
    """`word` with the variables put in that the line itself has set."""

    def value(found: re.Match[str]) -> str:
        return variables.get(found[1] or found[2], found[0])

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, word) if "$" in word else word


def _tokens(text: str) -> list[str]:
    """Words and operators; where quotes do not balance, a cruder split that loses no word."""
    text = re.sub(r"\\\r?\n", "", text)
    text = re.sub(r"\$(['\"])", r"\1", text)
    try:
        lexer = shlex.shlex(_newlines_as_operators(text), posix=True, punctuation_chars=_PUNCTUATION)
        lexer.whitespace_split = True
        lexer.commenters = ""
        return list(lexer)
    except ValueError:
        return [token for token in re.split(r"([;&|()<>`]+)|[\s'\"\\]+", text) if token]


def _newlines_as_operators(text: str) -> str:
    return re.sub(r"[\r\n]+", " ; ", text)


def _is_operator(token: str) -> bool:
    return bool(token) and _OPERATORS.issuperset(token)


def _without_here_documents(line: str) -> tuple[str, list[str]]:
    """The line without the bodies of its here-documents, and the bodies."""
    documents = [found[4] for found in _HERE.finditer(line)]
    return (_HERE.sub(lambda found: found[3] + "\n", line), documents) if documents else (line, [])
