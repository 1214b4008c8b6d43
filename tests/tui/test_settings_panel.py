"""The panel of `/config`: every key of it, and changes that take effect and are saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.running_settings import SettingState
from forge_core.config.settings import SETTINGS
from forge_tui.screens.panels.settings_panel import SettingsPanel, matching
from forge_tui.widgets.choices import ChoiceList
from tests.support.chat_app import ChatApp, make_app, make_config, ready, say, shown, type_text, until

pytestmark = pytest.mark.slow


def file_of(app: ChatApp) -> str:
    path = app.chat.sessions.config.config_dir / "config.toml"
    return path.read_text() if path.exists() else ""


def row_of(app: ChatApp) -> str:
    """The text of the chosen row, its columns separated by one blank."""
    choices = app.screen.query_one(ChoiceList)
    row = choices.rows[choices.chosen]
    return " ".join(f"{row.label} {row.hint} {row.detail}".split())


def report_of(app: ChatApp) -> str:
    return str(app.screen.query_one(".report", Static).content)


async def opened(pilot: Pilot[None], argument: str = "") -> ChatApp:
    """Open the panel, at a setting."""
    app = await ready(pilot)
    await say(pilot, f"/config {argument}".strip())
    await until(pilot, lambda: isinstance(app.screen, SettingsPanel))
    await until(pilot, lambda: row_of(app).startswith(argument or "model"))
    return app


async def press(pilot: Pilot[None], app: ChatApp, *keys: str, gives: str) -> None:
    """Press keys, and wait for the chosen row."""
    await pilot.press(*keys)
    await until(pilot, lambda: row_of(app) == gives, f"{gives!r}, now {row_of(app)!r}")


def test_a_search_finds_names_first_then_summaries_then_letters() -> None:
    states = [SettingState(name, "not set", Origin.DEFAULT) for name in SETTINGS]
    names = [one.name for one in matching(states, "budget")]
    assert names == ["budget_day", "budget_month"]
    assert matching(states, "spinner")[0].name == "reduced_motion"
    assert matching(states, "mx-cost")[0].name == "max_cost"
    assert matching(states, "") == states
    assert matching(states, "zzzz") == []


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (50, 12)])
async def test_the_panel_lists_values_and_sources_in_columns(tmp_path: Path, size: tuple[int, int]) -> None:
    config = make_config(tmp_path, vim=True, origins={"vim": Origin.USER}, own_settings={"vim": True})
    config.config_dir.mkdir()
    (config.config_dir / "config.toml").write_text("vim = true\n")
    async with make_app(config).run_test(size=size) as pilot:
        app = await opened(pilot)
        assert len(app.screen.query_one(ChoiceList).rows) == len(SETTINGS)
        await type_text(pilot, "vim")
        await until(pilot, lambda: row_of(app) == "vim true user config")
        await pilot.press("ctrl+u")
        await type_text(pilot, "notify")
        await until(pilot, lambda: row_of(app) == "notify auto default")
        assert "how Forge calls you" in shown(app)


async def test_arrows_and_pages_choose_a_row(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        names = [*SETTINGS]
        choices = app.screen.query_one(ChoiceList)
        for keys, at in (
            (("down", "ctrl+n"), 2),
            (("up", "ctrl+p"), 0),
            (("up",), len(names) - 1),
            (("pageup",), len(names) - 1 - choices.shown_rows),
            (("pagedown", "pagedown"), len(names) - 1),
        ):
            await pilot.press(*keys)
            await until(pilot, lambda at=at: row_of(app).split()[0] == names[at])
        await pilot.press("tab", "escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_enter_switches_and_the_chat_follows(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "vim")
        await press(pilot, app, "enter", gives="vim true user config")
        assert app.chat.composer.key_mode
        await until(pilot, lambda: "vim is now true." in shown(app))
        await until(pilot, lambda: file_of(app) == "vim = true\n")
        await press(pilot, app, "delete", gives="vim false default")
        assert not app.chat.composer.key_mode
        await until(pilot, lambda: file_of(app) == "")


async def test_left_and_right_go_through_the_values(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "thinking")
        await press(pilot, app, "right", gives="thinking full user config")
        assert app.chat.transcript.thinking == "full"
        await press(pilot, app, "right", gives="thinking hidden user config")
        await press(pilot, app, "left", gives="thinking full user config")
        await press(pilot, app, "ctrl+x", gives="thinking folded default")
        assert app.chat.transcript.thinking == "folded"


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("theme", ("right", "right"), "forge-light"),
        ("notify", ("right",), "bell"),
        ("reduced_motion", ("enter",), "true"),
    ],
)
async def test_what_the_screen_holds_changes_at_once(
    config: ForgeConfig, name: str, keys: tuple[str, ...], value: str
) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, name)
        await press(pilot, app, *keys, gives=f"{name} {value} user config")
        held = {
            "theme": lambda: app.theme,
            "notify": lambda: app.chat.attention.setting,
            "reduced_motion": lambda: str(app.chat.activity.is_still).lower(),
        }
        assert held[name]() == value


async def test_what_the_session_holds_changes_at_once(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "effort")
        await press(pilot, app, "left", gives="effort max user config")
        assert app.scripted.models.effort == "max"
        await pilot.press("escape")
        await opened(pilot, "max_cost")
        await pilot.press("enter")
        await type_text(pilot, "2.50")
        await press(pilot, app, "enter", gives="max_cost 2.5 user config")
        assert app.chat.sessions.config.max_cost == 2.5  # for the next session
        assert app.scripted.budget.state()["limits"] == {"max_cost": 2.5}


async def test_a_value_is_taken_from_a_list(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "permission_mode")
        await pilot.press("enter")
        await until(pilot, lambda: "Settings · permission_mode" in shown(app))
        assert "reads and searches only, changes nothing" in shown(app)
        assert "yolo" not in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: row_of(app).startswith("permission_mode ask"))
        await pilot.press("enter", "down", "up", "down", "down")
        await press(pilot, app, "enter", gives="permission_mode plan user config")
        assert app.scripted.status.mode == "plan"
        await pilot.press("enter")
        await type_text(pilot, "edits")
        await press(pilot, app, "enter", gives="permission_mode accept-edits user config")


async def test_a_wrong_value_is_explained_and_can_be_corrected(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "command_processes")
        await pilot.press("enter")
        assert app.screen.query_one(Input).value == "4096"
        await pilot.press("left", "delete")
        await type_text(pilot, "x")
        await pilot.press("enter")
        await until(pilot, lambda: "command_processes is '409x'; it must be a whole number." in shown(app))
        assert app.screen.query_one(".report").has_class("-error")
        await pilot.press("backspace", "up", "down")
        await press(pilot, app, "enter", gives="command_processes 409 next start")
        assert "takes effect at the next start" in shown(app)
        await pilot.press("enter", "ctrl+u")
        await press(pilot, app, "enter", gives="command_processes 4096 default")


async def test_escape_while_typing_keeps_the_value_and_the_search(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await type_text(pilot, "max_tok")
        await pilot.press("enter")
        await type_text(pilot, "5")
        await pilot.press("escape")
        await until(pilot, lambda: row_of(app) == "max_tokens not set default")
        assert app.screen.query_one(Input).value == "max_tok"
        assert file_of(app) == ""


async def test_what_a_variable_sets_is_said_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_THINKING", "full")
    config = make_config(tmp_path, thinking="full", origins={"thinking": Origin.ENVIRONMENT})
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "thinking")
        assert "FORGE_THINKING sets it" in shown(app)
        await pilot.press("right")
        await until(
            pilot,
            lambda: "thinking is now hidden in your file, but FORGE_THINKING sets it to full" in shown(app),
        )
        assert row_of(app) == "thinking full environment"
        await until(pilot, lambda: file_of(app) == 'thinking = "hidden"\n')


async def test_a_file_that_cannot_be_written_is_named(config: ForgeConfig) -> None:
    config.config_dir.mkdir()
    (config.config_dir / "config.toml").write_text("vim = [\n")
    async with make_app(config).run_test(size=(120, 30)) as pilot:
        app = await opened(pilot, "vim")
        await pilot.press("enter")
        await until(pilot, lambda: "vim was not saved" in report_of(app))
        assert "is not valid TOML" in report_of(app)
        assert "vim was not saved" in shown(app)
        assert file_of(app) == "vim = [\n"


async def test_a_click_chooses_and_a_second_one_changes(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await type_text(pilot, "claude")
        await pilot.pause()
        await type_text(pilot, "_")
        await until(pilot, lambda: row_of(app) == "claude_instructions false default")
        await pilot.click(ChoiceList, offset=(4, 0))
        await until(pilot, lambda: row_of(app) == "claude_instructions true next start")


async def test_a_search_without_a_match_changes_nothing(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await type_text(pilot, "zzzz")
        await until(pilot, lambda: "Nothing found" in shown(app))
        await pilot.press("enter", "right", "delete", "down", "pagedown")
        await pilot.pause()
        assert "Nothing found" in shown(app)
        assert file_of(app) == ""


async def test_the_command_sets_a_value_and_confirms_it(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(100, 30)) as pilot:
        app = await ready(pilot)
        await say(pilot, "/config thinking full")
        await until(pilot, lambda: "thinking is now full." in shown(app))
        assert app.chat.transcript.thinking == "full"
        assert "❯ /config" not in shown(app)
        await say(pilot, "/config sandbox off")
        await until(pilot, lambda: "sandbox is now off; it takes effect at the next start." in shown(app))
        await say(pilot, "/config thinking default")
        await until(pilot, lambda: "thinking is folded again, the default." in shown(app))
        await until(pilot, lambda: file_of(app) == 'sandbox = "off"\n')
        await say(pilot, "/config thinking loud")
        await until(pilot, lambda: "it must be one of hidden, folded, full" in shown(app))
        await say(pilot, "/config thinkng full")
        await until(pilot, lambda: "There is no setting 'thinkng'. Did you mean thinking?" in shown(app))


async def test_the_palette_finds_it(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await pilot.press("ctrl+p")
        await type_text(pilot, "preferences")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingsPanel))


async def test_the_next_session_has_what_was_changed(config: ForgeConfig) -> None:
    async with make_app(config).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot, "effort")
        await press(pilot, app, "left", gives="effort max user config")
        assert app.chat.sessions.config.effort == "max"
        assert app.chat.sessions.config.origins["effort"] is Origin.USER
