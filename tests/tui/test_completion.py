"""Completing commands: what is offered, and what Tab, Enter, Esc and the arrows do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.command_table import CommandTable
from forge_core.commands.saved_command_uses import SavedCommandUses
from forge_core.commands.specs import SPECS
from forge_core.config.forge_config import ForgeConfig
from forge_tui.keymap import KEYS
from forge_tui.keys.effective import command_keys
from forge_tui.screens.panels.command_palette import CommandPalette
from forge_tui.screens.panels.model_picker import ModelPicker
from forge_tui.widgets.choices import ChoiceList
from forge_tui.widgets.completion import offer
from tests.support.chat_app import make_app, ready, say, shown, type_text, until

pytestmark = pytest.mark.slow


def values(command: str) -> list[ArgumentValue]:
    known = {
        "theme": [ArgumentValue("forge-light"), ArgumentValue("forge-dark", "now", is_current=True)],
        "mode": [ArgumentValue("plan"), ArgumentValue("ask", "now", is_current=True)],
        "model": [ArgumentValue("vendor/model-mini"), ArgumentValue("vendor/model")],
    }
    return known.get(command, [])


def labels(text: str) -> list[str]:
    return [candidate.label for candidate in offer(text, CommandTable(), values).candidates]


def on_enter(text: str) -> str:
    """The line that Enter runs, or completes to where that ends in a blank."""
    found = offer(text, CommandTable(), values)
    if found.chosen < 0:
        return text
    chosen = found.candidates[found.chosen]
    return chosen.line if chosen.is_sure else f"{chosen.line} "


def test_a_slash_offers_every_command() -> None:
    assert labels("/") == [f"/{spec.name}" for spec in SPECS]


def test_typing_narrows_the_suggestions_and_keywords_match_too() -> None:
    assert labels("/th") == ["/theme", "/thinking"]
    assert labels("/the") == ["/theme"]
    assert labels("/dark")[0] == "/theme"
    assert offer("/dark", CommandTable(), lambda command: ()).candidates[0].is_sure is False


def test_nothing_is_offered_for_text_paths_and_several_lines() -> None:
    for text in ("hello", " /help", "//", "/usr/bin", "/help\n", "", "/nosuch thing"):
        assert labels(text) == []


@pytest.mark.parametrize("name", [name for spec in SPECS for name in (spec.name, *spec.aliases)])
def test_an_exact_name_or_alias_comes_before_prefix_matches(name: str) -> None:
    spec = CommandTable().find(name)
    assert spec is not None
    assert on_enter(f"/{name}") == f"/{spec.name}"
    assert on_enter(f"/{name.upper()}") == f"/{spec.name}"


def test_arguments_match_by_prefix_first_and_then_by_substring() -> None:
    assert labels("/theme ") == ["forge-light", "forge-dark"]
    assert labels("/theme light") == ["forge-light"]
    assert labels("/model model") == ["vendor/model-mini", "vendor/model"]
    assert labels("/exit x") == []


def test_an_exact_argument_comes_before_prefix_matches() -> None:
    assert on_enter("/model vendor/model") == "/model vendor/model"
    assert on_enter("/model vendor/model-mini") == "/model vendor/model-mini"


def test_an_unlisted_model_name_is_never_replaced_on_enter() -> None:
    assert on_enter("/model vendor/mod").endswith(" ")
    assert on_enter("/model other/model-2") == "/model other/model-2"


def test_enter_on_a_command_without_its_argument_inserts_no_first_suggestion() -> None:
    """Tab leaves a blank behind the name: Enter then must not take the first of the menu."""
    assert on_enter("/mode ") == "/mode ask"
    assert on_enter("/theme ") == "/theme forge-dark"
    for line in ("/model ", "/trust ", "/undo ", "/afk ", "/jobs ", "/diff ", "/permissions "):
        assert on_enter(line) == line


def test_the_keywords_of_a_command_are_offered_at_every_argument_position() -> None:
    assert labels("/trust ") == ["yes", "no"]
    assert labels("/permissions ") == ["add", "remove", "test"]
    assert labels("/permissions add ") == ["allow", "ask", "deny"]
    assert on_enter("/permissions add al") == "/permissions add allow "
    assert on_enter("/trust y") == "/trust yes"
    assert labels("/jobs stop ") == []
    assert labels("/copy 2 ") == ["code"]


async def test_the_popup_shows_names_arguments_and_summaries(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/")
        await pilot.pause()
        screen = shown(app)
        assert "/tools [NAME]" in screen and "List the tools with their parameters" in screen
        assert "❯ /help" in screen


async def test_what_is_used_most_comes_first_but_a_stray_enter_does_not_run_it(config: ForgeConfig) -> None:
    SavedCommandUses(config.state_dir).add("cost")
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.chat.sending.uses.score("cost"))
        await type_text(pilot, "/")
        await until(pilot, lambda: "❯ /cost" in shown(app))
        await pilot.press("enter")
        await pilot.pause()
        assert app.chat.composer.text == "/cost"
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.composer.text == "")
        await until(pilot, lambda: SavedCommandUses(config.state_dir).read().get("cost", 0) > 1.9)


async def test_uses_are_counted_for_typed_and_chosen_commands_only(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        uses = app.chat.sending.uses
        await pilot.press("f3")
        await say(pilot, "/todo")
        await pilot.press("ctrl+p")
        await type_text(pilot, "budget")
        await pilot.press("enter")
        await until(pilot, lambda: uses.score("budget"))
        assert (uses.score("todo"), uses.score("jobs")) == (1.0, 0.0)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        assert [row.label for row in app.screen.query_one(ChoiceList).rows][:2] == ["/todo", "/budget"]


async def test_without_a_history_no_use_is_kept(config: ForgeConfig) -> None:
    app = make_app(replace(config, history=False))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/todo")
        await until(pilot, lambda: app.chat.sending.uses.score("todo"))
        await pilot.pause()
    assert not (config.state_dir / "commands.json").exists()


async def test_the_menu_says_which_of_how_many_is_chosen(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/")
        await until(pilot, lambda: f"1 of {len(SPECS)}" in shown(app))
        await pilot.press("up")
        await until(pilot, lambda: f"{len(SPECS)} of {len(SPECS)}" in shown(app))
        last = app.chat.popup.region.bottom - 1
        await pilot.click(offset=(app.size.width - 5, last))  # the count is no row
        await pilot.pause()
        assert app.chat.composer.text == "/"
        await type_text(pilot, "the")
        await until(pilot, lambda: " of " not in shown(app))


async def test_the_key_of_a_command_is_shown_at_the_right(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/jo")
        await until(pilot, lambda: "/jobs" in shown(app))
        row = next(line for line in shown(app).splitlines() if "❯ /jobs" in line)
        assert row.endswith(" F3")


def test_keys_name_commands_that_there_are() -> None:
    assert {key.command for key in KEYS if key.command} <= {spec.name for spec in SPECS}
    assert command_keys()["rewind"] == "Esc Esc"
    assert command_keys()["mode"] == "Shift+Tab"


async def test_tab_completes_the_name_and_appends_a_space(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/th")
        await pilot.press("tab")
        assert app.chat.composer.text == "/theme "
        await pilot.pause()
        assert "forge-light" in shown(app)
        await pilot.press("down", "down", "tab")
        assert app.chat.composer.text == "/theme forge-light"
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "forge-light")


async def test_the_arrows_wrap_around_the_menu(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/")
        await pilot.press("up")
        await pilot.pause()
        assert "❯ /exit" in shown(app)
        await pilot.press("down", "down")
        await pilot.pause()
        assert "❯ /tools" in shown(app)


async def test_enter_runs_the_chosen_command(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/he")
        await until(pilot, lambda: "Esc close" in shown(app) and "Commands" in shown(app))
        assert app.chat.composer.text == ""
        assert app.scripted.sent == []


@pytest.mark.parametrize("prefix", [[], ["down", "up"]])
async def test_enter_on_a_whole_name_runs_that_command(config: ForgeConfig, prefix: list[str]) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "/mode")
        await pilot.press(*prefix, "enter")
        await until(pilot, lambda: "/mode NAME or Shift+Tab changes it" in shown(app))


async def test_enter_runs_the_row_chosen_with_the_arrows(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "/mode")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))


async def test_a_complete_line_has_no_selected_row_until_an_arrow_is_pressed(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "/undo ")
        await pilot.pause()
        assert "list" in shown(app) and "❯ list" not in shown(app)
        await pilot.press("up")
        await pilot.pause()
        assert "❯ list" in shown(app)


@pytest.mark.parametrize(
    ("typed", "row", "completed"),
    [("/th", "/thinking", "/thinking "), ("/he", "/help", "/help"), ("/trust ", "no", "/trust no")],
)
async def test_a_click_on_a_row_completes_the_line(
    config: ForgeConfig, typed: str, row: str, completed: str
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, typed)
        await pilot.pause()
        index = next(at for at, choice in enumerate(app.chat.popup.rows) if choice.label == row)
        await pilot.click(app.chat.popup, offset=(3, index))
        await until(pilot, lambda: app.chat.composer.text == completed)
        assert app.focused is app.chat.composer


async def test_enter_on_a_keyword_match_only_completes(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/bye")
        assert app.chat.composer.text == "/exit"
        assert app.is_running


async def test_escape_closes_the_popup_and_keeps_the_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/th")
        await pilot.press("escape")
        await pilot.pause()
        assert "Show or change the theme" not in shown(app)
        assert app.chat.composer.text == "/th"
        await type_text(pilot, "e")
        await pilot.pause()
        assert "Show or change the theme" in shown(app)


async def test_the_current_model_completes_the_model_command(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "/model ")
        await pilot.press("tab")
        assert app.chat.composer.text == "/model test/model"


async def test_the_popup_does_not_move_other_widgets(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        before = (app.chat.transcript.region, app.chat.composer.region, app.chat.status_bar.region)
        await type_text(pilot, "/")
        await pilot.pause()
        after = (app.chat.transcript.region, app.chat.composer.region, app.chat.status_bar.region)
        assert before == after
        popup = app.chat.popup.region
        assert popup.bottom == app.chat.composer.region.y
