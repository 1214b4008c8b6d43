"""The effects of the scripts, makefiles and package scripts that a command runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from forge_core.permissions.shell.syntax import SimpleCommand
from forge_core.tools.effect_analysis.claim_builder import ClaimBuilder
from forge_core.tools.effect_analysis.command_words import (
    names_in,
    operands,
    option_value,
    snake_case,
    with_arguments,
)
from forge_core.tools.effect_analysis.execution import UNPROVEN, Execution
from forge_core.tools.effect_analysis.makefiles import made_for_certain, package_scripts, recipes
from forge_core.tools.effect_analysis.node_outputs import node_outputs
from forge_core.tools.effect_analysis.python_outputs import ScriptOutputs, python_outputs
from forge_core.undo.expected_effects import FileEffect, Proof

_MAX_WORDS = 3_000
_ASKS = frozenset({"-h", "--help", "--version", "-V"})
"""Arguments with which a program only prints a message."""


class ScriptAnalyzer:
    """Claims the effects of scripts.

    `read` analyses a line that a script runs, given its folder and depth; `run` analyses a command, for
    `python -m`.
    """

    def __init__(
        self,
        claims: ClaimBuilder,
        read: Callable[[str, Path, int, Execution], None],
        run: Callable[[SimpleCommand, Path, int], None],
    ) -> None:
        self._claims = claims
        self._read = read
        self._run = run
        self.line_words: frozenset[str] = frozenset()
        """The words of the current line: names of files that a script writes may be made of these."""

    def _inner(self) -> Execution:
        """Return what proves a script that the current command runs."""
        succeeded = self._claims.execution.succeeded
        return Execution(succeeded, succeeded)

    def python(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        words = list(one.words[1:])
        while words and re.fullmatch(r"-[bBdEiIOqRsSuvxP]+|-[WX]\S+", words[0]):
            words.pop(0)
        match words:
            case [] | ["-", *_]:
                for text in one.fed:
                    self._outputs(python_outputs(text, str(cwd / "-")), words[1:], text, cwd, depth)
            case ["-c", text, *arguments]:
                self._outputs(python_outputs(text, str(cwd / "-")), arguments, text, cwd, depth)
            case ["-m", module, *arguments]:
                path = cwd / module.replace(".", "/")
                scripts = [p for p in (path.with_suffix(".py"), path / "__main__.py") if p.is_file()]
                if scripts:
                    self._python_script(scripts[0], arguments, cwd, depth)
                else:
                    inner = replace(one, words=(module, *arguments), parts=one.parts[-len(words) + 1 :])
                    self._run(inner, cwd, depth)
            case [name, *arguments]:
                self._python_script(cwd / name, arguments, cwd, depth)

    def node(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        words = list(one.words[1:])
        if words and words[0] in ("-e", "--eval", "-p"):
            text: str | None = "".join(words[1:2])
            words = words[2:]
        else:
            words = operands(one)
            text = self._claims.source(cwd / words[0]) if words else None
            words = words[1:]
        if text is not None:
            self._outputs(node_outputs(text), words, text, cwd, depth)

    def shell(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        words = operands(one)
        if words and "-c" not in one.words:
            text = self._claims.source(cwd / words[0])
            if text is not None:
                self._read(with_arguments(text, words[1:]), cwd, depth + 1, self._inner())

    def named(self, one: SimpleCommand, cwd: Path, depth: int) -> bool:
        """Claim the effects of a script that is started by its path; return whether it is one."""
        if "/" not in one.words[0]:
            return False
        path = cwd / one.words[0]
        text = self._claims.source(path)
        if text is None or not text.startswith("#!"):
            return False
        first = text.partition("\n")[0]
        if "python" in first:
            self._claims.seen.discard(("file", str(path)))
            self._python_script(path, list(one.words[1:]), cwd, depth)
        elif "node" in first or "deno" in first:
            self._outputs(node_outputs(text), list(one.words[1:]), text, cwd, depth)
        else:
            self._read(with_arguments(text, one.words[1:]), cwd, depth + 1, self._inner())
        return True

    def make(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        words = one.words
        folder = option_value(words, "-C", "--directory") or "."
        named = option_value(words, "-f", "--file")
        cwd = cwd / folder
        for name in [named] if named else ["GNUmakefile", "makefile", "Makefile"]:
            text = self._claims.source(cwd / name)
            if text is None:
                continue
            goals = [word for word in words[1:] if not word.startswith("-") and word not in (folder, named)]
            is_sure = all(
                word in ("-s", "--silent", "-C", "-f") for word in words[1:] if word.startswith("-")
            )
            rules = list(recipes(text))
            made = made_for_certain(rules, goals, cwd) if is_sure else set()
            claimed = {claim.path for claim in self._claims.found}
            # A target that an earlier command of the line writes may exist by then: its recipe need not run.
            made = {target for target in made if self._claims.relative(target, cwd) not in claimed}
            for recipe in rules:
                before = set(self._claims.found)
                inner = self._inner() if recipe.target in made else UNPROVEN
                for line in recipe.lines:
                    self._read(line, cwd, depth + 1, inner)
                path = self._claims.relative(recipe.target, cwd)
                is_claimed = any(claim.path == path for claim in set(self._claims.found) - before)
                if recipe.lines and not recipe.is_phony and not is_claimed:
                    self._claims.add(FileEffect.WRITE, recipe.target, cwd, proof=Proof.NONE)
            break

    def package(self, one: SimpleCommand, cwd: Path, depth: int) -> None:
        words = [word for word in one.words[1:] if not word.startswith("-")]
        at = words.index("run") + 1 if "run" in words else 0
        names = tuple({"t": "test"}.get(word, word) for word in words[at : at + 1])
        if "run" not in words and names and names[0] in ("install", "i", "ci"):
            names = ("install", "prepare")
        if "run" not in words and names and names[0] == "pack":
            names = ("pack", "prepack", "prepare")
        text = self._claims.source(cwd / "package.json")
        # Read again for each `npm run` of the line, for another script.
        self._claims.seen.discard(("file", str(cwd / "package.json")))
        is_sure = all(word in ("run", "-s", "--silent") or not word.startswith("-") for word in one.words[1:])
        for line in package_scripts(text, names) if text else ():
            self._read(line, cwd, depth + 1, self._inner() if is_sure else UNPROVEN)

    def _python_script(self, script: Path, words: list[str], cwd: Path, depth: int) -> None:
        text = self._claims.source(script)
        if text is None:
            return
        outputs = python_outputs(text, str(script))
        self._outputs(outputs, words, text, cwd, depth)
        execution = self._claims.execution
        self._claims.execution = UNPROVEN  # an import may run only a part of its module
        for module in sorted(outputs.imports):
            for folder in dict.fromkeys((script.parent, cwd)):
                path = folder / module.replace(".", "/")
                for found in (path.with_suffix(".py"), path / "__init__.py"):
                    self._python_script(found, words, cwd, depth)
        self._claims.execution = execution

    def _outputs(
        self, outputs: ScriptOutputs, arguments: list[str], source: str, cwd: Path, depth: int
    ) -> None:
        """Claim what a script writes. Paths that only its execution determines may be its arguments, or names
        that it mentions."""
        for path, times in outputs.writes.items():
            self._script_output(path, times, outputs, arguments, source, cwd)
        self._certain_outputs(outputs, arguments, cwd)
        for path in outputs.removes:
            if re.search(r"\w{3}", path.rpartition("/")[2].partition("*")[0]) or "*" not in path:
                self._claims.add(FileEffect.REMOVE, path, cwd, below="*" not in path)
        for path in outputs.folders:
            if path.strip("*/."):
                self._claims.add(FileEffect.CREATE, path, cwd, times=0)
        for line in outputs.runs:
            self._read(line, cwd, depth + 1, UNPROVEN)
        if outputs.writes_unknown:
            self._arguments(arguments, cwd)
            for name in outputs.names:
                self._claims.add(FileEffect.CREATE, name, cwd, proof=Proof.NONE)

    def _certain_outputs(self, outputs: ScriptOutputs, arguments: Sequence[str], cwd: Path) -> None:
        """Claim what the script has written when it has succeeded, and texts of a known form."""
        if _ASKS.isdisjoint(arguments):
            for path, times in outputs.certain.items():
                self._claims.add(FileEffect.WRITE, path, cwd, times=times)
            for name in outputs.certain_arguments:
                for word in _argument(name, arguments):
                    self._claims.add(FileEffect.WRITE, word, cwd)
        for path, template in outputs.templates.items():
            self._claims.add(FileEffect.TEMPLATE, path, cwd, details=(template,))

    def _script_output(
        self, path: str, times: int, outputs: ScriptOutputs, arguments: list[str], source: str, cwd: Path
    ) -> None:
        name = path.rpartition("/")[2]
        if "*" not in path or re.search(
            r"[A-Za-z]{3}", name.rpartition(".")[0].replace("*", " ") if "." in name else name
        ):
            self._claims.add(FileEffect.WRITE, path, cwd, times=times, proof=Proof.NONE)
        elif name.strip("*"):
            words = self._words(outputs, arguments, source, cwd)
            self._claims.add(FileEffect.WRITE, path, cwd, times=times, words=words, proof=Proof.NONE)
        else:
            for mentioned in outputs.names:
                folder = path.rpartition("/")[0]
                name = f"{folder}/{mentioned.rpartition('/')[2]}"
                self._claims.add(FileEffect.WRITE, name, cwd, times=times, proof=Proof.NONE)
            self._arguments(arguments, cwd)

    def _words(self, outputs: ScriptOutputs, arguments: list[str], source: str, cwd: Path) -> frozenset[str]:
        """Return the words of a script and of the files that it reads, of which file names may be made."""
        found = {*names_in(source), *self.line_words}
        for name in sorted({*outputs.reads, *outputs.names, *arguments}):
            if "*" not in name and len(name) < 300:
                found |= names_in(self._claims.source(cwd / name) or "")
        words = sorted(found)[:_MAX_WORDS]
        return frozenset([*words, *(word.lower() for word in words), *map(snake_case, words)])

    def _arguments(self, arguments: Sequence[str], cwd: Path) -> None:
        """Claim the arguments of a script that writes to a path from its arguments."""
        for word in arguments:
            value = word.partition("=")[2] if word.startswith("-") else word
            if not value or len(value) > 300 or "\n" in value:
                continue
            path = cwd / value
            if path.is_dir():
                self._claims.add(FileEffect.REWRITE, value, cwd, below=True)
                if next(iter(path.iterdir()), None) is None:
                    self._claims.add(FileEffect.CREATE, value, cwd, below=True)
            elif path.exists():
                self._claims.add(FileEffect.WRITE, value, cwd, proof=Proof.NONE)
            elif re.search(r"\w", value):
                self._claims.add(FileEffect.CREATE, value, cwd, proof=Proof.NONE)
                self._claims.add(FileEffect.CREATE, value, cwd, below=True)


def _argument(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the value of `--name`, or the argument with this number."""
    if name.isdigit():
        yield from arguments[int(name) - 1 : int(name)] if int(name) else ()
        return
    for at, word in enumerate(arguments):
        if word == name:
            yield from arguments[at + 1 : at + 2]
        elif word.startswith(f"{name}="):
            yield word.partition("=")[2]
