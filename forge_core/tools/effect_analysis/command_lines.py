"""The effects of a command line on files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from forge_core.permissions.programs.program_catalog import FEEDERS, HARMLESS_WRAPPERS, SCRIPT_RUNNERS
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.syntax import SimpleCommand, read_line
from forge_core.tools.effect_analysis import file_commands
from forge_core.tools.effect_analysis import program_effects as programs
from forge_core.tools.effect_analysis.claim_builder import ClaimBuilder, has_glob
from forge_core.tools.effect_analysis.command_words import (
    names_in,
    operands,
    patches_of,
    printed_text,
    with_texts,
    without_bodies,
)
from forge_core.tools.effect_analysis.execution import (
    UNPROVEN,
    WHOLE_LINE,
    Execution,
    Executions,
    Span,
    executions,
)
from forge_core.tools.effect_analysis.loops import loop_bodies, shortened, unrolled
from forge_core.tools.effect_analysis.scripts import ScriptAnalyzer
from forge_core.undo.expected_effects import ExpectedEffects, FileEffect, Proof

_MAX_DEPTH = 4
_LABEL = 60
_TRANSPARENT = (HARMLESS_WRAPPERS - {"!"}) | table("sudo doas env ionice builtin nohup")
"""Wrappers that succeed exactly when the command does."""
_SKIPS = table(
    "-fsyntax-only -E -M -MM -z --time-cond -C --continue-at --no-clobber --etag-compare -N -nc -c"
)
"""Options with which a program may succeed without writing its output."""
_CD = re.compile(r"(?:^|&&|;|\|\|)\s*cd\s+(\S+)")
_PACKAGE = re.compile(r"(?<=.)[@=<>~^]")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SHELLS = table("sh bash zsh dash ksh . source")
"""Shells whose scripts are parsed; fish, csh and others have another syntax."""
_PACKERS = table("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress")


def expected_effects(
    command: str, root: Path, *, added: tuple[Path, ...] = (), is_job: bool = False
) -> ExpectedEffects:
    """Return the claims of a line that is about to run in `root`; `added` are the real paths of further
    folders of the workspace.

    Reads the scripts that it names, up to a limit; executes nothing.
    """
    real = Path(os.path.realpath(root))
    claims = ClaimBuilder(real, added)
    _LineAnalyzer(claims).read(command, real, 0, WHOLE_LINE)
    return ExpectedEffects(_label(command), claims.result(), is_job)


def _label(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _LABEL else line[: _LABEL - 1] + "\u2026"


class _LineAnalyzer:
    def __init__(self, claims: ClaimBuilder) -> None:
        self._claims = claims
        self._is_certain = False
        """Whether all words of the current command are known, and it runs whenever it is reached."""
        self._scripts = ScriptAnalyzer(claims, self.read, self._run)

    def read(self, line: str, cwd: Path, depth: int, whole: Execution = UNPROVEN) -> None:
        """Claim the effects of the commands of a line in `cwd`; `whole` is what proves the line itself."""
        key = (line, str(cwd))
        if depth > _MAX_DEPTH or key in self._claims.seen:
            return
        self._claims.seen.add(key)
        # 1. Reduce the line to what the parser handles: here-documents out, loops over known words unrolled.
        plain, bodies = without_bodies(line)
        text = unrolled(shortened(plain))
        reading = read_line(text)
        commands = [with_texts(one, bodies) for one in reading.commands if not one.is_hint]
        texts = _ShellTexts({text: executions(text, whole, cwd)}, reading.functions, commands)
        # 2. Follow the folder through each scope (subshell) of the line, and claim what each command does
        # there.
        was_repeated, outer = self._claims.is_repeated, self._claims.execution
        loops = list(loop_bodies(text))
        folders: dict[tuple[int, ...], _Folder] = {(): _Folder(cwd)}
        for one in commands:
            if depth == 0:  # a later command of the line may run the same script again
                self._claims.seen.clear()
                self._scripts.line_words = names_in(line)
            here = _folder_of(one.scope, folders)
            self._claims.is_repeated = was_repeated or (
                any(one.text in body for body in loops) or not FEEDERS.isdisjoint(one.wrappers)
            )
            reached = texts.of(one) & here.proven
            self._claims.execution = reached
            self._redirects(one, here.path, texts)
            if one.program in ("cd", "pushd"):
                folders[one.scope] = self._moved(here, one)
            elif here.path is not None and one.words:
                self._is_certain = texts.is_certain(one)
                self._claims.execution = reached if self._is_certain else Execution(reached.reached)
                texts.add_script(one, self._claims.execution, here.path)
                self._command(one, here.path, depth)
        self._claims.is_repeated, self._claims.execution = was_repeated, outer

    def _redirects(self, one: SimpleCommand, folder: Path | None, texts: _ShellTexts) -> None:
        """Claim the files that a command's output is redirected to.

        The redirection at the end of a list comes before the list's commands: its folder is where the list's
        `cd` commands lead.
        """
        if not texts.is_first(one):
            return
        if not one.words:
            for word in _CD.findall(re.sub(r"\([^()]*\)", "", one.text)):
                folder = None if folder is None or re.search(r"[$`*?'\"]", word) else folder / word
        if folder is None:
            return
        # The shell opens files in order, and stops at the first that it cannot open.
        proof = self._write_proof(folder, one.writes) if not one.reads else self._claims.execution.succeeded
        text = texts.printed_to(one)
        for target in one.writes:
            if not target.startswith(("/dev/", "&")):
                self._claims.add(FileEffect.WRITE, target, folder, proof=proof)
                if text is not None:
                    self._claims.add(FileEffect.TEXT, target, folder, details=(text,))

    def _write_proof(self, folder: Path, names: Sequence[str]) -> Proof:
        """Return what proves that these files were opened: for writable ones, that the command was
        reached."""
        proven = self._claims.execution
        may_write = all("$" not in name and self._may_write(folder / name, folder) for name in names)
        return proven.reached if may_write else proven.succeeded

    def _may_write(self, path: Path, cwd: Path) -> bool:
        if path.exists():
            return os.access(path, os.W_OK)
        return os.access(path.parent, os.W_OK) or (
            not path.parent.exists() and self._claims.has_folder(os.fspath(path.parent), cwd)
        )

    def _moved(self, here: _Folder, one: SimpleCommand) -> _Folder:
        """Return where a `cd` leads, and what proves it."""
        words = operands(one)
        if here.path is None or len(words) != 1 or re.search(r"[$`*?]", words[0]) or words[0] == "-":
            return _Folder(None)
        proven = self._claims.execution
        proof = proven.reached if self._claims.has_folder(words[0], here.path) else proven.succeeded
        return _Folder(here.path / os.path.expanduser(words[0]), Execution(proof, proof))  # noqa: PTH111

    def _command(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        for prefix in programs.RUN_PREFIXES:
            if one.words[: len(prefix)] == prefix and len(one.words) > len(prefix):
                one = replace(one, words=one.words[len(prefix) :], parts=one.parts[len(prefix) :])
                break
        if not one.words:
            return
        self._options(one, cwd)
        for name in programs.ALSO_CREATES.get(one.program, ()):
            self._claims.add(FileEffect.WRITE, name, cwd, proof=Proof.NONE)
        for name in programs.CREATES.get((one.program, "".join(one.words[1:2])), ()):
            is_new = not (cwd / name).exists() or (name == "package.json" and "init" in one.words)
            is_manifest = name in programs.MANIFESTS and "init" not in one.words and (cwd / name).exists()
            packages = tuple(Path(_PACKAGE.split(word)[0]).name for word in operands(one)[1:])
            self._claims.add(
                FileEffect.MANIFEST if is_manifest else FileEffect.WRITE,
                name.rstrip("/"),
                cwd,
                below=name.endswith("/"),
                details=packages if is_manifest else (),
                proof=None if is_manifest or is_new else Proof.NONE,
            )
        self._run(one, cwd, depth)

    def _run(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        """Claim what a program does with its arguments."""
        is_known = self._works_on_files(one, cwd) or self._runs_scripts(one, cwd, depth) or self._reads(one)
        if not is_known:
            self._unknown(one, cwd)

    def _works_on_files(self, one: SimpleCommand, cwd: Path) -> bool:
        program = one.program
        match program:
            case "git":
                file_commands.git(self._claims, one, cwd)
            case "sed" | "gsed":
                file_commands.sed(self._claims, one, cwd)
            case "mv" | "cp" | "ln" | "install" | "rsync" | "scp":
                file_commands.transfer(self._claims, one, cwd)
            case "rm" | "rmdir" | "unlink" | "shred":
                for word in operands(one):
                    self._claims.add(FileEffect.REMOVE, word, cwd, below=not has_glob(word))
            case "mkdir":
                execution = self._claims.execution
                for word in operands(one, "m"):
                    is_sure = "-p" in one.words or (cwd / word).parent.is_dir()
                    proof = execution.reached if is_sure else execution.succeeded
                    self._claims.add(FileEffect.CREATE, word, cwd, times=0, proof=proof)
            case "chmod" | "chown" | "chgrp" | "setfacl":
                for word in operands(one)[1:]:
                    self._claims.add(FileEffect.MODE, word, cwd, below="R" in "".join(one.words[1:2]))
            case "dd":
                for word in one.words[1:]:
                    if word.startswith("of="):
                        self._claims.add(FileEffect.WRITE, word[3:], cwd)
            case "tar" | "bsdtar" | "unzip" | "zip" | "7z":
                file_commands.archive(self._claims, one, cwd)
            case "patch":
                patches = patches_of(one, cwd)
                self._claims.add(FileEffect.PATCH, ".", cwd, below=True, details=patches)
            case _ if program in _PACKERS:
                file_commands.pack(self._claims, one, cwd)
            case _ if program in programs.WRITES_OPERANDS:
                words = operands(one, programs.WRITES_OPERANDS[program])
                is_plain = self._is_certain and _is_plain_write(one)
                proof = self._write_proof(cwd, words) if is_plain else Proof.NONE
                for word in words:
                    self._claims.add(FileEffect.WRITE, word, cwd, proof=proof)
                    self._claims.add(FileEffect.MODE, word, cwd)
            case _ if program in programs.FORMATTERS and file_commands.formatter(self._claims, one, cwd):
                pass
            case _ if program in programs.REWRITERS:
                file_commands.rewriter(self._claims, one, cwd)
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
        elif program in SCRIPT_RUNNERS:
            self._scripts.package(one, cwd, depth)
        else:
            return self._scripts.named(one, cwd, depth)
        return True

    def _reads(self, one: SimpleCommand) -> bool:
        part = "".join(one.words[1:2])
        return one.program in programs.READERS or part in programs.READING_PARTS.get(one.program, ())

    def _options(self, one: SimpleCommand, cwd: Path) -> None:
        """Claim the values of options that name an output."""
        for at, word in enumerate(one.words[1:], 1):
            name, has_value, value = word.partition("=")
            if not word.startswith("-") or not programs.OUTPUT_OPTION.fullmatch(name):
                continue
            if len(name) == 2 and one.program in programs.READERS - programs.WRITING_READERS:
                continue
            if not has_value and at + 1 < len(one.words) and not one.words[at + 1].startswith("-"):
                value = one.words[at + 1]
            value = value.rpartition(":")[2] if name == "--cov-report" else value
            certain = programs.CERTAIN_OPTIONS.get(one.program, programs.CERTAIN_LONG_OPTIONS)
            is_certain = name in certain and _SKIPS.isdisjoint(one.words)
            if value:
                self._output(value, cwd, one, None if is_certain else Proof.NONE)

    def _output(self, word: str, cwd: Path, one: SimpleCommand, proof: Proof | None) -> None:
        """Claim a named output: a file, or a folder of files. In a folder that is not empty, claim only files
        named after the command's other words."""
        path = cwd / word
        if path.is_dir():
            is_empty = next(iter(path.iterdir()), None) is None
            words = frozenset(Path(name).name.partition(".")[0] for name in operands(one))
            if is_empty:
                self._claims.add(FileEffect.CREATE, word, cwd, below=True)
            elif words:
                self._claims.add(FileEffect.CREATE, f"{word}/*", cwd, words=words)
        else:
            self._claims.add(FileEffect.WRITE, word, cwd, proof=proof)
            if not path.exists():
                self._claims.add(FileEffect.CREATE, word, cwd, below=True)

    def _unknown(self, one: SimpleCommand, cwd: Path) -> None:
        """Claim that an unknown program may create the operands that do not exist."""
        for word in operands(one):
            if len(word) < 300 and "\n" not in word and not (cwd / word).exists() and re.search(r"\w", word):
                proof = None if one.program in programs.CONVERTERS else Proof.NONE
                self._claims.add(FileEffect.CREATE, word, cwd, proof=proof)
                if "." not in word.rpartition("/")[2]:
                    self._claims.add(FileEffect.CREATE, word, cwd, below=True)


