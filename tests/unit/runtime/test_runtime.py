"""The wiring: what a built session always has, and what it sends."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.events import AgentEnd
from forge_core.langchain import OpenRouterLLM
from forge_core.permissions.policy import PermissionPolicy
from forge_core.runtime import build_session, load_session_config, silence_tracing
from forge_core.session import ForgeSession
from tests.support.sse_server import SseServer, answer, tool_answer


def config_for(root: Path, server: SseServer | None = None) -> ForgeConfig:
    config = load_session_config(root, flags={"model": "offline"})
    if server is None:
        return config
    endpoint = Endpoint("custom", server.base_url, "sk-or-v1-secret0123")
    return dataclasses.replace(config, endpoint=endpoint, model="test/model")


def llm_of(session: ForgeSession) -> OpenRouterLLM:
    llm = session._agent.llm
    assert isinstance(llm, OpenRouterLLM)
    return llm


async def test_a_built_session_always_checks_permissions(tmp_path: Path) -> None:
    session = build_session(config_for(tmp_path), deny_all)
    executor = session._agent.executor
    assert isinstance(executor.policy, PermissionPolicy)
    assert executor.policy is session.policy
    await session.aclose()


async def test_a_call_that_asks_is_denied_without_an_approval(tmp_path: Path) -> None:
    call = tool_answer(("c1", "write", {"file_path": "x.txt", "content": "x"}))
    with SseServer(call, answer("refused")) as server:
        session = build_session(config_for(tmp_path, server), deny_all)
        events = [event async for event in session.send("write x")]
        await session.aclose()
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "denied"
    assert not (tmp_path / "x.txt").exists()


async def test_building_a_session_opens_no_file_and_no_connection(tmp_path: Path) -> None:
    session = build_session(config_for(tmp_path), deny_all)
    assert not session.config.state_dir.exists()
    await session.aclose()


@pytest.mark.parametrize(
    ("model", "caching"), [("anthropic/claude-sonnet-5", {"type": "ephemeral"}), ("openai/gpt-5-mini", None)]
)
async def test_openrouter_gets_a_session_and_anthropic_a_cache_breakpoint(
    tmp_path: Path, model: str, caching: dict[str, str] | None
) -> None:
    config = dataclasses.replace(
        config_for(tmp_path),
        endpoint=Endpoint("openrouter", "https://openrouter.ai/api/v1", "sk"),
        model=model,
    )
    session = build_session(config, deny_all)
    assert (llm_of(session).session_id, llm_of(session).cache_control) == (session.id, caching)
    await session.aclose()


async def test_a_custom_endpoint_gets_neither(tmp_path: Path) -> None:
    with SseServer(answer("ok")) as server:
        session = build_session(config_for(tmp_path, server), deny_all)
        async for _ in session.send("hi"):
            pass
        await session.aclose()
        assert not {"session_id", "cache_control"} & set(server.requests[0].json)


def test_tracing_that_would_upload_code_is_switched_off() -> None:
    environ = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "1", "OTHER": "true"}
    assert silence_tracing(environ) == ["LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"]
    assert environ == {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "OTHER": "true"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the switch")
def test_a_hardened_process_cannot_be_inspected() -> None:
    program = (
        "import ctypes\n"
        "from forge_core.runtime import harden_process\n"
        "harden_process()\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"  # PR_GET_DUMPABLE
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
