"""The table of slash commands: finding, suggesting, correcting."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

from forge_core.commands.command_spec import CommandSpec, Scope, load
from forge_core.commands.command_table import CommandTable
from forge_core.commands.specs import SPECS
from forge_core.session.changes import Source

PACKAGES = {
    Scope.SESSION: "forge_core.commands",
    Scope.SCREEN: "forge_tui.screens.chat",
}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_command_has_a_body(spec: CommandSpec) -> None:
    package = PACKAGES[spec.scope]
    body = load(spec.body, package)
    assert list(inspect.signature(body).parameters) == ["argument", str(spec.scope)]
    assert inspect.iscoroutinefunction(body) == (spec.scope is Scope.SESSION)
    if spec.values:
        assert list(inspect.signature(load(spec.values, package)).parameters) == [str(spec.scope)]


def test_no_name_or_alias_is_used_twice() -> None:
    names = [name for spec in SPECS for name in (spec.name, *spec.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("typed", "name"), [("help", "help"), ("QUIT", "exit"), ("clear", "reset")])
def test_a_name_or_alias_finds_its_command(typed: str, name: str) -> None:
    found = CommandTable().find(typed)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("typed", "first"), [("", "help"), ("t", "tools"), ("th", "theme"), ("dark", "theme"), ("mdl", "model")]
)
def test_suggestions_list_names_before_keyword_matches(typed: str, first: str) -> None:
    assert CommandTable().suggest(typed)[0].name == first


@pytest.mark.parametrize(("typed", "name"), [("rest", "reset"), ("modell", "model"), ("tol", "tools")])
def test_a_typo_suggests_the_nearest_command(typed: str, name: str) -> None:
    near = CommandTable().nearest(typed)
    assert near is not None
    assert near.name == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("approvals", "permissions"),
        ("kill", "jobs"),
        ("color", "theme"),
        ("version", "doctor"),
        ("models", "model"),
        ("output-style", "style"),
    ],
)
def test_the_name_that_another_program_uses_suggests_the_command(typed: str, name: str) -> None:
    near = CommandTable().nearest(typed)
    assert near is not None and near.name == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("status", "doctor"),
        ("stats", "usage"),
        ("todos", "todo"),
        ("bashes", "jobs"),
        ("tasks", "jobs"),
    ],
)
def test_the_exact_name_that_another_program_uses_is_an_alias(typed: str, name: str) -> None:
    found = CommandTable().find(typed)
    assert found is not None and found.name == name


@pytest.mark.parametrize("typed", ["zzzzqqq", "lsp", "feedback"])
def test_a_name_without_a_similar_command_has_no_suggestion(typed: str) -> None:
    assert CommandTable().nearest(typed) is None


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_command_works_without_arguments_and_accepts_its_documented_forms(
    spec: CommandSpec,
) -> None:
    assert spec.problem("") is None
    for form in spec.accepts:
        for words in _examples(form):
            assert spec.problem(words) is None
    if not any(form.endswith("...") for form in spec.accepts):
        assert spec.problem("no such argument") is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exit now", "/exit takes no argument, but was given 'now'. Use /exit alone."),
        ("trust maybe", "/trust does not know 'maybe'. Use /trust alone, or with yes or no."),
        ("jobs stop", "/jobs does not know 'stop'. Use /jobs alone, or with stop N."),
        ("jobs stop all", "/jobs does not know 'stop all'. Use /jobs alone, or with stop N."),
        ("afk on please", "/afk does not know 'on please'. Use /afk alone, or with on or off."),
        ("copy 1 2", "/copy does not know '1 2'. Use /copy alone, or with N or [N] code [K]."),
    ],
)
def test_a_wrong_argument_is_answered_with_the_right_ones(line: str, said: str) -> None:
    name, _, argument = line.partition(" ")
    spec = CommandTable().find(name)
    assert spec is not None
    assert spec.problem(argument) == said


def test_diff_accepts_exactly_its_sources() -> None:
    spec = CommandTable().find("diff")
    assert spec is not None
    assert spec.words_after(()) == get_args(Source)


@pytest.mark.parametrize("argument", ["2", "code", "2 code", "code 3", "2 code 3", "2 CODE"])
def test_optional_arguments_can_be_omitted(argument: str) -> None:
    spec = CommandTable().find("copy")
    assert spec is not None
    assert spec.problem(argument) is None


def test_a_long_or_hostile_argument_is_truncated_and_escaped() -> None:
    spec = CommandTable().find("cost")
    assert spec is not None
    problem = spec.problem("\x1b[31m" + "x" * 5000)
    assert problem is not None
    assert "\x1b" not in problem and len(problem) < 200


def _examples(form: str) -> list[str]:
    """The form with each of its fixed words, and with numbers and names filled in."""
    filled = " ".join(
        {"N": "7", "K": "8"}.get(token.strip("[]"), token.strip("[]")) for token in form.split()
    )
    if "|" not in filled:
        return [filled]
    tokens = filled.split()
    at = next(i for i, token in enumerate(tokens) if "|" in token)
    return [" ".join([*tokens[:at], word, *tokens[at + 1 :]]) for word in tokens[at].split("|")]
