"""What a command deletes, moves away, makes inaccessible or empties, on the disk or on a remote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forge_core.permissions.programs.git_command_line import option_values, subcommand
from forge_core.permissions.programs.program_catalog import (
    DELETERS,
    DESTRUCTIVE,
    DESTRUCTIVE_WORDS,
    FIND_RUNNERS,
    NETWORK_PROGRAMS,
    OVERWRITERS,
)
from forge_core.permissions.shell.syntax import read_line

# GNU programs and git accept every unambiguous prefix of a long option: `--recurs`, `--dry`.
_RECURSIVE = re.compile(r"-\w*[rR]\w*|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:ve?)?)?)?)?)?)?)?")
_FIND_TESTS = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|[acm](?:time|min)|newer\w*|size|empty|user|group|perm)"
)
_REMOVALS = re.compile(
    r"(?:rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync|rimraf)\W[^'\"\n]{0,80}['\"]([^'\"\n]{1,200})['\"]"
)
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_OUTPUT_OPTIONS = {
    "curl": re.compile(r"-[a-zA-Z]*o|--output=?"),
    "wget": re.compile(r"-[a-zA-Z]*O|--output-document=?"),
    "sort": re.compile(r"-[a-zA-Z]*o|--output=?"),
}
_INTO = {
    "cp": re.compile(r"-t|--target-directory=?"),
    "wget": re.compile(r"-P|--directory-prefix=?"),
    "unzip": re.compile(r"-d"),
    "tar": re.compile(r"-C|--directory=?"),
}
"""Program → its option that names the folder."""
_DRY = re.compile(r"--d(?:r(?:y(?:-(?:r(?:u(?:n)?)?)?)?)?)?")
_EVERYTHING = re.compile(r"(?:\.|\*+|:/|:\(top\))?/*")


@dataclass(frozen=True, slots=True)
class GitClean:
    """One `git … clean …`."""

    folders: tuple[str, ...]
    """Where it begins, as written: each from the one before it."""
    operands: tuple[str, ...]
    is_deep: bool
    """It also takes ignored files (keys and settings among them), or repositories within this one."""

    @property
    def takes_all(self) -> bool:
        """Whether the line does not show what it deletes."""
        return not self.operands or any(
            _EVERYTHING.fullmatch(one) or re.search(r"[$`]", one) for one in self.operands
        )


def is_recursive(words: Sequence[str]) -> bool:
    """Return whether an option says that whole folders are meant."""
    return any(_RECURSIVE.fullmatch(word) for word in words if word != "-")


def destroyed(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what a command deletes, moves away or makes inaccessible with everything below it."""
    flags = [word for word in words if word.startswith("-") and word != "-"]
    operands = [word for word in words if not word.startswith("-")]
    recursive = is_recursive(flags)
    is_unknown = any(re.search(r"[$`]", word) for word in words)  # it may be the option that matters
    if (program in DELETERS and (recursive or is_unknown or program == "srm")) or program in (
        "unlink",
        "shred",
    ):
        yield from operands
    elif program in ("chmod", "chown", "chgrp") and recursive:
        yield from operands[1:]
    elif program == "mv":
        yield from operands[:-1]
    elif program == "find" and find_deletes(words) and not is_filtered(words):
        yield from find_folders(words)
    elif program == "rsync" and any(flag.startswith("--delete") for flag in flags):
        yield from operands[-1:]
    elif program in ("tar", "gtar", "bsdtar") and any(flag.startswith("--remove-f") for flag in flags):
        yield from _archived(words)
    elif program == "zip" and any(re.fullmatch(r"-\w*m\w*|--move", flag) for flag in flags):
        yield from operands[1:]


def removed_by_text(texts: Sequence[str]) -> Iterator[str]:
    """Yield the folders that a program given as text removes, where it names them literally."""
    for text in texts:
        yield from _REMOVALS.findall(text[:20_000])


