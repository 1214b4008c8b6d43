"""What a shell line would run: the one place where shell text is read.

`read_line` gives every command of a line, seen through quotes, lists, pipes, functions, substitutions,
here-documents, wrappers (`sudo`, `env`, `xargs` …) and texts that are run in turn (`sh -c`, `eval`, `git
-c`). It fails closed: what the parser cannot read for sure has a `problem`, and a cruder reading that finds
too much.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from forge_core.permissions.programs.program_catalog import FEEDERS, INPUT_FEEDERS, RUNS_INPUT
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.parser import MAX_NODES
from forge_core.permissions.shell.run_texts import run_texts
from forge_core.permissions.shell.shell_words import (
    Pieces,
    Word,
    ansi_c,
    as_written,
    in_double_quotes,
    readings,
)
from forge_core.permissions.shell.tree import BareCommand, Span, read_tree
from forge_core.permissions.shell.wrappers import Unwrapped, literals, program_of, unwrap

_MAX_DEPTH = 6
_MAX_TEXTS = 60
_MAX_ROUNDS = 3
"""So often texts that shells are fed with may hold shells that are fed in turn."""
_MAX_FED_BYTES = 16_000
_MAX_SHOWN = 500
_NAMES_PROGRAM = re.compile(
    r"\w*(?:PAGER|EDITOR|VISUAL|COMMAND|OPEN|CLOSE|ENV|SHELL|CMD|EXEC|ASKPASS|DIFF|SSH|BROWSER)\w*|PS[0-4]"
)
"""Variables whose value programs run."""
_MAX_COMMANDS = 250
"""Different commands that are looked at; a line with more is in doubt anyway."""
_MAX_CRUDE_WORDS = 100
_BREAK = re.compile(r"[;&|()\r\n`{}<>]+|\$\(|&&")
_ANSI = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
_GRAVE = re.compile(r"(?:^|[ /])(?:rm|srm|dd|mkfs|git|find|mv|chmod|chown|shred|kill|cd)\b|/dev/")
"""Looked at first where there are more than can be looked at."""
_WRITING = table("> >> >| >& &> &>> <>")
"""Operators that write a file (or open a connection)."""
_DESCRIPTOR = re.compile(r"\d*-?")
_REDIRECT = re.compile(r">[>|&]?\s*([^\s;&|()<>]+)")
_PRESET: dict[str, list[Pieces]] = {"SHELL": [("/bin/bash",)], "BASH": [("/bin/bash",)]}


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command: its words unquoted, without assignments, wrappers and redirections."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    """Files it redirects its output to."""
    appends: tuple[str, ...] = ()
    """Those of them that it only appends to."""
    fed: tuple[str, ...] = ()
    """Here-documents and here-strings that it reads."""
    wrappers: tuple[str, ...] = ()
    """Programs taken off the front: sudo, env, timeout …"""
    is_guessed: bool = False
    """Whether it may have other words when it runs: a variable was put in, or it was read crudely."""
    parts: tuple[Word, ...] = ()
    """The words with what is known of each."""
    reads: tuple[str, ...] = ()
    """Files that it gets as input."""
    assignments: tuple[str, ...] = ()
    """What is set for it, or by it: `NAME=value`."""
    text: str = ""
    """The command as it is written in the line."""
    written: tuple[str, ...] = ()
    """All words, wrappers included."""
    depth: int = 0
    """0 in the line itself; more in substitutions and in texts run in turn."""
    scope: tuple[int, ...] = ()
    """The shells of their own that it runs in; one that is elsewhere has a negative number."""
    is_opaque: bool = False
    """What it runs cannot be determined from the line: `$X y`, `eval "$X"`, `… | sh`."""
    is_nested: bool = False
    """It is in text that another command of the line runs."""
    is_hint: bool = False
    """That text may be no shell text at all: it counts for a no, and is not needed for a yes."""
    is_executed: bool = False
    """That text certainly is: a shell gets it, here or elsewhere."""
    piped_from: tuple[Span, ...] = ()
    """Where in `source` the commands are whose output it reads through pipes."""
    source: str = ""
    """The text that it was read from: the line, or a script in it."""
    span: Span = (0, 0)
    """Where it is in `source`, as byte offsets; (0, 0) when it isn't known."""

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def is_piped(self) -> bool:
        """Whether it reads what another command of the line prints."""
        return bool(self.piped_from)

    @property
    def is_remote(self) -> bool:
        """Whether it runs on another host, in another machine or in a container."""
        return any(number < 0 for number in self.scope)

    @property
    def is_known(self) -> bool:
        """Whether its words will be exactly these."""
        return not (self.is_guessed or self.is_opaque or any(part.is_dynamic for part in self.parts))


