"""The scripts that a command line names, each with a hash: what an exact line allowed for good is bound to.

A script is a file that the line runs by its path (`./run`, `.venv/bin/tool`), one that an interpreter, a
shell or `source` is given, a module of `python -m`, a file that a variable or an option names, and any file
that is given to a program of which it is not known that it only reads or checks its files. A file that is
missing counts too, so that it cannot be put there later.

Limits: what a script loads in turn (a sourced file, an import) and what a program finds by itself (a
Makefile, `package.json`, `conftest.py`) is not followed. The hash is taken when the call is decided; a
process that replaces the script between that moment and the start of the command is not noticed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path

from forge_core.config.project_state import ABSENT, Scripts
from forge_core.permissions.programs.program_catalog import (
    CHECKERS,
    FEEDERS,
    FILTERS,
    NEVER_RUN,
    READERS,
    RUNS_ITS_FILE,
    SHELLS,
    WITH_SHORT_CONFIG_OPTIONS,
)
from forge_core.permissions.read_only.read_only_commands import folders_before, may_change_folder
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.rules.program_names import may_rename_programs, searched_folders, settings_of
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.workspace.folders import Workspace, is_in_workspace, main_folder

MAX_LINE = 8_000
"""Characters of a line that can be allowed for good."""
_MAX_FILES = 64
_MAX_FOLDERS = 8
_MAX_TOKENS = 200
_MAX_BYTES = 64 * 1024 * 1024
_SYSTEM = re.compile(r"/(?:usr|bin|sbin|lib\w*|opt|etc|nix|snap|dev|proc|sys|System|Library)(?:/|$)")
"""Installed by the system; an update there is no reason to ask."""
_TOKEN = re.compile(r"[\w./+-]*[\w]")
_VERSIONED = re.compile(r"(?:python|pypy|perl|ruby|php|lua|node)[\d.]+")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_HARMLESS = (NEVER_RUN | frozenset(READERS) | {"git"}) - FILTERS
"""Nor do they take a file by which they would; options that name a command are read as commands."""
_STEERS = re.compile(
    r"--?[\w-]*(?:config|plugin|rc|require|load|import|rule|parser|format|preset|specs|wrapper|askpass|linker"
    r"|ld-path|fuse-ld)[\w-]*|linker",
    re.I,
)
"""Options of checkers whose value may be code."""
_FILE_LETTER = re.compile(r"-f(?!-)")
_SHORT_STEERS = re.compile(rf"-[cfpr]|{_STEERS.pattern}", re.I)
_LOADS = re.compile(
    r"(?!\w*(?:PATH|LIB)$)(?:LD_\w+|DYLD_\w+|PYTHON\w*|NODE_\w+|RUBY\w+|PERL\w+|BASH_ENV|ENV|GIT_\w+)"
)
"""Variables whose value may name a file that a program runs."""
_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".json")
"""What node adds to the name of a script."""


class _CannotTellError(Exception):
    """What the line runs cannot be determined, or is too much to look at."""


def named_scripts(line: str, root: Workspace) -> Scripts | None:
    """Path and hash of each script that the line names, sorted; None when they cannot be determined."""
    reading = read_line(line)
    if reading.problem or len(line) > MAX_LINE or may_rename_programs(reading):
        return None
    scripts = _Scripts(root)
    try:
        for command in reading.commands:
            # A hint may be no command at all: what it names counts, what it hides does not.
            with suppress(*(_CannotTellError,) if command.is_hint else ()):
                _look_into(command, reading, scripts)
        return scripts.hashed()
    except (_CannotTellError, OSError, ValueError):
        return None


@dataclass(slots=True)
class _Scripts:
    root: Workspace
    paths: dict[str, None] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """Note a path, unless it belongs to the system. A `..` behind a link is read both as the kernel
        and as `cd` reads it."""
        for where in dict.fromkeys((str(path), os.path.normpath(path))):
            if is_in_workspace(Path(where), self.root) or not _SYSTEM.match(os.path.realpath(where)):
                self.paths[where] = None
        if len(self.paths) > _MAX_FILES:
            raise _CannotTellError

    def hashed(self) -> Scripts:
        left = _MAX_BYTES
        found: dict[str, str] = {}
        # The limit is for all scripts together: they are hashed whenever the line is decided.
        for path in self.paths:
            name = path.removeprefix(f"{main_folder(self.root)}/")
            found[name], size = _digest(path, left)
            left -= size
        return tuple(sorted(found.items()))


def _look_into(command: SimpleCommand, reading: Reading, scripts: _Scripts) -> None:
    kind = _kind(command)
    folders = list(folders_before(reading, command, scripts.root))
    if (command.is_opaque and not _holds_its_program(command)) or _is_fed_its_program(command, folders):
        raise _CannotTellError
    # Files that variables name, and the folders where a program looks for more.
    _look_at_variables(command, folders, scripts)
    folders += _named_folders(command.assignments, folders)  # PYTHONPATH=src
    if not command.words or (kind == "harmless" and "/" not in command.words[0]):
        _look_at_program(command, reading, folders, scripts)
        return
    if may_change_folder(reading) or (command.is_guessed and not _is_fed_only(command)):
        raise _CannotTellError
    taken = command.written[: len(command.written) - len(command.words)]
    folders += _named_folders(taken, folders)  # env -C sub ./x
    # What the wrappers name, a program or a file, counts too.
    for part in {part for word in taken for part in paths_in(word)}:
        _add_file(part, folders, scripts)
    _look_at_program(command, reading, folders, scripts)
    # The command's own arguments, as far as its program may run what they name.
    match kind:
        case "filter":
            _add_words(
                _values_of(command.parts[1:], re.compile(r"-[fil]|--(?:file|include|load)")), folders, scripts
            )
            _add_commands(command.parts[1:], folders, scripts)
        case "checker":
            steers = _SHORT_STEERS if command.program in WITH_SHORT_CONFIG_OPTIONS else _STEERS
            _add_words(_values_of(command.parts[1:], steers), folders, scripts)
        case "interpreter":
            _add_script(command, folders, scripts)
        case "unknown":
            folders += _named_folders(command.words[1:], folders)  # make -C sub -f x.mk
            _add_words(command.parts[1:], folders, scripts)
            _add_words(_values_of(command.parts[1:], _FILE_LETTER), folders, scripts)
            _add_reads(command, folders, scripts)
    if any(_PYTHON.fullmatch(word.rpartition("/")[2]) for word in command.words):
        _add_module(command.parts, folders, scripts)
    if command.program == "go" and "run" in command.words[1:2]:
        for word in command.parts[2:]:
            _add_folder(word, folders, scripts)


def _kind(command: SimpleCommand) -> str:
    program, path = command.program, "".join(command.words[:1])
    is_installed = "/" not in path or "bin/" in path or _SYSTEM.match(path) is not None
    if program in RUNS_ITS_FILE or _VERSIONED.fullmatch(program):
        return "interpreter"
    if not is_installed:
        return "unknown"  # a file of the project may have any name
    if program in FILTERS:
        return "filter"
    if program in _HARMLESS:
        return "harmless"
    return "checker" if program in CHECKERS else "unknown"


def _holds_its_program(command: SimpleCommand) -> bool:
    """Return whether an interpreter is given its program's text in the line, which is compared whole, or
    by a file that the line names."""
    if any(word.is_dynamic for word in command.parts) or not FEEDERS.isdisjoint(command.wrappers):
        return False
    if command.program in SHELLS:
        return len(command.words) == 1 and bool(command.reads)
    return _kind(command) in ("interpreter", "filter") and len(command.words) > 1


def _is_fed_its_program(command: SimpleCommand, folders: Sequence[Path]) -> bool:
    """Return whether an interpreter may run what another command prints."""
    if not command.is_piped or _kind(command) != "interpreter":
        return False
    words = command.words[1:]
    if any(re.fullmatch(r"-\w*[cem]\w*|--eval|--print", word) for word in words):
        return False
    named = (folder / word for folder in folders for word in words if "\0" not in word and len(word) < 4_096)
    return not any(path.is_file() for path in named)


def _is_fed_only(command: SimpleCommand) -> bool:
    """Return whether only the data of a script that is named is unknown: `xargs ./x`, `find -exec ./x {}
    +`."""
    is_fed = not FEEDERS.isdisjoint(command.wrappers)
    return is_fed and "/" in command.words[0] and not command.parts[0].is_dynamic


def _look_at_program(
    command: SimpleCommand, reading: Reading, folders: Sequence[Path], scripts: _Scripts
) -> None:
    """The program itself, and those that it is run by."""
    taken = command.written[: len(command.written) - len(command.words)]
    for word in (*command.words[:1], *(one for one in taken if not one.startswith("-"))):
        if "/" in word and not word.startswith("-"):
            _add_file(word, folders, scripts, is_missing_too=True)
        elif word:
            _add_searched(word, reading, scripts)


def _add_searched(name: str, reading: Reading, scripts: _Scripts) -> None:
    """A program found by its name: the places in the workspace that are looked at before it is found."""
    # Folders of the workspace before the one with the program count too: a file put there would be found
    # first.
    for entry in searched_folders(reading, main_folder(scripts.root)):
        path = Path(os.path.realpath(scripts.root / entry)) / name
        if is_in_workspace(path, scripts.root):
            scripts.add(path)
        if os.access(path, os.X_OK) and path.is_file():
            return


def _look_at_variables(command: SimpleCommand, folders: Sequence[Path], scripts: _Scripts) -> None:
    for assignment in settings_of(command):
        # Any variable may name a file; one that makes programs load code must be known word for word.
        name, _, value = assignment.partition("=")
        if _LOADS.fullmatch(name) and re.search(r"[$`]", value):
            raise _CannotTellError
        for part in re.split(r"[\s:=,]+", value):
            if part and not re.search(r"[$`\0]", part):
                _add_file(part, folders, scripts)


def _named_folders(words: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """Return folders that the words name, to which the command may go."""
    parts = sorted({part for word in words for part in paths_in(word) if "\0" not in part})
    found = (path for part in parts for path in _spelled(part, folders) if path.is_dir())
    return list(islice(found, _MAX_FOLDERS))


def _add_script(command: SimpleCommand, folders: Sequence[Path], scripts: _Scripts) -> None:
    """The words of an interpreter up to the script that it runs; what follows is the script's."""
    _add_reads(command, folders, scripts)
    for before, word in pairwise(command.parts):
        _add_words([word], folders, scripts)
        if word.text.startswith("-"):
            continue
        is_value = before.text.startswith("-") and before.text != "--"
        if not (is_value and re.search(r"[\s;|&()]", word.text)):  # else it is the text of `-c`
            _add_file(word.text, folders, scripts, is_missing_too=True)
        _add_folder(word, folders, scripts)
        for suffix in _SUFFIXES:
            _add_file(word.text + suffix, folders, scripts)
        for token in islice(_TOKEN.findall(word.text), _MAX_TOKENS):  # of a program in the line: open("x.py")
            _add_file(token, folders, scripts)
        if not is_value and any((folder / word.text).is_file() for folder in folders):
            return


