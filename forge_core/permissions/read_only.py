"""Whether a command plainly only reads, and only inside the folder: the list of what may run unasked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from forge_core.permissions.paths import is_secret, place
from forge_core.permissions.read_only_git import git_paths
from forge_core.permissions.read_only_tables import (
    FIND_TESTS,
    FIND_VALUES,
    LISTINGS,
    READERS,
    VERSION_WORDS,
    VERSIONS,
    Reader,
)
from forge_core.permissions.repository_config import running_setting
from forge_core.permissions.shell_syntax import Reading, SimpleCommand
from forge_core.permissions.shell_words import Word
from forge_core.permissions.tables import table
from forge_core.permissions.word_paths import names_secret, paths_in

HARMLESS_WRAPPERS = table("time timeout gtimeout nice command stdbuf")
"""They run what follows and nothing else."""
_FED = table("grep egrep fgrep wc ls stat file basename dirname head tail cat du md5sum sha256sum sort echo")
"""What may be given names from a pipe or from find: no option can make it do more than read."""
_LISTINGS = frozenset({("find",), ("fd",), ("ls",), ("cd",), ("git", "ls-files")})
_NAMES_ONLY = table("-l -L --files --files-with-matches --files-without-match -rl -ril -rnl -lr -il -rLi")
_FEEDERS = table("xargs find !")
_LOOSE = table("echo printf [ test true false : exit return")
"""Their words may be values that are not known: they only print or compare them."""
_GLUE = table("cd echo printf true false : test [ exit pwd return")
_SED = re.compile(
    r"\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:,(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*)?"
    r"(?:[pdq=]\d*|s([/|,#:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)?\s*"
)
_AWK_RUNS = re.compile(r"system|getline|ARGV|[|>@\\`]|close|fflush")


def reads_only(reading: Reading, root: Path) -> bool:
    """Whether every command of the line is on the list, with harmless options, inside `root`."""
    if reading.problem or reading.functions or reading.features or not reading.commands:
        return False
    return all(is_reading(one, reading, root) for one in reading.commands if not one.is_hint)


def is_reading(command: SimpleCommand, reading: Reading, root: Path) -> bool:
    """Whether one command of a line plainly only reads, given what stands before it and what feeds it."""
    if "xargs" in command.wrappers and not _names_are_from_here(command, reading):
        return False
    return is_reader(command, root, folders_before(reading, command, root))


def _names_are_from_here(command: SimpleCommand, reading: Reading) -> bool:
    """Whether xargs gets its names from programs that list what lies in the folder, and no keys by name."""
    if any(re.match(r"-\w*a|--arg-file", word) for word in command.written):
        return False
    for one in reading.commands:
        words = one.words
        listing = words[:1] if words[:1] != ("git",) else words[:2]
        if any(is_secret(word) for word in words):
            return False
        if listing in _LISTINGS or one is command:
            continue
        if one.program in ("rg", "grep") and not _NAMES_ONLY.isdisjoint(words):
            continue
        if one.program not in ("head", "tail", "sort", "uniq", "grep") or not one.is_piped or one.reads:
            return False
        if sum(not word.startswith("-") for word in words) > 1 + (one.program == "grep"):
            return False
    return True


def is_reader(command: SimpleCommand, root: Path, folders: Sequence[Path] = ()) -> bool:
    """Whether one command plainly only reads; `folders` are those it may run in."""
    if command.assignments or command.is_opaque or not writes_nothing(command):
        return False
    is_fed = "xargs" in command.wrappers or "find" in command.wrappers
    if not is_harmlessly_wrapped(command, is_fed=is_fed) or (is_fed and command.program not in _FED):
        return False
    where = folders or (root,)
    if not command.words:
        return not command.writes and not command.reads
    if any(re.search(r"[*?\[]", path) or not _stays(path, root, where) for path in command.reads):
        return False
    if command.is_guessed and not is_fed:
        return False
    return _is_listed(command, root, where) and not git_runs(command, where)


def git_runs(command: SimpleCommand, folders: Sequence[Path]) -> str:
    """The setting of the repository's own config by which this git command may run a program; "" for none."""
    if command.program != "git" or len(command.words) < 2:
        return ""
    named = [word for before, word in pairwise(command.words) if before in ("-C", "--git-dir", "--work-tree")]
    places = dict.fromkeys([*folders, *(folder / name for folder in folders for name in named)])
    return next(filter(None, (running_setting(Path(os.path.normpath(one))) for one in places)), "")


def is_glue(command: SimpleCommand, root: Path, folders: Sequence[Path]) -> bool:
    """Whether it only moves about, compares or prints between commands that a rule allows."""
    return command.program in _GLUE and is_reader(command, root, folders)


def is_harmlessly_wrapped(command: SimpleCommand, *, is_fed: bool = False) -> bool:
    """Whether what stands before the program runs it and does nothing else."""
    taken = command.written[: len(command.written) - len(command.words)]
    if any("/" in word for word in taken) or not set(command.wrappers) <= HARMLESS_WRAPPERS | _FEEDERS:
        return False
    options = [word for word in taken if word.startswith("-")]
    if "time" in command.wrappers and any(word != "-p" for word in options):
        return False
    return is_fed or _FEEDERS.isdisjoint(set(command.wrappers) - {"!"})


def writes_nothing(command: SimpleCommand) -> bool:
    return all(target == "/dev/null" for target in command.writes)


def folders_before(reading: Reading, command: SimpleCommand, root: Path) -> tuple[Path, ...]:
    """The folders that the command may run in: the root, and where a `cd` before it may have led."""
    folders = [root]
    for one in reading.commands:
        if one is command:
            break
        if one.program == "cd" and command.scope[: len(one.scope)] == one.scope and len(one.words) > 1:
            folders += [folder / one.words[-1] for folder in folders][:4]
    return tuple(folders)


