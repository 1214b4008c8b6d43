"""A key that appears in a conversation is in no file that the session writes, whatever its shape."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.runtime import build_session, load_session_config
from tests.support.sse_server import SseServer, answer, tool_answer

pytestmark = pytest.mark.slow

LONG = "Zq7+wV/2mN9xKp4tRb8yLc3d"
SHORT = "hunter42"


def config_for(root: Path, server: SseServer, key: str) -> ForgeConfig:
    config = load_session_config(root, flags={"model": "offline"})
    return dataclasses.replace(
        config,
        endpoint=Endpoint("custom", server.base_url, key, "FORGE_API_KEY"),
        model="test/model",
        log_level="debug",
        state_dir=root.parent / "state",
        permission_mode=PermissionMode.YOLO,
    )


def spellings(key: str) -> list[bytes]:
    return [key.encode(), json.dumps(key)[1:-1].encode(), key.replace("/", "\\/").encode()]


def hits(folder: Path, key: str) -> dict[str, int]:
    """Return how often each file below `folder` has the key; before-images are exempt."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and "blobs" not in path.parts:
            data = path.read_bytes()
            count = max(data.count(one) for one in spellings(key))
            if count or key.encode() in str(path).encode():
                found[path.name] = count
    return found


@pytest.mark.parametrize("key", [LONG, SHORT])
async def test_no_file_of_a_session_holds_the_key(tmp_path: Path, key: str) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.txt").write_text(f"token = {key}\n")
    (root / "long.txt").write_text(f"{'x' * 990}{key}\n" * 80)
    calls = tool_answer(
        ("c1", "read", {"file_path": "notes.txt"}),
        ("c2", "bash", {"command": f"echo {key}; cat long.txt; printf '%s\\n' {key[:4]}; printf %s {key}"}),
        ("c3", "write", {"file_path": "new.txt", "content": f"a {key}\n"}),
        ("c4", "nothing", {key: [key, {"deep": key}]}),
        text=f"I shall use {key}.",
    )
    with SseServer(calls, answer(*f"The key is {key}; again {key[:5]}-, and {key}")) as server:
        session = build_session(config_for(root, server, key), deny_all)
        async for _ in session.send(f"My key is {key}, keep it"):
            pass
        await session.aclose()
    assert (root / "new.txt").read_text() == f"a {key}\n"
    assert hits(session.config.state_dir, key) == {}


async def test_keys_of_other_providers_and_of_proxies_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.setenv("GROQ_API_KEY", "Gr0qKeyOfNoShape")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pr0xyPassw0rd@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    others = ("Gr0qKeyOfNoShape", "pr0xyPassw0rd")
    with SseServer(answer("no ", *others)) as server:
        session = build_session(config_for(root, server, LONG), deny_all)
        async for _ in session.send(" ".join(others)):
            pass
        await session.aclose()
    assert [hits(session.config.state_dir, one) for one in others] == [{}, {}]
