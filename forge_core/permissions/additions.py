"""What a command says beyond the prefix that a rule allows: harmless words, or a reason to ask again.

A prefix is a promise about a program, not about every option of it: `git log` prints, `git log --output=x`
writes. So a prefix granted by a "yes, for this session" lets through only what is known to be harmless, and
one that the person wrote as a rule all but what is known to run programs, to write, or to show keys.
"""

from __future__ import annotations

import re
import shlex
from glob import iglob
from itertools import islice
from pathlib import Path

from forge_core.permissions.paths import is_secret, place
from forge_core.permissions.runners import runner_of
from forge_core.permissions.tables import table

_RUNS_OR_WRITES = table(
    "--output --output-file --output-dir --output-directory --exec --exec-batch --ext-diff --textconv"
    " --upload-pack --receive-pack --pre --open-files-in-pager --toolexec --to-command --checkpoint-action"
    " --use-compress-program --compress-program --script-shell --eval --rsh --config --config-file"
    " --config-env --exec-path --rootdir --basetemp --confcutdir --python-executable --install-types"
    " --manifest-path --target-dir --prefix --makefile --file --directory --in-place --hostname-bin --git-"
    " dir --work-tree --no-index --force-with-lease --junit-xml --junitxml --pastebin --report-log"
    " --rcfile"
)
_WHOLE_WORDS = table("--check --target --install --report --work --python --manifest --in --out-dir")
"""Options in their own right that happen to begin a risky one."""
_SHORT: dict[str, frozenset[str]] = {
    "git": table("-o -O -c -x"),
    "make": table("-f -C -I"),
    "pytest": table("-c -p -o"),
    "go": table("-exec -toolexec -vettool -o -overlay -modfile -C"),
    "rg": frozenset(),
    "grep": frozenset(),
    "ls": frozenset(),
    "ps": frozenset(),
    "gcc": frozenset(),
    "cc": frozenset(),
    "clang": frozenset(),
    "find": table("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"),
    "fd": table("-x -X"),
    "curl": table("-o -O -T -d -K -F -x"),
    "tar": table("-I -F"),
    "rsync": frozenset({"-e"}),
    "sed": frozenset({"-i"}),
    "perl": table("-i -e"),
    "date": frozenset({"-s"}),
    "sort": table("-o -T"),
    "ssh": frozenset({"-o"}),
}
_LONG_WITH_ONE_DASH = table("go find java terraform")
_SHORT_OF_OTHERS = table("-o -O -c")
_RUNNING_WORDS = {
    "git": table("foreach run difftool mergetool filter-branch config"),
    "uv": table("install run"),
}
_ODD = re.compile(r"[^\S ]")
_MAX_FILES = 2_000
_MAX_WILD = 2
"""Folders of wildcards that are looked up; what names more is taken for risky."""


def is_harmless(command: str, prefix: str, root: Path) -> bool:
    """Whether what follows `prefix` may run after a "yes, for this session": only options known to be
    harmless, no path that leads out of `root`, no file with keys. Everything unknown is not."""
    added = _added(command, prefix)
    runner = runner_of(_words(command) or [])
    if added is None or runner is None or _ODD.search(command):
        return False
    own = len(runner.words) - len(_words(prefix) or [])
    return all(_is_known(word, runner.options) and _stays(word, root) for word in added[max(own, 0) :])


def is_risky(command: str, prefix: str, root: Path) -> bool:
    """Whether what follows `prefix` runs another program, writes, or names a file with keys, so that a rule
    which the person wrote does not cover it. What cannot be read is risky."""
    added = _added(command, prefix)
    if added is None:
        return True
    programs = [word.rpartition("/")[2] for word in _words(prefix) or []]
    return any(_runs_or_writes(word, programs) or _shows_keys(word, root) for word in added)


def _added(command: str, prefix: str) -> list[str] | None:
    return _words(command.strip()[len(prefix) :])


def _words(text: str) -> list[str] | None:
    """The words as the shell would see them, or None when it cannot be told."""
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _is_known(word: str, options: frozenset[str]) -> bool:
    if not word.startswith("-") or word in options:
        return True
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        return bool(equals) and name in options
    name, equals, _ = word.partition("=")
    if equals and len(name) > 2:
        return name in options
    cluster = re.fullmatch(r"-([A-Za-z]*)\d*", word)
    return cluster is not None and all(f"-{letter}" in options for letter in cluster[1])


def _stays(word: str, root: Path) -> bool:
    """Whether no part of the word, read as a path, leads out of `root` or to keys."""
    if re.match(r"[@~]", word) or re.search(r"[*?\[]|[=:]~", word):
        return False
    return all(
        one.is_inside and not one.is_secret for one in (place(root / part, root) for part in _parts(word))
    )


def _runs_or_writes(word: str, programs: list[str]) -> bool:
    program = "pytest" if "pytest" in programs else programs[0] if programs else ""
    name = word.partition("=")[0]
    if word in _RUNNING_WORDS.get(program, frozenset()) or word.startswith("ext::"):
        return True
    if program == "make" and re.match(r"[A-Z_]+[:?+]?=", word):
        return True
    if name.startswith("--") and len(name) > 2:  # many programs take an option's beginning for the option
        return name not in _WHOLE_WORDS and any(option.startswith(name) for option in _RUNS_OR_WRITES)
    short = _SHORT.get(program, _SHORT_OF_OTHERS)
    if name in short or program in _LONG_WITH_ONE_DASH or not re.match(r"-[A-Za-z]", word):
        return name in short
    cluster = name[1:] if len(name) <= 5 else name[1]  # -pO, or -O./program
    return any(len(option) == 2 and option[1] in cluster for option in short)


def _shows_keys(word: str, root: Path) -> bool:
    for part in _parts(word):
        here = str(Path.home()) + part[1:] if part == "~" or part.startswith("~/") else part
        if is_secret(part) or place(root / here, root).is_secret:
            return True
        wild = sum(bool(re.search(r"[*?\[]", one)) for one in here.split("/"))
        if wild and (wild > _MAX_WILD or not place(root / here, root).is_inside):
            return True
        if wild:
            found = list(islice(iglob(here, root_dir=root), _MAX_FILES))  # noqa: PTH207  as the shell: no .files
            if len(found) == _MAX_FILES or any(place(root / one, root).is_secret for one in found):
                return True
    return False


def _parts(word: str) -> set[str]:
    """The word, and what follows a `=` or `:` in it: `--file=.env`, `HEAD:.env`."""
    return {part for part in (word, *re.split(r"[=:]", word)[1:], *re.findall(r"(?:=|:)(.*)", word)) if part}
