"""The files that the words of a command line name: what an approval is bound to, and what must exist."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, has_magic, iglob
from itertools import islice
from pathlib import Path
from typing import Self

from forge_core.errors import ForgeError
from forge_core.permissions.rules.program_names import may_rename_programs
from forge_core.permissions.shell.syntax import SimpleCommand, read_line
from forge_core.sanitize import safe_line
from forge_core.workspace.beneath import open_file

MAX_FILES = 200
"""Of one program."""
_MAX_FOLDERS = 32
_MAX_LOOKUPS = 50_000
_MAX_PATTERNS = 3
"""Of the names in a path."""
_MAX_HASHED = 16 * 2**20
"""Bytes; reading a larger file before each run would delay it."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_WRITES_ONLY = frozenset({"touch", "tee", "rm", "mkdir"})
"""Programs whose files are written, and never read or run."""
_TOKEN = re.compile(r"[^\s'\"`$(){}<>|&;,=:\\!]+")
"""What stands between the signs of shells and other languages."""
_ESCAPED = re.compile(r"\[([*?[])\]")
"""What `glob.escape` makes of a sign."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|uv")
_NODE = re.compile(r"node|nodejs|bun|deno|tsx|ts-node|npx")
_NODE_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".json")
"""What they add to the name of a script."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_IMPLIED = {
    **dict.fromkeys(("make", "gmake"), _MAKEFILES),
    **dict.fromkeys(("npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"), ("package.json",)),
    **dict.fromkeys(("hatch", "pdm", "poe", "rye"), ("pyproject.toml",)),
    "deno": ("deno.json", "deno.jsonc", "package.json"),
    "composer": ("composer.json",),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"),
    "rake": ("Rakefile", "rakefile"),
    "nox": ("noxfile.py",),
    "tox": ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml", "lefthook.yaml", "lefthook.toml"),
}
"""Program → the files in which it finds what it runs."""
_CHANGES_FOLDER = frozenset({"cd", "pushd", "popd"})
_INTERPRETERS = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|php|bun|source|\.")
_FLAGS = frozenset({"-u", "-e", "-x", "-B", "-I", "-s", "-S"})
_PLAIN_PATH = re.compile(r"[^$`*?\[{]+")


class UncheckableError(ForgeError):
    """A program cannot be bound to its files; the text is a clause that says why."""


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return a command line in which the known variables are replaced, quoted as within double quotes."""

    def value(found: re.Match[str]) -> str:
        known = variables.get(found[1] or found[2])
        return found[0] if known is None else re.sub(r'([\\"$`])', r"\\\1", known)

    return _VARIABLE.sub(value, text)


def words_of_line(line: str, variables: Mapping[str, str]) -> list[str]:
    """Return what in a shell line may name a file: the words of all its commands, and everything between the
    signs of the shell, since code in it may name files too. Files that it only writes are left out.

    The words are patterns of `glob`: what the line holds besides the scripts that it runs is escaped.
    """
    text = expanded(line, variables)
    reading = read_line(text)
    writing = _WRITES_ONLY - reading.functions
    if may_rename_programs(reading) or any(one.program == "alias" for one in reading.commands):
        writing = frozenset()
    words: list[str] = []
    written: set[str] = set()
    for one in reading.commands:
        is_writer = one.program in writing and one.program == one.words[0]
        words += (*one.reads, *one.assignments, *(one.words[:1] if is_writer else one.written))
        written.update(one.writes, one.words[1:] if is_writer else ())
    if reading.problem or not reading.commands:
        written.clear()
        try:
            words += shlex.split(text)
        except ValueError:
            words += text.split()
    tokens = (*_TOKEN.findall(text), *_TOKEN.findall(_VARIABLE.sub(" ", line)))
    words += (token for token in tokens if token not in written)
    patterns = (word for one in reading.commands for word in _script_patterns(one))
    return list(dict.fromkeys((*map(escape, words), *patterns)))


def words_of_arguments(argv: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return the same for an argument list, which may hold code for a shell."""
    return list(dict.fromkeys((*map(escape, argv), *words_of_line(shlex.join(argv), variables))))


def words_that_run(line: str, variables: Mapping[str, str]) -> list[str]:
    """Return of `words_of_line` those that name what a shell line runs; all where that cannot be
    determined."""
    reading = read_line(expanded(line, variables))
    is_clear = all(one.is_known and one.program not in _CHANGES_FOLDER for one in reading.commands)
    if reading.problem or not is_clear:
        return words_of_line(line, variables)
    words: list[str] = []
    for one in reading.commands:
        program = one.words[0] if one.words else ""
        has_place = "/" in program or program in _IMPLIED
        words += map(escape, filter(None, (program if has_place else "", _script_of(one.words))))
        words += _script_patterns(one)
    return list(dict.fromkeys(words))


