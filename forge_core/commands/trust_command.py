"""`/trust`: the person's decision about the folder, kept and applied to the running session."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.commands.result import CommandResult, Failure, Text
from forge_core.config.load import read_project_settings
from forge_core.config.models import Origin, PermissionMode
from forge_core.context.instructions import project_instructions
from forge_core.session.session import ForgeSession
from forge_core.workspace.trust import TrustStore, is_trusted, what_would_act

_WEAK = (Origin.DEFAULT, Origin.USER, Origin.PROJECT)
"""Origins that a trusted folder's own mode is stronger than."""


async def trust(argument: str, session: ForgeSession) -> CommandResult:
    """Shows the decision, or makes it."""
    match argument.lower():
        case "":
            return _state(session)
        case "yes":
            return _decide(session, trusted=True)
        case "no":
            return _decide(session, trusted=False)
        case _:
            return Failure(f"/trust is yes or no, not {argument!r}.")


def _state(session: ForgeSession) -> Text:
    config = session.config
    trusted = is_trusted(config)
    findings = what_would_act(config.working_dir)
    if not findings:
        return Text(f"Nothing in {config.working_dir} would steer Forge or instruct the model.", "Trust")
    listing = "\n".join(f"  {line}" for line in findings)
    verdict = "is trusted, so this counts:" if trusted else "is not trusted, so this is ignored:"
    change = "/trust no ends that." if trusted else "/trust yes lets it count."
    return Text(f"{config.working_dir} {verdict}\n{listing}\n\n{change}", "Trust")


def _decide(session: ForgeSession, *, trusted: bool) -> Text:
    config = session.config
    TrustStore(config.state_dir).decide(config.working_dir, trusted)
    applied = _applied(session, trusted=trusted)
    session.set_mode(applied.mode)  # makes the system message anew, with or without the instructions
    told = "\n".join(f"  {line}" for line in applied.lines)
    if not trusted:
        return Text("The folder is not trusted: its rules and instructions don't count.", "Trust")
    return Text(f"The folder is trusted.\n{told}".rstrip(), "Trust")


@dataclass(frozen=True, slots=True)
class _Applied:
    mode: PermissionMode
    lines: tuple[str, ...]


def _applied(session: ForgeSession, *, trusted: bool) -> _Applied:
    """Puts the folder's rules in force, or out of it; gives the mode to go on with and what to tell."""
    config, policy = session.config, session.policy
    notices: list[str] = []
    settings = read_project_settings(config.working_dir, notices, is_trusted=True) if trusted else {}
    allow, ask, deny = (tuple(settings.get(kind, ())) for kind in ("allow", "ask", "deny"))
    policy.set_project_rules(allow, ask, deny)
    mode, lines = policy.mode, list(notices)
    if rules := [*deny, *ask, *allow]:
        lines.append(f"{len(rules)} rule{'s' if len(rules) > 1 else ''}: {', '.join(rules)}")
    wanted = settings.get("permission_mode")
    is_untouched = mode is config.permission_mode
    if wanted and is_untouched and config.origins.get("permission_mode", Origin.DEFAULT) in _WEAK:
        mode = wanted
        lines.append(f"mode {mode}")
    if "model" in settings:
        lines.append(f"model {settings['model']} from the next start on (/model changes it now)")
    found = project_instructions(config.working_dir) if trusted else ()
    lines += [f"instructions from {one.path}" for one in found]
    return _Applied(mode, tuple(lines))
