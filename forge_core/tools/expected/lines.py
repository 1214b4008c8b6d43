"""What a command line may do to files."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.syntax import SimpleCommand, read_line
from forge_core.tools.expected.claims import Claims
from forge_core.tools.expected.file_commands import archive, formatter, pack, rewriter, sed, transfer
from forge_core.tools.expected.git_claims import git_claims
from forge_core.tools.expected.programs import (
    ALSO_CREATES,
    CREATES,
    FORMATTERS,
    MANIFESTS,
    OUTPUT_OPTION,
    PACKAGE_RUNNERS,
    READERS,
    READING_PARTS,
    REWRITERS,
    RUN_PREFIXES,
    WRITES_OPERANDS,
    WRITING_READERS,
)
from forge_core.tools.expected.scripts import Scripts
from forge_core.tools.expected.words import (
    loop_bodies,
    names_in,
    operands,
    patches_of,
    shortened,
    without_bodies,
)
from forge_core.undo.expected import Effect, ExpectedEffects

_MAX_DEPTH = 4
_LABEL = 60
_REPEATING = frozenset({"xargs", "gxargs", "parallel", "find", "watch"})
_CD = re.compile(r"(?:^|&&|;|\|\|)\s*cd\s+(\S+)")
_PACKAGE = re.compile(r"(?<=.)[@=<>~^]")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SHELLS = table("sh bash zsh dash ksh . source")
_PACKERS = table("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress")


def expected_effects(command: str, root: Path, *, is_job: bool = False) -> ExpectedEffects:
    """The claims of a line that is about to run in `root`. Reads the scripts that it names, bounded; runs
    nothing."""
    real = Path(os.path.realpath(root))
    claims = Claims(real)
    _Lines(claims).read(command, real, 0)
    return ExpectedEffects(_label(command), claims.result(), is_job)


def _label(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _LABEL else line[: _LABEL - 1] + "\u2026"


class _Lines:
    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._scripts = Scripts(claims, self.read, self._run)

    def read(self, line: str, cwd: Path, depth: int) -> None:
        """Claims what the commands of a line do that runs in `cwd`."""
        key = (line, str(cwd))
        if depth > _MAX_DEPTH or key in self._claims.seen:
            return
        self._claims.seen.add(key)
        was_repeated = self._claims.is_repeated
        loops = list(loop_bodies(line))
        folders: dict[tuple[int, ...], Path | None] = {(): cwd}
        plain, bodies = without_bodies(line)
        for found in read_line(shortened(plain)).commands:
            if found.is_hint:
                continue
            one = replace(found, fed=found.fed or bodies)
            if depth == 0:
                self._claims.seen.clear()
                self._scripts.line_words = names_in(line)
            folder = _folder_of(one.scope, folders)
            self._claims.is_repeated = was_repeated or (
                any(one.text in body for body in loops) or not _REPEATING.isdisjoint(one.wrappers)
            )
            if not one.words and one.writes:
                self._redirects(one, folder)
            elif one.program in ("cd", "pushd"):
                folders[one.scope] = _moved(folder, one)
            elif folder is not None:
                self._command(one, folder, depth)
        self._claims.is_repeated = was_repeated

    def _redirects(self, one: SimpleCommand, folder: Path | None) -> None:
        """The redirection at the end of a list, which is read before the list: its folder is where the list
        has gone by then."""
        for word in _CD.findall(re.sub(r"\([^()]*\)", "", one.text)):
            folder = None if folder is None or re.search(r"[$`*?'\"]", word) else folder / word
        for target in one.writes if folder is not None else ():
            if not target.startswith("/dev/"):
                self._claims.add(Effect.WRITE, target, folder or self._claims.root)

    def _command(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        for target in one.writes:
            if not target.startswith(("/dev/", "&")):
                self._claims.add(Effect.WRITE, target, cwd)
        for prefix in RUN_PREFIXES:
            if one.words[: len(prefix)] == prefix and len(one.words) > len(prefix):
                one = replace(one, words=one.words[len(prefix) :], parts=one.parts[len(prefix) :])
                break
        if not one.words:
            return
        self._options(one, cwd)
        for name in ALSO_CREATES.get(one.program, ()):
            self._claims.add(Effect.WRITE, name, cwd)
        for name in CREATES.get((one.program, "".join(one.words[1:2])), ()):
            is_manifest = name in MANIFESTS and "init" not in one.words and (cwd / name).exists()
            packages = tuple(Path(_PACKAGE.split(word)[0]).name for word in operands(one)[1:])
            self._claims.add(
                Effect.MANIFEST if is_manifest else Effect.WRITE,
                name.rstrip("/"),
                cwd,
                below=name.endswith("/"),
                details=packages if is_manifest else (),
                times=1 if name in MANIFESTS else 2,
            )
        self._run(one, cwd, depth)

    def _run(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        """Claims what a program does by its words."""
        if not self._known(one, cwd, depth):
            self._unknown(one, cwd)

    def _known(self, one: SimpleCommand, cwd: Path, depth: int) -> bool:
        """Whether it is a program whose arguments are understood."""
        return self._works_on_files(one, cwd) or self._runs_scripts(one, cwd, depth) or self._reads(one)

    def _works_on_files(self, one: SimpleCommand, cwd: Path) -> bool:
        program = one.program
        match program:
            case "git":
                git_claims(self._claims, one, cwd)
            case "sed" | "gsed":
                sed(self._claims, one, cwd)
            case "mv" | "cp" | "ln" | "install" | "rsync" | "scp":
                transfer(self._claims, one, cwd)
            case "rm" | "rmdir" | "unlink" | "shred":
                for word in operands(one):
                    self._claims.add(Effect.REMOVE, word, cwd, below=not re.search(r"[*?\[]", word))
                    self._claims.add(Effect.REMOVE, word, cwd)
            case "mkdir":
                for word in operands(one, "m"):
                    self._claims.add(Effect.CREATE, word, cwd, times=0)
            case "chmod" | "chown" | "chgrp" | "setfacl":
                for word in operands(one)[1:]:
                    self._claims.add(Effect.MODE, word, cwd, below="R" in "".join(one.words[1:2]))
                    self._claims.add(Effect.MODE, word, cwd)
            case "dd":
                for word in one.words[1:]:
                    if word.startswith("of="):
                        self._claims.add(Effect.WRITE, word[3:], cwd)
            case "tar" | "bsdtar" | "unzip" | "zip" | "7z":
                archive(self._claims, one, cwd)
            case "patch":
                patches = patches_of(one, cwd)
                self._claims.add(Effect.PATCH, ".", cwd, below=True, details=patches)
            case _ if program in _PACKERS:
                pack(self._claims, one, cwd)
            case _ if program in WRITES_OPERANDS:
                for word in operands(one, WRITES_OPERANDS[program]):
                    self._claims.add(Effect.WRITE, word, cwd)
                    self._claims.add(Effect.MODE, word, cwd)
            case _ if program in FORMATTERS and formatter(self._claims, one, cwd):
                pass
            case _ if program in REWRITERS:
                rewriter(self._claims, one, cwd)
            case _:
                return False
        return True

    def _runs_scripts(self, one: SimpleCommand, cwd: Path, depth: int) -> bool:
        program = one.program
        if program in ("make", "gmake"):
            self._scripts.make(one, cwd, depth)
        elif program in ("node", "nodejs", "deno"):
            self._scripts.node(one, cwd, depth)
        elif _PYTHON.fullmatch(program):
            self._scripts.python(one, cwd, depth)
        elif program in _SHELLS:
            self._scripts.shell(one, cwd, depth)
        elif program in PACKAGE_RUNNERS:
            self._scripts.package(one, cwd, depth)
        else:
            return self._scripts.named(one, cwd, depth)
        return True

    def _reads(self, one: SimpleCommand) -> bool:
        part = "".join(one.words[1:2])
        return one.program in READERS or part in READING_PARTS.get(one.program, ())

    def _options(self, one: SimpleCommand, cwd: Path) -> None:
        """Values of options that name an output."""
        for at, word in enumerate(one.words[1:], 1):
            name, has_value, value = word.partition("=")
            if not word.startswith("-") or not OUTPUT_OPTION.fullmatch(name):
                continue
            if len(name) == 2 and one.program in READERS and one.program not in WRITING_READERS:
                continue
            if not has_value and at + 1 < len(one.words) and not one.words[at + 1].startswith("-"):
                value = one.words[at + 1]
            value = value.rpartition(":")[2] if name == "--cov-report" else value
            if value:
                self._output(value, cwd, one)

    def _output(self, word: str, cwd: Path, one: SimpleCommand) -> None:
        """A named output: a file, or a folder of files. Of a folder that holds something already, only files
        that are named after the command's other words."""
        path = cwd / word
        if path.is_dir():
            is_empty = next(iter(path.iterdir()), None) is None
            words = frozenset(Path(name).name.partition(".")[0] for name in operands(one))
            if is_empty:
                self._claims.add(Effect.CREATE, word, cwd, below=True)
            elif words:
                self._claims.add(Effect.CREATE, f"{word}/*", cwd, words=words)
        else:
            self._claims.add(Effect.WRITE, word, cwd)
            if not path.exists():
                self._claims.add(Effect.CREATE, word, cwd, below=True)

    def _unknown(self, one: SimpleCommand, cwd: Path) -> None:
        """A program of which nothing is known may make what it names and does not exist."""
        for word in operands(one):
            if len(word) < 300 and "\n" not in word and not (cwd / word).exists() and re.search(r"\w", word):
                self._claims.add(Effect.CREATE, word, cwd)
                if "." not in word.rpartition("/")[2]:
                    self._claims.add(Effect.CREATE, word, cwd, below=True)


def _folder_of(scope: tuple[int, ...], folders: dict[tuple[int, ...], Path | None]) -> Path | None:
    """Where a command of that scope runs; None when a `cd` led to an unknown place."""
    return next(folders[scope[:size]] for size in range(len(scope), -1, -1) if scope[:size] in folders)


def _moved(folder: Path | None, one: SimpleCommand) -> Path | None:
    words = operands(one)
    if folder is None or len(words) != 1 or re.search(r"[$`*?]", words[0]) or words[0] == "-":
        return None
    return folder / os.path.expanduser(words[0])  # noqa: PTH111
