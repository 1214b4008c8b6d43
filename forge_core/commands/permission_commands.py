"""`/permissions`, `/mode` and `/sandbox`: what may run, how much of it unasked, and what confines it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from forge_core.commands.columns import columns
from forge_core.commands.command_spec import ArgumentValue, argument_values
from forge_core.commands.result import CommandNotice, CommandResult, Failure, StatusChange, Text
from forge_core.commands.specs import SPECS
from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import (
    ABSENT,
    RULE_KINDS,
    ProjectState,
    RuleKind,
    Scripts,
    read_project_state,
)
from forge_core.config.save import forget_project_rule, save_project_rule
from forge_core.errors import ConfigError
from forge_core.permissions.rules.rule import SERVER_PREFIX
from forge_core.permissions.rules.rule_book import RuleEntry
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession

_ALSO_ASKS = (
    "Rules for commands hold inside the folder: a path outside asks, also through links, unless the rule "
    "names it. So do files with keys and, in any program, options that may run or write, such as --output, "
    "--exec and --config."
)


async def permissions(argument: str, session: ForgeSession) -> CommandResult:
    """List the rules, add or remove one, or explain what would happen to a command."""
    action, _, rest = argument.partition(" ")
    rest = rest.strip()
    match action.lower():
        case "":
            return _listing(session)
        case "add":
            return _add(rest, session)
        case "remove":
            return _remove(rest, session)
        case _:
            return _test(rest, session)


async def mode(argument: str, session: ForgeSession) -> CommandResult:
    """Show the modes, or change to one."""
    if not argument:
        current = session.policy.mode
        rows = [(f"{'›' if one is current else ' '} {one}", _summary(one, session)) for one in PermissionMode]
        return Text(f"{columns(rows)}\n\n/mode NAME or Shift+Tab changes it.", "Mode")
    wanted = PermissionMode(argument.lower())
    if wanted is PermissionMode.YOLO and session.policy.mode is not PermissionMode.YOLO:
        return Failure(
            "Mode yolo cannot be switched on in a running session: start with `forge chat --permission-mode "
            "yolo` if you mean it. /mode auto runs sandboxed commands and edits unasked."
        )
    session.set_mode(wanted)
    text = f"Mode {wanted}: {_summary(wanted, session)}."
    if wanted is PermissionMode.AUTO and session.policy.sandbox != "full":
        return CommandNotice(text)  # not what the name promises
    return StatusChange(text)


def mode_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the modes that a running session can change to: yolo is an option of the command line."""
    modes = (mode for mode in PermissionMode if mode is not PermissionMode.YOLO)
    return argument_values(modes, session.policy.mode)


def mode_summary(mode: PermissionMode, *, is_sandboxed: bool) -> str:
    """Return what runs without asking in `mode`, given whether a full sandbox confines commands."""
    if mode is PermissionMode.AUTO and not is_sandboxed:
        return "edits files here unasked; without a full sandbox, commands that may write still ask"
    if mode is PermissionMode.YOLO:
        return f"{mode.summary}; only by --permission-mode yolo at the start"
    return mode.sandboxed_summary if is_sandboxed else mode.summary


def _summary(mode: PermissionMode, session: ForgeSession) -> str:
    return mode_summary(mode, is_sandboxed=session.policy.sandbox == "full")


async def sandbox(argument: str, session: ForgeSession) -> CommandResult:
    """Show the state of the sandbox, its cause, and what to do."""
    state, mode = session.sandbox, session.policy.mode
    is_yolo = mode is PermissionMode.YOLO
    label = state.label
    if is_yolo and state.strength != "full":
        label = label.removesuffix(" Commands that may write will ask.") + " Mode yolo: no command asks."
    lines = [label, *_confinement(state)]
    if readable := session.config.sandbox_read:
        lines.append(f"Readable by `sandbox_read`: {', '.join(readable)}")
    if state.strength == "full":
        asks = "A command that asks for the network asks you first."
    else:
        asks = (
            "Lines that plainly only read files that they name run unasked. Those that go through whole "
            "folders, and all other commands, ask, in mode auto too, unless a rule of yours allows them."
        )
    if mode is PermissionMode.PLAN:
        asks = "In mode plan only plain reading runs."
    lines.append("In mode yolo no command asks, not even for the network." if is_yolo else asks)
    lines.append(_way_on(state, session.config))
    return Text("\n".join(lines), "Sandbox")


def _confinement(state: SandboxState) -> list[str]:
    """Return what commands can and cannot do."""
    held = (
        ".git/hooks, .git/config and .forge are read-only; files with keys are hidden, and so is your home "
        "except for toolchains and harmless configuration; there is no network."
    )
    match state.kind:
        case SandboxKind.OFF:
            return ["Commands run as you: they can read and change what you can, and use the network."]
        case SandboxKind.LANDLOCK:
            return [
                "Commands can write only in this folder and a temporary one, read nothing in your home "
                "except toolchains and harmless configuration, and have no network.",
                "Not enforced: they can write .git/hooks, .git/config and .forge, read .env and key files in "
                "this folder, and reach other programs through named sockets.",
            ]
        case SandboxKind.BUBBLEWRAP if state.strength == "weak":
            return ["Commands run in bubblewrap, which cannot enforce everything here, for the reason above."]
        case SandboxKind.BUBBLEWRAP:
            return [f"Commands can write in this folder and in a /tmp of their own; {held}"]
        case SandboxKind.SEATBELT:
            return [f"Commands can write in this folder and in a temporary folder of their own; {held}"]


