"""What "always in this project" may save: an exact line, bound to the scripts that it names, or the beginning
of a command of which it is known what it runs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Container, Sequence
from pathlib import Path

from forge_core.errors import ConfigError
from forge_core.permissions.path_info import PathInfo
from forge_core.permissions.programs.runners import Runner, runner_of
from forge_core.permissions.rules.command_rules import covers
from forge_core.permissions.rules.extra_arguments import is_harmless
from forge_core.permissions.rules.rule import (
    ALL_TOOLS,
    EDIT,
    NETWORK,
    SERVER_PREFIX,
    SHELL_TOOL,
    Rule,
    is_server_rule,
    parse_rule,
    quoted,
)
from forge_core.permissions.shell.syntax import SimpleCommand, read_line
from forge_core.workspace.folders import Workspace, main_folder, real_folders
from forge_core.workspace.globs import expand_braces


def command_rule(commands: Sequence[SimpleCommand], root: Workspace) -> str:
    """Return the rule that covers these commands and their like, or "" when they have none in common that
    is safe."""
    rules = {_generalised(one, root) for one in commands}
    return rules.pop() if len(rules) == 1 else ""


def exact_pattern(command: str) -> str:
    """Return the pattern that means exactly this line."""
    command = command.strip()
    return "=" + command if command.startswith("=") or command.endswith("*") else command


def session_pattern(command: str, root: Workspace) -> str:
    """Return the pattern that "yes, for this session" stores: exactly this line, but for test, lint and
    build runners and what git only shows, where other harmless words may follow the next time."""
    reading = read_line(command)
    exact = exact_pattern(command)
    if reading.problem or len(reading.commands) != 1:
        return exact
    one = reading.commands[0]
    runner = runner_of(list(one.words))
    has_more = any((one.wrappers, one.assignments, one.writes, one.reads, one.fed))
    if runner is None or has_more or not one.is_known:
        return exact
    own = len(runner.words)
    prefix = " ".join(one.words[:own])
    is_plain = re.fullmatch(r"[\w./ -]+", prefix) is not None
    return f"{prefix}:*" if is_plain and is_harmless(one.words, one.parts[own:], root) else exact


def file_rule(tool: str, places: list[PathInfo]) -> str:
    """Return the rule for the folder that all these files lie in; "" outside and in added folders, where it
    would hold in later sessions too, for keys, and for files that programs act on."""
    folders = {Path(one.relative).parent.as_posix() for one in places if one.relative is not None}
    if len(folders) != 1 or any(one.is_private or one.is_added or one.acting_program for one in places):
        return ""
    folder = folders.pop()
    return f"{tool}(./*)" if folder == "." else f"{tool}({quoted(folder)}/**)"


def check_grant(text: str, edit_tools: Container[str], *, for_session: bool = False) -> Rule:
    """The rule, when it is one that may be granted in a prompt; raises ConfigError, with the way out, when it
    would allow any program, or with one of `edit_tools` any file."""
    rule = parse_rule(text)
    _check_server_rule(rule)
    if rule.tool in (SHELL_TOOL, NETWORK):
        _check_command(rule, for_session=for_session)
    elif rule.tool == "*" or (
        (rule.tool == EDIT or rule.tool in edit_tools) and _is_everything(rule.pattern)
    ):
        raise ConfigError(
            f"Rule {text!r} would allow every call. Name a folder or a kind of file: edit(src/**)."
        )
    elif rule.names_secrets:
        raise ConfigError(
            f"Rule {text!r} names a file with keys. Allow it once each time, or write it in your config."
        )
    return rule


def check_session_grant(rule: str, edit_tools: Container[str]) -> Rule:
    """A rule for the session: one that a prompt offered is fine as it is, one with a beginning is looked
    at, and one for every file is refused."""
    parsed = parse_rule(rule)
    _check_server_rule(parsed)
    if parsed.tool in (SHELL_TOOL, NETWORK) and parsed.line is None:
        return check_grant(rule, edit_tools, for_session=True)
    if parsed.tool == "*":
        raise ConfigError(f"Rule {rule!r} would allow every call of every tool. Name the tool: edit(src/**).")
    if (parsed.tool == EDIT or parsed.tool in edit_tools) and _has_no_name(parsed.pattern):
        raise ConfigError(
            f"Rule {rule!r} would allow every file. Name a folder or a kind of file: edit(src/**)."
        )
    return parsed


def _check_server_rule(rule: Rule) -> None:
    if is_server_rule(rule) and (
        rule.tool.endswith(ALL_TOOLS) or "__" not in rule.tool.removeprefix(SERVER_PREFIX)
    ):
        raise ConfigError(
            f"Rule '{rule}' would allow every tool of the MCP server, also those that it adds later. Grant "
            "the tool that is shown, or add the rule yourself with /permissions add allow."
        )


def _has_no_name(pattern: str | None) -> bool:
    """Return whether the pattern, or one of the alternatives in its braces, consists of wildcards only."""
    return pattern is None or any(
        one != "./*" and re.fullmatch(r"[~/.*]*", one) is not None for one in expand_braces(pattern)
    )


def _is_everything(pattern: str | None) -> bool:
    """Return whether the pattern, or one of the alternatives in its braces, means any file or one outside."""
    if pattern is None:
        return True
    return any(
        one.startswith(("/", "~", "..")) or (one != "./*" and re.fullmatch(r"[/.*]*", one) is not None)
        for one in (pattern, *expand_braces(pattern))
    )


def _check_command(rule: Rule, *, for_session: bool) -> None:
    if rule.pattern is None or rule.prefix == "":
        raise ConfigError(f"Rule '{rule}' would allow every command. Name the line: bash(npm test).")
    if rule.prefix is None:
        if re.fullmatch(r"[\w./-]+\s*\**", rule.pattern) and "*" in rule.pattern:
            raise ConfigError(
                f"Rule '{rule}' is not one. Write bash(ruff check:*) for a beginning, or a whole line."
            )
        return
    found = read_line(rule.prefix)
    words = found.commands[0].written if len(found.commands) == 1 else ()
    if (
        found.problem
        or not words
        or any(part.is_dynamic or part.has_glob for part in found.commands[0].parts)
    ):
        raise ConfigError(f"Rule '{rule}' does not begin with plain words. Write bash(ruff check:*).")
    runner = runner_of(list(words))
    if runner is not None and (for_session or (rule.tool == SHELL_TOOL and _lasts(runner, words))):
        return
    raise ConfigError(
        f"Rule '{rule}' would allow too much: an option or a file of the project may choose what "
        f"{words[0]!r} runs. Grant the whole line, or add the rule yourself with /permissions add allow."
    )


def _lasts(runner: Runner, words: Sequence[str]) -> bool:
    """Return whether the beginning may be allowed for good: not for a program that is named by its path."""
    return runner.is_lasting and tuple(words[:1]) == runner.words[:1]


def _generalised(command: SimpleCommand, root: Workspace) -> str:
    """Return the rule for one command and its like; "" when there is none, or none that covers this very
    command."""
    is_plain = command.is_known and not command.assignments and not command.wrappers and not command.is_nested
    runner = runner_of(list(command.words))
    if runner is None or not _lasts(runner, command.words) or not is_plain or _is_in(root, runner.words[0]):
        return ""
    rule = Rule(SHELL_TOOL, f"{' '.join(command.words[: len(runner.words)])}:*")
    return str(rule) if covers(rule, command, root, is_granted=True) else ""


def _is_in(root: Workspace, program: str) -> bool:
    """Return whether the program is itself a file of the project, as those of a virtual environment in it
    are."""
    found = shutil.which(program)
    if found is None:
        return False
    path, real = Path(found), Path(os.path.realpath(found))
    return not path.is_absolute() or any(
        path.is_relative_to(folder) or real.is_relative_to(folder)
        for folder in (main_folder(root), *real_folders(root))
    )
