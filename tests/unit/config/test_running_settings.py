"""The settings of a running chat: their sources, and changes that are written and take effect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.listing import list_values, typed_text
from forge_core.config.running_settings import LiveSetting, RunningSettings, SettingState
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError
from forge_core.runtime import load_session_config


class Chat:
    """Holds the settings, and the effort and model of a session."""

    def __init__(self, config: ForgeConfig) -> None:
        self.config = config
        self.effort: Any = config.effort
        self.model = config.model
        self.refusal = ""

    def live(self) -> Mapping[str, LiveSetting]:
        return {
            "effort": LiveSetting(lambda: self.effort, self._use_effort),
            "model": LiveSetting(lambda: self.model),
        }

    def _use_effort(self, effort: Any) -> None:
        if self.refusal:
            raise ConfigError(self.refusal)
        self.effort = effort


class Home:
    """A user's folder with their own file, and a project."""

    def __init__(self, root: Path) -> None:
        self.environ = {"FORGE_HOME": str(root / "home"), "HOME": str(root)}
        self.file = root / "home" / "config" / "config.toml"
        self.file.parent.mkdir(parents=True)
        self.project = root / "project"
        self.project.mkdir()

    def start(self, **flags: Any) -> tuple[Chat, RunningSettings]:
        chat = Chat(load_session_config(self.project, flags=flags, environ=self.environ))
        themes = ("forge-dark", "forge-light")
        return chat, RunningSettings(chat, chat.live, lambda: themes, self.environ)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def shown(state: SettingState) -> tuple[str, str]:
    return state.value, state.source


async def test_every_setting_is_listed_with_its_source(home: Home) -> None:
    home.file.write_text('sandbox = "off"\neffort = "low"\n')
    home.environ["FORGE_THINKING"] = "full"
    _, settings = home.start(max_cost=2.5)
    await settings.read_file()
    assert [state.name for state in settings.states()] == [*SETTINGS]
    assert shown(settings.state("sandbox")) == ("off", "user config")
    assert shown(settings.state("effort")) == ("low", "user config")
    assert shown(settings.state("notify")) == ("auto", "default")
    assert shown(settings.state("max_cost")) == ("2.5", "flag")
    assert settings.state("thinking") == SettingState(
        "thinking", "full", "environment", "FORGE_THINKING sets it"
    )


async def test_a_live_setting_takes_effect_at_once_and_in_the_next_session(home: Home) -> None:
    home.file.write_text("# mine\n")
    chat, settings = home.start()
    await settings.read_file()
    assert await settings.set("effort", "high") == "effort is now high."
    assert (chat.effort, chat.config.effort) == ("high", "high")
    assert home.file.read_text() == '# mine\neffort = "high"\n'
    assert shown(settings.state("effort")) == ("high", "user config")
    assert await settings.unset("effort") == "effort is not set."
    assert (chat.effort, chat.config.effort) == (None, None)
    assert home.file.read_text() == "# mine\n"


async def test_another_setting_waits_for_the_next_start(home: Home) -> None:
    home.file.write_text('sandbox = "off"\n')
    chat, settings = home.start()
    await settings.read_file()
    assert await settings.set("sandbox", "strict") == (
        "sandbox is now strict; it takes effect at the next start."
    )
    assert settings.state("sandbox") == SettingState(
        "sandbox", "strict", "next start", "takes effect at the next start; now off"
    )
    assert chat.config.sandbox == "off"
    assert await settings.unset("sandbox") == (
        "sandbox is auto again, the default; it takes effect at the next start."
    )
    await settings.set("sandbox", "off")
    assert shown(settings.state("sandbox")) == ("off", "user config")


@pytest.mark.parametrize(
    ("environ", "flags", "source"),
    [
        ({"FORGE_EFFORT": "low"}, {}, "FORGE_EFFORT"),
        ({}, {"effort": "low"}, "--effort"),
    ],
)
async def test_what_is_stronger_is_named_and_stays(
    home: Home, environ: dict[str, str], flags: dict[str, Any], source: str
) -> None:
    home.environ |= environ
    chat, settings = home.start(**flags)
    await settings.read_file()
    assert await settings.set("effort", "high") == (
        f"effort is now high in your file, but {source} sets it to low here."
    )
    assert chat.effort == "low"
    state = settings.state("effort")
    assert state.value == "low"
    assert state.remark == f"{source} sets it; your file has high"
    assert settings.chosen("effort") == "high"