def overwritten(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield files that a command overwrites."""
    operands = [word for word in words if not word.startswith("-")]
    if program in OVERWRITERS or program in ("rm", "unlink"):
        yield from operands
    elif program in ("cp", "mv", "install", "ln", "scp", "rsync"):
        yield from operands[-1:]
        yield from operands[:-1] if program == "mv" else ()
    elif program == "ddrescue":
        yield from operands[1:2]
    elif program in ("dd", "dcfldd", "dc3dd"):
        yield from (word.partition("=")[2] for word in words if re.match(r"(?:h?of|wipe)=", word))
    elif program in ("sed", "gsed", "perl") and any(map(_IN_PLACE.match, words)):
        yield from operands
    elif program in _OUTPUT_OPTIONS:
        yield from _values(words, _OUTPUT_OPTIONS[program])


def put_into(program: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the folders that a command puts files into, each with the name of one, or with "" where the line
    does not give the names."""
    operands = [word for word in words if not word.startswith("-")]
    if program in ("cp", "mv", "install", "ln", "scp", "rsync"):
        given = [] if program in ("scp", "rsync") else list(_values(words, _INTO["cp"]))
        sources = [one for one in operands if one not in given] if given else operands[:-1]
        for folder in given or operands[-1:]:
            yield from ((folder, one.rstrip("/").rpartition("/")[2]) for one in sources)
    elif program in _INTO and (program != "tar" or is_extracting(words)):
        yield from ((folder, "") for folder in _values(words, _INTO[program]))


def is_extracting(words: Sequence[str]) -> bool:
    """Return whether these are arguments of tar with which it writes files."""
    return any(re.fullmatch(r"-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get", word) for word in words[:4])


def _values(words: Sequence[str], option: re.Pattern[str]) -> Iterator[str]:
    """Yield the values of an option, joined to it or behind it."""
    for at, word in enumerate(words):
        found = option.match(word)
        if found is not None:
            yield word[found.end() :] or "".join(words[at + 1 : at + 2])


def _archived(words: Sequence[str]) -> Iterator[str]:
    folder, is_value = "", False
    for word in words:
        if is_value:
            folder, is_value = word, False
        elif word in ("-C", "--directory", "--cd"):
            is_value = True
        elif word.startswith("--directory="):
            folder = word.partition("=")[2]
        elif not word.startswith("-"):
            yield f"{folder}/{word}" if folder and not word.startswith(("/", "~")) else word


def find_deletes(words: Sequence[str]) -> bool:
    """Return whether a find removes what it meets."""
    return _deletion(words) is not None


def _deletion(words: Sequence[str]) -> int | None:
    for at, word in enumerate(words):
        runs = word in FIND_RUNNERS
        if word == "-delete" or (
            runs and any(one.rpartition("/")[2] in ("rm", "shred") for one in words[at + 1 : at + 2])
        ):
            return at
    return None


def is_filtered(words: Sequence[str]) -> bool:
    """Return whether a test before the deletion leaves most of what find meets."""
    before = list(words[: _deletion(words)])
    # Each alternative of `-o` has tests of its own: only those of the deletion's alternative limit it.
    if "(" not in before:
        last = max((at for at, word in enumerate(before) if word in ("-o", "-or", ",")), default=-1)
        before = before[last + 1 :]
    return any(
        _FIND_TESTS.fullmatch(word)
        and (not at or before[at - 1] not in ("!", "-not"))
        # A pattern of wildcards, dots and slashes only (`-name '*'`) matches nearly everything.
        and (word == "-empty" or re.search(r"[^*?./]", "".join(before[at + 1 : at + 2])))
        for at, word in enumerate(before)
    )


def find_folders(words: Sequence[str]) -> list[str]:
    """Return the folders where a find begins."""
    starts: list[str] = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            if word in ("-H", "-L", "-P") and not starts:
                continue
            break
        starts.append(word)
    return starts or ["."]


def parse_clean(words: Sequence[str], assignments: Sequence[str] = ()) -> GitClean | None:
    """Return what follows `git`, read as a clean that deletes; None for everything else, dry runs too."""
    folders = [
        value for name, _, value in (one.partition("=") for one in assignments) if name == "GIT_WORK_TREE"
    ]
    folders += option_values(words, "-C", "--work-tree")
    rest = list(subcommand(words))
    if rest[:1] != ["clean"]:
        return None
    operands: list[str] = []
    letters, is_dry = "", False
    left = iter(rest[1:])
    for word in left:
        if word == "--":
            operands += left
        elif word.startswith("--"):
            # By their first letters, since git accepts prefixes: --dry-run, --force, --exclude.
            is_dry = is_dry or _DRY.fullmatch(word) is not None
            letters += "f" if word.startswith("--f") else ""
            if word.startswith("--e") and "=" not in word:
                next(left, None)
        elif word.startswith("-") and len(word) > 1:
            own, excludes, pattern = word[1:].partition("e")
            letters += own
            if excludes and not pattern:
                next(left, None)
        else:
            operands.append(word)
    if is_dry or "n" in letters:
        return None
    is_unknown = any(re.search(r"[$`]", word) for word in rest[1:])  # it may be the option that matters
    is_deep = is_unknown or "x" in letters or "X" in letters or letters.count("f") > 1
    return GitClean(tuple(folders), tuple(operands), is_deep)


def push_arguments(words: Sequence[str]) -> list[str]:
    """Return what follows `git … push`, or nothing. `words` are those behind `git`."""
    rest = list(subcommand(words))
    return rest[1:] if rest[:1] == ["push"] else []


def rewrites_history(words: Sequence[str]) -> str | None:
    """Return why the git command makes commits unrecoverable, or None. `words` are those behind `git`."""
    rest = list(subcommand(words))
    helps = {"-h", "--help", "--version"} & set(rest[1:])
    if rest[:1] in (["filter-branch"], ["filter-repo"]) and rest[1:] and not helps:
        return f"git {rest[0]} rewrites the history"
    expires = any(
        re.match(r"--expire(?:-u\w*)?=(?!never|false|.*(?:day|week|month|year))", one) for one in rest
    )
    is_dry = any(re.fullmatch(r"-n|--dry\S*", one) for one in rest)
    if not is_dry and (rest[:2] == ["reflog", "drop"] or (rest[:2] == ["reflog", "expire"] and expires)):
        return f"git reflog {rest[1]} deletes what commits can be restored from"
    return None


def prunes(words: Sequence[str]) -> bool:
    """Return whether git deletes at once the commits that no branch or reflog leads to, or all stashes."""
    rest = list(subcommand(words))
    if "-n" in rest or "--dry-run" in rest:
        return False
    settings = " ".join(option_values(words, "-c", "--config-env")).casefold()
    return (
        rest[:1] == ["prune"]
        or rest[:2] == ["stash", "clear"]
        or (rest[:1] == ["gc"] and any(re.match(r"--prune=(?:now|all)", word) for word in rest))
        or (rest[:1] == ["gc"] and re.search(r"gc\.\w*expire\w*=", settings) is not None)
    )


def is_leased(word: str) -> bool:
    """Return whether it forces, but only over what was last seen there."""
    return word.startswith(("--force-w", "--force-i"))


def rewrites_a_remote(words: Sequence[str]) -> str | None:
    """Return why the push overwrites what others may have pushed, or None."""
    for word in push_arguments(words):
        forces = word.startswith("--force") and not is_leased(word)
        mirrors = len(word) > 3 and "--mirror".startswith(word)
        # A plus before a refspec forces the update of that branch.
        if forces or mirrors or word.startswith("+") or re.fullmatch(r"-[a-z]*f[a-z]*", word):
            return f"git push {word} rewrites the history of a remote"
    return None


def deletes_branches(words: Sequence[str]) -> bool:
    """Return whether the push deletes branches or tags of the remote."""
    return any(
        re.fullmatch(r":.+|-[a-z]*d[a-z]*", word)
        or (len(word) > 4 and ("--delete".startswith(word) or "--prune".startswith(word)))
        for word in push_arguments(words)
    )


def is_destructive(command: str) -> bool:
    """Return whether the line deletes, rewrites, leaves the machine or acts as another user, so that the
    answer offered first should be no."""
    for one in read_line(command).commands:
        if one.is_hint and one.program not in DESTRUCTIVE:
            continue
        parts = DESTRUCTIVE_WORDS.get(one.program, frozenset())
        if (
            not DESTRUCTIVE.isdisjoint((one.program, *one.wrappers))
            or one.program in NETWORK_PROGRAMS
            or not parts.isdisjoint(one.words[1:])
        ):
            return True
        if one.program == "find" and "-delete" in one.words:
            return True
    return False
