"""Which git commands plainly only show something, spelled exactly, and which of their words are paths."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.permissions.programs.argument_spec import ArgumentSpec, arguments
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.arguments import ParsedArguments, parse_arguments
from forge_core.permissions.shell.words import Word

_DIFF = (
    " --stat --stat=K --shortstat --numstat --summary --name-only --name-status --patch --no-patch --cached"
    " --staged --unified=N --color --color=K --no-color --word-diff --word-diff=K --color-words --raw"
    " --diff-filter=K --ignore-all-space --ignore-space-change --ignore-blank-lines --minimal --patience"
    " --histogram --check --compact-summary --dirstat --merge-base --no-ext-diff --no-textconv --no-renames"
    " --relative --find-renames --find-copies --exit-code --quiet --pickaxe-all --function-context"
    " --no-prefix --full-index --abbrev --abbrev=N --ignore-submodules --ignore-submodules=K"
)
_LOG = (
    _DIFF + " --oneline --graph --all --branches --tags --remotes --decorate --decorate=K --no-decorate"
    " --follow --merges --no-merges --first-parent --reverse --abbrev-commit --no-abbrev-commit --date=T"
    " --author=T --committer=T --grep=T --since=T --until=T --after=T --before=T --max-count=N --skip=N"
    " --format=T --pretty=T --pretty --left-right --cherry-pick --topo-order --date-order --relative-date"
    " --no-walk --full-history --all-match --invert-grep --regexp-ignore-case --fixed-strings --shortstat"
)
_NAMES = "--sort=T --format=T --color --color=K --no-color --column --no-column --ignore-case"


def _shown(
    flags: str = "", values: str = "", long: str = "", *, texts: int = 0, instead: str = "", most: int = 1_000
) -> ArgumentSpec:
    return arguments(flags, values, long, texts=texts, instead=instead, most=most, joins_values=False)


_DIFFS = arguments("psRwbMCBWz", "U:N S:T G:T", _DIFF, has_digits=True)
_LOGS = arguments("psRwbMCBWzmciEFPgt", "n:N U:N S:T G:T L:T", _LOG, has_digits=True)
_FORMS: dict[str, ArgumentSpec] = {
    "status": arguments(
        "sbvz",
        "u:K",
        "--short --branch --porcelain --porcelain=K --long --verbose --show-stash --ignored --untracked-files"
        " --untracked-files=K --ahead-behind --no-ahead-behind --renames --no-renames --ignore-submodules=K",
    ),
    "diff": _DIFFS,
    "log": _LOGS,
    "show": _LOGS,
    "diff-tree": arguments("prsvzMC", "U:N", _DIFF + " --root --no-commit-id"),
    "diff-index": arguments("pszMC", "U:N", _DIFF),
    "diff-files": arguments("pszMC", "U:N", _DIFF),
    "rev-list": arguments(
        "", "n:N", "--count --all --branches --tags --max-count=N --left-right --first-parent --no-merges"
        " --merges --since=T --until=T --reverse --oneline --parents", has_digits=True,
    ),
    "shortlog": arguments("snec", "", "--summary --numbered --email --no-merges --all --since=T --until=T"),
    "blame": _shown("wMCseltpfc", "L:T", "--line-porcelain --porcelain --date=T --show-email --root"),
    "grep": arguments(
        "nilLcwvEFPGhHoqaprW", "e:T A:N B:N C:N m:N",
        "--cached --line-number --ignore-case --files-with-matches --count --name-only --word-regexp"
        " --heading --break --show-function --function-context --color --color=K --no-color --column"
        " --extended-regexp --fixed-strings --perl-regexp --and --or --not --quiet --invert-match"
        " --full-name --only-matching --max-depth=N", texts=1, instead="-e",
    ),
    "ls-files": _shown(
        "cdmoistvz", "x:G", "--cached --deleted --modified --others --ignored --stage --exclude-standard"
        " --full-name --error-unmatch --directory --unmerged --exclude=G",
    ),
    "ls-tree": _shown("rdtlz", "", "--name-only --name-status --long --full-name --full-tree --abbrev=N"),
    "cat-file": _shown("pste", most=2),
    "rev-parse": _shown(
        "q", "", "--abbrev-ref --abbrev-ref=K --show-toplevel --git-dir --git-common-dir --show-prefix"
        " --verify --is-inside-work-tree --is-bare-repository --short --short=N --show-cdup"
        " --symbolic-full-name --absolute-git-dir --quiet --all",
    ),
    "describe": _shown(
        "", "", "--tags --always --all --long --abbrev=N --exact-match --contains --dirty --match=T"
        " --first-parent",
    ),
    "merge-base": _shown("a", "", "--is-ancestor --all --octopus --independent"),
    "for-each-ref": _shown("", "", _NAMES + " --count=N"),
    "show-ref": _shown("sqd", "", "--heads --tags --hash --verify --quiet --head"),
    "count-objects": _shown("vH", most=0),
    "check-ignore": _shown("vqn", "", "--verbose --quiet --non-matching --no-index"),
    "cherry": _shown("v"),
    "symbolic-ref": _shown("q", "", "--short --quiet", most=1),
    "version": _shown("", "", "--build-options", most=0),
    "branch": _shown(
        "arvi", "", _NAMES + " --list --show-current --all --remotes --verbose --merged --no-merged"
        " --abbrev=N --contains:T --no-contains:T --points-at:T",
    ),
    "tag": _shown("lni", "", _NAMES + " --list --merged --no-merged --contains:T --points-at:T"),
    "remote": _shown("v", "", "--verbose", most=0),
    "remote get-url": _shown("", "", "--all --push", most=1),
    "stash list": _shown("", "", "--oneline --stat", most=0),
    "stash show": _shown("pu", "", "--patch --stat --name-only --name-status --include-untracked", most=1),
    "worktree list": _shown("v", "", "--porcelain --verbose", most=0),
    "reflog": _shown("n", "", "--oneline --date=T --all", most=0),
    "reflog show": arguments("", "n:N", "--oneline --date=T --all", most=1, has_digits=True),
    "config": _shown(
        "lz", "", "--list --get --get-all --get-regexp --show-origin --show-scope --name-only --local"
        " --global --system --includes --type=K --null --bool --int", most=2,
    ),
}  # fmt: skip
"""Subcommands, some with the word that must follow at once, and what each may be given."""
_CHANGING = table("branch tag config")
"""They list only when told to, or when nothing is named."""
_LISTS = {
    "branch": frozenset({"--list"}),
    "tag": table("-l --list"),
    "config": table("-l --list --get --get-all --get-regexp"),
}
_PATHLESS = table(
    "rev-parse describe merge-base config remote branch tag cherry for-each-ref show-ref symbolic-ref"
)
_RUNS_GPG = re.compile(r"%G|%\(\*?(?:signature|contents:signature)")
"""In a format: asks the program that gpg.program names."""


def git_paths(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """The words of a git command that only shows, or None. Never with `-C` or another repository named."""
    rest = list(words[1:])
    while rest and rest[0].text in ("--no-pager", "--no-optional-locks"):
        rest.pop(0)
    if len(rest) == 1 and rest[0].text == "--version":
        return ()
    if not rest or any(_RUNS_GPG.search(word.text) for word in rest):
        return None
    name, own = " ".join(word.text for word in rest[:2]), 2
    if name not in _FORMS:
        name, own = rest[0].text, 1
    allowed = _FORMS.get(name)
    found = None if allowed is None else parse_arguments(rest[own:], allowed)
    if found is None or not _is_listing(name, found):
        return None
    if (
        name == "grep"
        and not {"--or", "--and", "--not"}.isdisjoint(found.options)
        and "-e" not in found.options
    ):
        return None
    if any(word.text.startswith(":(") for word in found.operands):
        return None
    return () if name.partition(" ")[0] in _PATHLESS else found.paths


def _is_listing(name: str, found: ParsedArguments) -> bool:
    if name not in _CHANGING:
        return True
    if name == "config":
        return not _LISTS["config"].isdisjoint(found.options)
    return not found.operands or not _LISTS[name].isdisjoint(found.options)