def named_files(words: Iterable[str], folder: Path) -> list[Path]:
    """Return the existing files inside a folder that words name, also relative to folders that they name, and
    those that their programs read unnamed: the Makefile, package.json. The words are patterns of `glob`.

    Raises:
        UncheckableError: they are too many.
    """
    candidates = list(dict.fromkeys(part for word in words for part in _paths_in(word)))
    named = {name.rpartition("/")[2] for name in candidates}
    candidates += (file for name in named for file in _IMPLIED.get(name, ()))
    programs = _Programs.among(named)
    folders = _named_folders(candidates, folder)
    if len(candidates) * len(folders) > _MAX_LOOKUPS:
        raise UncheckableError("its command line names too many files and folders to check")
    found: dict[Path, None] = {}
    for base in folders:
        for one in candidates:
            for path in _spelled(base, one, programs):
                if _is_inside(path, folder) and os.path.isfile(path):  # noqa: PTH113  no name makes it raise
                    found[path] = None
            if len(found) > MAX_FILES:
                raise UncheckableError(f"its command line names more than {MAX_FILES} files")
    return sorted(found)


def read_named_file(path: Path) -> tuple[str, bytes]:
    """Return what tells the contents of a file from others, and the contents if they are short.

    That is the sha256 in hex; of a large file what changes whenever it is written.
    """
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > _MAX_HASHED:
                return f"large: {status.st_size} {status.st_ino} {status.st_ctime_ns}", b""
            data = file.read(_MAX_HASHED + 1)
    except (OSError, ValueError) as error:
        return f"unreadable: {getattr(error, 'strerror', None) or error}", b""
    return hashlib.sha256(data).hexdigest(), data


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
    return script if script and not _exists(folder, script) else ""


def _script_patterns(command: SimpleCommand) -> Iterator[str]:
    """Yield the patterns that stand for what a command runs: `sh hooks/*.sh`."""
    run = command.parts[:1]
    if _INTERPRETERS.fullmatch(command.program):
        run += tuple(word for word in command.parts[1:] if not word.text.startswith("-"))[:1]
    yield from (word.text for word in run if word.has_glob)


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
    return command.is_known and not _exists(folder, script)


def _named_folders(candidates: Sequence[str], folder: Path) -> list[Path]:
    """Return the folder, those that names mean, and those that names mean in these."""
    found = {os.path.realpath(folder): folder}
    waiting = [folder]
    while waiting:
        base = waiting.pop()
        for one in candidates:
            for path in _at(base, one):
                real = os.path.realpath(path)
                if real not in found and os.path.isdir(real):  # noqa: PTH112  no name makes it raise
                    found[real] = path
                    waiting += [path] if _is_inside(path, folder) else []
            if len(found) > _MAX_FOLDERS:
                raise UncheckableError(f"its command line names more than {_MAX_FOLDERS} folders")
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Programs:
    """What the programs of a command line make of names."""

    is_python: bool
    is_node: bool
    is_run_parts: bool

    @classmethod
    def among(cls, names: Collection[str]) -> Self:
        def has(expression: re.Pattern[str]) -> bool:
            return any(map(expression.fullmatch, names))

        return cls(has(_PYTHON), has(_NODE), "run-parts" in names)


def _spelled(base: Path, name: str, programs: _Programs) -> Iterator[Path]:
    """Yield the paths that a name can mean to these programs."""
    if has_magic(_ESCAPED.sub("", name)):
        if sum(map(has_magic, name.split("/"))) > _MAX_PATTERNS:
            raise UncheckableError(f"its pattern {safe_line(name[:80])!r} matches in too many folders")
        yield from (base / one for one in islice(iglob(name, root_dir=base), MAX_FILES + 1))  # noqa: PTH207
        return
    name = _ESCAPED.sub(r"\1", name)
    for path in _at(base, name):
        yield path
        inner: tuple[str, ...] = ()
        if programs.is_node:
            yield from (path.with_name(path.name + suffix) for suffix in _NODE_SUFFIXES if path.name)
            inner += ("package.json", *(f"index{suffix}" for suffix in _NODE_SUFFIXES))
        if programs.is_python:
            inner += ("__main__.py",)
        yield from (path / one for one in inner)
        if programs.is_run_parts and os.path.isdir(path):  # noqa: PTH112
            yield from (path / one for one in islice(sorted(os.listdir(path)), MAX_FILES + 1))  # noqa: PTH208
    if programs.is_python and _MODULE.fullmatch(name):
        module = name.replace(".", "/")
        yield from (base / f"{module}{end}" for end in (".py", "/__init__.py", "/__main__.py"))


def _paths_in(word: str) -> Iterator[str]:
    """Yield what in a word may be a path: itself, the value of `--option=value`, and what follows a variable
    or a command that stands for the folder: `$(git rev-parse --show-toplevel)/x`."""
    for one in (word, word.partition("=")[2], word.lstrip("/")):
        if one and "\0" not in one and "\n" not in one and len(one) < 4096:
            with contextlib.suppress(UnicodeEncodeError):  # no file can have the name
                os.fsencode(one)
                yield one


def _at(base: Path, name: str) -> list[Path]:
    """Return what a name means in a folder. `cd` removes a folder before `..` from the path; the system
    follows the link that it may be."""
    if name.startswith("~"):
        with contextlib.suppress(RuntimeError):  # there is no such user
            return [Path(name).expanduser()]
    path = Path(os.path.normpath(base / name))
    return [path, Path(os.path.realpath(base / name))] if ".." in name else [path]


def _exists(folder: Path, name: str) -> bool:
    return any(map(os.path.exists, _at(folder, name)))


def _is_inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder) or Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(folder)
    )
