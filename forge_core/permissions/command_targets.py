"""The files that a command line writes and that need approval: those of `tool_files`, and hard links.

Of the first, whatever a command names counts as written, unless the program is known only to read it. Of hard
links, which package managers make by thousands, only what is known to be written in place counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from glob import iglob
from itertools import islice, pairwise, takewhile
from pathlib import Path

from forge_core.permissions.guard.destruction import put_into
from forge_core.permissions.path_info import PathInfo, link_count, links_reason, locate, real_path
from forge_core.permissions.programs.archive_members import unpacked_files
from forge_core.permissions.programs.git_command_line import (
    PATCH_READERS,
    PATH_WRITERS,
    TREE_WRITERS,
    subcommand,
)
from forge_core.permissions.programs.program_catalog import (
    CHECKERS,
    EDITORS,
    FEEDERS,
    FILE_WRITERS,
    FILTERS,
    HARMLESS_TO_ALL,
    HAS_OUTPUT_OPERAND,
    INTERPRETERS,
    OVERWRITERS,
    REWRITERS,
    RUNS_ITS_FILE,
    WRITING_OPTIONS,
)
from forge_core.permissions.read_only.read_only_commands import folders_before, is_reading
from forge_core.permissions.read_only.word_paths import paths_in
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.permissions.tool_files import acting_program
from forge_core.workspace.folders import Workspace

_MAX_MATCHES = 400
_MAX_WALKED = 5_000
_WILD = re.compile(r"[*?\[]")
_CHECKS = re.compile(
    r"--(?:check|check-only|diff|dry-run|test|list|stdout|to-stdout|keep)|-[a-z]*[cklt][a-z]*"
)
"""Options with which programs that rewrite files leave them as they are."""
_OUTPUT = re.compile(r"--?(?:output(?:-file|-document)?|out(?:file)?|log-file)(?:=|$)|-[oO]")
_NOT_WRITTEN = re.compile(
    r"--(?:no-|git-)?(?:exclude|ignore|config|rcfile|settings|filter|skip|omit|extend-exclude|git-dir|dir$)"
)
"""Options whose values are read or left out."""
_WRITING_CODE = re.compile(
    r"write|unlink|remove|rename|copy|move|dump|save|system|exec|spawn|popen|replace|link|mkdir|touch|append|>"
    r"|['\"][rb]?[wax+][bt+]*['\"]"
)
"""Found in code that writes a file by itself or by another program."""
_CODE_PATH = re.compile(r"[\w./~-]*[\w-]")
_MAX_PATCH_BYTES = 1_000_000
_PATCHED = re.compile(r"^(?:\+\+\+ |rename to |\*\*\* )\"?([^\t\n\"]+)", re.MULTILINE)


def written_file_reason(command: SimpleCommand, reading: Reading, root: Workspace) -> str:
    """Return why a command asks for a file that it writes or may write: who acts on it, or that it has
    several links; "" for none."""
    folders = folders_before(reading, command, root)
    if command.words and not (command.writes or command.wrappers) and _only_reads(command, reading, root):
        return ""
    for name in dict.fromkeys(_written(command, reading, folders, root)):
        for folder in folders:
            where = locate(folder / name, root)
            if where.is_protected:
                return f"{name} controls git or Forge itself"
            if program := where.acting_program or _named_program(name, where):
                return f"{program} acts on {name} without asking"
    for name in dict.fromkeys(_overwritten(command, reading, folders)):
        for folder in folders:
            if (links := link_count(real_path(folder / name))) > 1:
                return links_reason(name, links)
    return ""


def _only_reads(command: SimpleCommand, reading: Reading, root: Workspace) -> bool:
    """Return whether the program writes none of the files that its words name."""
    program, words = command.program, command.words[1:]
    if program in HARMLESS_TO_ALL:
        return True
    if program == "git":
        own = subcommand(words)
        return not own or own[0] not in PATH_WRITERS | PATCH_READERS | TREE_WRITERS
    if program in CHECKERS and program not in FILE_WRITERS:
        return not _rewrites(program, words)
    alone = replace(
        command, writes=(), appends=(), assignments=(), wrappers=(), written=command.words, is_guessed=False
    )
    return is_reading(alone, reading, root)


def _rewrites(program: str, words: Sequence[str]) -> bool:
    """Return whether a program rewrites the files that it is given, or writes another."""
    if program in REWRITERS:
        return not any(_CHECKS.fullmatch(word) for word in words)
    options = WRITING_OPTIONS.get(program)
    return options is not None and any(options.fullmatch(word) for word in words)


def _overwritten(command: SimpleCommand, reading: Reading, folders: Sequence[Path]) -> Iterator[str]:
    """Yield the files whose bytes the command replaces in place, so that all their links change."""
    yield from _redirected(command, folders)
    yield from _outputs(command.written)
    program, words = command.program, command.words[1:]
    operands = [word for word in words if not word.startswith("-")]
    if program in OVERWRITERS | EDITORS or (
        program in CHECKERS and _rewrites(program, [word for word in words if not _OUTPUT.match(word)])
    ):
        yield from (
            one for word in command.parts[1:] for one in (word.text, *_matches(word.text, word, folders))
        )
        if not FEEDERS.isdisjoint(command.wrappers):
            yield from (word for one in _others(command, reading) for word in one.words[1:])
    elif program in HAS_OUTPUT_OPERAND:
        yield from operands[1:2]
    elif program in ("cp", "scp"):
        yield from operands[-1:]
        yield from (f"{into}/{name}" for into, name in put_into(program, words))
    elif program == "rsync" and "--inplace" in words:
        for into in operands[-1:]:
            yield from (into, *(f"{into}/{Path(one).name}" for one in operands[:-1]))
    elif program == "sqlite3":
        yield from (one for one in operands[:1] if "-readonly" not in words)
    elif program == "dd":
        yield from (word.removeprefix("of=") for word in operands if word.startswith("of="))
    elif program == "tar":
        yield from _archive(words)
    elif program in FILTERS:
        yield from _paths_in_code(words)


def _named_program(name: str, where: PathInfo) -> str:
    """Return who acts on a file whose folder is in a variable: `$PWD/.vscode/tasks.json`."""
    return acting_program(name, folds=where.folds_case) if "$" in name else ""


def _written(
    command: SimpleCommand, reading: Reading, folders: Sequence[Path], root: Workspace
) -> Iterator[str]:
    """Yield what the command may write: the targets of redirections, what a patch names, and whatever its
    words name, unless the program is known only to read that."""
    yield from _redirected(command, folders)
    yield from _outputs(command.written[: len(command.written) - len(command.words)])
    writes = bool(command.words) and not _only_reads(command, reading, root)
    is_computed = any(re.search(r"\$\(|`", target) for target in command.writes)
    if is_computed or (writes and not FEEDERS.isdisjoint(command.wrappers)):
        for one in _others(command, reading):
            yield from (part for word in _named_words(one) for part in _paths_of(word.text))
    if not writes:
        return
    program, words = command.program, command.words[1:]
    own = subcommand(words) if program == "git" else ()
    if program == "tar" and not _rewrites(program, words):
        yield from _archive(words)
        return
    for word in _named_words(command):
        for part in _paths_of(word.text):
            yield from (part, *_matches(part, word, folders))
    yield from unpacked_files(program, words, folders)
    if program == "find" and any("find" in one.wrappers for one in _writers(command, reading, root)):
        yield from _found_tool_files(words, folders)
    code = (*words, *command.fed)
    if program in FILTERS or (program in INTERPRETERS and any(map(_WRITING_CODE.search, code))):
        yield from _paths_in_code(code)
    if program == "patch" or (own and own[0] in PATCH_READERS):
        yield from _patched_files(command, folders)


def _redirected(command: SimpleCommand, folders: Sequence[Path]) -> Iterator[str]:
    for target in command.writes:
        if target != "/dev/null":
            yield target
            yield from _matches(target, Word(target, has_glob=_WILD.search(target) is not None), folders)


def _outputs(words: Sequence[str]) -> Iterator[str]:
    """Yield the values of options that name an output in most programs: `-o X`, `-oX`, `--output=X`."""
    for at, word in enumerate(words):
        found = _OUTPUT.match(word)
        if found is not None:
            yield word[found.end() :] or "".join(words[at + 1 : at + 2])


def _archive(words: Sequence[str]) -> Iterator[str]:
    for word, following in pairwise((*words, "")):
        if re.fullmatch(r"-?[A-Za-z]*f|--file", word):
            yield following
        elif word.startswith("--file="):
            yield word.partition("=")[2]


def _named_words(command: SimpleCommand) -> Iterator[Word]:
    """Yield the words that may name a file which the command writes: not the script that an interpreter runs,
    no settings, and nothing that is left out."""
    words = command.parts[1:]
    if command.program == "find":
        yield from _found(words)
        return
    is_script = command.program in RUNS_ITS_FILE - EDITORS
    for before, word in zip(command.parts, words, strict=False):
        if _NOT_WRITTEN.match(word.text) or ("=" not in before.text and _NOT_WRITTEN.match(before.text)):
            continue
        if is_script and not word.text.startswith("-"):
            is_script = False
            continue
        yield word


def _found(words: Sequence[Word]) -> Iterator[Word]:
    """Yield what a find looks for, without what it leaves out."""
    texts = [word.text for word in words]
    for at, word in enumerate(words[1:], 1):
        is_name = re.fullmatch(r"-i?(?:name|path|wholename)", texts[at - 1]) is not None
        if is_name and texts[at - 2] not in ("!", "-not") and texts[at + 1 : at + 2] != ["-prune"]:
            yield word
    yield from (word for word in words[:1] if not word.text.startswith("-"))


def _writers(command: SimpleCommand, reading: Reading, root: Workspace) -> Iterator[SimpleCommand]:
    """Yield the other commands of the line that do more than read."""
    for one in _others(command, reading):
        if one.words and not _only_reads(one, reading, root):
            yield one


def _found_tool_files(words: Sequence[str], folders: Sequence[Path]) -> Iterator[str]:
    """Yield the files that programs act on and that a find by name would find."""
    names = [name for option, name in pairwise(words) if option in ("-name", "-iname")]
    starts = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words)) or ["."]
    left = _MAX_WALKED
    for base in folders:
        for top, below, files in (one for start in starts for one in os.walk(base / start)):
            below[:] = [name for name in below if name not in (".git", "node_modules")]
            left -= len(files) + len(below)
            if left < 0:
                return
            found = [name for name in files if any(fnmatch(name, pattern) for pattern in names)]
            paths = (os.path.relpath(f"{top}/{name}", base) for name in found)
            yield from (path for path in paths if acting_program(path))


def _others(command: SimpleCommand, reading: Reading) -> Iterator[SimpleCommand]:
    """Yield the other commands of the line, whose output the command may take for names."""
    for one in reading.commands:
        if one is not command and not one.is_hint and one.program != "cd":
            yield one


def _paths_of(text: str) -> Iterator[str]:
    yield from paths_in(text)
    if re.match(r"-[A-Za-z][^-]", text):
        yield text[2:]


def _paths_in_code(texts: Sequence[str]) -> Iterator[str]:
    """Yield what may be paths in the text of a program."""
    for text in texts:
        yield from islice(_CODE_PATH.findall(text[:20_000]), _MAX_MATCHES)


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