@dataclass(frozen=True, slots=True)
class Reading:
    """A line as it was read."""

    line: str
    commands: tuple[SimpleCommand, ...]
    problem: str = ""
    """Why it could not be parsed with certainty; empty when it was."""
    functions: frozenset[str] = frozenset()
    """Functions that it defines."""
    features: frozenset[str] = frozenset()
    """What it evaluates besides its commands: arithmetic, expansions with operators."""
    brace_words: int = 0
    """How many words its braces expand to, those of nested texts included."""


@dataclass(slots=True)
class _Reader:
    commands: list[SimpleCommand] = field(default_factory=list)
    variables: dict[str, list[Pieces]] = field(default_factory=lambda: dict(_PRESET))
    functions: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    brace_words: int = 0
    seen: dict[str, bool] = field(default_factory=dict)
    """The texts that were read, and whether each is certainly executed."""
    problem: str = ""
    texts_left: int = _MAX_TEXTS
    bytes_left: int = _MAX_FED_BYTES
    nodes_left: int = MAX_NODES

    def read(
        self,
        text: str,
        depth: int,
        scope: tuple[int, ...],
        *,
        is_nested: bool,
        is_hint: bool,
        is_executed: bool = False,
    ) -> None:
        """Read a text; one that may not be shell at all (`is_hint`) is no problem when it is none."""
        # Commands that are no hints are always taken for executed.
        is_enough = self.seen.get(text, False) or (text in self.seen and not is_executed)
        if is_enough or not text.strip():
            return
        self.seen[text] = is_executed or not is_hint
        self.texts_left -= 1
        self.bytes_left -= len(text) if is_nested else 0
        if depth > _MAX_DEPTH or self.texts_left < 0 or self.bytes_left < 0:
            self.problem = self.problem or "it is nested too deeply"
            return
        tree = read_tree(text, depth, scope, max(self.nodes_left, 1))
        self.nodes_left -= tree.nodes
        if not is_hint:
            self.problem = self.problem or tree.problem
        # Commands of the tree, as far as it was read, are kept besides: neither reading is known to find all.
        if tree.problem:
            self.crude(text, depth, scope, is_hint, is_executed)
        if not is_hint:
            self.functions |= tree.functions
            self.features |= tree.features
            self.brace_words += tree.brace_words
            for name, values in tree.variables.items():
                # Every value that the line assigns anywhere remains possible: branches, loops and functions
                # may run in any order, so that a later assignment does not replace an earlier one.
                self.variables[name] = [*self.variables.get(name, []), *values]
        for bare in tree.commands:
            self.command(bare, text, is_nested=is_nested, is_hint=is_hint, is_executed=is_executed)
        for inner in tree.scripts:
            self.read(*inner, is_nested=is_nested, is_hint=is_hint, is_executed=is_executed)

    def command(
        self, bare: BareCommand, source: str, *, is_nested: bool, is_hint: bool, is_executed: bool
    ) -> None:
        targets = [(sign, as_written(pieces)) for sign, pieces in bare.redirects]
        for sign, pieces in bare.redirects:
            values = (words[0].text for words, _ in readings([pieces], self.variables) if words)
            targets += [(sign, text) for text in values if (sign, text) not in targets]
        files = [(sign, text) for sign, text in targets if sign[1:] != "&" or not _DESCRIPTOR.fullmatch(text)]
        for name, value in bare.assignments:
            if _NAMES_PROGRAM.fullmatch(name):
                self.read(
                    as_written(value).lstrip("!| "), bare.depth + 1, bare.scope, is_nested=True, is_hint=True
                )
        for words, is_guessed in readings(bare.words, self.variables):
            self.add(
                words,
                SimpleCommand(
                    (),
                    tuple(text for sign, text in files if sign in _WRITING),
                    tuple(text for sign, text in files if sign in (">>", "&>>")),
                    tuple(bare.fed),
                    is_guessed=is_guessed,
                    reads=tuple(text for sign, text in files if sign in ("<", "<&")),
                    assignments=tuple(f"{name}={as_written(value)}" for name, value in bare.assignments),
                    text=bare.text[:_MAX_SHOWN],
                    depth=bare.depth,
                    scope=bare.scope,
                    is_nested=is_nested,
                    is_hint=is_hint,
                    is_executed=is_executed,
                    piped_from=bare.piped_from,
                    source=source,
                    span=bare.span,
                ),
            )

    def add(self, words: tuple[Word, ...], like: SimpleCommand) -> None:
        found = unwrap(words)
        self.commands.append(_with(like, words, found))
        for inner in found.commands:
            self.add(inner, _fed_by_find(like))
        for name, _, value in (word.text.partition("=") for word in words[1:20] if "=" in word.text):
            if _NAMES_PROGRAM.fullmatch(name):
                self.read(value.lstrip("!| "), like.depth + 1, like.scope, is_nested=True, is_hint=True)
        first = len(self.commands)
        for text, is_known in found.scripts:
            is_hint = like.is_hint or not is_known
            is_executed = like.is_executed and is_known
            self.read(
                text, like.depth + 1, like.scope, is_nested=True, is_hint=is_hint, is_executed=is_executed
            )
        for text in found.calls:
            self.run(text, like)
        for text in found.remote:
            self.run(text, like, is_elsewhere=True)
        if not INPUT_FEEDERS.isdisjoint((program_of(found.words), *found.wrappers)):
            self.commands[first:] = [replace(one, is_guessed=True) for one in self.commands[first:]]

    def run(self, text: str, like: SimpleCommand, *, is_elsewhere: bool = False) -> None:
        """Read a text that a command runs: `like`, whose own text may be none that is executed."""
        scope = (*like.scope, -1 - len(self.seen)) if is_elsewhere else like.scope
        is_executed = like.is_executed or not like.is_hint
        self.read(text, like.depth + 1, scope, is_nested=True, is_hint=True, is_executed=is_executed)

    def crude(self, text: str, depth: int, scope: tuple[int, ...], is_hint: bool, is_executed: bool) -> None:
        found = _crude_commands(text)
        if len(found) > _MAX_COMMANDS:
            self.problem = self.problem or "it has too many parts"
        like = SimpleCommand(
            (),
            _crude_writes(text),
            is_guessed=True,
            depth=depth,
            scope=scope,
            is_nested=True,
            is_hint=is_hint,
            is_executed=is_executed,
        )
        for words in islice(found, _MAX_COMMANDS):
            parts = tuple(
                Word(word, "$" in word, "*" in word or "?" in word, word[:1] == "~") for word in words
            )
            unwrapped = unwrap(parts)
            self.commands.append(_with(like, parts, unwrapped))
            like = like if not like.writes else _fed_by_find(like)
            for inner in unwrapped.commands:
                self.commands.append(_with(like, inner, unwrap(inner)))

    def feed(self) -> None:
        """Read what the line itself prints or writes, where a shell of the line may read it."""
        for _ in range(_MAX_ROUNDS):
            known = len(self.commands)
            for text, like, is_elsewhere in list(run_texts(self.commands)):
                self.run(text, like, is_elsewhere=is_elsewhere)
            if len(self.commands) == known:
                break
        programs = {one.program for one in self.commands}
        # A file that the line writes and also runs by its name is read like the input of a shell.
        written = {target.rpartition("/")[2] for one in self.commands for target in one.writes}
        if programs.isdisjoint(RUNS_INPUT) and programs.isdisjoint(written):
            return
        for one in list(self.commands):
            texts = list(one.fed)
            if one.program in ("echo", "printf", "tee", "cat") and len(one.words) > 1:
                texts += [" ".join(one.words[1:]), *one.words[1:10]]
            for text in texts:
                for variant in dict.fromkeys(
                    (in_double_quotes(text), ansi_c(text).lstrip("!| "), *literals(text))
                ):
                    self.read(variant, one.depth + 1, one.scope, is_nested=True, is_hint=True)


