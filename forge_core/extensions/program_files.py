"""The files that the words of a command line name: what an approval is bound to, and what must exist."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from forge_core.permissions.shell.syntax import SimpleCommand, read_line

MAX_FILES = 200
"""Of one program."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_WRITES_ONLY = frozenset({"touch", "tee", "rm", "mkdir"})
"""Programs whose files are written, and never read or run."""
_CHANGES_FOLDER = frozenset({"cd", "pushd", "popd"})
_INTERPRETERS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|php|bun|source|\.")
_FLAGS = frozenset({"-u", "-e", "-x", "-B", "-I", "-s", "-S"})
_PLAIN_PATH = re.compile(r"[^$`*?\[{]+")


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return a command line in which the known variables are replaced, quoted as within double quotes."""

    def value(found: re.Match[str]) -> str:
        known = variables.get(found[1] or found[2])
        return found[0] if known is None else re.sub(r'([\\"$`])', r"\\\1", known)

    return _VARIABLE.sub(value, text)


def words_of_line(line: str, variables: Mapping[str, str]) -> list[str]:
    """Return the words of all commands of a shell line, without the files that it only writes."""
    text = expanded(line, variables)
    reading = read_line(text)
    commands = [one for one in reading.commands if one.program not in _WRITES_ONLY]
    words = [word for one in commands for word in (*one.written, *one.reads)]
    if reading.problem or not reading.commands:
        try:
            words += shlex.split(text)
        except ValueError:
            words += text.split()
    return list(dict.fromkeys(words))


def named_files(words: Iterable[str], folder: Path) -> list[Path]:
    """Return the existing files inside a folder that words name, also relative to folders that they name."""
    candidates = [part for word in words for part in _paths_in(word)]
    bases = [folder, *(path for path in (_at(folder, one) for one in candidates) if path.is_dir())]
    found: dict[Path, None] = {}
    for base in dict.fromkeys(bases):
        for one in candidates:
            path = _at(base, one)
            if _is_inside(path, folder) and path.is_file():
                found[path] = None
    return sorted(found)[:MAX_FILES]


def missing_script(line: str, variables: Mapping[str, str], folder: Path) -> str:
    """Return the script that a shell line would run and that does not exist; empty if there is none, or
    if it cannot be determined."""
    reading = read_line(expanded(line, variables))
    commands = [] if reading.problem else [one for one in reading.commands if not one.is_hint]
    for command in commands:
        if command.program in _CHANGES_FOLDER:
            return ""  # what follows is elsewhere
        if (script := _script_of(command.words)) and _is_missing(script, command, folder):
            return script
    return ""


def missing_program(argv: Sequence[str], folder: Path) -> str:
    """Return the program or script of an argument list that does not exist; empty if there is none."""
    script = _script_of(argv)
    return script if script and not _at(folder, script).exists() else ""


def _script_of(words: Sequence[str]) -> str:
    """Return the path of what a command runs, if it is given as a path."""
    if not words:
        return ""
    is_interpreter = _INTERPRETERS.fullmatch(Path(words[0]).name)
    if not is_interpreter:
        return words[0] if "/" in words[0] and _PLAIN_PATH.fullmatch(words[0]) else ""
    # The value of an option (`-c TEXT`, `-m NAME`) is no script; these options have none.
    rest = next((word for word in words[1:] if word not in _FLAGS), "")
    is_path = not rest.startswith("-") and _PLAIN_PATH.fullmatch(rest) and ("/" in rest or "." in rest)
    return rest if is_path else ""


def _is_missing(script: str, command: SimpleCommand, folder: Path) -> bool:
    return command.is_known and not _at(folder, script).exists()


def _paths_in(word: str) -> Iterator[str]:
    """Yield what in a word may be a path: itself, and the value of `--option=value`."""
    for one in (word, word.partition("=")[2]):
        if one and "\0" not in one and len(one) < 4096:
            yield one


def _at(base: Path, name: str) -> Path:
    with contextlib.suppress(RuntimeError):  # there is no such user
        if name.startswith("~"):
            return Path(name).expanduser()
    return Path(os.path.normpath(base / name))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder) or Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(folder)
    )