def _values_of(words: Sequence[Word], options: re.Pattern[str]) -> list[Word]:
    """Return the values of these options, joined to them or behind them."""
    found = [after for before, after in pairwise(words) if options.fullmatch(before.text)]
    joined = [word for word in words if (met := options.match(word.text)) and met.end() < len(word.text)]
    tails = [Word(re.sub(r"^=", "", options.sub("", one.text, count=1)), one.is_dynamic) for one in joined]
    return [*found, *joined, *tails]


def _add_words(words: Sequence[Word], folders: Sequence[Path], scripts: _Scripts) -> None:
    """The files that words name. Raises when a word is not known before it runs."""
    for word in words:
        if word.is_dynamic:
            raise _CannotTellError
        for part in {*paths_in(word.text), word.text.partition(":")[0]} - {""}:
            if word.has_glob:
                for folder in folders:
                    for met in islice(iglob(part, root_dir=folder), _MAX_FILES + 1):  # noqa: PTH207
                        _add_file(met, [folder], scripts)
            else:
                _add_file(part, folders, scripts)


def _add_commands(words: Sequence[Word], folders: Sequence[Path], scripts: _Scripts) -> None:
    """Files that the program of a filter names: `sed '1e ./x'` runs one."""
    for word in words:
        if not any((folder / word.text).is_file() for folder in folders if len(word.text) < 4_096):
            for token in islice(_TOKEN.findall(word.text), _MAX_TOKENS):
                _add_file(token, folders, scripts)
                _add_file(re.sub(r"^\d*e", "", token), folders, scripts)


