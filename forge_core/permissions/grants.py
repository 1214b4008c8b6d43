"""What "always in this project" may save: program and subcommand, never a program that runs what it is
told."""

from __future__ import annotations

import re
from pathlib import Path

from forge_core.errors import ConfigError
from forge_core.permissions.command_rules import prefix_of
from forge_core.permissions.paths import Place
from forge_core.permissions.rules import NETWORK, SHELL_TOOL, WRITERS, Rule, parse_rule, quoted
from forge_core.permissions.runners import runner_of
from forge_core.permissions.shell_syntax import SimpleCommand, read_line
from forge_core.permissions.tables import table
from forge_core.permissions.wrapper_tables import INTERPRETERS, SHELLS
from forge_core.workspace.globs import expand_braces

_RUNS_ANYTHING = SHELLS | INTERPRETERS | table(
    "sudo doas env xargs parallel find fd ssh scp rsync eval exec source . command builtin trap make gmake"
    " just ninja"
    " cmake docker podman kubectl curl wget nice nohup timeout time watch strace setsid flock chroot"
    " busybox npx"
    " pnpx bunx uvx pipx npm pnpm yarn uv poetry pipenv hatch bundle rake gradle mvn ant cargo go git tar"
    " dd tee rm"
    " mv cp chmod chown ln install crontab at systemctl kill pkill killall su gh aws gcloud az terraform"
    " ansible"
    " ansible-playbook vagrant nix nix-shell direnv mise asdf pre-commit tox nox entr { ( ! if for while case"
)  # fmt: skip
"""Alone they are no safe beginning: what follows may be any program, or destroy anything."""
_SUBCOMMANDS = {
    "git": table("status diff log show add commit fetch blame shortlog describe rev-parse ls-files grep"),
    "npm": table("test ci ls outdated audit"),
    "npm run": table("test lint build typecheck check format dev start"),
    "pnpm": table("test ls"),
    "pnpm run": table("test lint build typecheck check format"),
    "yarn": table("test lint build"),
    "yarn run": table("test lint build typecheck check format"),
    "cargo": table("build test check clippy fmt doc tree metadata bench"),
    "go": table("build test vet fmt list version"),
    "uv": table("sync lock tree"),
    "uv run": table("pytest ruff mypy"),
    "poetry run": table("pytest ruff mypy"),
    "poetry": table("check show lock"),
    "python -m": table("pytest mypy ruff unittest black isort flake8"),
    "python3 -m": table("pytest mypy ruff unittest black isort flake8"),
    "docker": table("ps images logs version info"),
    "kubectl": table("get describe logs version"),
    "gh pr": table("view list status diff checks"),
    "gh issue": table("view list status"),
    "gh run": table("view list"),
    "terraform": table("plan validate fmt version"),
    "pip": table("list show freeze check"),
    "gradle": table("test build check"),
    "./gradlew": table("test build check"),
    "mvn": table("test verify compile"),
}
"""Beginnings after which one of these words makes a rule."""
_SINGLE = table(
    "pytest ruff mypy pyright flake8 pylint black isort eslint prettier tsc jest vitest mocha rubocop rspec"
    " phpunit"
    " gofmt golangci-lint rustfmt shellcheck shfmt hadolint yamllint markdownlint codespell ls cat head"
    " tail wc"
    " rg grep tree jq stat du mkdir touch cloc tokei"
)
_ONLINE = {
    "npm": table("ci install view audit outdated"),
    "pnpm": frozenset({"install"}),
    "yarn": frozenset({"install"}),
    "pip": table("install download"),
    "uv": table("sync lock"),
    "uv pip": frozenset({"install"}),
    "poetry": table("install lock"),
    "cargo": table("build test check fetch update"),
    "go": table("build test get"),
    "go mod": table("download tidy"),
    "git": table("fetch pull"),
}
"""What may be granted the network for good."""


def command_rule(commands: list[SimpleCommand], *, online: bool = False) -> str:
    """The rule that covers these commands and their like, or "" when they have none in common that is
    safe."""
    rules = {_generalised(one, online) for one in commands}
    return rules.pop() if len(rules) == 1 else ""


def file_rule(tool: str, places: list[Place]) -> str:
    """The rule for the folder that all these files lie in; "" outside, for keys, and for git's and Forge's
    own."""
    folders = {Path(one.relative).parent.as_posix() for one in places if one.relative is not None}
    if len(folders) != 1 or not all(
        one.is_inside and not one.is_secret and not one.is_protected for one in places
    ):
        return ""
    folder = folders.pop()
    return f"{tool}(./*)" if folder == "." else f"{tool}({quoted(folder)}/**)"


