"""Rules on commands: which a deny or ask rule meets in any spelling, and which an allow rule covers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.path_info import locate
from forge_core.permissions.programs.git_command_line import subcommand_index
from forge_core.permissions.programs.program_catalog import (
    FEEDERS,
    INTERPRETERS,
    NEVER_RUN,
    SCRIPT_RUNNERS,
    WITH_SUBCOMMANDS,
)
from forge_core.permissions.programs.runners import runner_of
from forge_core.permissions.read_only.read_only_commands import is_harmlessly_wrapped, writes_nothing
from forge_core.permissions.rules.extra_arguments import is_harmless, is_risky
from forge_core.permissions.rules.outside_paths import leads_outside
from forge_core.permissions.rules.program_names import (
    clear_caches,
    may_be_git,
    may_rename_programs,
    other_names,
)
from forge_core.permissions.rules.rule import Rule
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.workspace.folders import Workspace, main_folder


class RuleMatch(IntEnum):
    NO = 0
    MAYBE = 1
    """What the command runs cannot be determined; it may be this."""
    YES = 2


_LONG = {"-r": "--recursive", "-R": "--recursive", "-f": "--force", "-i": "--interactive", "-v": "--verbose"}
_CAN_RUN = re.compile(
    r"system|popen|exec|spawn|subprocess|child_process|fork|eval|compile|__import__|importlib|getattr|base64|qx|`"
    r"|\bsh\b|\$\(|pty|shell"
)
_WORD = re.compile(r"[^\s'\"();,|&<>`{}\[\]]+")


def meets(rule: Rule, reading: Reading, folder: Path) -> RuleMatch:
    """Return whether a deny or ask rule's command is anywhere in the line: behind wrappers, in
    substitutions, in texts that are run in turn, quoted in whatever way. Links to programs are looked up
    in `folder`."""
    if rule.pattern is None:
        return RuleMatch.YES
    matches = _matches(rule, reading.line, folder)
    if not matches:
        return RuleMatch.YES if reading.line.strip() == rule.pattern.removeprefix("=") else RuleMatch.NO
    # A rule may name several commands: each has to be somewhere in the line, and its best match counts.
    worst = min(max(found, default=RuleMatch.NO) for found in matches)
    is_unsure = reading.problem or may_rename_programs(reading)
    return RuleMatch.MAYBE if worst is RuleMatch.NO and is_unsure else worst


def is_met_by(rule: Rule, reading: Reading, number: int, folder: Path) -> bool:
    """Return whether the command of that number in the line is what a deny or ask rule names."""
    if rule.pattern is None:
        return True
    return any(found[number] is RuleMatch.YES for found in _matches(rule, reading.line, folder))


def clear_match_cache() -> None:
    """Clear what was looked up for earlier lines: links and config files may have changed since."""
    _matches.cache_clear()
    clear_caches()


@lru_cache(maxsize=64)
def _matches(rule: Rule, line: str, folder: Path) -> tuple[tuple[RuleMatch, ...], ...]:
    """For each command that the rule names, how each command of the line meets it."""
    reading = read_line(line)
    return tuple(
        tuple(_in_command(words, one, reading, folder) for one in reading.commands) for words in _wanted(rule)
    )


def covers(
    rule: Rule,
    command: SimpleCommand,
    root: Workspace,
    *,
    is_granted: bool = False,
    folders: Sequence[Path] = (),
) -> bool:
    """Return whether an allow rule covers one command. Only what is known word for word is covered. A rule
    that `is_granted` in a prompt, rather than written by the user, covers a program only with words that are
    known to be harmless for it, and any other line only as it is. A program that reads is covered inside
    `root` only, in whichever of `folders` it may run, apart from what the rule itself names."""
    if rule.pattern is None:
        return not is_granted
    folders = folders or (main_folder(root),)
    if not rule.prefix or not _is_plainly_known(command, root, folders):
        return False
    wanted = _split(rule.prefix)
    own, parts = command.words, command.parts
    if command.wrappers and wanted[0] == command.written[0]:
        # The rule itself begins with a wrapper (`sudo apt`), so it is compared with all words.
        own = command.written
        parts = tuple(Word(word) for word in own)
    elif not is_harmlessly_wrapped(command):
        return False
    head = parts[: len(wanted)]
    if tuple(own[: len(wanted)]) != wanted or any(word.has_glob or word.has_tilde for word in head):
        return False
    added = parts[len(wanted) :]
    if is_granted:
        return runner_of(list(wanted)) is not None and is_harmless(own, added, root)
    return not (is_risky(wanted, added, root) or leads_outside(wanted, added, root, folders))


def _is_plainly_known(command: SimpleCommand, root: Workspace, folders: Sequence[Path]) -> bool:
    return (
        command.is_known
        and not command.assignments
        and not command.fed
        and writes_nothing(command)
        and all(_is_plain_input(target, root, folders) for target in command.reads)
    )


def _is_plain_input(target: str, root: Workspace, folders: Sequence[Path]) -> bool:
    if target == "/dev/null":
        return True
    if re.match(r"/|~|.*(?:\.\.|[$`*?\[])", target):
        return False
    return not any(locate(folder / target, root).is_private for folder in folders)


@lru_cache(maxsize=256)
def _wanted(rule: Rule) -> tuple[tuple[str, ...], ...]:
    """Return the commands that the rule names."""
    text = rule.line or rule.prefix or ""
    found = [one.written for one in read_line(text).commands if one.written and not one.is_nested]
    trimmed = [words[:-1] if len(words) > 1 and words[-1] == "*" else words for words in found]
    return tuple(dict.fromkeys(trimmed)) or tuple(words for words in (tuple(text.split()),) if words)


@lru_cache(maxsize=256)
def _split(prefix: str) -> tuple[str, ...]:
    found = read_line(prefix).commands
    return found[0].written if len(found) == 1 and found[0].written else tuple(prefix.split())


def _in_command(wanted: tuple[str, ...], command: SimpleCommand, reading: Reading, folder: Path) -> RuleMatch:
    is_fed = not FEEDERS.isdisjoint(command.wrappers)
    best = RuleMatch.NO
    named = list(other_names(command, reading, folder))
    renamed = ([Word(word) for word in words] for words in named if words is not None)
    for words in (*_places(command), *renamed):
        best = max(best, _at(wanted, words, is_fed=is_fed))
        if best is RuleMatch.YES:
            return best
    if best is RuleMatch.NO and (
        command.is_opaque or None in named or _runs_text(command) or may_be_git(wanted, command, reading)
    ):
        return RuleMatch.MAYBE
    return best


def _places(command: SimpleCommand) -> Iterator[Sequence[Word]]:
    """Yield where in its words a command may begin: at the front, and for programs that may run others,
    anywhere."""
    yield command.parts
    program = command.program
    written = tuple(Word(word, "$" in word or "`" in word) for word in command.written)
    if len(written) != len(command.parts):
        yield written
    if program in NEVER_RUN and not command.wrappers:
        return
    first = 2 if program in WITH_SUBCOMMANDS else 1
    if program in SCRIPT_RUNNERS and command.words[1:2] in (("run",), ("run-script",)):
        first = 3  # a script of the project's, by its name
    limit = 400
    for at in range(first, min(len(written), limit)):
        if not written[at].is_dynamic:
            yield written[at:]
        if re.search(r"[\s;&|]", written[at].text):
            words = [Word(word) for word in _WORD.findall(written[at].text)[:limit]]
            yield from (words[start:] for start in range(min(len(words), 60)))


def _at(wanted: tuple[str, ...], words: Sequence[Word], *, is_fed: bool) -> RuleMatch:
    """Return whether the command that begins here is the wanted one."""
    if not words:
        return RuleMatch.NO
    program, name = words[0], wanted[0].rpartition("/")[2].casefold()
    found = program.text.rpartition("/")[2].casefold()
    if program.is_dynamic:
        best = RuleMatch.MAYBE
    # Either side may be a pattern: a name in the rule, or a program given by a glob (`/bin/r?`).
    elif found == name or (program.has_glob and fnmatchcase(name, found)) or fnmatchcase(found, name):
        best = RuleMatch.YES
    else:
        return RuleMatch.NO
    return min(best, _rest(wanted[1:], _without_own_options(found, words[1:]), is_fed=is_fed))


def _without_own_options(program: str, words: Sequence[Word]) -> Sequence[Word]:
    """git's words from its subcommand on."""
    return words[subcommand_index([word.text for word in words]) :] if program == "git" else words