async def test_the_project_and_accessible_are_named_too(home: Home) -> None:
    (home.project / ".forge").mkdir()
    (home.project / ".forge" / "config.toml").write_text('theme = "forge-light"\n')
    home.environ["ACCESSIBLE"] = "1"
    _, settings = home.start()
    await settings.read_file()
    assert settings.state("theme").remark == "the project's .forge/config.toml sets it"
    assert settings.state("plain").remark == "ACCESSIBLE sets it"


async def test_what_a_command_has_set_is_of_this_session(home: Home) -> None:
    home.file.write_text('effort = "low"\n')
    chat, settings = home.start()
    await settings.read_file()
    chat.effort, chat.model = "max", "other/model"
    assert settings.state("effort") == SettingState("effort", "max", "this session", "your file has low")
    assert shown(settings.state("model")) == ("other/model", "this session")


async def test_a_wrong_value_changes_nothing(home: Home) -> None:
    home.file.write_text('theme = "forge-dark"\n')
    chat, settings = home.start()
    await settings.read_file()
    for name, value, words in (
        ("effort", "hgih", "one of none"),
        ("theme", "forge-lihgt", "Did you mean 'forge-light'"),
        ("max_cost", "much", "US dollars"),
        ("permission_mode", "yolo", "--permission-mode yolo"),
        ("add_dirs", "src", "absolute"),
    ):
        with pytest.raises(ConfigError, match=words):
            await settings.set(name, value)
    assert home.file.read_text() == 'theme = "forge-dark"\n'
    assert chat.effort is None


async def test_a_change_that_cannot_be_saved_is_reported_and_the_file_counts(home: Home) -> None:
    home.file.write_text('sandbox = "off"\n')
    _, settings = home.start()
    await settings.read_file()
    home.file.write_text("sandbox = \n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        await settings.set("sandbox", "strict")
    assert home.file.read_text() == "sandbox = \n"
    assert settings.state("sandbox").value == "auto"


async def test_what_the_session_refuses_is_saved_with_its_reason(home: Home) -> None:
    chat, settings = home.start()
    await settings.read_file()
    chat.refusal = "'m' does not reason, so that it takes no effort."
    assert await settings.set("effort", "high") == f"effort is now high in your file. {chat.refusal}"
    assert 'effort = "high"' in home.file.read_text()


async def test_a_list_is_typed_with_commas(home: Home) -> None:
    _, settings = home.start()
    await settings.read_file()
    await settings.set("allow", "bash(git log:*), edit(src/a,b)")
    assert 'allow = ["bash(git log:*)", "edit(src/a,b)"]' in home.file.read_text()
    assert settings.editable("allow") == "bash(git log:*), edit(src/a,b)"
    assert await settings.set("allow", "  ") == "allow is not set; it takes effect at the next start."
    assert "allow" not in home.file.read_text()


async def test_the_credentials_in_a_url_are_never_shown(home: Home) -> None:
    home.file.write_text('base_url = "https://ada:pass1234@a.example/v1"\nmodel = "m"\n')
    _, settings = home.start()
    await settings.read_file()
    assert settings.state("base_url").value == "https://a.example/v1"
    assert settings.editable("base_url") == ""
    assert "pass5678" not in await settings.set("base_url", "https://ada:pass5678@b.example/v1")
    assert "pass" not in str(settings.state("base_url"))


def test_yolo_is_no_choice(home: Home) -> None:
    _, settings = home.start()
    assert settings.choices("permission_mode") == ("ask", "accept-edits", "plan", "auto")
    assert settings.choices("vim") == ("true", "false")
    assert settings.choices("theme") == ("auto", "forge-dark", "forge-light")
    assert settings.choices("theme_dark") == ("forge-dark", "forge-light")
    assert settings.choices("max_cost") == ()


@given(st.lists(st.text(min_size=1).filter(lambda one: one.strip() == one), max_size=4))
def test_a_list_is_read_as_it_is_shown(items: list[str]) -> None:
    assert list_values(typed_text(items)) == items
