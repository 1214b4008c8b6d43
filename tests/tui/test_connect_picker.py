"""The overlay of /connect: endpoints, their keys, and the change of a session that runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.saved_keys import SavedKeys
from forge_core.llm import endpoints
from forge_core.llm.endpoints import PROVIDERS, Provider
from forge_core.runtime import build_session, load_session_config
from forge_core.runtime.local_servers import RunningServer
from forge_tui.screens.panels.connect_picker import ConnectPicker, ConnectStep, SecretInput
from forge_tui.screens.panels.model_picker import ModelPicker
from forge_tui.widgets.choices import ChoiceList
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate as TurnGate
from tests.support.sse_server import Gate, Reply, Seen, SseServer, answer, error_reply, json_reply

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
WRONG = "Xx1-yY/2zZ3aAa4bBb5cCc6d"


def with_key(seen: Seen) -> Reply:
    """Models, for whoever has the key."""
    is_known = seen.headers.get("authorization") == f"Bearer {KEY}"
    return json_reply({"data": [{"id": "m/one"}, {"id": "m/two"}]}) if is_known else error_reply(401, "no")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeConfig:
    """The settings of a newcomer."""
    (tmp_path / "work").mkdir()
    environ = {"FORGE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    return load_session_config(tmp_path / "work", environ=environ)


def real_app(config: ForgeConfig, servers: Sequence[RunningServer] = ()) -> ChatApp:
    """The app around a real session, on a machine where these servers run."""
    app = make_app(config, make_session=lambda responder, scripted: build_session(config, responder))
    app.chat.environment = replace(app.chat.environment, local_servers=lambda: servers)
    return app


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers a hosted provider at a loopback server, as a row of the table would."""

    def register(server: SseServer, **abilities: Any) -> Provider:
        provider = Provider("acme", "Acme", server.base_url, "ACME_API_KEY", **abilities)
        monkeypatch.setitem(endpoints.PROVIDERS, "acme", provider)  # type: ignore[arg-type]
        monkeypatch.setitem(endpoints._BY_PORT, urlsplit(server.base_url).port, provider)
        return provider

    return register


async def opened(pilot: Pilot[None], command: str = "/connect") -> ChatApp:
    app = await ready(pilot)
    await say(pilot, command)
    await until(pilot, lambda: isinstance(app.screen, ConnectPicker))
    await until(pilot, lambda: "Looking" not in shown(app))
    return app


def step(app: ChatApp) -> ConnectStep:
    assert isinstance(app.screen, ConnectPicker)
    return app.screen._step


def files_with(text: str, folder: Path) -> list[str]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file.name for file in found if text in file.read_text(errors="replace"))


async def test_enter_switches_to_a_server_that_runs_here(offline: ForgeConfig) -> None:
    with SseServer(
        answer("Really me."), routes={"GET /models": json_reply({"data": [{"id": "q"}]})}
    ) as server:
        running = RunningServer(replace(PROVIDERS["ollama"], base_url=server.base_url), ("q",))
        app = real_app(offline, [running])
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            assert "running here: q" in shown(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "q")
            assert app.session is not None and app.session.status.provider_label == "local"
            await say(pilot, "hello")
            await until(pilot, lambda: "Really me." in shown(app))


async def test_a_key_is_hidden_checked_saved_and_used(
    offline: ForgeConfig, acme: Any, tmp_path: Path
) -> None:
    with SseServer(answer(f"Your key is {KEY}."), routes={"GET /models": with_key}) as server:
        acme(server)
        app = real_app(offline)
        async with app.run_test(size=(80, 40)) as pilot:
            await opened(pilot)
            await type_text(pilot, "acme")
            await pilot.press("enter")
            assert step(app) is ConnectStep.KEY
            await type_text(pilot, WRONG)
            assert "•" * len(WRONG) in shown(app)
            await pilot.press("enter")
            await until(pilot, lambda: "The key was refused" in shown(app))
            assert app.screen.query_one(SecretInput).value == ""
            app.screen.query_one(SecretInput).post_message(events.Paste(f"\n {KEY}\n"))
            await pilot.pause()
            assert KEY not in shown(app)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ModelPicker))
            await until(pilot, lambda: "m/two" in shown(app))
            await type_text(pilot, "two")
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "m/two")
            assert "The key for Acme was saved in a file that only you can read" in shown(app)
            await say(pilot, "what is my key?")
            await until(pilot, lambda: "Your key is" in shown(app))
            assert KEY not in app.clipboard
        posts = [one for one in server.requests if one.method == "POST"]
        assert [one.headers["authorization"] for one in posts] == [f"Bearer {KEY}"]
    assert SavedKeys(offline.state_dir).get(server.base_url) == KEY
    assert files_with(KEY, tmp_path) == ["credentials.json"]
    assert files_with(WRONG, tmp_path) == []


