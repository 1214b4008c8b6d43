"""Which git commands plainly only show something, and which of their words are paths."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.permissions.shell_words import Word
from forge_core.permissions.tables import table

_READS = table(
    "status diff log show branch tag remote rev-parse ls-files ls-tree cat-file blame annotate shortlog"
    " describe"
    " reflog stash grep config merge-base name-rev for-each-ref show-ref rev-list diff-tree diff-index"
    " diff-files"
    " count-objects check-ignore check-attr worktree whatchanged range-diff cherry symbolic-ref version var"
    " notes"
)
_RISKS = table(
    "--output --ext-diff --textconv --filters --open-files-in-pager --exec --upload-pack --show-signature"
    " --paginate --git-dir --work-tree --exec-path --config-env --super-prefix --namespace --stdin"
    " --batch --edit --edit-description --delete --force --move --copy --set-upstream-to --unset-upstream"
    " --add --unset --unset-all --replace-all --rename-section --remove-section --file --blob --contents"
    " --expire --ignore-revs-file --parseopt --no-index --verify-tag --sign"
)
_ONLY = {
    "branch": table(
        "-a -r -v -vv -i --list --all --remotes --verbose --show-current --merged --no-merged"
        " --contains --no-contains --points-at --sort --format --column --no-column --color"
        " --no-color --abbrev --ignore-case"
    ),
    "tag": table(
        "-l -n --list --sort --format --contains --no-contains --merged --no-merged --points-at --column -i"
    ),
    "remote": table("-v --verbose"),
    "config": table(
        "-l --list --get --get-all --get-regexp --show-origin --show-scope --name-only --local"
        " --global --system --includes --type --null -z --bool --int"
    ),
    "symbolic-ref": table("-q --quiet --short"),
    "worktree": table("--porcelain -v"),
    "reflog": table("-n --date --all --oneline --format --pretty"),
    "notes": frozenset[str](),
    "stash": table("-p -u --stat --patch --include-untracked --oneline --name-only --name-status"),
    "var": frozenset[str](),
}
"""git subcommands of which only these options are known to read."""
_FIRST = {
    "remote": table("show get-url"),
    "worktree": frozenset({"list"}),
    "reflog": frozenset({"show"}),
    "notes": table("list show"),
    "stash": table("list show"),
}
"""git subcommands whose first operand must be one of these."""
_PATHLESS = table("rev-parse describe merge-base name-rev config remote branch tag")


def git_paths(words: Sequence[Word]) -> list[Word] | None:
    """The words of a git command that only shows, or None."""
    rest = list(words[1:])
    folder: list[Word] = []
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option == "-C" and rest:
            folder.append(rest.pop(0))
        elif option not in ("--no-pager", "--no-optional-locks", "--version"):
            return None
        elif option == "--version":
            return folder if not rest else None
    if (
        not rest
        or rest[0].text not in _READS
        or any(re.match(r"[*?\[]", word.text) and word.has_glob for word in rest)
    ):
        return None
    command, arguments = rest[0].text, rest[1:]
    if any(_is_git_risk(word.text, command) for word in arguments):
        return None
    operands = [word.text for word in arguments if not word.text.startswith("-")]
    only = _ONLY.get(command)
    if only is not None and not all(
        word.text.partition("=")[0] in only or re.fullmatch(r"-n?\d+", word.text)
        for word in arguments
        if word.text.startswith("-")
    ):
        return None
    if command in _FIRST and operands and operands[0] not in _FIRST[command]:
        return None
    if not _is_git_listing(command, arguments, operands):
        return None
    return folder + (
        []
        if command in _PATHLESS
        else [
            word
            for word in arguments
            if not re.match(
                r"--(?:grep|author|committer|since|until|after|before|format|pretty|date)=", word.text
            )
        ]
    )


def _is_git_risk(text: str, command: str) -> bool:
    name = text.partition("=")[0]
    if re.search(r"%G|%\(signature", text):  # asks the program that gpg.program names
        return True
    if name.startswith("--") and len(name) > 2:
        return any(option.startswith(name) for option in _RISKS)
    return command == "grep" and re.match(r"-\w*[Of]", text) is not None


def _is_git_listing(command: str, arguments: Sequence[Word], operands: Sequence[str]) -> bool:
    """Whether a subcommand that may also change something is used to list."""
    texts = [word.text for word in arguments]
    if command in ("branch", "tag"):
        lists = {
            "--list",
            *(["-l"] if command == "tag" else []),
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        }
        return not operands or not lists.isdisjoint(texts) or texts[:1] == ["--sort"]
    if command == "config":
        return not {"--get", "--get-all", "--get-regexp", "--list", "-l"}.isdisjoint(texts)
    if command == "symbolic-ref":
        return len(operands) <= 1
    if command in ("worktree", "notes", "stash"):
        return bool(operands) or command == "notes"
    if command == "remote":
        return not operands or operands[0] == "get-url"
    return command != "var" or operands == ["GIT_EDITOR"]