def _is_listed(command: SimpleCommand, root: Path, folders: Sequence[Path]) -> bool:
    words, program = command.parts, command.words[0]
    if program in VERSIONS and len(words) == 2 and words[1].text in VERSION_WORDS and command.is_known:
        return not (program == "bash" and words[1].text != "--version")
    if tuple(command.words[:2]) in LISTINGS:
        return command.is_known and all(re.fullmatch(r"\w[\w.-]*", word) for word in command.words[2:])
    if program == "[[":
        return _is_plain_test(words)
    if program == "command":
        return len(words) > 1 and re.fullmatch(r"-[vV]+", words[1].text) is not None and command.is_known
    reader = READERS.get(program)
    if reader is None:
        return False
    if program not in _LOOSE and not all(not word.is_dynamic for word in words):
        return False
    if program in _LOOSE - {"echo"} and not all(word.is_simple or not word.is_dynamic for word in words):
        return False  # what a substitution prints may be an option
    match program:
        case "git":
            paths = git_paths(words)
        case "find":
            paths = _find_paths(words)
        case "cd":
            paths = [word for word in words[1:] if not word.text.startswith("-")] if len(words) == 2 else None
            paths = None if paths is not None and (not paths or words[1].has_glob) else paths
        case _:
            paths = _paths(words, reader)
    if paths is None or (program == "sed" and not _is_harmless_sed(words)):
        return False
    if program == "jq" and any(re.search(r"\b(?:import|include)\b", word.text) for word in words[1:]):
        return False
    if program in ("awk", "gawk", "mawk") and any(
        _AWK_RUNS.search(word.text.replace("||", "")) for word in words[1:]
    ):
        return False
    return all(_word_stays(word, root, folders) for word in paths)


def _paths(words: Sequence[Word], reader: Reader) -> list[Word] | None:
    """The words that may be paths, or None when an option or the number of operands does more than read."""
    paths: list[Word] = []
    operands = 0
    texts = reader.texts
    rest = iter(words[1:])
    is_past_options = False
    for word in rest:
        text = word.text
        if (
            word.has_glob
            and not reader.is_free
            and not is_past_options
            and re.match(r"[*?\[]", text)
            and not reader.is_text
        ):
            return None  # a file may have the name of an option
        if text == "--" and not is_past_options:
            is_past_options = True
        elif text.startswith("-") and len(text) > 1 and not is_past_options:
            if not _is_harmless_option(text, reader):
                return None
            if text in ("-e", "--regexp"):
                texts = 0
            if text in reader.values:
                next(rest, None)
            else:
                paths += [] if text.startswith(("--include", "--exclude", "--format", "--color")) else [word]
        else:
            operands += 1
            if not text.startswith(reader.beginning):
                return None
            if operands > texts and not reader.is_text:
                paths.append(word)
    return paths if operands <= max(reader.most, texts) else None


def _is_harmless_option(text: str, reader: Reader) -> bool:
    name = text.partition("=")[0]
    if text.startswith("--"):
        return not any(option.startswith(name) for option in reader.long)
    letters = re.match(r"-([A-Za-z]*)", text)
    return letters is None or not reader.short.intersection(letters[1])


def _find_paths(words: Sequence[Word]) -> list[Word] | None:
    paths: list[Word] = []
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text in ("-exec", "-execdir"):  # what it runs is looked at for itself
            program = next(rest, None)
            if program is None or program.text not in _FED:
                return None
            for one in rest:
                if one.text in (";", "+"):
                    break
                paths.append(one)
        elif text in FIND_VALUES:
            next(rest, None)
        elif text in FIND_TESTS or re.fullmatch(r"-newer[aBcmt]{2}|-O\d", text):
            continue
        elif text.startswith("-") or word.has_glob:
            return None
        else:
            paths.append(word)
    return paths


def _is_harmless_sed(words: Sequence[Word]) -> bool:
    scripts = [
        words[at + 1].text for at, word in enumerate(words[:-1]) if word.text in ("-e", "--expression")
    ]
    if not scripts:
        scripts = [word.text for word in words[1:] if not word.text.startswith("-")][:1]
    if any(
        word.text.startswith(("--expression=", "-e")) and word.text not in ("-e", "--expression")
        for word in words
    ):
        return False
    return bool(scripts) and all(
        _SED.fullmatch(one) for script in scripts for one in re.split(r"[;\n]", script)
    )


def _is_plain_test(words: Sequence[Word]) -> bool:
    """Whether `[[ … ]]` compares without evaluating: no -v, no arithmetic on anything but numbers."""
    texts = [word.text for word in words]
    if any(
        text in ("-v", "-R") or (word.is_dynamic and not word.is_simple)
        for text, word in zip(texts, words, strict=True)
    ):
        return False
    return not any(re.fullmatch(r"-(?:eq|ne|lt|le|gt|ge)", text) for text in texts)


def _word_stays(word: Word, root: Path, folders: Sequence[Path]) -> bool:
    if word.is_dynamic:
        return True  # only programs that print their words get here with one
    if word.has_glob and names_secret(word.text, root, folders):
        return False
    return all(_stays(path, root, folders, has_tilde=word.has_tilde) for path in paths_in(word.text))


def _stays(path: str, root: Path, folders: Sequence[Path], *, has_tilde: bool = False) -> bool:
    """Whether a path lies inside `root`, wherever the command may run, and holds no keys."""
    if path == "/dev/null":
        return True
    if re.search(r"[$`]", path) or (path.startswith("~") and has_tilde):
        return False
    return all(
        one.is_inside and not one.is_secret for one in (place(folder / path, root) for folder in folders)
    )
