"""What a command says beyond the prefix that a rule allows: harmless words, or a reason to ask again.

A prefix is a promise about a program, not about every option of it: `git log` prints, `git log --output=x`
writes. So a prefix that was granted in a prompt, for the session or for good, lets through only what is known
to be harmless, and one that the user wrote as a rule all but what is known to run programs, to write, or to
show keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.permissions.path_info import locate
from forge_core.permissions.programs.git_command_line import RUNS_GPG
from forge_core.permissions.programs.program_catalog import (
    FILTERS,
    HARMLESS_BEGINNINGS,
    HARMLESS_TO_ALL,
    HAS_OUTPUT_OPERAND,
    LONG_OPTIONS_WITH_ONE_DASH,
    ONLY_INSIDE,
    READERS,
    RISKY_EVERYWHERE,
    RISKY_OPTIONS,
    RISKY_OPTIONS_OF_OTHERS,
    RISKY_WORDS,
    WRAPPERS,
)
from forge_core.permissions.programs.runners import runner_of
from forge_core.permissions.read_only.word_paths import names_secret, paths_in
from forge_core.permissions.rules.filter_scripts import only_filters
from forge_core.permissions.shell.shell_words import Word
from forge_core.workspace.folders import Workspace


def is_harmless(words: Sequence[str], added: Sequence[Word], root: Workspace) -> bool:
    """Return whether what is `added` to a granted command of these `words` may run: only options known to
    be harmless, no path that leads out of `root`, no file with keys, none that steers git or Forge.
    Everything unknown is not."""
    runner = runner_of(list(words))
    if runner is None or (runner.words[0] == "git" and any(RUNS_GPG.search(word.text) for word in added)):
        return False
    own = len(runner.words) - (len(words) - len(added))
    return all(_is_known(word.text, runner.options) and _stays(word, root) for word in added[max(own, 0) :])


def is_risky(prefix: Sequence[str], added: Sequence[Word], root: Workspace) -> bool:
    """Return whether what is `added` to a command that begins with `prefix` runs another program, writes,
    or names a file with keys, so that a rule which the user wrote does not cover it."""
    programs = [word.rpartition("/")[2] for word in prefix]
    program = program_of_rule(prefix)
    if program in FILTERS and not only_filters(program, (*map(Word, prefix[1:]), *added)):
        return True
    if len(programs) == 1 and _has_other_operands(programs[0], added):
        return True
    return any(
        _runs_or_writes(word.text, program)
        or names_secret(word, root)
        or _may_be_option(word, programs[0])
        or ("pytest" in programs and _leaves(word, root))
        or (not ONLY_INSIDE.isdisjoint(programs) and _is_outside(word, root))
        for word in added
    )


def risky_arguments(program: str) -> tuple[str, ...]:
    """Return what a rule that the user wrote for a program does not cover: options, short ones first, and
    other words, by what they are. What asks for every program is not among them."""
    options = sorted(RISKY_OPTIONS.get(program, RISKY_OPTIONS_OF_OTHERS), key=lambda one: (len(one) > 2, one))
    words = [RISKY_WORDS[program][1]] if program in RISKY_WORDS else []
    words += ["scripts that run a program, or read or write another file"] if program in FILTERS else []
    spec = READERS.get(program)
    if program in WRAPPERS:
        return (*options, *words)
    if spec is not None and spec.operands == "none":
        words.append("any word that is not an option")
    elif spec is not None and spec.beginning:
        words.append(f"words that do not begin with {spec.beginning}")
    elif program in HAS_OUTPUT_OPERAND:
        words.append("a second file")
    return (*options, *words)


def program_of_rule(prefix: Sequence[str]) -> str:
    """Return the program whose arguments count for a rule that begins with these words."""
    programs = [word.rpartition("/")[2] for word in prefix]
    return "pytest" if "pytest" in programs else next(iter(programs), "")


def _has_other_operands(program: str, added: Sequence[Word]) -> bool:
    """Return whether there are operands with which the program does more than read: `uniq IN OUT` writes the
    second, `hostname NAME` and `date TIME` set them."""
    spec = READERS.get(program)
    if spec is None or program in WRAPPERS:
        return False
    operands: list[str] = []
    rest = iter(word.text for word in added)
    for text in rest:
        if not text.startswith("-") or len(text) == 1:
            operands.append(text)
        elif text[1:] in spec.value_kinds or (text, ":") in spec.long_kinds:
            next(rest, None)
    if spec.operands == "paths":
        return len(operands) > spec.most + spec.texts
    return any(spec.operands == "none" or not text.startswith(spec.beginning) for text in operands)


def _may_be_option(word: Word, program: str) -> bool:
    """Return whether a glob may meet a file that has the name of an option, where options matter."""
    if not word.has_glob or program in HARMLESS_TO_ALL:
        return False
    return re.match(r"[*?\[]|-[^=]*[*?\[]", word.text) is not None


def _leaves(word: Word, root: Workspace) -> bool:
    """Return whether it names code outside of `root`."""
    parts = (part for part in paths_in(word.text) if re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", part))
    return any(part.startswith("~") or not locate(root / part, root).is_inside for part in parts)


def _is_outside(word: Word, root: Workspace) -> bool:
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


def _stays(word: Word, root: Workspace) -> bool:
    """Return whether no part of the word, read as a path, leads out of `root`, to keys, or to files that
    programs act on."""
    if word.text.startswith("@") or word.has_glob or word.has_tilde or "~" in word.text[:1]:
        return False
    places = [locate(root / part, root) for part in paths_in(word.text)]
    return not any(one.is_private or one.acting_program for one in places)


def _runs_or_writes(word: str, program: str) -> bool:
    name = word.partition("=")[0]
    pattern, _ = RISKY_WORDS.get(program, (None, ""))
    if pattern is not None and pattern.search(word.replace("||", "")):
        return True
    risky = RISKY_OPTIONS.get(program, RISKY_OPTIONS_OF_OTHERS)
    if name in risky:
        return True
    if name.startswith("--") and len(name) > 2:  # many programs take an option's beginning for the option
        long = risky | RISKY_EVERYWHERE
        return name not in HARMLESS_BEGINNINGS and any(option.startswith(name) for option in long)
    if program in LONG_OPTIONS_WITH_ONE_DASH or not re.match(r"-[A-Za-z]", word):
        return False
    return any(f"-{letter}" in risky for letter in _letters(name, program))


def _letters(word: str, program: str) -> str:
    """Return the letters of options in one word: those before a value, as far as that is known."""
    spec = READERS.get(program)
    if spec is None:
        return word[1:] if len(word) <= 5 else word[1]  # -pO, or -O./program
    value = next((at for at, letter in enumerate(word) if letter in spec.value_kinds), len(word))
    return word[1 : value + 1]