@lru_cache(maxsize=8)
def read_line(line: str) -> Reading:
    """Read a line. Pure and bounded: at most some 100 ms, whatever the line."""
    reader = _Reader()
    reader.read(line, 0, (), is_nested=False, is_hint=False)
    reader.feed()
    if len(reader.commands) > _MAX_COMMANDS:
        reader.problem = reader.problem or "it has too many commands"
    return Reading(
        line,
        tuple(reader.commands),
        reader.problem,
        frozenset(reader.functions),
        frozenset(reader.features),
        reader.brace_words,
    )


def simple_commands(line: str) -> list[SimpleCommand]:
    """Return the commands that the line would run, in order, those in substitutions and in `sh -c` text
    included."""
    return [one for one in read_line(line).commands if not one.is_hint]


def words_of(line: str) -> list[str]:
    """Return every word of a line, unquoted, those of substitutions and of quoted scripts after them."""
    return [word for one in read_line(line).commands for word in (*one.written, *one.assignments, *one.fed)]


def _with(like: SimpleCommand, words: tuple[Word, ...], found: Unwrapped) -> SimpleCommand:
    taken = words[: len(words) - len(found.words)]
    is_fed = any(word.is_dynamic for word in taken) or not FEEDERS.isdisjoint(found.wrappers)
    return replace(
        like,
        words=tuple(word.text for word in found.words),
        wrappers=(*like.wrappers, *found.wrappers),
        is_guessed=like.is_guessed or is_fed,
        parts=found.words,
        text=like.text or " ".join(word.text for word in words)[:_MAX_SHOWN],
        written=tuple(word.text for word in words),
        is_opaque=found.is_opaque,
    )