async def test_a_key_that_cannot_be_checked_is_saved_only_with_enter(offline: ForgeConfig, acme: Any) -> None:
    with SseServer(routes={"GET /models": error_reply(500, "it is [red]down")}) as server:
        acme(server, default_model="m/own")
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot, "/connect acme")
            await type_text(pilot, KEY)
            await pilot.press("enter")
            await until(pilot, lambda: step(app) is ConnectStep.UNCHECKED)
            assert "could not be checked" in shown(app)
            await pilot.press("escape")
            assert (step(app), app.screen.query_one(SecretInput).value) == (ConnectStep.KEY, "")
            await type_text(pilot, WRONG)
            await pilot.press("enter")
            await until(pilot, lambda: step(app) is ConnectStep.UNCHECKED)
            await pilot.press("backspace")  # the key is another one now
            await until(pilot, lambda: step(app) is ConnectStep.KEY)
            app.screen.query_one(SecretInput).value = KEY
            await pilot.press("enter")
            await until(pilot, lambda: step(app) is ConnectStep.UNCHECKED)
            assert SavedKeys(offline.state_dir).urls() == []
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "m/own")
        assert SavedKeys(offline.state_dir).get(server.base_url) == KEY


async def test_a_check_that_is_stopped_has_no_effect(offline: ForgeConfig, acme: Any) -> None:
    gate = Gate()
    slow = Reply(steps=[gate], status=200)
    with SseServer(routes={"GET /models": slow}) as server:
        acme(server)
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot, "/connect acme")
            await type_text(pilot, KEY)
            await pilot.press("enter")
            await until(pilot, lambda: step(app) is ConnectStep.CHECKING and gate.reached.is_set())
            await pilot.press("enter")  # does nothing twice
            await pilot.press("escape")
            assert step(app) is ConnectStep.KEY
            gate.open()
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, ConnectPicker))
        assert SavedKeys(offline.state_dir).urls() == []


async def test_the_keys_of_the_list(offline: ForgeConfig) -> None:
    SavedKeys(offline.state_dir).save(PROVIDERS["openai"].base_url, KEY)
    app = real_app(offline)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        rows = app.screen.query_one(ChoiceList)
        for key, chosen in (("down", 1), ("ctrl+n", 2), ("up", 1), ("ctrl+p", 0), ("up", len(rows.rows) - 1)):
            await pilot.press(key)
            assert rows.chosen == chosen
        await pilot.press("down", "down")
        assert "key saved" in rows.rows[1].detail
        await pilot.press("ctrl+k")
        assert step(app) is ConnectStep.KEY
        assert "API key for OpenAI" in shown(app)
        await pilot.press("enter")  # without a key
        assert step(app) is ConnectStep.KEY
        await pilot.press("down", "ctrl+k", "tab")
        await pilot.press("escape")
        assert step(app) is ConnectStep.LIST
        await type_text(pilot, "gro")
        assert [row.label for row in rows.rows] == ["Groq", "Another URL"]
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not isinstance(app.screen, ConnectPicker))
        assert app.session is not None and app.session.status.provider_label == "offline"


async def test_another_url_and_a_key_that_it_may_do_without(offline: ForgeConfig) -> None:
    with SseServer(routes={"GET /models": json_reply({"data": [{"id": "m"}]})}) as server:
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await pilot.press("up", "enter")
            assert step(app) is ConnectStep.URL
            await type_text(pilot, "ftp")
            await pilot.press("enter")
            assert "neither the name of a provider nor a URL" in " ".join(shown(app).split())
            await pilot.press("escape")
            assert step(app) is ConnectStep.LIST
            await type_text(pilot, server.base_url)
            assert "Use this URL" in shown(app)
            await pilot.press("enter")
            assert step(app) is ConnectStep.KEY
            assert "Without a key, Enter connects too" in shown(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "m")
        assert all("authorization" not in one.headers for one in server.requests)


