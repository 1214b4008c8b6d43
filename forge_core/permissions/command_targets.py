"""The files that a command line writes and that need approval: those of `tool_files`, and hard links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path

from forge_core.permissions.path_info import PathInfo, link_count, links_reason, locate, real_path
from forge_core.permissions.programs.git_command_line import PATCH_READERS, TREE_WRITERS, subcommand
from forge_core.permissions.programs.program_catalog import FILE_WRITERS, OVERWRITERS, WRITING_OPTIONS
from forge_core.permissions.read_only.read_only_commands import folders_before
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.permissions.tool_files import acting_program

_MAX_MATCHES = 400
_MAX_PATCH_BYTES = 1_000_000
_PATCHED = re.compile(r"^(?:\+\+\+ |rename to |\*\*\* )\"?([^\t\n\"]+)", re.MULTILINE)


def written_file_reason(command: SimpleCommand, reading: Reading, root: Path) -> str:
    """Return why a command asks for a file that it writes: who acts on it, or that it has several links; ""
    for none."""
    folders = folders_before(reading, command, root)
    for name in _written(command, folders):
        for folder in folders:
            where = locate(folder / name, root)
            if where.is_protected:
                return f"{name} controls git or Forge itself"
            if program := where.acting_program or _named_program(name, where):
                return f"{program} acts on {name} without asking"
    for name in _overwritten(command):
        for folder in folders:
            if (links := link_count(real_path(folder / name))) > 1:
                return links_reason(name, links)
    return ""


def _overwritten(command: SimpleCommand) -> Iterator[str]:
    """Yield the files whose bytes the command replaces in place, so that all their links change."""
    yield from command.writes
    operands = [word for word in command.words[1:] if not word.startswith("-")]
    if command.program in OVERWRITERS:
        yield from operands
    elif command.program == "cp":
        yield from operands[-1:]
    elif command.program == "dd":
        yield from (word.removeprefix("of=") for word in operands if word.startswith("of="))
    elif command.program in ("sort", "curl"):
        for option, value in pairwise(command.words):
            if re.fullmatch("-[A-Za-z]*o|--output", option):
                yield value


def _named_program(name: str, where: PathInfo) -> str:
    """Return who acts on a file whose folder is in a variable: `$PWD/.vscode/tasks.json`."""
    return acting_program(name, folds=where.folds_case) if "$" in name else ""


def _written(command: SimpleCommand, folders: Sequence[Path]) -> Iterator[str]:
    """Yield what the command may write, by redirections, by its words and by a patch."""
    yield from (target for target in command.writes if target != "/dev/null")
    program, words = command.program, command.words[1:]
    own = subcommand(words) if program == "git" else ()
    if program in FILE_WRITERS or (own and own[0] in TREE_WRITERS):
        is_writing = True
    else:
        options = WRITING_OPTIONS.get(program)
        is_writing = options is not None and any(options.fullmatch(word) for word in words)
    if is_writing:
        for word in command.parts[1:]:
            for part in paths_in(word.text):
                yield from (part, *_matches(part, word, folders))
    if program == "patch" or (own and own[0] in PATCH_READERS):
        yield from _patched_files(command, folders)


def _matches(pattern: str, word: Word, folders: Sequence[Path]) -> Iterator[str]:
    if word.has_glob:
        for folder in folders:
            yield from islice(iglob(pattern, root_dir=folder), _MAX_MATCHES)  # noqa: PTH207


def _patched_files(command: SimpleCommand, folders: Sequence[Path]) -> Iterator[str]:
    """Yield the files that a patch names, with and without their first folder (`patch -p1`)."""
    texts = list(command.fed)
    operands = [word for word in command.words[1:] if not word.startswith("-")]
    for name in (*command.reads, *operands):
        texts += [text for folder in folders if (text := _patch_text(folder / name))]
    for text in texts:
        for found in _PATCHED.finditer(text):
            yield found[1].strip()
            yield found[1].strip().partition("/")[2]


def _patch_text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_PATCH_BYTES:
            return ""
        return path.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return ""
