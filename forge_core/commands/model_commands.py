"""`/model` and `/effort`: the model of the session, and how much it reasons."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from forge_core.commands.columns import columns
from forge_core.commands.command_spec import ArgumentValue, argument_values
from forge_core.commands.result import ChooseModel, CommandNotice, CommandResult, Failure, StatusChange, Text
from forge_core.config.settings import check_value, choices
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.session.model_selection import DEFAULT_EFFORT, ModelSelection
from forge_core.session.session import ForgeSession


async def model(argument: str, session: ForgeSession) -> CommandResult:
    """List the known models, or choose one."""
    status, models = session.status, session.models
    if not argument:
        rows = [
            (f"{'›' if choice.id == status.model else ' '} {safe_line(choice.id)}", choice.note)
            for choice in models.known()
        ]
        facts = [columns(rows), "", *preferences(session.models)]
        text = "\n".join([*facts, "/model NAME changes it, from the next answer on."])
        return Text(text, "Model") if status.provider_label == "offline" else ChooseModel(text)
    if status.provider_label == "offline":
        return Failure(
            "The offline model is the only one without a connection. /connect makes one, to a provider or to "
            "a server on this machine."
        )
    if len(argument.split()) > 1:
        return Failure(
            f"{argument!r} is not the name of a model: it contains spaces. /model alone lists some."
        )
    if warning := models.cache_warning(argument, status.context_used):
        return Failure(warning)
    before = models.current
    models.choose(argument)
    with contextlib.suppress(OSError):  # the lists are a convenience
        await asyncio.to_thread(models.lists.add_recent, argument, before)
    return StatusChange(f"Model: {argument}")


def preferences(models: ModelSelection) -> list[str]:
    """Return a line for each preference that is sent with the requests."""
    named = (
        ("Effort", models.effort),
        ("Fallbacks", ", ".join(models.fallbacks)),
        ("Routing", models.routing),
    )
    return [f"{name}: {safe_line(text)}" for name, text in named if text]


def model_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the known models."""
    current = session.status.model
    return [ArgumentValue(choice.id, choice.note, choice.id == current) for choice in session.models.known()]


async def effort(argument: str, session: ForgeSession) -> CommandResult:
    """Show the reasoning effort, or change it."""
    models = session.models
    if not argument:
        if not models.takes_effort:
            return CommandNotice(f"{models.current} does not reason: there is no effort to set.")
        others = ", ".join((*choices("effort"), DEFAULT_EFFORT))
        return CommandNotice(
            f"Effort: {models.effort or DEFAULT_EFFORT}. /effort VALUE changes it: {others}."
        )
    wanted = argument.lower()
    try:
        models.set_effort(None if wanted == DEFAULT_EFFORT else check_value("effort", wanted))
    except ConfigError as error:
        return Failure(str(error))
    return StatusChange(f"Effort: {wanted}, from the next answer on")


def effort_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the efforts."""
    return argument_values((DEFAULT_EFFORT, *choices("effort")), session.models.effort or DEFAULT_EFFORT)