async def test_a_key_in_a_variable_is_checked_and_cannot_be_replaced(
    offline: ForgeConfig, acme: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", WRONG)
    with SseServer(routes={"GET /models": with_key}) as server:
        acme(server, default_model="m/own")
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await type_text(pilot, "acme")
            assert "key in ACME_API_KEY" in shown(app)
            await pilot.press("enter")
            await until(pilot, lambda: "The key was refused" in shown(app))
            assert "unset it to use another" in " ".join(shown(app).split())
            await pilot.press("down", "up", "ctrl+k")
            assert step(app) is ConnectStep.LIST
            assert "unset it to use another" in " ".join(shown(app).split())
            monkeypatch.setenv("ACME_API_KEY", KEY)
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "m/own")


async def test_a_key_in_a_variable_that_cannot_be_checked_is_used_with_enter(
    offline: ForgeConfig, acme: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    with SseServer(routes={"GET /models": error_reply(500, "down")}) as server:
        acme(server, default_model="m/own")
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await type_text(pilot, "acme")
            await pilot.press("enter")
            await until(pilot, lambda: step(app) is ConnectStep.UNCHECKED)
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.model == "m/own")
    assert SavedKeys(offline.state_dir).urls() == []


async def test_a_key_never_reaches_the_clipboard_and_not_the_search(offline: ForgeConfig) -> None:
    app = real_app(offline)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await type_text(pilot, KEY)
        await pilot.press("ctrl+shift+a", "ctrl+x", "super+c")
        assert app.clipboard == ""
        assert app.screen.query_one(SecretInput).value == KEY
        await pilot.press("ctrl+c")  # goes back, like Esc
        assert step(app) is ConnectStep.LIST
        app.screen.focused.post_message(events.Paste("sk-or-v1-0123456789abcdef"))  # type: ignore[union-attr]
        await until(pilot, lambda: "Choose the endpoint first" in shown(app))
        assert "0123456789abcdef" not in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ConnectPicker))
        assert app.chat.composer.text == ""


async def test_a_click_chooses_a_row(offline: ForgeConfig) -> None:
    app = real_app(offline)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        rows = app.screen.query_one(ChoiceList)
        rows.post_message(ChoiceList.Clicked(rows, len(rows.rows) - 1))
        await until(pilot, lambda: step(app) is ConnectStep.URL)


async def test_nothing_changes_during_a_turn(config: ForgeConfig) -> None:
    gate = TurnGate()
    async with make_app(config, [[gate]]).run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, gate.reached.is_set)
        await say(pilot, "/connect")
        await until(pilot, lambda: "/connect works between turns" in shown(app))
        gate.open()


async def test_a_new_session_keeps_the_endpoint(offline: ForgeConfig) -> None:
    configs: list[ForgeConfig] = []
    with SseServer(routes={"GET /models": json_reply({"data": [{"id": "m"}]})}) as server:
        app = real_app(offline)
        make = app._make_session
        app._make_session = lambda config, resume, ask: configs.append(config) or make(config, resume, ask)
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot)
            await say(pilot, f"/connect {server.base_url}")
            await until(pilot, lambda: app.session and app.session.status.model == "m")
            await say(pilot, "/new")
            await until(pilot, lambda: len(configs) == 2)
    assert (configs[1].model, configs[1].endpoint.base_url) == ("m", server.base_url)


async def test_the_list_offers_the_offline_model(offline: ForgeConfig) -> None:
    with SseServer(routes={"GET /models": json_reply({"data": [{"id": "q"}]})}) as server:
        app = real_app(offline)
        async with app.run_test(size=(80, 24)) as pilot:
            app = await ready(pilot)
            await say(pilot, f"/connect {server.base_url}")
            await until(pilot, lambda: app.session and app.session.status.provider_label == "local")
            await opened(pilot)
            await type_text(pilot, "offline")
            assert "Offline model" in shown(app)
            await pilot.press("ctrl+k")
            assert step(app) is ConnectStep.LIST
            await pilot.press("enter")
            await until(pilot, lambda: app.session and app.session.status.provider_label == "offline")
            await until(pilot, lambda: "The built-in offline model answers" in shown(app))
