"""Against the installed tau2-bench: its registry, runner, orchestrator, environments and evaluator."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from importlib import import_module
from typing import Any

import pytest

from forge_core.integrations import tau2 as forge_tau2
from tests.support.sse_server import USAGE, Reply, Seen, SseServer, json_reply, tool_answer
from tests.support.sse_server import answer as words
from tests.support.strict_host import violations

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tau2") is None, reason="tau2 is not installed here"),
    pytest.mark.filterwarnings("ignore"),  # tau2's and LiteLLM's own
]


def model(script: list[Any], problems: list[str]) -> Any:
    """One server for both sides: the agent's requests come from Forge, the user's from LiteLLM."""

    def reply(seen: Seen) -> Reply:
        if "forge" in seen.headers.get("user-agent", ""):
            problems.extend(violations(seen.json))
            return script.pop(0) if script else words("All done.")
        text = "###STOP###" if not script else "Please create it."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return json_reply({"id": "u", "object": "chat.completion", "created": 1, "model": "gpt-4.1",
                           "choices": [choice], "usage": USAGE})  # fmt: skip

    return reply


@pytest.mark.parametrize("mode", ["step", "react"])
def test_a_task_runs_through_the_registry_with_the_tau2_user_simulator(server: SseServer, mode: str) -> None:
    registry = import_module("tau2.registry").registry
    runs = import_module("tau2.runner.batch")
    config_of = import_module("tau2.data_model.simulation").TextRunConfig
    task = next(task for task in registry.get_tasks_loader("mock")() if task.id == "create_task_1")
    actions = [("c1", action.name, action.arguments) for action in task.evaluation_criteria.actions]
    problems: list[str] = []
    server._routes["POST /chat/completions"] = model([tool_answer(*actions)], problems)
    name = f"forge_{mode}"
    if registry.get_agent_factory(name) is None:
        registry.register_agent_factory(
            lambda **given: forge_tau2.create_tau2_forge_agent(**given, mode=mode), name
        )
    config = config_of(
        domain="mock",
        agent=name,
        llm_agent="test/model",
        llm_args_agent={"base_url": server.base_url, "api_key": "sk-1", "temperature": 0.0},
        llm_user="openai/gpt-4.1",
        llm_args_user={"api_base": server.base_url, "api_key": "sk-2"},
        enforce_communication_protocol=True,
    )
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = runs.run_single_task(config, task, seed=11)
    assert run.reward_info.reward == 1.0
    assert run.agent_cost > 0 and problems == []
    asked = [seen.json for seen in server.requests if "forge" in seen.headers["user-agent"]]
    assert {body["seed"] for body in asked} == {11}
    assert {body["temperature"] for body in asked} == {0.0}


@pytest.mark.parametrize("domain", ["mock", "retail"])
def test_the_tool_schemas_of_a_domain_are_sent_unchanged(server: SseServer, domain: str) -> None:
    live = import_module("tau2.registry").registry.get_env_constructor(domain)()
    server.add(words("Hi."))
    agent = forge_tau2.create_tau2_forge_agent(
        tools=live.get_tools(),
        domain_policy=live.get_policy(),
        llm="m",
        llm_args={"base_url": server.base_url},
        system_prompt={domain: "at " + domain, "default": "elsewhere"},
    )
    kinds = import_module("tau2.data_model.message")
    agent.generate_next_message(kinds.UserMessage(role="user", content="Hi"), agent.get_init_state())
    body = server.requests[0].json
    assert body["tools"] == [tool.openai_schema for tool in live.get_tools()]
    assert body["messages"][0]["content"] == f"at {domain}"


def test_the_stub_messages_use_only_fields_of_the_real_ones() -> None:
    import ast

    from tests.unit.integrations.tau2.conftest import STANDIN

    real: Any = import_module("tau2.data_model.message")
    tree = ast.parse((STANDIN / "tau2" / "data_model" / "message.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}  # type: ignore[union-attr]
            name = "ParticipantMessageBase" if node.name.startswith("_") else node.name
            assert fields <= getattr(real, name).model_fields.keys(), node.name
