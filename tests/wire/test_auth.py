"""`forge auth`: a key is checked before it is saved, and never printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.saved_keys import SavedKeys
from forge_core.errors import ConfigError
from forge_core.headless.auth_actions import run_action
from forge_tui.arguments import parse
from tests.support.sse_server import SseServer, error_reply, json_reply

KEY = "sk-test-login-0123456789"


def auth(state: Path, *arguments: str, key: str = KEY) -> int:
    options = parse(["auth", *arguments])
    assert not isinstance(options, int)
    return run_action(options, state, lambda prompt: f"{key}\n")


def test_a_key_is_checked_saved_listed_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    keys = SavedKeys(tmp_path)
    with SseServer(routes={"GET /models": json_reply({"data": []})}) as server:
        assert auth(tmp_path, "login", server.base_url) == 0
        assert keys.get(server.base_url) == KEY
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        auth(tmp_path)
        auth(tmp_path, "logout", server.base_url)
        auth(tmp_path, "logout", server.base_url)
    shown = capsys.readouterr().out
    assert "(accepted)" in shown
    assert "OPENAI_API_KEY" in shown
    assert "was removed" in shown
    assert "No key is saved for" in shown
    assert KEY not in shown
    assert "sk-other" not in shown
    assert keys.urls() == []


def test_a_rejected_key_is_not_saved_and_one_that_cannot_be_checked_only_if_asked(tmp_path: Path) -> None:
    keys = SavedKeys(tmp_path)
    rejecting = SseServer(routes={"GET /models": error_reply(401, "wrong key")})
    with rejecting as server, pytest.raises(ConfigError, match="not saved"):
        auth(tmp_path, "login", server.base_url, "--no-check")
    with SseServer(routes={"GET /models": error_reply(500, "down")}) as server:
        with pytest.raises(ConfigError, match="--no-check"):
            auth(tmp_path, "login", server.base_url)
        assert keys.urls() == []
        auth(tmp_path, "login", server.base_url, "--no-check")
        assert keys.urls() == [server.base_url]


def test_no_key_and_an_impossible_key_are_refused(tmp_path: Path) -> None:
    for key in ("", "two words", "sk-\x1b[2J"):
        with pytest.raises(ConfigError):
            auth(tmp_path, "login", "http://127.0.0.1:9/v1", key=key)
    assert SavedKeys(tmp_path).urls() == []
