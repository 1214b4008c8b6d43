"""What is kept of a sign-in: where, for whom, and under which lock."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from forge_core.errors import ConfigError
from forge_core.mcp.sign_in_store import SavedSignIn, SignInStore
from forge_core.tools.shell.environment import network_environment
from tests.support.memory_keyring import MemoryKeyring, memory_keyring

URL = "https://mcp.example.test/mcp"
SAVED = SavedSignIn(
    tokens={"access_token": "acc3ss-t0ken", "refresh_token": "r3fresh-t0ken"},
    obtained_at=100.0,
    expires_at=200.0,
    client={"client_id": "id", "client_secret": "cl1ent-s3cret"},
    authorization_server={"issuer": "https://as.example.test"},
)


@pytest.fixture
def backend() -> Iterator[MemoryKeyring]:
    with memory_keyring() as backend:
        yield backend


def test_without_a_keyring_all_of_it_is_in_a_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    store = SignInStore(tmp_path, URL)
    assert store.read() == SavedSignIn()

    assert store.write(SAVED) == ""

    assert store.read() == SAVED and SAVED.is_expired
    assert SignInStore(tmp_path, URL + "/other").read() == SavedSignIn()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(one.stat().st_mode) for one in (store.folder, store.folder.parent)] == [0o700] * 2
    assert (store.remove(), store.remove(), store.read()) == (True, False, SavedSignIn())


def test_secrets_are_in_the_keyring_and_not_in_the_file(tmp_path: Path, backend: MemoryKeyring) -> None:
    store = SignInStore(tmp_path, URL)
    store.write(SAVED)

    assert [one for one in SAVED.secrets() if one in store.path.read_text()] == []
    assert (store.read(), store.obtained_at()) == (SAVED, 100.0)
    backend.is_locked = True
    with pytest.raises(ConfigError, match="Unlock it, or sign in again"):
        store.read()
    assert "not used" in store.write(SAVED)
    assert store.read() == SAVED
    assert keyring.get_keyring() is backend


def test_a_keyring_that_is_locked_keeps_its_sign_in(tmp_path: Path, backend: MemoryKeyring) -> None:
    store = SignInStore(tmp_path, URL)
    store.write(SAVED)
    backend.is_locked = True

    with pytest.raises(ConfigError, match="still in the system keyring"):
        store.remove()
    backend.is_locked = False
    assert store.read() == SAVED and store.remove()
    assert backend.kept == {}


def test_a_damaged_file_names_itself(tmp_path: Path) -> None:
    store = SignInStore(tmp_path, URL)
    store.write(SAVED)
    store.path.write_text("[1]")

    with pytest.raises(ConfigError, match=r"credentials\.json' cannot be read \(it is damaged\)"):
        store.read()
    assert store.obtained_at() == 0.0


async def test_one_holds_the_lock_at_a_time_and_one_that_gives_up_waiting_does_not(tmp_path: Path) -> None:
    stores = [SignInStore(tmp_path, URL) for _ in range(3)]
    entered: list[int] = []

    async def enter(number: int) -> None:
        async with stores[number].lock():
            entered.append(number)

    async with stores[0].lock():
        waiting = [asyncio.create_task(enter(number)) for number in (1, 2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait([waiting[0]])
        assert entered == []
    await waiting[1]
    assert entered == [2]


def test_the_bridge_uses_the_keyring_of_the_environment() -> None:
    keyring_variables = {
        "PYTHON_KEYRING_BACKEND": "a.Backend",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
    }

    kept = network_environment({**keyring_variables, "OPENROUTER_API_KEY": "s3cret"})

    assert keyring_variables.items() <= kept.items()
    assert "OPENROUTER_API_KEY" not in kept