def _add_reads(command: SimpleCommand, folders: Sequence[Path], scripts: _Scripts) -> None:
    for target in command.reads:
        if re.search(r"[$`*?\[]", target):
            raise _CannotTellError
        _add_file(target, folders, scripts)


def _add_file(name: str, folders: Sequence[Path], scripts: _Scripts, *, is_missing_too: bool = False) -> None:
    for path in _spelled(name, folders):
        if (is_missing_too or os.path.lexists(path)) and not path.is_dir():
            scripts.add(path)


def _add_folder(word: Word, folders: Sequence[Path], scripts: _Scripts) -> None:
    """The files of a folder that is run as a program: `python tools`, `go run ./cmd`."""
    for path in _spelled(word.text, folders):
        if path.is_dir():
            for entry in islice(sorted(path.iterdir()), _MAX_FILES + 1):
                if entry.is_file():
                    scripts.add(entry)


def _add_module(words: Sequence[Word], folders: Sequence[Path], scripts: _Scripts) -> None:
    """Where `python -m` looks first: a file there, also a later one, takes an installed module's place."""
    for before, word in pairwise((*words, Word(""))):
        joined = re.fullmatch(r"-\w*?m(.+)", before.text)
        name = joined[1] if joined else word.text if re.fullmatch(r"-\w*m", before.text) else ""
        if word.is_dynamic and name == word.text:
            raise _CannotTellError
        if not re.fullmatch(r"\w+(?:\.\w+)*", name):
            continue
        parts = name.split(".")
        for size in range(1, len(parts) + 1):
            inner = "/".join(parts[:size])
            for tail in ("/__init__.py", *((".py", "/__main__.py") if size == len(parts) else ())):
                _add_file(inner + tail, folders, scripts, is_missing_too=True)


def _spelled(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    if "\0" in name or len(name) > 4_096 or "\n" in name:
        return
    here = os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111
    yield from dict.fromkeys(folder / here for folder in folders)


def _digest(path: str, most: int) -> tuple[str, int]:
    """Return the hash of where the path leads and of what is there, and the size. Raises when it is no
    file that can be read, or larger than `most`."""
    try:
        # O_NONBLOCK: opening a FIFO would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT, 0
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise _CannotTellError
        # With the path: a link that leads elsewhere has changed, even where the contents are equal.
        total = hashlib.sha256(os.fsencode(os.path.realpath(path)) + b"\0")
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest(), status.st_size
