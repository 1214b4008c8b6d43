"""Slash commands on the screen: never sent to the model, run or refused with an explanation."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from forge_core.commands.command_spec import ArgumentValue, CommandSpec, Scope
from forge_core.commands.command_table import CommandTable
from forge_core.commands.result import CommandResult, Text
from forge_core.commands.specs import SPECS
from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMStart
from forge_core.session.session import ForgeSession
from forge_tui.screens.chat.screen import ChatScreen
from forge_tui.screens.panels.model_picker import ModelPicker
from forge_tui.submitted_line import Command, InvalidCommand, UserText, parse_line
from forge_tui.widgets.composer import Composer
from tests.support.chat_app import make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate, answer

pytestmark = pytest.mark.slow


def test_plain_text_is_a_message_with_surrounding_whitespace_stripped() -> None:
    assert parse_line("  hello\nthere  ", CommandTable()) == UserText("hello\nthere")


@pytest.mark.parametrize("blank", ["", "  ", "\n\n", "\t"])
def test_blank_text_is_ignored(blank: str) -> None:
    assert parse_line(blank, CommandTable()) is None


def test_a_command_is_found_by_name_alias_and_any_case() -> None:
    for typed in ("/exit", "/QUIT", "/q ", "/Exit"):
        line = parse_line(typed, CommandTable())
        assert isinstance(line, Command) and line.spec.name == "exit"
    line = parse_line("/theme  forge-light ", CommandTable())
    assert isinstance(line, Command) and line.argument == "forge-light"


def test_a_single_question_mark_asks_for_help() -> None:
    line = parse_line("?", CommandTable())
    assert isinstance(line, Command) and line.spec.name == "help"
    assert parse_line("? why", CommandTable()) == UserText("? why")


def test_an_unknown_command_names_the_nearest() -> None:
    line = parse_line("/thme", CommandTable())
    assert isinstance(line, InvalidCommand)
    assert "/thme" in line.complaint and "Did you mean /theme?" in line.complaint


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_no_command_runs_with_an_argument_that_it_does_not_accept(spec: CommandSpec) -> None:
    if any("NAME" in form for form in spec.accepts):
        pytest.skip("its argument is looked up when it runs")
    if any(form.isupper() and form.endswith("...") for form in spec.accepts):
        pytest.skip("its argument is any text: a title, a file, a session, a focus")
    line = parse_line(f"/{spec.name} no\x1bsuch thing", CommandTable())
    assert isinstance(line, InvalidCommand)
    assert f"/{spec.name} " in line.complaint and "\x1b" not in line.complaint
    for form in spec.accepts:
        assert form.replace("...", "").replace("|", " ").split()[-1] in line.complaint


async def test_an_extra_argument_is_rejected_and_nothing_runs(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/exit now")
        await until(pilot, lambda: "/exit takes no argument, but was given 'now'" in shown(app))
        await say(pilot, "/sandbox xyz")
        await until(pilot, lambda: "/sandbox takes no argument, but was given 'xyz'" in shown(app))
        assert app.is_running and app.scripted.sent == []


@pytest.mark.parametrize("typed", ["//", "//x", "/usr/bin/env is what?", "/", "/ "])
def test_a_path_or_lone_slash_is_refused_with_the_way_to_send_it(typed: str) -> None:
    line = parse_line(typed, CommandTable())
    assert isinstance(line, InvalidCommand)
    assert "put a space first" in line.complaint


def test_a_leading_space_sends_a_slash_as_a_message() -> None:
    assert parse_line(" /usr/bin/env is what?", CommandTable()) == UserText("/usr/bin/env is what?")


def test_a_hostile_command_name_is_escaped_and_truncated() -> None:
    line = parse_line("/\x1b[31m" + "x" * 500, CommandTable())
    assert isinstance(line, InvalidCommand)
    assert "\x1b" not in line.complaint and len(line.complaint) < 250


@pytest.mark.parametrize(
    ("typed", "seen"),
    [("/hlep me", "Did you mean /help?"), ("/cost", "Total"), ("/mode", "reads and searches")],
)
async def test_command_output_is_scrolled_into_view(config: ForgeConfig, typed: str, seen: str) -> None:
    app = make_app(config, [answer("\n\n".join(f"line {n}" for n in range(60)))])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "line 59" in shown(app) and not app.chat.has_turn)
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "▎ go" in shown(app) and not app.chat.transcript.at_end)
        await say(pilot, typed)
        await until(pilot, lambda: seen in shown(app))
        assert app.chat.transcript.at_end and not app.chat.transcript.new_below


async def test_an_unknown_command_never_reaches_the_model(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/hlep me")
        await until(pilot, lambda: "Did you mean /help?" in shown(app))
        assert app.scripted.sent == []


async def test_reset_clears_the_conversation_and_the_queue(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [answer("The old answer."), [LLMStart(iteration=1, model="m"), gate]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await until(pilot, lambda: "The old answer." in shown(app))
        await say(pilot, "two")
        await until(pilot, gate.reached.is_set)
        await say(pilot, "three")
        await say(pilot, "/reset")
        await until(pilot, lambda: app.scripted.resets == 1)
        await until(pilot, lambda: "The old answer." not in shown(app))
        assert not app.chat.has_turn
        assert app.scripted.sent == ["one", "two"]
        assert "queued" not in shown(app)
        assert "a coding assistant" in shown(app)


async def test_a_message_sent_after_reset_starts_the_new_conversation(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[LLMStart(iteration=1, model="m"), gate], answer("The new answer.")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await until(pilot, gate.reached.is_set)
        app.chat.composer.post_message(Composer.Submitted("/reset"))
        app.chat.composer.post_message(Composer.Submitted("two"))
        await until(pilot, lambda: "The new answer." in shown(app))
        assert app.scripted.sent == ["one", "two"]
        assert app.scripted.resets == 1
        assert "queued" not in shown(app)


async def test_a_reset_at_the_end_of_a_turn_starts_no_queued_message(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate, *answer("The old answer.")]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await until(pilot, gate.reached.is_set)
        await say(pilot, "two")
        app.scripted.interrupt = lambda: None  # type: ignore[method-assign] - it comes too late
        await say(pilot, "/reset")
        gate.open()
        await until(pilot, lambda: app.scripted.resets == 1)
        await until(pilot, lambda: "a coding assistant" in shown(app))
        assert app.scripted.sent == ["one"]
        assert not app.chat.has_turn and not app.chat.transcript.model.blocks


async def test_reset_clears_the_turn_figures_and_keeps_the_cost(config: ForgeConfig) -> None:
    app = make_app(config, [answer("The old answer.")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await until(pilot, lambda: "$0.0021" in shown(app) and not app.chat.has_turn)
        assert app.chat.status_bar.figures.turn_out == 80
        await say(pilot, "/reset")
        await until(pilot, lambda: app.chat.status_bar.figures.turn_out == 0)
        assert "$0.0021" in shown(app)


async def test_changing_the_model_waits_for_the_turn(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await until(pilot, gate.reached.is_set)
        await say(pilot, "/model other/model")
        await until(pilot, lambda: "works between turns" in shown(app))
        assert app.scripted.status.model == "test/model"
        gate.open()
        await until(pilot, lambda: not app.chat.has_turn)
        await say(pilot, "/model other/model")
        await until(pilot, lambda: "other/model" in shown(app).splitlines()[-1])


async def test_the_effort_shows_in_the_status_bar_until_it_is_the_default(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/effort high")
        await until(pilot, lambda: "effort high" in shown(app).splitlines()[-1])
        await say(pilot, "/effort default")
        await until(pilot, lambda: "effort" not in shown(app).splitlines()[-1])


async def test_the_model_command_without_an_argument_shows_the_model(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/model")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))


async def test_cost_is_shown_as_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/cost")
        await until(pilot, lambda: "No tokens used yet" in shown(app))
        assert "No tokens used yet" in shown(app)


async def test_an_unknown_theme_is_refused_and_nothing_is_saved(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme nosuch")
        await until(pilot, lambda: "There is no theme 'nosuch'" in shown(app))
        assert app.saved == [] and app.theme == "forge-dark"


async def test_a_command_sent_before_the_session_is_ready_runs_when_it_is(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "/cost")
        await until(pilot, lambda: "No tokens used yet" in shown(app))
        assert "No tokens used yet" in shown(app)


async def test_exit_works_immediately_also_by_its_alias(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await say(pilot, "/quit")
    assert app.return_code == 0


async def test_a_table_row_and_a_handler_define_a_command(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each scope: completed, listed, run with its argument, its values offered."""

    async def count(argument: str, session: ForgeSession) -> CommandResult:
        return Text(f"{session.status.model} counts {argument}", "Count")

    def shout(argument: str, screen: ChatScreen) -> None:
        screen.say(f"{argument.upper()}!")

    def numbers(session: ForgeSession) -> list[ArgumentValue]:
        return [ArgumentValue("forty-two")]

    bodies = {"count": count, "numbers": numbers}
    monkeypatch.setitem(sys.modules, "forge_core.commands.throwaway", SimpleNamespace(**bodies))
    monkeypatch.setitem(sys.modules, "forge_tui.screens.chat.throwaway", SimpleNamespace(shout=shout))
    rows = (
        CommandSpec("count", "Count", "throwaway:count", accepts=("NAME...",), values="throwaway:numbers"),
        CommandSpec("shout", "Shout", "throwaway:shout", scope=Scope.SCREEN, accepts=("NAME...",)),
    )
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.sending.commands.table.use(lambda: rows)
        await say(pilot, "/shout hello")
        await until(pilot, lambda: "HELLO!" in shown(app))
        await type_text(pilot, "/count ")
        await pilot.press("tab")
        assert app.chat.composer.text == "/count forty-two"
        await pilot.press("enter")
        await until(pilot, lambda: "test/model counts forty-two" in shown(app))
