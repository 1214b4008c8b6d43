"""What Forge knows about git's own command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.programs.word_sets import table

OWN_SUBCOMMANDS = table(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore"
    " check-mailmap checkout cherry cherry-pick clean clone commit config count-objects describe diff"
    " diff-tree difftool fetch format-patch fsck gc grep help init interpret-trailers log ls-files ls-remote"
    " ls-tree merge merge-base mergetool mv name-rev notes prune pull push range-diff rebase reflog remote"
    " reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref stash status submodule"
    " switch symbolic-ref tag var verify-commit verify-pack verify-tag version worktree"
)
"""No alias takes the place of these. Not `whatchanged`: git lets an alias replace what it has deprecated."""
VALUE_OPTIONS = table(
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --shallow-file"
)
"""Options before the subcommand that take the next word for their value."""
OTHER_READERS = table(
    "annotate check-attr check-mailmap fsck merge-tree name-rev range-diff show-branch var verify-pack"
    " whatchanged"
)
"""Further subcommands that only read, for which the programs of a repository can be switched off. A rule may
allow them; none of their arguments are known, so they never run without one."""
PROGRAM_USERS = table(
    "archive bugreport diagnose difftool help interpret-trailers ls-remote mergetool request-pull"
    " verify-commit verify-tag remote:show submodule:status submodule:summary"
)
"""Subcommands, some with the word that follows, that change little themselves and cannot do without the
programs that the config names: transports, viewers, signatures, formats of archives."""
REMOTE_WRITERS = table("send-pack http-push subtree remote-http remote-https")
"""Other subcommands that push."""
SHOWS_FILES = table("diff diff-files diff-index status")
"""Subcommands that may show what the files of the working tree hold."""
WRITES_WITH_OPERANDS = table("branch config reflog remote stash symbolic-ref tag worktree")
"""Subcommands that only read with some arguments, and write with others."""
READS_HISTORY = table(
    "for-each-ref fsck log ls-tree merge-base merge-tree name-rev range-diff rev-list rev-parse shortlog show"
    " show-branch show-ref verify-pack version whatchanged"
)
"""Subcommands that never look at the files of the working tree, so that no filter matters to them."""
TREE_WRITERS = table("mv")
"""Subcommands that put a file of the working tree under a name that the line chooses."""
PATH_WRITERS = table("checkout clean clone config init restore rm stash submodule worktree")
"""Further subcommands that write or remove files that the line names."""
PATCH_READERS = table("am apply")
"""Subcommands that write the files that a patch names."""
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
    return ArgumentSpec(flags, values, long, texts=texts, instead=instead, most=most, joins_values=False)


_DIFFS = ArgumentSpec("psRwbMCBWz", "U:N S:T G:T", _DIFF, has_digits=True)
_LOGS = ArgumentSpec("psRwbMCBWzmciEFPgt", "n:N U:N S:T G:T L:T", _LOG, has_digits=True)
READ_ONLY_ARGUMENTS: dict[str, ArgumentSpec] = {
    "status": ArgumentSpec(
        "sbvz",
        "u:K",
        "--short --branch --porcelain --porcelain=K --long --verbose --show-stash --ignored --untracked-files"
        " --untracked-files=K --ahead-behind --no-ahead-behind --renames --no-renames --ignore-submodules=K",
    ),
    "diff": _DIFFS,
    "log": _LOGS,
    "show": _LOGS,
    "diff-tree": ArgumentSpec("prsvzMC", "U:N", _DIFF + " --root --no-commit-id"),
    "diff-index": ArgumentSpec("pszMC", "U:N", _DIFF),
    "diff-files": ArgumentSpec("pszMC", "U:N", _DIFF),
    "rev-list": ArgumentSpec(
        "", "n:N", "--count --all --branches --tags --max-count=N --left-right --first-parent --no-merges"
        " --merges --since=T --until=T --reverse --oneline --parents", has_digits=True,
    ),
    "shortlog": ArgumentSpec(
        "snec", "", "--summary --numbered --email --no-merges --all --since=T --until=T",
    ),
    "blame": _shown("wMCseltpfc", "L:T", "--line-porcelain --porcelain --date=T --show-email --root"),
    "grep": ArgumentSpec(
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
    "reflog show": ArgumentSpec("", "n:N", "--oneline --date=T --all", most=1, has_digits=True),
    "config": _shown(
        "lz", "", "--list --get --get-all --get-regexp --show-origin --show-scope --name-only --local"
        " --global --system --includes --type=K --null --bool --int", most=2,
    ),
}  # fmt: skip
"""Subcommands, some with the word that must follow at once, and what each may be given."""
LISTING_OPTIONS = {
    "branch": frozenset({"--list"}),
    "tag": table("-l --list"),
    "config": table("-l --list --get --get-all --get-regexp"),
}
"""Subcommands that list only with an option for it, or without operands."""
PATHLESS = table(
    "rev-parse describe merge-base config remote branch tag cherry for-each-ref show-ref symbolic-ref"
)
RUNS_GPG = re.compile(r"%G|%\(\*?(?:signature|contents:signature)")
"""In a format: asks the program that gpg.program names."""


def subcommand_index(words: Sequence[str]) -> int:
    """Return where the subcommand is among the words behind `git`; their number when there is none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUE_OPTIONS else 1
    return min(at, len(words))


def subcommand(words: Sequence[str]) -> Sequence[str]:
    """Return the words behind `git`, from the subcommand on."""
    return words[subcommand_index(words) :]


def option_values(words: Sequence[str], *names: str) -> list[str]:
    """Return the values of these options before the subcommand, in order."""
    found: list[str] = []
    end = subcommand_index(words)
    at = 0
    while at < end:
        name, equals, value = words[at].partition("=")
        if name in names:
            found += [value] if equals else words[at + 1 : at + 2]
        at += 2 if words[at] in VALUE_OPTIONS else 1
    return found
