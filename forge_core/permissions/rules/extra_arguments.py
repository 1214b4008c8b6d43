"""What a command says beyond the prefix that a rule allows: harmless words, or a reason to ask again.

A prefix is a promise about a program, not about every option of it: `git log` prints, `git log --output=x`
writes. So a prefix that was granted in a prompt, for the session or for good, lets through only what is known
to be harmless, and one that the user wrote as a rule all but what is known to run programs, to write, or to
show keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from forge_core.permissions.path_info import locate
from forge_core.permissions.programs.git_command_line import RUNS_GPG
from forge_core.permissions.programs.program_catalog import (
    FILTERS,
    HARMLESS_TO_ALL,
    LONG_OPTIONS_WITH_ONE_DASH,
    ONLY_INSIDE,
    READERS,
    RISKY_OPTIONS,
    RUNNING_WORDS,
)
from forge_core.permissions.programs.runners import runner_of
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.argument_matching import parse_arguments
from forge_core.permissions.read_only.word_paths import glob_stays, names_secret, paths_in
from forge_core.permissions.shell.shell_words import Word

_RUNS_OR_WRITES = table(
    "--output --output-file --output-dir --output-directory --exec --exec-batch --ext-diff --textconv"
    " --upload-pack --receive-pack --pre --open-files-in-pager --toolexec --to-command --checkpoint-action"
    " --use-compress-program --compress-program --script-shell --eval --rsh --config --config-file"
    " --config-env --exec-path --rootdir --basetemp --confcutdir --python-executable --install-types"
    " --manifest-path --target-dir --prefix --makefile --file --directory --in-place --hostname-bin --git-dir"
    " --work-tree --no-index --force-with-lease --junit-xml --junitxml --pastebin --report-log"
    " --override-ini --pdbcls --plugins --inifile --cov-config --tx --log-file --html --benchmark-json"
    " --node-options --userconfig --globalconfig --rcfile --show-signature --search-zip --files0-from"
)
_WHOLE_WORDS = table("--cov --check --target --install --report --work --python --manifest --in --out-dir")
"""Options in their own right that happen to begin a risky one."""
_SHORT_OF_OTHERS = table("-o -O -c")

_WARNING_CLASS = re.compile(r"(?:-W|--pythonwarnings=)?\s*[a-z]{1,7}:[^:]*:[^:]*\.")
"""A filter for warnings whose class Python has to import."""
_RUNNING_TEXT = re.compile(r"system|getline|[|>@`]|/[gpiI\d]*[ew]|(?:^|[;\d/$}\s])[ewWr](?:\s|$)")
"""In a program for awk or sed: runs a command, or reads or writes a file."""


def is_harmless(words: Sequence[str], added: Sequence[Word], root: Path) -> bool:
    """Return whether what is `added` to a granted command of these `words` may run: only options known to
    be harmless, no path that leads out of `root`, no file with keys, none that steers git or Forge.
    Everything unknown is not."""
    runner = runner_of(list(words))
    if runner is None or (runner.words[0] == "git" and any(RUNS_GPG.search(word.text) for word in added)):
        return False
    own = len(runner.words) - (len(words) - len(added))
    return all(_is_known(word.text, runner.options) and _stays(word, root) for word in added[max(own, 0) :])


def leads_outside(prefix: Sequence[str], added: Sequence[Word], root: Path, folders: Sequence[Path]) -> bool:
    """Return whether what is `added` to a program that reads, run in one of `folders`, is a path outside of
    `root`, links, globs and the values of options followed. A text to search for is no path."""
    program = prefix[0].rpartition("/")[2]
    if program not in READERS and program not in FILTERS and program != "find":
        return False
    if program == "cd" and len(prefix) == 1 and not added:
        return True  # it goes home
    spec = READERS.get(program)
    known = parse_arguments((*map(Word, prefix[1:]), *added), spec) if spec is not None else None
    places: Sequence[Word] = added
    if known is not None:
        places = [word for word in added if any(word is path for path in known.paths)]
    elif program in FILTERS:
        operands = [word for word in added if not word.text.startswith("-")]
        places = [word for word in added if word not in operands[:1]]
    return any(_is_elsewhere(word, root, folders) for word in places)


def _is_elsewhere(word: Word, root: Path, folders: Sequence[Path]) -> bool:
    if word.has_tilde or (word.has_glob and not glob_stays(word, root, folders)):
        return True
    parts = paths_in(word.text) - {"/dev/null"}
    if word.text.startswith("-"):
        parts |= set(re.findall(r"(?:[/~]|\.\.).*", word.text, re.DOTALL)[:1])
    return any(
        part.startswith("~") or not locate(folder / part, root).is_inside
        for part in parts
        for folder in folders
    )


def is_risky(prefix: Sequence[str], added: Sequence[Word], root: Path) -> bool:
    """Return whether what is `added` to a command that begins with `prefix` runs another program, writes,
    or names a file with keys, so that a rule which the user wrote does not cover it."""
    programs = [word.rpartition("/")[2] for word in prefix]
    if len(programs) == 1 and _names_output(programs[0], added):
        return True
    return any(
        _runs_or_writes(word.text, programs)
        or names_secret(word, root)
        or _may_be_option(word, programs[0])
        or ("pytest" in programs and (_leaves(word, root) or _WARNING_CLASS.match(word.text) is not None))
        or (not ONLY_INSIDE.isdisjoint(programs) and _is_outside(word, root))
        for word in added
    )


def _names_output(program: str, added: Sequence[Word]) -> bool:
    """Return whether there are more files than the program reads: `uniq IN OUT` writes the second."""
    spec = READERS.get(program)
    if spec is None or spec.operands != "paths":
        return False
    operands = 0
    rest = iter(word.text for word in added)
    for text in rest:
        if text.startswith("-") and len(text) > 1:
            if text[1:] in spec.value_kinds:
                next(rest, None)
        else:
            operands += 1
    return operands > spec.most + spec.texts


def _may_be_option(word: Word, program: str) -> bool:
    """Return whether a glob may meet a file that has the name of an option, where options matter."""
    if not word.has_glob or program in HARMLESS_TO_ALL:
        return False
    return re.match(r"[*?\[]|-[^=]*[*?\[]", word.text) is not None


def _leaves(word: Word, root: Path) -> bool:
    """Return whether it names code outside of `root`."""
    parts = (part for part in paths_in(word.text) if re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", part))
    return any(part.startswith("~") or not locate(root / part, root).is_inside for part in parts)


def _is_outside(word: Word, root: Path) -> bool:
    """Return whether an operand is a file outside of `root`, links followed: pytest runs its code,
    formatters write it, and git compares such files with no repository at all."""
    if word.text.startswith("-"):
        return False
    return word.has_tilde or not locate(root / word.text.partition("::")[0], root).is_inside


def _is_known(word: str, options: frozenset[str]) -> bool:
    if not word.startswith("-") or word in options:
        return True
    name, equals, _ = word.partition("=")
    if word.startswith("--") or (equals and len(name) > 2):
        return bool(equals) and name in options
    cluster = re.fullmatch(r"-([A-Za-z]*)\d*", word)
    return cluster is not None and all(f"-{letter}" in options for letter in cluster[1])


def _stays(word: Word, root: Path) -> bool:
    """Return whether no part of the word, read as a path, leads out of `root`, to keys, or to files that
    programs act on."""
    if word.text.startswith("@") or word.has_glob or word.has_tilde or "~" in word.text[:1]:
        return False
    places = [locate(root / part, root) for part in paths_in(word.text)]
    return not any(one.is_private or one.acting_program for one in places)


def _runs_or_writes(word: str, programs: list[str]) -> bool:
    program = "pytest" if "pytest" in programs else programs[0] if programs else ""
    name = word.partition("=")[0]
    if program == "pytest" and word.startswith("@"):  # a file of options
        return True
    if program == "git" and RUNS_GPG.search(word):  # asks the program that gpg.program names
        return True
    if program in ("awk", "gawk", "mawk", "sed") and _RUNNING_TEXT.search(word.replace("||", "")):
        return True
    if word in RUNNING_WORDS.get(program, frozenset()) or word.startswith("ext::"):
        return True
    if program == "make" and re.match(r"[A-Z_]+[:?+]?=", word):
        return True
    if name.startswith("--") and len(name) > 2:  # many programs take an option's beginning for the option
        return name not in _WHOLE_WORDS and any(option.startswith(name) for option in _RUNS_OR_WRITES)
    short = RISKY_OPTIONS.get(program, _SHORT_OF_OTHERS)
    if name in short or program in LONG_OPTIONS_WITH_ONE_DASH or not re.match(r"-[A-Za-z]", word):
        return name in short
    cluster = name[1:] if len(name) <= 5 else name[1]  # -pO, or -O./program
    return any(len(option) == 2 and option[1] in cluster for option in short)
