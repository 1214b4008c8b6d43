"""Completing commands: what is offered, and what Tab, Enter, Esc and the arrows do."""

from __future__ import annotations

from forge_core.commands.specs import SPECS
from forge_core.config.models import ForgeConfig
from forge_tui.widgets.completion import candidates, no_values
from tests.support.chat_app import make_app, ready, say, shown, type_text, until


def themes(command: str) -> list[tuple[str, str]]:
    return [("forge-dark", "now"), ("forge-light", "")] if command == "theme" else []


def test_a_slash_offers_every_command() -> None:
    labels = [candidate.label for candidate in candidates("/", no_values)]
    assert labels == [f"/{spec.name}" for spec in SPECS]


def test_letters_narrow_the_offer_and_a_keyword_finds_too() -> None:
    assert [c.label for c in candidates("/th", no_values)] == ["/theme", "/thinking"]
    assert [c.label for c in candidates("/the", no_values)] == ["/theme"]
    assert candidates("/dark", no_values)[0].label == "/theme"
    assert candidates("/dark", no_values)[0].is_sure is False


def test_nothing_is_offered_for_text_paths_and_several_lines() -> None:
    for text in ("hello", " /help", "//", "/usr/bin", "/help\n", "", "/nosuch thing"):
        assert candidates(text, themes) == []


def test_arguments_complete_by_their_beginning_then_by_any_part() -> None:
    assert [c.line for c in candidates("/theme ", themes)] == ["/theme forge-dark", "/theme forge-light"]
    assert [c.line for c in candidates("/theme light", themes)] == ["/theme forge-light"]
    assert candidates("/exit x", themes) == []


async def test_the_popup_shows_names_arguments_and_summaries(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/")
        await pilot.pause()
        screen = shown(app)
        assert "/theme [name]" in screen and "Show or change the theme" in screen
        assert "❯ /help" in screen


async def test_tab_completes_and_leaves_room_for_the_argument(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/th")
        await pilot.press("tab")
        assert app.chat.composer.text == "/theme "
        await pilot.pause()
        assert "forge-light" in shown(app)
        await pilot.press("down", "tab")
        assert app.chat.composer.text == "/theme forge-light"
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "forge-light")


async def test_the_arrows_choose_round_the_ends(config: ForgeConfig) -> None:
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


async def test_enter_on_a_guess_only_completes(config: ForgeConfig) -> None:
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


async def test_the_model_in_use_completes_the_model_command(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "/model ")
        await pilot.press("tab")
        assert app.chat.composer.text == "/model test/model"


async def test_the_popup_moves_nothing_else(config: ForgeConfig) -> None:
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
