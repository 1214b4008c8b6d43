"""`/trust`: the user's decision about the folder, saved and applied to the running session."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from forge_core.commands.extension_names import changes_text
from forge_core.commands.result import ApprovePrograms, CommandResult, Text
from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.load import read_project_settings
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import RULE_KINDS
from forge_core.context.instructions import load_instructions
from forge_core.extensions.accepted import forget_accepted
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.workspace.trust import TrustStore, is_trusted, what_would_act

_WEAK = (Origin.DEFAULT, Origin.USER, Origin.PROJECT)
"""Origins that the mode of a trusted folder overrides."""


async def trust(argument: str, session: ForgeSession) -> CommandResult:
    """Show the decision, or make it."""
    if not argument:
        return await asyncio.to_thread(_state, session.config)
    trusted, config = argument.lower() == "yes", session.config
    await asyncio.to_thread(TrustStore(config.state_dir).decide, config.working_dir, trusted)
    decided = _apply_decision(session, trusted=trusted)
    before = await session.extensions.reload(accepts_all=trusted)
    if changes := changes_text(before, session.extensions.catalog):
        decided = replace(decided, body=f"{decided.body}\n  {changes}")
    await session.programs.reload()
    if not trusted:
        await asyncio.to_thread(forget_accepted, config.state_dir, config.working_dir)
    if waiting := session.programs.waiting():
        return ApprovePrograms(tuple(waiting), decided.body, decided.title)
    return decided


def _state(config: ForgeConfig) -> Text:
    trusted = is_trusted(config)
    findings = what_would_act(config.working_dir)
    if not findings:
        return Text(
            f"{config.working_dir} contains no settings for Forge and no instructions for the model.", "Trust"
        )
    listing = "\n".join(f"  {line}" for line in findings)
    verdict = "is trusted, so this applies:" if trusted else "is not trusted, so this is ignored:"
    change = "/trust no turns that off." if trusted else "/trust yes applies it."
    return Text(f"{config.working_dir} {verdict}\n{listing}\n\n{change}", "Trust")


def _apply_decision(session: ForgeSession, *, trusted: bool) -> Text:
    applied = _apply(session, trusted=trusted)
    if not trusted:
        return Text("The folder is not trusted: its rules and instructions do not apply.", "Trust")
    return Text("\n".join(["The folder is trusted.", *(f"  {safe_line(line)}" for line in applied)]), "Trust")


def _apply(session: ForgeSession, *, trusted: bool) -> list[str]:
    """Apply or remove the folder's rules, mode and instructions; return what to report."""
    config, policy = session.config, session.policy
    lines: list[str] = []
    settings = read_project_settings(config.working_dir, lines, is_trusted=True)
    rules = {kind: tuple(settings.get(kind, ())) if trusted else () for kind in RULE_KINDS}
    policy.set_project_rules(rules["allow"], rules["ask"], rules["deny"])
    session.rules_changed()
    mode = _mode(session, settings.get("permission_mode"), trusted=trusted)
    if given := [rule for kind in ("deny", "ask", "allow") for rule in rules[kind]]:
        lines.append(f"{len(given)} rule{'s' if len(given) > 1 else ''}: {', '.join(given)}")
    if mode is not policy.mode:
        lines.append(f"mode {mode}")
    if "model" in settings:
        lines.append(f"model {settings['model']} from the next start (/model changes it now)")
    found = load_instructions(config.working_dir).files if trusted else ()
    lines += [f"instructions from {one.path}" for one in found]
    session.set_mode(mode)  # rebuilds the system message, with or without the instructions
    return lines


def _mode(session: ForgeSession, wanted: PermissionMode | None, *, trusted: bool) -> PermissionMode:
    """Return the mode after the decision: the folder's own unless the user chose one, or the one before."""
    config, current = session.config, session.policy.mode
    origin = config.origins.get("permission_mode", Origin.DEFAULT)
    if wanted is None or origin not in _WEAK:
        return current
    before = PermissionMode.ASK if origin is Origin.PROJECT else config.permission_mode
    if trusted:
        return wanted if current in (before, config.permission_mode) else current
    return before if current is wanted else current
