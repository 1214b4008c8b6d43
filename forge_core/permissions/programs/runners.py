"""The commands that a prompt may grant with other harmless words than it showed, and those words."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.permissions.programs.word_sets import table


@dataclass(frozen=True, slots=True)
class Runner:
    """A test, lint or build runner, a git command that only reads, or a program that does one plain thing."""

    words: tuple[str, ...]
    options: frozenset[str]
    """Spelled as they must be, with `=value` where only that value is harmless. One of a single letter may
    be combined with others in one word, with digits after it. None runs a program, writes other than the
    files that it is given, or reads elsewhere."""
    is_lasting: bool = False
    """It may be granted for good: neither an option of these nor a file of the project chooses what it runs.
    Not so make and npm (scripts), interpreters, git (hooks, aliases, filters), pytest (conftest), mypy and
    eslint (plugins), cargo and go (build scripts, generators, toolchains)."""


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
_RUFF_FORMAT = table("-q -v -s -l --quiet --verbose --silent --check --diff --line-length --no-cache")
_BLACK = table("-q -v -l -S -C -t --check --diff --quiet --verbose --line-length --fast --safe --color")
_CODESPELL = table("-q -f -H -L --check-filenames --check-hidden --quiet-level --ignore-words-list")
_GOFMT = frozenset(("-l", "-w", "-d", "-s", "-e"))
_SHELLCHECK = table("-a -e -f -i -s -S -C --check-sourced --exclude --format --include --severity --shell")
_SHFMT = table("-l -w -d -i -s -ln -bn -ci -sr -kp --list --write --diff --indent --simplify")
_YAMLLINT = table("-s -f --strict --format --no-warnings")
_MKDIR = table("-p -v -m --parents --verbose --mode")
_TOUCH = table("-a -c -d -m -t --no-create --date --time")

_RUNNERS = tuple(
    Runner(tuple(line.split(" ")), options, is_lasting)
    for lines, options, is_lasting in (
        ("pytest|python -m pytest|python3 -m pytest|uv run pytest|poetry run pytest", _PYTEST, False),
        ("ruff check", _RUFF, True),
        ("ruff format --check|ruff format", _RUFF_FORMAT, True),
        ("python -m ruff check|uv run ruff check", _RUFF, False),
        ("black", _BLACK, True),
        ("codespell", _CODESPELL, True),
        ("gofmt", _GOFMT, True),
        ("shellcheck", _SHELLCHECK, True),
        ("shfmt", _SHFMT, True),
        ("yamllint", _YAMLLINT, True),
        ("mkdir", _MKDIR, True),
        ("touch", _TOUCH, True),
        ("mypy|python -m mypy|python3 -m mypy|uv run mypy", _MYPY, False),
        ("npm test|npm run test|npm run lint|npm run build|npm run typecheck", _NODE, False),
        ("pnpm test|pnpm run test|pnpm run lint|pnpm run build|pnpm run typecheck", _NODE, False),
        ("yarn test|yarn run test|yarn run lint|yarn run build|yarn run typecheck", _NODE, False),
        ("tsc --noEmit|npx tsc --noEmit", _TYPESCRIPT, False),
        ("cargo test|cargo check|cargo build|cargo clippy", _CARGO, False),
        ("go test|go vet|go build", _GO, False),
        ("git status|git log|git diff|git show", _GIT, False),
        ("git branch --list", _BRANCHES, False),
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