def _is_plain_write(one: SimpleCommand) -> bool:
    """Return whether `tee`, `touch` or `truncate` writes all files that it names, given its options."""
    allowed = programs.PLAIN_WRITES.get(one.program)
    words = one.words[1 : one.words.index("--")] if "--" in one.words else one.words[1:]
    options = [word for word in words if word.startswith("-")]
    sizes = [after for word, after in pairwise(words) if word == "-s"]
    return (
        allowed is not None
        and all(allowed.fullmatch(word) for word in options)
        and all(re.fullmatch(r"\d+[KMG]?", size) for size in sizes)
        and (one.program != "truncate" or bool(options))
    )


@dataclass(frozen=True, slots=True)
class _Folder:
    """The folder of the commands in a scope; None after a `cd` to an unknown folder."""

    path: Path | None
    proven: Execution = WHOLE_LINE


@dataclass(slots=True)
class _ShellTexts:
    """What the exit status of a line proves about its commands, and about the scripts given to `sh -c`."""

    read: dict[str, Executions]
    functions: frozenset[str]
    """Functions that the line defines: as commands, these names are not programs."""
    commands: Sequence[SimpleCommand]
    _seen: set[tuple[str, Span]] = field(default_factory=set)

    def of(self, one: SimpleCommand) -> Execution:
        known = self.read.get(one.source)
        return known.of(one.span) if known is not None else UNPROVEN

    def is_first(self, one: SimpleCommand) -> bool:
        """Return whether this is the first reading of a command; a variable with two values makes two."""
        key = one.source, one.span
        is_new = key not in self._seen or one.span == (0, 0)
        self._seen.add(key)
        return is_new

    def is_certain(self, one: SimpleCommand) -> bool:
        """Return whether the words of a command and the meaning of its success are known."""
        return (
            not one.is_guessed
            and not any(part.is_dynamic or part.has_glob for part in one.parts)
            and one.program not in self.functions
            and _TRANSPARENT.issuperset(one.wrappers)
        )

    def add_script(self, one: SimpleCommand, proven: Execution, cwd: Path) -> None:
        """Add the text of `sh -c`: it has run when that shell has succeeded."""
        if one.program not in _SHELLS or len(one.words) < 3 or not re.fullmatch(r"-[eux]*c", one.words[1]):
            return
        script = one.words[2]
        is_new = script not in self.read
        whole = Execution(proven.succeeded, proven.succeeded) if is_new else UNPROVEN
        self.read[script] = executions(script, whole, cwd)

    def printed_to(self, one: SimpleCommand) -> str | None:
        """Return the text that the redirections of a command receive; None where it is unknown."""
        known = self.read.get(one.source)
        span = known.redirected.get(one.span, one.span) if known is not None else one.span
        for other in self.commands:
            if other.source == one.source and other.span == span and other.words:
                return printed_text(other)
        return None


def _folder_of(scope: tuple[int, ...], folders: dict[tuple[int, ...], _Folder]) -> _Folder:
    return next(folders[scope[:size]] for size in range(len(scope), -1, -1) if scope[:size] in folders)
