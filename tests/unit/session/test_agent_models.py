"""Which model a sub-agent uses: that of the call, of its definition, the small one, or that of the session."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.events import Notice
from forge_core.extensions.agents import BUILT_IN_AGENTS
from forge_core.runtime import build_session, load_session_config
from forge_core.session.agents.subagents import agent_model
from tests.support.agent_server import AgentServer, calling, config_for, saying, task_call

EXPLORE, _, GENERAL = BUILT_IN_AGENTS


@pytest.mark.parametrize(
    ("own", "asked", "known", "chosen"),
    [
        ("", "", ("a/big",), "a/big"),
        ("inherit", "", ("a/big",), "a/big"),
        ("", "a/other", ("a/big", "a/other"), "a/other"),
        ("a/mid", "a/other", ("a/mid", "a/other"), "a/other"),
        ("a/mid", "", ("a/mid",), "a/mid"),
        ("a/gone", "", ("a/mid",), "a/big"),
        ("haiku", "", ("a/mid",), "a/mid"),
        ("claude-haiku-4-5", "", ("a/mid",), "a/mid"),
        ("", "haiku", ("a/mid",), "a/mid"),
        ("Opus", "", ("a/mid",), "a/big"),
        ("qwen3:8b", "", (), "qwen3:8b"),
        ("sonnet", "", (), "a/big"),
    ],
)
def test_the_model_of_an_agent(
    own: str,
    asked: str,
    known: tuple[str, ...],
    chosen: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text('[model_aliases]\nhaiku = "a/mid"\n')
    config = load_session_config(tmp_path)
    definition = dataclasses.replace(GENERAL, model=own)

    model, notice = agent_model(definition, asked, "a/big", config, known)

    assert model == chosen
    falls_back = own not in ("", "inherit") and not asked and chosen == "a/big"
    assert notice.startswith("Agent general: ") == bool(notice) == falls_back
    small = dataclasses.replace(config, small_model="a/small")
    assert agent_model(EXPLORE, "", "a/big", small, ()) == ("a/small", "")
    assert agent_model(GENERAL, "", "a/big", small, ()) == ("a/big", "")
    assert agent_model(definition, asked, OFFLINE_MODEL, config, known) == (OFFLINE_MODEL, "")


async def test_an_agent_of_a_file_runs_with_the_model_of_its_alias(tmp_path: Path) -> None:
    folder = tmp_path / "work/.claude/agents"
    folder.mkdir(parents=True)
    for name in ("haiku", "opus"):
        (folder / f"of-{name}.md").write_text(f"---\ndescription: x\nmodel: {name}\n---\nLook.")
    calls = task_call("t1", "one", agent="of-haiku"), task_call("t2", "two", agent="of-opus")
    scripts = {
        "go": [calling("0.01", *calls), saying("0.01", "Done.")],
        "one": [saying("0.01", "ok")],
        "two": [saying("0.01", "ok")],
    }
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server, is_trusted=True, model_aliases_haiku="test/small")
        session = build_session(config, deny_all)
        events = [one async for one in session.send("go")]
        await session.aclose()
        models = [server.bodies(name)[0]["model"] for name in ("one", "two")]
    assert models == ["test/small", "test/model"]
    assert [one.text for one in events if isinstance(one, Notice)] == [
        "Agent of-opus: No model is set for 'opus', so the current one is used. Set it with "
        "/config model_aliases.opus MODEL."
    ]