def check_grant(text: str) -> Rule:
    """The rule, when it is one that may be granted in a prompt; raises ConfigError, with the way out, when it
    would allow any program or any file."""
    rule = parse_rule(text)
    if rule.tool in (SHELL_TOOL, NETWORK):
        _check_command(rule)
    elif rule.tool == "*" or (rule.tool in WRITERS and _is_everything(rule.pattern)):
        raise ConfigError(
            f"Rule {text!r} would allow every call. Name a folder or a kind of file: edit(src/**)."
        )
    elif rule.speaks_of_secrets:
        raise ConfigError(
            f"Rule {text!r} names a file with keys. Allow it once each time, or write it in your config."
        )
    return rule


def check_session_grant(rule: str) -> Rule:
    """A rule for the session: one that a prompt offered is fine as it is, one with a beginning is looked
    at."""
    parsed = parse_rule(rule)
    is_command = parsed.tool in (SHELL_TOOL, NETWORK)
    if (
        is_command
        and (parsed.pattern is None or parsed.pattern.endswith(":*"))
        and not (parsed.pattern or "").startswith("=")
    ):
        return check_grant(rule)
    if parsed.tool == "*":
        raise ConfigError(f"Rule {rule!r} would allow every call of every tool. Name the tool: edit(src/**).")
    return parsed


def _is_everything(pattern: str | None) -> bool:
    """Whether the pattern, or one of the alternatives in its braces, means any file or one outside."""
    if pattern is None:
        return True
    return any(
        one.startswith(("/", "~", "..")) or (one != "./*" and re.fullmatch(r"[/.*]*", one) is not None)
        for one in (pattern, *expand_braces(pattern))
    )


def _check_command(rule: Rule) -> None:
    prefix = None if rule.pattern is None else prefix_of(rule.pattern)
    if rule.pattern is None or prefix == "":
        raise ConfigError(
            f"Rule '{rule}' would allow every command. Name program and subcommand: bash(npm test:*)."
        )
    if prefix is None:
        if re.fullmatch(r"[\w./-]+\s*\**", rule.pattern) and "*" in rule.pattern:
            raise ConfigError(
                f"Rule '{rule}' is not one. Write bash(npm test:*) for a beginning, or a whole line."
            )
        return
    found = read_line(prefix)
    words = found.commands[0].written if len(found.commands) == 1 else ()
    if (
        found.problem
        or not words
        or any(part.is_dynamic or part.has_glob for part in found.commands[0].parts)
    ):
        raise ConfigError(f"Rule '{rule}' does not begin with plain words. Write bash(npm test:*).")
    if _begins_safely(words, _SUBCOMMANDS) or (rule.tool == NETWORK and _begins_safely(words, _ONLINE)):
        return
    program = words[0].rpartition("/")[2]
    is_unsafe = program in _RUNS_ANYTHING or re.match(r"(?:python|perl|ruby|php|lua|node)[\d.]+$", program)
    if is_unsafe or found.commands[0].wrappers or (len(words) < 2 and words[0] not in _SINGLE):
        raise ConfigError(
            f"Rule '{rule}' would allow too much: what follows {words[0]!r} may run or destroy anything. "
            "Name program and subcommand (npm test:*), the whole line, or write it in your own config."
        )


def _begins_safely(words: tuple[str, ...], known: dict[str, frozenset[str]]) -> bool:
    if runner_of(list(words)) is not None:
        return True
    return any(
        " ".join(words[:size]) in known and words[size] in known[" ".join(words[:size])]
        for size in range(1, min(len(words), 3))
    )


def _generalised(command: SimpleCommand, online: bool) -> str:
    """The rule for one command and its like; "" when there is none."""
    words = command.words
    tool = NETWORK if online else SHELL_TOOL
    is_plain = command.is_known and not command.assignments and not command.wrappers and not command.is_nested
    if not words or not is_plain or any(re.search(r"[\s'\"\\:*?()]", word) for word in words[:1]):
        return ""
    runner = runner_of(list(words))
    if runner is not None and not online:
        return f"{tool}({' '.join(words[: len(runner.words)])}:*)"
    known = _ONLINE if online else _SUBCOMMANDS
    for size in (2, 1):
        head = " ".join(words[:size])
        if len(words) > size and head in known and words[size] in known[head]:
            return f"{tool}({head} {words[size]}:*)"
    if not online and words[0] in _SINGLE:
        return f"{tool}({words[0]}:*)"
    return ""
