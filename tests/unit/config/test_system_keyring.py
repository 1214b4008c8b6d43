"""Keys in the system keyring: a backend of the package `keyring` that keeps them in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.commands.diagnosis import _keys
from forge_core.commands.findings import Finding
from forge_core.config.saved_keys import SavedKey, SavedKeys
from forge_core.errors import ConfigError
from forge_core.headless.auth_actions import status
from forge_core.llm.endpoints import OPENROUTER_URL, SAVED_KEYS
from forge_core.runtime import build_session, load_session_config, make_redactor
from tests.support.memory_keyring import MemoryKeyring, memory_keyring

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
LOCAL = "http://localhost:9999/v1"


@pytest.fixture
def backend() -> Iterator[MemoryKeyring]:
    with memory_keyring() as backend:
        yield backend


@pytest.fixture
def keys(tmp_path: Path) -> SavedKeys:
    return SavedKeys(tmp_path / "state", timeout_s=0.2)


def fresh(keys: SavedKeys, monkeypatch: pytest.MonkeyPatch) -> SavedKeys:
    """The same keys in another process, which has read none of them."""
    monkeypatch.setattr("forge_core.config.saved_keys._known", {})
    return SavedKeys(keys.path.parent, timeout_s=0.2)


def test_a_key_is_in_the_keyring_and_not_in_the_file(
    backend: MemoryKeyring, keys: SavedKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys.save(LOCAL, KEY) == SavedKey("keyring")
    assert KEY not in keys.path.read_text()
    assert backend.kept == {("forge-assistant", LOCAL): KEY}
    again, backend.asked = fresh(keys, monkeypatch), 0
    assert (again.urls(), again.places(), again.find(LOCAL), again.held()) == (
        [LOCAL],
        {LOCAL: "keyring"},
        "",
        tuple(again.held()),
    )
    assert "in the system keyring" in status(again) and KEY not in status(again)
    assert backend.asked == 0
    assert (again.get(LOCAL), again.get(LOCAL), again.find(LOCAL)) == (KEY, KEY, KEY)
    assert backend.asked == 1
    assert KEY in again.held()
    assert again.remove(LOCAL)
    assert (backend.kept, again.path.exists(), again.get(LOCAL)) == ({}, False, None)


def test_a_start_asks_for_the_key_of_its_endpoint_when_the_session_is_built(
    backend: MemoryKeyring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    keys = SavedKeys(tmp_path / "state")
    keys.save(OPENROUTER_URL, KEY)
    keys.save(LOCAL, "another-key-0123")
    fresh(keys, monkeypatch)
    backend.asked = 0
    config = load_session_config(tmp_path, environ=environ)
    assert (config.endpoint.kind, config.endpoint.api_key) == ("openrouter", None)
    assert config.endpoint.key_variable == SAVED_KEYS
    make_redactor(config)
    assert list(_keys(config))
    assert backend.asked == 0
    session = build_session(config, deny_all)
    assert (session.config.endpoint.api_key, backend.asked) == (KEY, 1)
    assert make_redactor(config)(f"a {KEY} b") == "a [redacted] b"  # also in a crash report of the app


def test_no_keyring_is_asked_where_no_key_is_there(backend: MemoryKeyring, tmp_path: Path) -> None:
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    build_session(load_session_config(tmp_path, environ=environ), deny_all)
    assert SavedKeys(tmp_path / "state").get(OPENROUTER_URL) is None
    assert not SavedKeys(tmp_path / "state").remove(OPENROUTER_URL)
    assert backend.asked == 0


@pytest.mark.parametrize("is_stuck", [True, False])
def test_a_keyring_that_hangs_or_fails_is_replaced_by_the_file(
    backend: MemoryKeyring, keys: SavedKeys, is_stuck: bool
) -> None:
    backend.stuck, backend.is_locked = threading.Event() if is_stuck else None, True
    saved = keys.save(LOCAL, KEY)
    assert saved.place == "file"
    assert ("within 0.2 s" if is_stuck else "KeyringLocked") in saved.problem
    assert KEY not in saved.problem
    assert (keys.get(LOCAL), keys.places()) == (KEY, {LOCAL: "file"})
    assert keys.remove(LOCAL)


@pytest.mark.parametrize("is_stuck", [True, False])
def test_a_key_that_the_keyring_does_not_return_costs_a_notice(
    backend: MemoryKeyring, keys: SavedKeys, monkeypatch: pytest.MonkeyPatch, is_stuck: bool
) -> None:
    keys.save(LOCAL, KEY)
    backend.stuck, backend.is_locked = threading.Event() if is_stuck else None, True
    again = fresh(keys, monkeypatch)
    with pytest.raises(ConfigError, match="forge auth login http://localhost:9999/v1"):
        again.get(LOCAL)
    with pytest.raises(ConfigError, match="still in the system keyring"):
        again.remove(LOCAL)
    assert again.urls() == [LOCAL]


async def test_a_session_starts_without_a_key_that_is_gone(
    backend: MemoryKeyring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    keys = SavedKeys(tmp_path / "state")
    keys.save(OPENROUTER_URL, KEY)
    fresh(keys, monkeypatch)
    backend.kept.clear()
    session = build_session(load_session_config(tmp_path, environ=environ), deny_all)
    (notice,) = session.waiting_notices()
    assert "does not hold the key any more" in notice.text
    await session.aclose()


def test_a_backend_that_keeps_nothing_safely_is_not_used(backend: MemoryKeyring, keys: SavedKeys) -> None:
    backend.priority = 0.5  # type: ignore[assignment]
    assert keys.save(LOCAL, KEY) == SavedKey("file")
    assert backend.kept == {}


def test_a_key_moves_from_the_file_into_the_keyring(backend: MemoryKeyring, keys: SavedKeys) -> None:
    backend.priority = 0.5  # type: ignore[assignment]
    keys.save(LOCAL, "older-key-0123")
    backend.priority = 5.0  # type: ignore[assignment]
    keys.save(LOCAL, KEY)
    assert "older-key" not in keys.path.read_text()
    assert keys.get(LOCAL) == KEY


def test_the_doctor_says_where_each_key_is(backend: MemoryKeyring, tmp_path: Path) -> None:
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    keys = SavedKeys(tmp_path / "state")
    keys.save(LOCAL, KEY)
    backend.priority = 0.5  # type: ignore[assignment]
    keys.save(OPENROUTER_URL, KEY)
    config = replace(load_session_config(tmp_path, environ=environ), base_url=None)
    found: list[Finding] = list(_keys(config))
    texts = {one.name: one.text for one in found}
    assert "key saved in the system keyring" in texts[LOCAL]
    assert f"in a file that only you can read: {keys.path}" in texts[OPENROUTER_URL]
    assert KEY not in repr(found)