def _rest(wanted: Sequence[str], words: Sequence[Word], *, is_fed: bool) -> RuleMatch:
    """Return whether the wanted words follow in order, with other options between them; options anywhere."""
    best = RuleMatch.YES
    rest, is_value = iter(words), False
    for want in wanted:
        if want.startswith("-") and len(want) > 1:
            best = min(best, _option(want, words))
            continue
        for word in rest:
            if word.is_dynamic:
                return RuleMatch.MAYBE
            if (
                word.text == want
                or (word.has_glob and fnmatchcase(want, word.text))
                or fnmatchcase(word.text, want)
            ):
                is_value = False
                break
            # A word right after an option may be its value, so the search goes on behind it.
            if not word.text.startswith("-") and not is_value:
                return RuleMatch.NO
            is_value = word.text.startswith("-")
        else:
            # xargs and similar programs may add the words that are missing.
            return min(best, RuleMatch.MAYBE) if is_fed else RuleMatch.NO
    return best


def _option(want: str, words: Sequence[Word]) -> RuleMatch:
    if any(word.is_dynamic for word in words):
        return RuleMatch.MAYBE
    texts = [word.text for word in words]
    if want.startswith("--"):
        short = next((key[1] for key, value in _LONG.items() if value == want), "")
        name = want.partition("=")[0]
        is_given = any(
            text == want
            or (len(text) > 3 and name.startswith(text.partition("=")[0]) and text.startswith("--"))
            or (short and re.match(rf"-\w*{short}", text))
            for text in texts
        )
        return RuleMatch.YES if is_given else RuleMatch.NO
    # Letters of short options may be joined or apart: `-rf`, `-r -f` and `--recursive --force` are the same.
    letters = set(want[1:])
    given = {letter for text in texts if re.match(r"-\w", text) for letter in text[1:]}
    given |= {
        short[1] for short, long in _LONG.items() for text in texts if len(text) > 3 and long.startswith(text)
    }
    return RuleMatch.YES if want in texts or letters <= given else RuleMatch.NO


def _runs_text(command: SimpleCommand) -> bool:
    """Return whether an interpreter is given a program that may run anything."""
    program = command.program.rstrip("0123456789.")
    if program not in INTERPRETERS and command.program not in INTERPRETERS:
        return False
    return any(_CAN_RUN.search(word) and re.search(r"[\s(;!'\"]", word) for word in command.words[1:])
