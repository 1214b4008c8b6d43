"""Which model a sub-agent uses: that of the call, of its definition, the small one, or that of the session."""

from __future__ import annotations

import dataclasses

import pytest

from forge_core.extensions.agents import BUILT_IN_AGENTS
from forge_core.session.agents.subagents import AgentModels
from forge_core.session.provider import SessionProvider
from forge_core.session.status import ModelChoice
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sessions import nothing

EXPLORE, _, GENERAL = BUILT_IN_AGENTS


@pytest.mark.parametrize(
    ("own", "asked", "known", "chosen"),
    [
        ("", "", ("a/big",), "a/big"),
        ("", "a/other", ("a/big", "a/other"), "a/other"),
        ("a/mid", "a/other", ("a/mid", "a/other"), "a/other"),
        ("a/mid", "", ("a/mid",), "a/mid"),
        ("a/gone", "", ("a/mid",), "a/big"),
        ("haiku", "", ("a/mid",), "a/mid"),
        ("Opus", "", ("a/mid",), "a/big"),
        ("qwen3:8b", "", (), "qwen3:8b"),
        ("sonnet", "", (), "a/big"),
    ],
)
def test_the_model_of_an_agent(own: str, asked: str, known: tuple[str, ...], chosen: str) -> None:
    provider = SessionProvider(
        label="custom",
        make_llm=lambda model: ScriptedLLM(replies=[]),
        close=nothing,
        context_window=lambda model: None,
        known_models=lambda: tuple(map(ModelChoice, known)),
    )
    models = AgentModels(provider, "", {"haiku": "a/mid"})

    model, notice = models.choose(dataclasses.replace(GENERAL, model=own), asked, "a/big")

    assert model == chosen
    assert bool(notice) == (own not in ("", "a/big") and not asked and chosen == "a/big")
    small = dataclasses.replace(
        models, small_model="a/small", provider=dataclasses.replace(provider, known_models=tuple)
    )
    assert small.choose(EXPLORE, "", "a/big") == ("a/small", "")
    assert small.choose(GENERAL, "", "a/big") == ("a/big", "")