def _fed_by_find(like: SimpleCommand) -> SimpleCommand:
    return SimpleCommand(
        (),
        wrappers=("find",),
        is_guessed=True,
        depth=like.depth + 1,
        scope=like.scope,
        is_nested=True,
        is_hint=like.is_hint,
        is_executed=like.is_executed,
    )


def _crude_commands(line: str) -> list[tuple[str, ...]]:
    """Return a crude reading of a line that the parser cannot read: every sequence of words between
    operators, quotes taken off and also taken for borders. It finds more commands than there are, and
    costs time in proportion to the line."""
    line = re.sub(r"\\\r?\n", "", line).replace("\0", "")
    line = _ANSI.sub(lambda found: ansi_c(found[1]), line)
    line = re.sub(r"\$\{?IFS\}?", " ", line)
    found: dict[tuple[str, ...], None] = {}
    # Quotes may join a word (`r'm'`) or contain a command (`sh -c 'rm x'`): read the line both ways.
    for text in (re.sub(r"[\\'\"]", "", line), re.sub(r"['\"]", " ; ", line).replace("\\", "")):
        for part in dict.fromkeys(_BREAK.split(text)):
            words = tuple(part.split(maxsplit=_MAX_CRUDE_WORDS)[:_MAX_CRUDE_WORDS])
            while words and re.match(r"(?:then|do|else|elif|if|while|until|!|\w+=.*)$", words[0]):
                words = words[1:]
            if words:
                found[words] = None
            if words and "," in words[0]:  # {rm,x}
                found[(*words[0].split(","), *words[1:])] = None
    return (
        sorted(found, key=lambda words: not _GRAVE.search(" ".join(words[:8])))
        if len(found) > _MAX_COMMANDS
        else list(found)
    )


def _crude_writes(line: str) -> tuple[str, ...]:
    """Return what a redirection may write."""
    return tuple(dict.fromkeys(re.sub(r"['\"\\]", "", one) for one in _REDIRECT.findall(line)))
