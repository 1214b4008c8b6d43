"""Saved keys: kept private, and returned for their own endpoint only."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.config.forge_config import Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.saved_keys import SavedKeys
from forge_core.errors import ConfigError
from forge_core.llm.choice import choose_endpoint
from forge_core.llm.endpoints import OPENROUTER_URL, SAVED_KEYS
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.path_info import is_secret
from forge_core.runtime import load_session_config, make_redactor
from forge_core.tools.base import ToolUse

KEY = "sk-or-v1-saved-0123456789"
LOCAL = "http://localhost:9999/v1"


@pytest.fixture
def keys(tmp_path: Path) -> SavedKeys:
    return SavedKeys(tmp_path / "state")


def test_the_file_is_private_and_goes_with_the_last_key(keys: SavedKeys) -> None:
    keys.save(LOCAL, KEY)
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert (keys.get(LOCAL), keys.get(f"{LOCAL}/"), keys.urls()) == (KEY, None, [LOCAL])
    assert KEY not in repr(keys)
    assert keys.remove(LOCAL)
    assert not keys.remove(LOCAL)
    assert not keys.path.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"keys": 5}', '{"keys": {"a": 5}}'])
def test_a_damaged_file_holds_no_key_and_is_not_overwritten(keys: SavedKeys, text: str) -> None:
    keys.path.parent.mkdir()
    keys.path.write_text(text)
    assert keys.get(LOCAL) is None
    with pytest.raises(ConfigError, match="damaged"):
        keys.save(LOCAL, KEY)
    assert keys.path.read_text() == text


def test_a_saved_key_is_used_for_its_own_endpoint_alone(keys: SavedKeys) -> None:
    keys.save(OPENROUTER_URL, KEY)
    endpoint, _ = choose_endpoint(None, None, {}, {}, keys.find)
    assert (endpoint.kind, endpoint.api_key, endpoint.key_variable) == ("openrouter", KEY, SAVED_KEYS)
    elsewhere, _ = choose_endpoint(LOCAL, "m", {}, {"base_url": Origin.FLAG}, keys.find)
    assert elsewhere.api_key is None
    keys.save(LOCAL, "sk-local-012345")
    named, _ = choose_endpoint(LOCAL, "m", {}, {"base_url": Origin.FLAG}, keys.find)
    assert named.api_key == "sk-local-012345"
    from_project, _ = choose_endpoint(LOCAL, "m", {}, {"base_url": Origin.PROJECT}, keys.find)
    assert from_project.api_key is None


def test_a_variable_comes_before_a_saved_key(keys: SavedKeys) -> None:
    keys.save(OPENROUTER_URL, KEY)
    endpoint, _ = choose_endpoint(None, None, {"OPENROUTER_API_KEY": "from-env"}, {}, keys.find)
    assert endpoint.api_key == "from-env"


def test_a_session_finds_the_key_unless_it_is_hermetic_and_redacts_it(tmp_path: Path) -> None:
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    SavedKeys(tmp_path / "state").save(LOCAL, "plain-looking-key")
    SavedKeys(tmp_path / "state").save(OPENROUTER_URL, KEY)
    config = load_session_config(tmp_path, environ=environ)
    assert config.endpoint.api_key == KEY
    assert make_redactor(config)("a plain-looking-key b") == "a [redacted] b"
    assert load_session_config(tmp_path, environ=environ, is_hermetic=True).endpoint.kind == "offline"


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.AUTO])
def test_tools_read_the_file_only_if_the_user_allows_it(
    tmp_path: Path, keys: SavedKeys, mode: PermissionMode
) -> None:
    """Also where the workspace is the home folder, which the file is in."""
    keys.save(LOCAL, KEY)
    assert is_secret(str(keys.path))  # searches leave it out
    for root in (tmp_path, tmp_path / "elsewhere"):
        root.mkdir(exist_ok=True)
        policy = PermissionPolicy(root, mode, allow=["read", "read(**)"])
        reading = ToolUse(Effect.READ, str(keys.path), (keys.path,), kind=ToolKind.LOOK)
        assert policy.decide("read", reading).decision is Decision.ASK
        for line in (f"cat {keys.path}", f"cp {keys.path} copy", f"grep -r sk- {keys.path.parent}"):
            assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ASK
