"""The context window of a custom endpoint: read from its server where it tells, beside the turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.events import AgentEnd, Notice
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession
from tests.support import preloaded
from tests.support.sse_server import (
    Answer,
    Reply,
    SseServer,
    Stall,
    answer,
    error_reply,
    json_reply,
    tool_answer,
)

pytestmark = pytest.mark.slow


MODEL = "test/model"


def listed(*entries: Mapping[str, Any]) -> Reply:
    return json_reply({"object": "list", "data": list(entries)})


def session_at(server: SseServer, root: Path, **flags: Any) -> ForgeSession:
    config = load_session_config(root, flags={"base_url": server.base_url, "model": MODEL, **flags})
    return build_session(config, deny_all)


async def window_after(
    root: Path, routes: Mapping[str, Answer], **flags: Any
) -> tuple[int | None, list[str]]:
    """The window after one turn, and what was asked for, in order."""
    with SseServer(answer("ok"), answer("ok"), routes=routes) as server:
        session = session_at(server, root, **flags)
        for prompt in ("hi", "again"):
            async for event in session.send(prompt):
                assert not isinstance(event, Notice), event
            await session._billing.settled()
        window = session.status.context_window
        await session.aclose()
        return window, [f"{seen.method} {seen.path}" for seen in server.requests]


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"id": MODEL, "context_length": 4096}, 4096),
        ({"id": MODEL, "max_model_len": 32_768}, 32_768),
        ({"id": MODEL, "context_window": 131_072}, 131_072),
        ({"id": MODEL, "max_context_length": 8192.0}, 8192),
        ({"id": MODEL, "meta": {"n_ctx": 16_384, "n_ctx_train": 131_072}}, 16_384),
        ({"id": MODEL, "context_length": None, "max_model_len": 2048}, 2048),
        ({"id": "models/whatever.gguf", "context_length": 2048}, 2048),
        ({"id": MODEL}, None),
        ({"id": MODEL, "context_length": 0}, None),
        ({"id": MODEL, "context_length": 1}, None),
        ({"id": MODEL, "context_length": "many"}, None),
        ({"id": MODEL, "context_length": True}, None),
    ],
)
async def test_the_context_window_is_read_from_the_model_list_of_the_server(
    tmp_path: Path, entry: dict[str, Any], window: int | None
) -> None:
    found, asked = await window_after(tmp_path, {"GET /models": listed(entry)})
    assert found == window
    assert asked.count("GET /api/v1/models") == 1, "nothing is asked twice"
    assert asked[0].startswith("POST"), "the first request waits for nothing"


async def test_the_context_window_of_the_matching_model_is_used(tmp_path: Path) -> None:
    entries = [{"id": "other", "context_length": 1000}, {"id": MODEL, "context_length": 2000}]
    assert (await window_after(tmp_path, {"GET /models": listed(*entries)}))[0] == 2000
    assert (await window_after(tmp_path, {"GET /models": json_reply(entries)}))[0] == 2000
    assert (await window_after(tmp_path, {"GET /models": listed(entries[0], entries[0])}))[0] is None


OLLAMA = listed({"id": MODEL, "owned_by": "library"}, {"id": "llama3:8b", "owned_by": "library"})
SHOWN = {
    "parameters": 'stop "<|im_end|>"\nnum_ctx      8192',
    "model_info": {"llama.context_length": 131_072},
}


@pytest.mark.parametrize(
    ("loaded", "shown", "window"),
    [
        ([{"name": MODEL, "context_length": 4096}], SHOWN, 4096),
        ([{"name": f"{MODEL}:latest", "context_length": 4096}], SHOWN, 4096),
        ([{"name": "llama3:8b", "context_length": 4096}], SHOWN, 8192),
        ([], SHOWN, 8192),
        ([], {"model_info": {"llama.context_length": 131_072}}, None),
    ],
)
async def test_ollama_reports_the_context_size_in_use(
    tmp_path: Path, loaded: list[Any], shown: dict[str, Any], window: int | None
) -> None:
    routes: dict[str, Answer] = {
        "GET /models": OLLAMA,
        "GET /api/api/ps": json_reply({"models": loaded}),
        "POST /api/api/show": lambda seen: json_reply(shown if seen.json == {"model": MODEL} else {}),
    }
    assert (await window_after(tmp_path, routes))[0] == window


@pytest.mark.parametrize(
    "reply",
    [
        error_reply(404, "no such path"),
        error_reply(503, "busy", headers={"Retry-After": "1"}),
        error_reply(401, "no"),
        Reply([b"<html>a page</html>"], headers={"Content-Type": "text/html"}),
        Reply([b"[" * 100_000]),
        Reply([b'{"data": [' + b" " * (9 * 1024 * 1024)]),
        Reply([], 302, {"Location": "http://127.0.0.1:9/models"}),
        json_reply({"data": {"id": MODEL}}),
        json_reply({"data": [None, 5, {"id": 7, "context_length": 9000}, {"id": []}]}),
        json_reply("models"),
    ],
)
async def test_a_server_without_context_window_information_causes_no_error(
    tmp_path: Path, reply: Reply
) -> None:
    found, asked = await window_after(tmp_path, {"GET /models": reply})
    assert found is None
    assert asked.count("GET /api/v1/models") == 1


async def test_a_configured_context_window_takes_precedence_without_a_request(tmp_path: Path) -> None:
    routes = {"GET /models": listed({"id": MODEL, "context_length": 4096})}
    found, asked = await window_after(tmp_path, routes, context_window=9999)
    assert found == 9999
    assert all(line.startswith("POST") for line in asked)


async def test_a_slow_model_list_does_not_delay_the_turn(tmp_path: Path) -> None:
    call = ("c1", "read", {"file_path": "a.txt"})
    (tmp_path / "a.txt").write_text("a")
    with SseServer(tool_answer(call), answer("ok"), routes={"GET /models": Reply([Stall()])}) as server:
        session = session_at(server, tmp_path)
        events = [event async for event in session.send("hi")]
        assert isinstance(events[-1], AgentEnd)
        assert session.status.context_window is None
        await session.aclose()


async def test_a_fetched_context_window_is_shown_immediately_and_per_model(tmp_path: Path) -> None:
    entries = [{"id": MODEL, "context_length": 1000}, {"id": "b/b", "context_length": 2000}]
    with SseServer(answer("ok"), answer("ok"), routes={"GET /models": listed(*entries)}) as server:
        session = session_at(server, tmp_path)
        shown: list[int | None] = []
        session.on_figures = lambda: shown.append(session.status.context_window)
        for model in (MODEL, "b/b"):
            session.models.choose(model)
            async for _ in session.send("hi"):
                pass
            await session._billing.settled()
        await session.aclose()
    assert shown == [1000, 2000]


def test_forge_run_uses_the_context_window_flag_without_a_request(tmp_path: Path) -> None:
    def forge(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "forge_tui.cli", "run", "hi", *flags]
        return preloaded.run(command, cwd=tmp_path)

    with SseServer(answer("ok"), routes={"GET /models": listed()}) as server:
        flags = ("--base-url", server.base_url, "--model", MODEL, "--context-window", "4096")
        done = forge(*flags)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        assert [seen.method for seen in server.requests] == ["POST"]
    wrong = forge("--context-window", "-1")
    assert (wrong.returncode, "context_window is '-1'" in wrong.stderr) == (1, True)
