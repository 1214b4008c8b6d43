"""`/permissions`, `/mode` and `/sandbox`: what may run, how much of it unasked, and what confines it."""

from __future__ import annotations

import shlex

from forge_core.commands.columns import columns
from forge_core.commands.result import CommandResult, Failure, Text
from forge_core.config.models import PermissionMode
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
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession

_MODES = {
    PermissionMode.ASK: "edits ask, and commands but plainly reading ones",
    PermissionMode.ACCEPT_EDITS: "edits in the folder run, commands ask",
    PermissionMode.PLAN: "nothing is changed: reading and searching only",
    PermissionMode.AUTO: "edits in the folder and sandboxed commands run",
    PermissionMode.YOLO: "nothing asks; only by --permission-mode yolo at the start",
}
_USAGE = (
    "Use /permissions, /permissions add allow|ask|deny RULE, /permissions remove RULE, or "
    "/permissions test COMMAND. A rule is tool(pattern): bash(pytest:*), edit(src/**), read(.env)."
)


async def permissions(argument: str, session: ForgeSession) -> CommandResult:
    """Lists the rules, adds or removes one, or explains what would happen to a command."""
    action, _, rest = argument.partition(" ")
    rest = rest.strip()
    match action:
        case "":
            return _listing(session)
        case "add":
            return _add(rest, session)
        case "remove" if rest:
            return _remove(rest, session)
        case "test" if rest:
            return _test(rest, session)
        case _:
            return Failure(_USAGE)


async def mode(argument: str, session: ForgeSession) -> CommandResult:
    """Shows the modes, or changes to one."""
    if not argument:
        current = session.policy.mode
        rows = [(f"{'›' if one is current else ' '} {one}", words) for one, words in _MODES.items()]
        return Text(f"{columns(rows)}\n\n/mode NAME or Shift+Tab changes it.", "Mode")
    wanted = PermissionMode(argument.lower())
    if wanted is PermissionMode.YOLO and session.policy.mode is not PermissionMode.YOLO:
        return Failure(
            "Mode yolo cannot be switched on in a running session: start with `forge chat --permission-mode "
            "yolo` if you mean it. /mode auto runs sandboxed commands and edits unasked."
        )
    session.set_mode(wanted)
    return Text(f"Mode {wanted}: {_MODES[wanted]}.", "Mode")


async def sandbox(argument: str, session: ForgeSession) -> CommandResult:
    """The sandbox's state, why it is so, and what to do."""
    state = session.sandbox
    lines = [state.label]
    match state.strength:
        case "full":
            lines += [
                "Commands can write in this folder and in a /tmp of their own; .git/hooks, .git/config and "
                ".forge are read-only; keys are hidden; there is no network.",
                "A command that asks for the network asks you first.",
            ]
        case "weak":
            lines += ["Without namespaces, what a command can reach is less certain; writing ones ask you."]
        case "off":
            lines += ["Commands run as you: each one asks, but for what your own allow rules name."]
    lines.append("`--sandbox strict` refuses to start without a full one; `--sandbox off` does without.")
    return Text("\n".join(lines), "Sandbox")


def _listing(session: ForgeSession) -> Text:
    policy = session.policy
    head = [
        ("Mode", f"{policy.mode}: {_MODES[policy.mode]}"),
        ("Sandbox", session.status.sandbox.removeprefix("sandbox: ")),
        ("Away", "yes: what asks is refused" if session.is_away else "no"),
    ]
    kept = _kept(session)
    rows = [(entry.origin, f"{safe_line(entry.rule)}{_mark(entry.rule, kept)}") for entry in policy.rules()]
    body = columns(rows) if rows else "No rules."
    return Text(f"{columns(head)}\n\n{body}\n\n{_USAGE}", "Permissions")


def _add(rest: str, session: ForgeSession) -> CommandResult:
    kind, _, rule = rest.partition(" ")
    rule = rule.strip()
    found = next((one for one in RULE_KINDS if one == kind), None)
    if found is None or not rule:
        return Failure(_USAGE)
    scripts = session.policy.add(found, rule)
    return Text(f"{_done(found, rule)}{_saving(session, found, rule, scripts)}", "Permissions")


def _done(kind: RuleKind, rule: str) -> str:
    words = {"allow": "runs unasked", "ask": "always asks", "deny": "never runs"}
    return f"{rule} {words[kind]}"


def _saving(session: ForgeSession, kind: RuleKind, rule: str, scripts: Scripts) -> str:
    config = session.config
    try:
        save_project_rule(config.state_dir, config.working_dir, rule, kind, scripts=scripts)
    except ConfigError as error:
        return f" in this session. {error}"
    if named := _present(scripts):
        return f" in this folder, and asks again when {named} changes."
    return " in this folder, from now on."


def _present(scripts: Scripts) -> str:
    """The scripts that a rule is bound to and that are there."""
    return safe_line(" or ".join(name for name, digest in scripts if digest != ABSENT))


def _remove(rule: str, session: ForgeSession) -> CommandResult:
    config = session.config
    was_kept = any(rule in getattr(_kept(session), kind) for kind in RULE_KINDS)
    is_gone = session.policy.remove(rule)
    if was_kept:
        forget_project_rule(config.state_dir, config.working_dir, rule)
        return Text(f"{rule} is removed.", "Permissions")
    if not is_gone:
        return Failure(f"There is no rule {rule!r}. /permissions lists them.")
    return Text(
        f"{rule} is removed for this session. If it stands in {config.config_dir / 'config.toml'}, take it "
        "out there to be rid of it for good.",
        "Permissions",
    )


def _test(command: str, session: ForgeSession) -> CommandResult:
    from forge_core.permissions.explain import as_text

    return Text(as_text(session.policy.explain(_unquoted(command))), "Permissions")


def _unquoted(command: str) -> str:
    """The command without the one pair of quotes that stands around all of it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_quoted = command[:1] in "'\"" and command[-1:] == command[:1]
    return words[0] if is_quoted and len(words) == 1 else command


def _kept(session: ForgeSession) -> ProjectState:
    return read_project_state(session.config.state_dir, session.config.working_dir)[0]


def _mark(rule: str, kept: ProjectState) -> str:
    if not any(rule in getattr(kept, kind) for kind in RULE_KINDS):
        return ""
    named = _present(kept.scripts.get(rule, ()))
    return (
        f"  (kept for this folder; asks again when {named} changes)" if named else "  (kept for this folder)"
    )
