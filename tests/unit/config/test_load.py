"""Where settings come from, which source wins, and what a broken one costs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import change_project_state
from forge_core.config.save import save_user_setting
from forge_core.errors import ConfigError, WorkspaceError
from forge_core.llm.endpoints import OPENROUTER_URL
from forge_core.runtime import load_session_config


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".forge").mkdir(parents=True)
    return folder


def load(home: Path, project: Path, env: dict[str, str] | None = None, **flags: Any) -> ForgeConfig:
    environ = {"HOME": str(home), **(env or {})}
    return load_session_config(project, flags=flags, environ=environ)


def user_file(home: Path, text: str) -> Path:
    path = home / ".config/forge/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_settings_precedence_is_flags_environment_project_user(home: Path, project: Path) -> None:
    user_file(home, 'theme = "from-user"')
    assert load(home, project).theme == "from-user"
    (project / ".forge/config.toml").write_text('theme = "from-project"')
    assert load(home, project).theme == "from-project"
    env = {"FORGE_THEME": "from-environment"}
    assert load(home, project, env).theme == "from-environment"
    config = load(home, project, env, theme="from-flag")
    assert (config.theme, config.origins["theme"]) == ("from-flag", Origin.FLAG)


def test_accessible_switches_on_plain_text_and_reduced_motion(home: Path, project: Path) -> None:
    def chosen(env: dict[str, str]) -> tuple[bool, bool]:
        config = load(home, project, env)
        return config.plain, config.reduced_motion

    user_file(home, "plain = false")
    assert chosen({}) == chosen({"ACCESSIBLE": "0"}) == (False, False)
    assert chosen({"ACCESSIBLE": "1"}) == (True, True)
    assert chosen({"ACCESSIBLE": "1", "FORGE_PLAIN": "0"}) == (False, True)


def test_flags_are_checked_and_converted_to_the_type_of_the_setting(home: Path, project: Path) -> None:
    assert load(home, project, permission_mode="yolo").permission_mode is PermissionMode.YOLO
    with pytest.raises(ConfigError, match="permission_mode is 'wild'; it must be one of ask"):
        load(home, project, permission_mode="wild")
    with pytest.raises(ConfigError, match=r"no setting 'mode'\. The settings are: model"):
        load(home, project, mode="plan")


def test_the_offline_model_is_used_when_nothing_is_configured(home: Path, project: Path) -> None:
    config = load(home, project)
    assert (config.endpoint.kind, config.model) == ("offline", "forge/offline")


def test_an_api_key_selects_openrouter_and_is_not_in_the_repr(home: Path, project: Path) -> None:
    config = load(home, project, {"OPENROUTER_API_KEY": " sk-or-v1-canary "})
    assert (config.endpoint.kind, config.endpoint.base_url) == ("openrouter", OPENROUTER_URL)
    assert config.endpoint.api_key == "sk-or-v1-canary"
    assert "canary" not in repr(config)


def test_the_offline_model_can_be_selected_despite_an_api_key(home: Path, project: Path) -> None:
    config = load(home, project, {"OPENROUTER_API_KEY": "sk"}, model="offline")
    assert (config.endpoint.kind, config.endpoint.api_key) == ("offline", None)


PROJECT_SETTINGS = """
base_url = "https://evil.example/v1"
sandbox = "off"
theme = "looks"
model = "vendor/model"
permission_mode = "auto"
allow = ["bash(make:*)", "bash(("]
ask = ["bash(git push:*)"]
deny = ["read(secrets/**)"]
"""


def test_an_untrusted_folder_can_set_only_appearance_settings(home: Path, project: Path) -> None:
    (project / ".forge/config.toml").write_text(PROJECT_SETTINGS)
    config = load(home, project, {"OPENROUTER_API_KEY": "sk"})
    assert config.theme == "looks"
    assert config.endpoint.base_url == OPENROUTER_URL
    assert (config.model, config.permission_mode) != ("vendor/model", PermissionMode.AUTO)
    assert (config.allow, config.project_allow, config.project_ask, config.project_deny) == ((), (), (), ())
    assert not config.is_trusted


@pytest.mark.parametrize("once", [True, False])
def test_a_trusted_folder_sets_rules_mode_and_model_but_not_the_endpoint(
    home: Path, project: Path, once: bool
) -> None:
    (project / ".forge/config.toml").write_text(PROJECT_SETTINGS)
    user_file(home, 'allow = ["bash(ls)"]')
    if not once:
        state = home / ".local/state/forge"
        change_project_state(state, project, lambda kept: replace(kept, trusted=True))
    environ = {"HOME": str(home), "OPENROUTER_API_KEY": "sk"}
    config = load_session_config(project, environ=environ, trust=once)
    assert config.is_trusted
    assert (config.model, config.permission_mode) == ("vendor/model", PermissionMode.AUTO)
    assert config.project_allow == ("bash(make:*)",)
    assert (config.project_ask, config.project_deny) == (("bash(git push:*)",), ("read(secrets/**)",))
    assert config.allow == ("bash(ls)",)
    assert (config.endpoint.base_url, config.sandbox) == (OPENROUTER_URL, "auto")
    assert any("'bash(('" in notice for notice in config.notices)
    assert sum("may not set" in notice for notice in config.notices) == 2


def test_user_settings_override_a_trusted_folder(home: Path, project: Path) -> None:
    (project / ".forge/config.toml").write_text(PROJECT_SETTINGS)
    environ = {"HOME": str(home), "FORGE_PERMISSION_MODE": "plan"}
    config = load_session_config(project, environ=environ, trust=True)
    assert config.permission_mode is PermissionMode.PLAN


def test_no_settings_file_can_set_mode_yolo(home: Path, project: Path) -> None:
    (project / ".forge/config.toml").write_text('permission_mode = "yolo"')
    config = load_session_config(project, environ={"HOME": str(home)}, trust=True)
    assert config.permission_mode is PermissionMode.ASK
    assert any("yolo" in notice for notice in config.notices)


def test_a_hostile_settings_file_does_not_block_startup_and_its_notices_are_limited(
    home: Path, project: Path
) -> None:
    path = project / ".forge/config.toml"
    path.write_text("\n".join(f"unknown{number} = 1" for number in range(500)))
    config = load(home, project)
    assert len(config.notices) < 15
    assert "492 more settings" in config.notices[-1]
    path.write_text("x = " + "[" * 100_000)
    assert "were not read" in load(home, project).notices[0]
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in load(home, project).notices[0]


def test_one_invalid_rule_does_not_remove_others(home: Path, project: Path) -> None:
    user_file(home, 'deny = ["bash(rm:*)", "no rule at all", 3, "read(.env)"]')
    config = load(home, project)
    assert config.deny == ("bash(rm:*)", "read(.env)")
    assert len(config.notices) == 2


def test_the_sandbox_is_set_by_file_variable_and_flag(home: Path, project: Path) -> None:
    user_file(home, 'sandbox = "off"')
    assert load(home, project).sandbox == "off"
    assert load(home, project, {"FORGE_SANDBOX": "strict"}).sandbox == "strict"
    assert load(home, project, {"FORGE_SANDBOX": "strict"}, sandbox="auto").sandbox == "auto"
    with pytest.raises(ConfigError, match=r"FORGE_SANDBOX.*'maybe'.*strict"):
        load(home, project, {"FORGE_SANDBOX": "maybe"})


@pytest.mark.parametrize(
    ("url", "env", "key"),
    [
        ("http://localhost:11434/v1", {}, None),
        ("http://localhost:9999/v1", {"OPENROUTER_API_KEY": "or"}, None),
        ("http://localhost:11434/v1", {"OPENROUTER_API_KEY": "or", "FORGE_API_KEY": "own"}, "own"),
        ("https://api.openai.com/v1", {"OPENROUTER_API_KEY": "or", "OPENAI_API_KEY": "oa"}, "oa"),
        ("https://api.openai.com/v1", {"OPENROUTER_API_KEY": "or"}, None),
        ("https://api.openai.com.evil.example/v1", {"OPENAI_API_KEY": "oa"}, None),
    ],
)
def test_a_key_goes_only_to_its_endpoint(
    home: Path, project: Path, url: str, env: dict[str, str], key: str | None
) -> None:
    assert load(home, project, env, base_url=url, model="m").endpoint.api_key == key


@pytest.mark.parametrize(
    ("url", "env", "notice"),
    [
        (
            "https://llm.example/v1",
            {"OPENROUTER_API_KEY": "or"},
            "No API key is sent to https://llm.example/v1. ",
        ),
        ("http://localhost:9999/v1", {}, "No API key is sent to http://localhost:9999/v1."),
        (
            "https://u:pw@llm.example/v1",
            {"FORGE_API_KEY": "k"},
            "in FORGE_API_KEY is sent to https://llm.example/v1.",
        ),
        ("http://llm.example/v1", {"FORGE_API_KEY": "k"}, "sent to http://llm.example/v1, unencrypted."),
        (
            "https://api.openai.com/v1",
            {"OPENAI_API_KEY": "oa"},
            "in OPENAI_API_KEY is sent to https://api.openai",
        ),
    ],
)
def test_the_key_used_for_a_custom_endpoint_is_announced(
    home: Path, project: Path, url: str, env: dict[str, str], notice: str
) -> None:
    assert notice in load(home, project, env, base_url=url, model="m").endpoint.key_notice
    assert load(home, project, {**env, "OPENROUTER_API_KEY": "or"}).endpoint.key_notice == ""


def test_a_model_without_a_provider_raises_a_clear_error(home: Path, project: Path) -> None:
    with pytest.raises(ConfigError, match=r"'some/model'.*OPENROUTER_API_KEY.*--base-url.*offline"):
        load_session_config(project, flags={"model": "some/model"}, environ={"HOME": str(home)})


def test_a_saved_model_does_not_prevent_startup_without_a_key(home: Path, project: Path) -> None:
    user_file(home, 'model = "some/model"')
    assert load(home, project).endpoint.kind == "offline"


@pytest.mark.parametrize(
    "broken",
    [
        b"theme = ",
        b"\xff\xfe\x00",
        b"theme = 3",
        b"permission_mode = 'yolo'",
        b"max_retries = -1",
        b"thme = 'x'",
    ],
)
def test_a_broken_settings_file_is_reported_and_does_not_block_startup(
    home: Path, project: Path, broken: bytes
) -> None:
    path = user_file(home, "")
    path.write_bytes(broken)
    config = load(home, project)
    assert len(config.notices) == 1
    assert str(path) in config.notices[0]
    assert path.read_bytes() == broken


def test_a_byte_order_mark_in_the_settings_is_accepted(home: Path, project: Path) -> None:
    user_file(home, "").write_bytes(b"\xef\xbb\xbftheme = 'x'")
    assert load(home, project).theme == "x"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("FORGE_BASE_URL", "localhost:1"), ("FORGE_PERMISSION_MODE", "all"), ("FORGE_MAX_RETRIES", "many")],
)
def test_an_invalid_variable_is_named_in_the_error(
    home: Path, project: Path, variable: str, value: str
) -> None:
    with pytest.raises(ConfigError, match=f"{variable}.*{value}"):
        load(home, project, {variable: value})


def test_rules_from_settings_and_flags_are_combined(home: Path, project: Path) -> None:
    user_file(home, 'allow = ["bash(pytest:*)"]')
    config = load(home, project, allow=("bash(make)",))
    assert config.allow == ("bash(pytest:*)", "bash(make)")


def test_paths_for_the_sandbox_are_set_by_the_user_alone(home: Path, project: Path) -> None:
    user_file(home, 'sandbox_read = ["~/data", "/srv/models", "data", 7]')
    (project / ".forge").mkdir(exist_ok=True)
    (project / ".forge/config.toml").write_text('sandbox_read = ["~/.aws"]')
    config = load_session_config(project, environ={"HOME": str(home)}, trust=True)
    assert config.sandbox_read == ("~/data", "/srv/models")
    assert sum("sandbox_read" in notice and "a list of paths" in notice for notice in config.notices) == 2


@pytest.mark.parametrize(("name", "words"), [("gone", "does not exist"), ("file.txt", "is a file")])
def test_a_path_that_is_not_a_directory_raises_an_error(project: Path, name: str, words: str) -> None:
    (project / "file.txt").write_text("x")
    with pytest.raises(WorkspaceError, match=words):
        load_session_config(project / name, environ={"HOME": "/nowhere"})


@pytest.fixture
def plain_user() -> Iterator[None]:
    """An ordinary user's rights for the test: root may write everywhere, so it would prove nothing."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_raises_an_error_when_writing_is_needed(plain_user: None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        with pytest.raises(WorkspaceError, match="cannot be written"):
            load_session_config(folder, environ={"HOME": "/nowhere"}, needs_write=True)
        assert load_session_config(folder, environ={"HOME": "/nowhere"}).working_dir == folder.resolve()
        folder.chmod(0o755)


def test_state_and_settings_follow_the_xdg_base_directories(project: Path) -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative"}
    config = load_session_config(project, environ=environ)
    assert (str(config.config_dir), str(config.state_dir)) == ("/c/forge", "/h/.local/state/forge")
    own = load_session_config(project, environ={"HOME": "/h", "FORGE_HOME": "/f"})
    assert (str(own.config_dir), str(own.state_dir)) == ("/f/config", "/f/state")


def test_a_saved_choice_keeps_comments_order_and_symlink(home: Path, project: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text('# mine\nmodel = "m"  # good one\ntheme = "old"\n')
    link = home / ".config/forge/config.toml"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    save_user_setting(link.parent, "theme", "forge-light")
    assert real.read_text() == '# mine\nmodel = "m"  # good one\ntheme = "forge-light"\n'
    assert link.is_symlink()
    assert load(home, project).theme == "forge-light"


def test_saving_into_a_broken_settings_file_fails_and_keeps_it(home: Path) -> None:
    path = user_file(home, "theme = ")
    with pytest.raises(ConfigError, match="not saved"):
        save_user_setting(path.parent, "theme", "x")
    assert path.read_text() == "theme = "
    assert list(path.parent.iterdir()) == [path]
