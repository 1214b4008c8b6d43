"""Whether a command plainly only reads, and only inside the folder: the list of what may run unasked.

A program is on the list with the exact options that it may be given. Whatever is spelled otherwise asks: a
needless question costs a key press, a wrong yes the machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from forge_core.permissions.path_info import locate, real_path
from forge_core.permissions.programs.git_command_line import (
    LISTING_OPTIONS,
    PATHLESS,
    READ_ONLY_ARGUMENTS,
    RUNS_GPG,
    option_values,
)
from forge_core.permissions.programs.git_config import running_setting
from forge_core.permissions.programs.program_catalog import (
    GLUE,
    HARMLESS_WRAPPERS,
    LISTINGS,
    PRINTERS,
    READERS,
    RISKY_WORDS,
    SEARCHES,
    VERSIONS,
)
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.argument_matching import ParsedArguments, parse_arguments
from forge_core.permissions.read_only.git_contents import shown_secret
from forge_core.permissions.read_only.word_paths import glob_stays, holds_secret, paths_in
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.workspace.folders import Workspace, main_folder

_WRAPPED = re.compile(
    r"(?:(?:!|command|time(?: -p)?|nice(?: -n ?-?\d+| --adjustment=-?\d+| -\d+)?"
    r"|stdbuf(?: -[ioe](?:L|\d+[KM]?))+"
    r"|g?timeout(?: -s \w+| -k \d+[smhd]?| --signal=\w+| --kill-after=\d+[smhd]?| --preserve-status"
    r"| --foreground| -v)* \d+(?:\.\d+)?[smhd]?) )*"
)
_MAX_CD = 3
_LOOPS = re.compile(r"\b(?:for|while|until|select)\b")
_SED_ADDRESS = r"(?:\d{1,9}|\$|/[\w #\"'=:<>@%,-]+/)"
_SED = re.compile(rf"{_SED_ADDRESS}(?:,\s?{_SED_ADDRESS})?\s?p")
_PRINTF = re.compile(r"(?!-)(?:[^%]|%%|%[-+ 0#]*\d*(?:\.\d+)?[sdiqbcfxou])*", re.DOTALL)
"""Formats that only print: not `%n`, which sets a variable and evaluates its name."""
_CODE = re.compile(
    r"\*\.(?:pyi?|[jt]sx?|go|rs|[ch]|cc|cpp|hpp|java|rb|php|md|txt|toml|ya?ml|css|html|sh|sql|cs|kt|swift|lua)"
)
"""Patterns of names that no file with keys has."""
_MAX_SEARCHED = 20
_TEST_OPERATORS = table(
    "-f -d -e -r -w -x -s -h -L -n -z -b -c -p -S -a -o -nt -ot -ef -eq -ne -gt -lt -ge -le"
)
_PROCESS_LISTS = frozenset(
    {(), ("aux",), ("auxw",), ("auxww",), ("ax",), ("-ef",), ("-e",), ("-A",), ("-f",), ("-aux",)}
)
"""What ps may be given; its letter e shows the variables of others."""
_PICKERS = (".tool-versions", "rust-toolchain", "rust-toolchain.toml")
"""Files by which a folder may say which program answers to a name, one in the folder included."""
_FIND_TESTS = table(
    "-empty -print -print0 -prune -not -and -or -a -o ! ( ) -depth -d -xdev -mount -ls -quit -true -false"
    " -readable -writable -executable -daystart -noleaf"
)
_FIND_VALUES = table(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size"
    " -mtime -atime -ctime -mmin -amin -cmin -newermt -user -group -perm -links -inum -regextype"
)
"""Tests whose value, the next word, is no path."""
_FIND_FILES = table("-newer -anewer -cnewer -samefile")


def reads_only(reading: Reading, root: Workspace) -> bool:
    """Return whether every command of the line is on the list, with harmless options, inside `root`."""
    if reading.problem or reading.functions or reading.features or not reading.commands:
        return False
    return all(is_reading(one, reading, root) for one in reading.commands if not one.is_hint)


def is_read_only(command: str, root: Workspace) -> bool:
    """Return whether every command of the line is on the built-in list of those that only read, with
    harmless options and nothing outside `root`. It changes nothing, so nothing need be kept to undo it."""
    return reads_only(read_line(command), root)


def is_reading(command: SimpleCommand, reading: Reading, root: Workspace) -> bool:
    """Return whether one command of a line plainly only reads, given where the line may have gone before."""
    if changes_folder_too_often(reading):
        return False
    return _is_reader(command, root, folders_before(reading, command, root))


def changes_folder_too_often(reading: Reading) -> bool:
    """Return whether the line changes its folder more often than is followed."""
    moves = sum(one.program == "cd" for one in reading.commands)
    return moves > _MAX_CD or (moves > 0 and _LOOPS.search(reading.line) is not None)


def may_change_folder(reading: Reading) -> bool:
    """Return whether the line may run something in a folder that cannot be determined from it."""
    if changes_folder_too_often(reading):
        return True
    for one in reading.commands:
        if one.program in ("pushd", "popd") or (one.program == "cd" and not _is_plain_cd(one)):
            return True
        if not {"-execdir", "-okdir"}.isdisjoint(one.words):
            return True
    return False


def _is_plain_cd(command: SimpleCommand) -> bool:
    words = command.parts[1:]
    return len(words) == 1 and not (
        words[0].is_dynamic or words[0].has_glob or words[0].text.startswith(("-", "~"))
    )


def _is_reader(command: SimpleCommand, root: Workspace, folders: Sequence[Path]) -> bool:
    """Return whether one command plainly only reads; `folders` are those it may run in."""
    if command.assignments or command.is_opaque or command.is_guessed or not writes_nothing(command):
        return False
    if not is_harmlessly_wrapped(command):
        return False
    if not command.words:
        return not command.writes and not command.reads
    if any(re.search(r"[*?\[]", path) or not _stays(path, root, folders) for path in command.reads):
        return False
    return (
        _is_listed(command, root, folders)
        and not git_runs(command, folders)
        and not shown_secret(command, folders, main_folder(root))
    )


def git_runs(command: SimpleCommand, folders: Sequence[Path]) -> str:
    """Return the setting of the repository's own config by which this git command may run a program; ""
    for none."""
    if command.program != "git" or len(command.words) < 2 or command.words[1:] == ("--version",):
        return ""
    places = dict.fromkeys(real_path(folder) for folder in folders)
    for start in option_values(command.words[1:], "-C"):  # each from the one before it
        places = dict.fromkeys(real_path(folder / start) for folder in places)
    return next(filter(None, (running_setting(one) for one in places)), "")


def is_glue(command: SimpleCommand, reading: Reading, root: Workspace) -> bool:
    """Return whether it only changes folders, compares or prints between commands that a rule allows."""
    return command.program in GLUE and _is_reader(command, root, folders_before(reading, command, root))


def is_harmlessly_wrapped(command: SimpleCommand) -> bool:
    """Return whether what comes before the program runs it and does nothing else."""
    taken = command.written[: len(command.written) - len(command.words)]
    if not set(command.wrappers) <= HARMLESS_WRAPPERS:
        return False
    return _WRAPPED.fullmatch("".join(f"{word} " for word in taken)) is not None


def writes_nothing(command: SimpleCommand) -> bool:
    return all(target == "/dev/null" for target in command.writes)


def folders_before(reading: Reading, command: SimpleCommand, root: Workspace) -> tuple[Path, ...]:
    """Return the folders that the command may run in: the root, and where a `cd` before it may have led."""
    folders = [main_folder(root)]
    for one in reading.commands:
        if one is command:
            break
        if (
            one.program in ("cd", "pushd")
            and command.scope[: len(one.scope)] == one.scope
            and len(one.words) > 1
        ):
            folders += [folder / one.words[-1] for folder in folders[: 2**_MAX_CD]]
    return tuple(folders)


def _is_listed(command: SimpleCommand, root: Workspace, folders: Sequence[Path]) -> bool:
    words, program = command.parts, command.words[0]
    if program in VERSIONS and len(words) == 2 and command.words[1] in VERSIONS[program]:
        return command.is_known and not any(_picks_programs(folder) for folder in folders)
    if command.words[:2] in LISTINGS:
        return command.is_known and all(re.fullmatch(r"\w[\w.-]*", word) for word in command.words[2:])
    match program:
        case "[[":
            return _is_plain_test(words)
        case "ps":
            return command.words[1:] in _PROCESS_LISTS
        case "printf":
            return _is_plain_printf(words) and all(_is_printed(word, root, folders) for word in words[1:])
        case _ if program in PRINTERS:
            return all(_is_printed(word, root, folders) for word in words[1:])
    paths = listed_paths(words)
    if program in SEARCHES and paths is not None and _shows_keys(words, paths, folders):
        return False
    if program == "diff" and any(
        word.has_glob or (one / word.text).is_dir() for one in folders for word in paths or ()
    ):
        return False  # of folders it compares all files, and follows the links in them
    return paths is not None and all(_word_stays(word, root, folders) for word in paths)


def listed_paths(words: Sequence[Word]) -> Sequence[Word] | None:
    """Return the words that are paths, or None when the program or an option is not on the list."""
    match words[0].text:
        case "[" | "test":
            return _test_paths(words)
        case "git":
            return _git_paths(words)
        case "find":
            return _find_paths(words)
        case program:
            return _paths(program, words)


def _picks_programs(folder: Path) -> bool:
    """Return whether a file says which program answers to a name."""
    here = real_path(folder)
    return any((one / name).exists() for one in (here, *here.parents) for name in _PICKERS)


def _paths(program: str, words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return the words that are paths, or None when one of them is not on the list."""
    allowed = READERS.get(program)
    if allowed is None:
        return None
    if program in ("exit", "return") and [word.text for word in words[1:]] == ["$?"]:
        return ()
    found = parse_arguments(words[1:], allowed)
    if found is None:
        return None
    match program:
        case "sed":
            is_plain = not {"-n", "--quiet", "--silent"}.isdisjoint(found.options) and found.operands
            return found.paths if is_plain and _SED.fullmatch(found.operands[0].text) else None
        case "jq":
            modules, _ = RISKY_WORDS["jq"]
            return None if any(modules.search(word.text) for word in found.operands[:1]) else found.paths
        case "cd":
            return found.paths if _is_plain_folder(found.paths) and len(words) == 2 else None
        case "command":
            return found.paths if found.options else None
    return found.paths


