"""The table of slash commands: finding, suggesting, correcting."""

from __future__ import annotations

import pytest

from forge_core.commands import specs
from forge_core.commands.handlers import _HANDLERS


def test_every_command_has_a_handler_and_no_handler_is_alone() -> None:
    assert {spec.name for spec in specs.SPECS} == set(_HANDLERS)


def test_no_name_or_alias_is_used_twice() -> None:
    names = [name for spec in specs.SPECS for name in (spec.name, *spec.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("typed", "name"), [("help", "help"), ("QUIT", "exit"), ("clear", "reset")])
def test_a_name_or_alias_finds_its_command(typed: str, name: str) -> None:
    found = specs.find(typed)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("typed", "first"), [("", "help"), ("t", "tools"), ("th", "theme"), ("dark", "theme"), ("mdl", "model")]
)
def test_suggestions_put_names_before_hidden_words(typed: str, first: str) -> None:
    assert specs.suggest(typed)[0].name == first


@pytest.mark.parametrize(("typed", "name"), [("rest", "reset"), ("modell", "model"), ("tol", "tools")])
def test_a_typo_leads_to_the_nearest_command(typed: str, name: str) -> None:
    near = specs.nearest(typed)
    assert near is not None
    assert near.name == name


def test_nonsense_leads_nowhere() -> None:
    assert specs.nearest("zzzzqqq") is None
