"""The few commands whose repetition with other harmless words needs no new question, and those words."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.permissions.programs.word_sets import table


@dataclass(frozen=True, slots=True)
class Runner:
    """A test, lint or build runner, or a git command that only reads."""

    words: tuple[str, ...]
    options: frozenset[str]
    """Spelled as they must be, with `=value` where only that value is harmless. One of a single letter may
    be combined with others in one word, with digits after it. None runs a program, writes, or reads
    elsewhere."""


_PYTEST = table(
    "-q -v -vv -x -s -k -m -l -n -ra -rA -rs -rf -rx -rP -rN --tb --maxfail --durations --no-header --no-"
    " summary --no-cov --cov --collect-only --co --lf --last-failed --ff --failed-first --nf --sw"
    " --stepwise --verbose --quiet --exitfirst --capture --color --strict-markers --disable-warnings"
    " --timeout --cov-report=term --cov-report=term-missing --showlocals"
)
_RUFF = table(
    "-q -v -s --select --ignore --extend-select --statistics --quiet --verbose --diff --no-cache --no-fix"
    " --output-format --preview --check --show-files"
)
_MYPY = table(
    "-v --strict --no-incremental --pretty --show-error-codes --show-error-context --no-error-summary"
    " --ignore-missing-imports --warn-unused-ignores --check-untyped-defs --disallow-untyped-defs"
)
_NODE = table("-s --silent -w --workspaces --if-present")
_CARGO = table(
    "-v -q -r -p --package --release --all --workspace --all-targets --all-features --no-default-features"
    " --features --lib --bins --tests --doc --no-run --no-fail-fast --locked --offline --frozen --nocapture"
    " --ignored --test-threads --"
)
_GO = table("-v -race -run -count -short -cover -timeout -failfast -json -bench -benchmem -tags -parallel -p")
_TYPESCRIPT = frozenset({"--noEmit", "--pretty"})
_GIT = table(
    "-p -s -n -i -E -F -w -b -z -M -S -G -U -uno -unormal -uall --short --porcelain --branch --long"
    " --ignored --show-stash --untracked-files --oneline --stat --shortstat --numstat --summary --name-"
    " only --name-status --graph --all --branches --tags --remotes --decorate --no-decorate --cached"
    " --staged --patch --no-patch --unified --color --no-color --word-diff --color-words --follow --merges"
    " --no-merges --first-parent --reverse --abbrev-commit --date --author --committer --grep --since"
    " --until --after --before --max-count --skip --format --pretty --ignore-all-space --ignore-space-"
    " change --ignore-blank-lines --diff-filter --find-renames --minimal --patience --histogram --check"
    " --compact-summary --dirstat --merge-base --no-ext-diff --no-textconv --no-renames --relative"
    " --cumulative --left-right --cherry-pick --"
)
_BRANCHES = table(
    "--list -a -r -v -vv --all --remotes --verbose --merged --no-merged --contains --sort --format"
)

_RUNNERS = tuple(
    Runner(tuple(line.split(" ")), options)
    for lines, options in (
        ("pytest|python -m pytest|python3 -m pytest|uv run pytest|poetry run pytest", _PYTEST),
        ("ruff check|ruff format --check|python -m ruff check|uv run ruff check", _RUFF),
        ("mypy|python -m mypy|python3 -m mypy|uv run mypy", _MYPY),
        ("npm test|npm run test|npm run lint|npm run build|npm run typecheck", _NODE),
        ("pnpm test|pnpm run test|pnpm run lint|pnpm run build|pnpm run typecheck", _NODE),
        ("yarn test|yarn run test|yarn run lint|yarn run build|yarn run typecheck", _NODE),
        ("tsc --noEmit|npx tsc --noEmit", _TYPESCRIPT),
        ("cargo test|cargo check|cargo build|cargo clippy", _CARGO),
        ("go test|go vet|go build", _GO),
        ("git status|git log|git diff|git show", _GIT),
        ("git branch --list", _BRANCHES),
    )
    for line in lines.split("|")
)


def runner_of(words: list[str]) -> Runner | None:
    """Return the runner that the command starts with; its program may be spelled with a folder."""
    if not words:
        return None
    named = [words[0].rpartition("/")[2], *words[1:]]
    for runner in _RUNNERS:
        if tuple(named[: len(runner.words)]) == runner.words:
            return runner
    return None