def _is_plain_folder(paths: Sequence[Word]) -> bool:
    """Return whether `cd` goes down into one folder: bash and the kernel do not agree where `..` behind a
    link leads."""
    return len(paths) == 1 and not paths[0].has_glob and ".." not in paths[0].text.split("/")


def _git_paths(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return the words of a git command that only shows, or None. Never with `-C` or another repository
    named."""
    rest = list(words[1:])
    while rest and rest[0].text in ("--no-pager", "--no-optional-locks"):
        rest.pop(0)
    if len(rest) == 1 and rest[0].text == "--version":
        return ()
    if not rest or any(RUNS_GPG.search(word.text) for word in rest):
        return None
    name, own = " ".join(word.text for word in rest[:2]), 2
    if name not in READ_ONLY_ARGUMENTS:
        name, own = rest[0].text, 1
    allowed = READ_ONLY_ARGUMENTS.get(name)
    found = None if allowed is None else parse_arguments(rest[own:], allowed)
    if found is None or not _is_listing(name, found):
        return None
    if (
        name == "grep"
        and not {"--or", "--and", "--not"}.isdisjoint(found.options)
        and "-e" not in found.options
    ):
        return None
    if any(word.text.startswith(":(") for word in found.operands):
        return None
    return () if name.partition(" ")[0] in PATHLESS else found.paths


def is_git_listing(words: Sequence[Word]) -> bool:
    """Return whether a git command has exactly such arguments that it only shows."""
    return _git_paths(words) is not None


def _is_listing(name: str, found: ParsedArguments) -> bool:
    if name not in LISTING_OPTIONS or not LISTING_OPTIONS[name].isdisjoint(found.options):
        return True
    return name != "config" and not found.operands


def _find_paths(words: Sequence[Word]) -> tuple[Word, ...] | None:
    paths: list[Word] = []
    rest = iter(words[1:])
    for word in rest:
        if word.is_dynamic or word.has_glob:  # it may be a test that does something
            return None
        if word.text in _FIND_VALUES or word.text in _FIND_FILES:
            value = next(rest, None)
            if value is None or value.is_dynamic or value.has_glob:
                return None
            paths += [value] if word.text in _FIND_FILES else []
        elif word.text not in _FIND_TESTS:
            if word.text.startswith("-"):
                return None
            paths.append(word)
    return tuple(paths)


def _test_paths(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return the operands of `[ … ]`: none may be another word when it runs, for `-v` evaluates a name."""
    rest = words[1:]
    for word in rest:
        if word.is_dynamic or word.has_glob:
            return None
        if word.text.startswith("-") and not (
            word.text in _TEST_OPERATORS or re.fullmatch(r"-\d+", word.text)
        ):
            return None
    return tuple(word for word in rest if not word.text.startswith("-"))


def _is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether `[[ … ]]` compares without evaluating: no -v, no arithmetic on anything but numbers."""
    texts = [word.text for word in words]
    if any(
        text in ("-v", "-R") or (word.is_dynamic and not word.is_simple)
        for text, word in zip(texts, words, strict=True)
    ):
        return False
    return not any(re.fullmatch(r"-(?:eq|ne|lt|le|gt|ge)", text) for text in texts)


def _is_plain_printf(words: Sequence[Word]) -> bool:
    """Return whether the format is known, and none that sets a variable."""
    if len(words) < 2 or words[1].is_dynamic or words[1].has_glob:
        return False
    return _PRINTF.fullmatch(words[1].text) is not None


def _shows_keys(words: Sequence[Word], paths: Sequence[Word], folders: Sequence[Path]) -> bool:
    """Return whether a search through whole folders would read files with keys."""
    texts = [word.text for word in words[1:]]
    if not any(SEARCHES[words[0].text].fullmatch(text) for text in texts):
        return False
    only = [after for before, after in pairwise(texts) if before == "--include"]
    only += [text.partition("=")[2] for text in texts if text.startswith("--include=")]
    if words[0].text != "rg" and only and all(_CODE.fullmatch(one) for one in only):
        return False
    names = [word.text for word in paths if not word.has_glob] if paths else ["."]
    if len(names) != max(len(paths), 1):  # all matches of a glob are below
        names.append(".")
    places = dict.fromkeys(folder / name for folder in folders for name in names)
    return len(places) > _MAX_SEARCHED or any(holds_secret(one) for one in places)


def _is_printed(word: Word, root: Workspace, folders: Sequence[Path]) -> bool:
    """Return whether printing the word reveals nothing of what is outside."""
    return not word.has_glob or (not word.is_dynamic and glob_stays(word, root, folders))


def _word_stays(word: Word, root: Workspace, folders: Sequence[Path]) -> bool:
    if word.has_glob and not glob_stays(word, root, folders):
        return False
    return all(_stays(path, root, folders, has_tilde=word.has_tilde) for path in paths_in(word.text))


def _stays(path: str, root: Workspace, folders: Sequence[Path], *, has_tilde: bool = False) -> bool:
    """Return whether a path is inside `root`, wherever the command may run, and holds no keys."""
    if path == "/dev/null":
        return True
    if re.search(r"[$`]", path) or (path.startswith("~") and has_tilde):
        return False
    return not any(locate(folder / path, root).is_private for folder in folders)