def _way_on(state: SandboxState, config: ForgeConfig) -> str:
    """Return the cause of the state, and how to change it."""
    if config.sandbox == "off":
        origin = config.origins.get("sandbox", Origin.DEFAULT)
        return f"It is off by choice ({origin}). Start Forge with `--sandbox auto` to have it."
    if config.sandbox == "strict":
        return "Started with `--sandbox strict`: without a full sandbox Forge does not start."
    if state.strength == "full":
        return "`--sandbox strict` refuses to start without a full one; `--sandbox off` does without."
    return (
        "It was tried when this session started. Once the cause is removed, start Forge again. "
        "`--sandbox strict` refuses to start without a full one."
    )


def _listing(session: ForgeSession) -> Text:
    policy = session.policy
    head = [
        ("Mode", f"{policy.mode}: {_summary(policy.mode, session)}"),
        ("Sandbox", session.status.sandbox.removeprefix("sandbox: ")),
        ("Away", "yes: requests for approval are denied" if session.is_away else "no"),
    ]
    kept = _kept(session)
    rows = [
        (entry.origin, f"{safe_line(entry.rule)}{_mark(entry.rule, kept)}{_void(entry)}")
        for entry in policy.rules()
    ]
    usage = next(spec.usage for spec in SPECS if spec.name == "permissions")
    parts = [columns(head), columns(rows) if rows else "No rules.", *_uncovered(policy.rules()), usage]
    return Text("\n\n".join(parts), "Permissions")


def _uncovered(entries: Sequence[RuleEntry]) -> list[str]:
    """Return what asks although a rule that the user wrote names the program, when there are such rules."""
    from forge_core.permissions.rules.extra_arguments import program_of_rule, risky_arguments
    from forge_core.permissions.rules.rule import NETWORK, SHELL_TOOL, parse_rule

    rules = [parse_rule(entry.rule) for entry in entries if entry.origin == "allow"]
    prefixes = [rule.prefix for rule in rules if rule.tool in (SHELL_TOOL, NETWORK) and rule.prefix]
    if not prefixes:
        return []
    programs = sorted({program_of_rule(prefix.split()) for prefix in prefixes})
    rows = [(safe_line(one), ", ".join(risky_arguments(one))) for one in programs if risky_arguments(one)]
    own = [f"With these, a command asks all the same:\n{columns(rows)}"] if rows else []
    return [*own, _ALSO_ASKS]


def _add(rest: str, session: ForgeSession) -> CommandResult:
    kind, _, rule = rest.partition(" ")
    rule = rule.strip()
    found = next(one for one in RULE_KINDS if one == kind.lower())
    scripts = session.policy.add(found, rule)
    session.rules_changed()
    effect = {"allow": "runs unasked", "ask": "always asks", "deny": "never runs"}[found]
    return Text(f"{rule} {effect}{_saving(session, found, rule, scripts)}", "Permissions")


def _saving(session: ForgeSession, kind: RuleKind, rule: str, scripts: Scripts) -> str:
    config = session.config
    try:
        save_project_rule(config.state_dir, config.working_dir, rule, kind, scripts=scripts, is_written=True)
    except ConfigError as error:
        return f" in this session. {error}"
    if named := _present(rule, scripts):
        return f" in this folder, and asks again when {named} changes."
    return " in this folder, from now on."


def _present(rule: str, scripts: Scripts) -> str:
    """Return what a rule is bound to: the scripts that are there, or the tool of a server."""
    if scripts and rule.startswith(SERVER_PREFIX):
        return "the tool or its server"
    return safe_line(" or ".join(name for name, digest in scripts if digest != ABSENT))


def _remove(rule: str, session: ForgeSession) -> CommandResult:
    config = session.config
    was_kept = any(rule in getattr(_kept(session), kind) for kind in RULE_KINDS)
    is_gone = session.policy.remove(rule)
    session.rules_changed()
    if was_kept:
        forget_project_rule(config.state_dir, config.working_dir, rule)
        return Text(f"{rule} is removed.", "Permissions")
    if not is_gone:
        return Failure(f"There is no rule {rule!r}. /permissions lists them.")
    return Text(
        f"{rule} is removed for this session. If it is in {config.config_dir / 'config.toml'}, remove it "
        "there as well, or it is back in the next session.",
        "Permissions",
    )


def _test(command: str, session: ForgeSession) -> CommandResult:
    from forge_core.permissions.explain import as_text

    return Text(as_text(session.policy.explain(_unquoted(command))), "Permissions")


def _unquoted(command: str) -> str:
    """Return the command without the one pair of quotes around all of it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_quoted = command[:1] in "'\"" and command[-1:] == command[:1]
    return words[0] if is_quoted and len(words) == 1 else command


def _kept(session: ForgeSession) -> ProjectState:
    return read_project_state(session.config.state_dir, session.config.working_dir)[0]


def _void(entry: RuleEntry) -> str:
    """Return that a saved rule covers nothing, with what to do, when no prompt would grant it today."""
    from forge_core.permissions.rules.grants import check_session_grant

    try:
        if entry.origin == "saved":
            check_session_grant(entry.rule, ())
    except ConfigError:
        return f"  (covers no command; to allow it: /permissions add allow {safe_line(entry.rule)})"
    return ""


def _mark(rule: str, kept: ProjectState) -> str:
    if not any(rule in getattr(kept, kind) for kind in RULE_KINDS):
        return ""
    named = _present(rule, kept.scripts.get(rule, ()))
    return f"  (kept for this folder{f'; asks again when {named} changes' if named else ''})"
