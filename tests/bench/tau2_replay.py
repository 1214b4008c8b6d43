"""Replays tau2-bench's golden actions through Forge's agent, with a scripted model over real HTTP.

    python -m tests.bench.tau2_replay CHECKOUT [--domain retail …] [--all-in-one] [--mode react] [--every N]

CHECKOUT is a git checkout of tau2-bench 1.x whose package is installed in this Python (3.12). Everything is
tau2's own (registry, orchestrator with its protocol enforced, environments, evaluators) but the model, which
is a loopback server that plays the golden actions, the user, who plays the user's, and the judge of free
text, who agrees. A reward says little in such a replay (an adapter that breaks the protocol gets it too), so
the table also counts:

- violations: what a strict host would refuse in the requests
- breaches: a live database that an agent's turn changed, a call without its result, an answer with text and
  calls, histories of the state that differ, a message without cost or usage, a sum that is not what the
  server charged
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.tau2_script import COST, STOP, Model, Script
from tests.support.sse_server import SseServer

DOMAINS = ("mock", "retail", "airline", "banking_knowledge", "telecom_small")
_CHAR_OF = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def main() -> int:
    options = _options()
    _prepare(options.checkout, options.mode)
    rows, is_good = [], True
    with SseServer(routes={"POST /chat/completions": (model := Model())}) as server:
        for domain in options.domain or DOMAINS:
            row, problems = replay(domain, model, server.base_url, options)
            rows.append(row)
            is_good = is_good and not problems
            print(row, flush=True)
            for problem, count in problems.most_common(10):
                print(f"    {count} x {problem}", flush=True)
    print(f"\n{_HEAD}\n" + "\n".join(rows))
    return 0 if is_good else 1


_HEAD = (
    f"{'domain':20}{'tasks':>6}{'reward 1':>9}{'calls':>7}{'requests':>9}{'violations':>11}"
    f"{'breaches':>9}{'no cost':>8}{'cost $':>10}{'s':>7}"
)


def replay(domain: str, model: Model, base_url: str, options: Any) -> tuple[str, Counter[str]]:
    """The table's row for one domain, and what was wrong with how often. Missed rewards are shown only."""
    from tau2.registry import registry

    model.requests, model.violations = 0, []
    full, calls, cost, without_cost = 0, 0, 0.0, 0
    breaches: list[str] = []
    started = time.perf_counter()
    tasks = registry.get_tasks_loader(domain)()[:: options.every]
    for task in tasks:
        model.script = _script(task, options.all_in_one)
        before = model.requests
        orchestrator, run = _run(
            domain.removesuffix("_small"), task, model.script, base_url, options, breaches
        )
        full += run.reward_info.reward == 1.0
        if run.reward_info.reward != 1.0:
            print(f"    {domain} {task.id}: {run.reward_info.reward} {run.reward_info.reward_breakdown}")
        own = [message for message in run.messages if _is_own(message)]
        calls += sum(len(message.tool_calls or ()) for message in own)
        without_cost += sum(message.cost is None or not message.usage for message in own)
        cost += sum(message.cost or 0.0 for message in own)
        breaches += _breaches(orchestrator, run, (model.requests - before) * COST)
    row = (
        f"{domain:20}{len(tasks):6}{full:9}{calls:7}{model.requests:9}{len(model.violations):11}"
        f"{len(breaches):9}{without_cost:8}{cost:10.6f}{time.perf_counter() - started:7.0f}"
    )
    return row, Counter([*model.violations, *breaches, *["a message without cost"] * without_cost])


def _run(domain: str, task: Any, script: Script, base_url: str, options: Any, breaches: list[str]) -> Any:
    from tau2.data_model.simulation import TextRunConfig
    from tau2.runner.build import _build_env_kwargs, build_text_orchestrator
    from tau2.runner.simulation import run_simulation

    config = TextRunConfig(
        domain=domain,
        agent="forge_react" if options.mode == "react" else "forge_agent",
        llm_agent="test/model",
        llm_args_agent={"base_url": base_url, "api_key": "sk-loopback", "temperature": 0.0},
        enforce_communication_protocol=True,
        max_steps=500,
        seed=7,
        retrieval_config="no_knowledge" if domain == "banking_knowledge" else None,
    )
    orchestrator = build_text_orchestrator(config, task)
    orchestrator.user = _user(script)
    _watch(orchestrator, breaches)
    run = run_simulation(orchestrator, env_kwargs=_build_env_kwargs(config, task) or None)
    return orchestrator, run


def _watch(orchestrator: Any, breaches: list[str]) -> None:
    """Notes an agent's turn that changes a live database."""
    environment, agent = orchestrator.environment, orchestrator.agent
    answer = agent.generate_next_message

    def watched(message: Any, state: Any) -> Any:
        before = environment.get_db_hash(), environment.get_user_db_hash()
        result = answer(message, state)
        if before != (environment.get_db_hash(), environment.get_user_db_hash()):
            breaches.append("an agent's turn changed a live database")
        return result

    agent.generate_next_message = watched


def _breaches(orchestrator: Any, run: Any, charged: float) -> list[str]:
    found = []
    state = orchestrator.agent_state
    roles = [message.role for message in state.messages]
    if roles != [_CHAR_OF[message.type] for message in state.langchain_messages]:
        found.append("the two histories of the state differ")
    open_ids: list[str] = []
    for message in run.messages:
        if message.role == "tool":
            if message.requestor == "assistant" and message.id in open_ids:
                open_ids.remove(message.id)
        elif message.role == "assistant":
            if open_ids:
                found.append("a call has no result")
            open_ids = [call.id for call in message.tool_calls or ()]
            if message.tool_calls is not None and (message.content or not message.tool_calls):
                found.append("an answer holds text and calls, or an empty list of calls")
    if abs(sum(message.cost or 0.0 for message in run.messages if _is_own(message)) - charged) > 1e-9:
        found.append("the costs of the messages are not what the server charged")
    return found


def _is_own(message: Any) -> bool:
    return message.role == "assistant" and (message.raw_data or {}).get("cost_source") is not None


def _script(task: Any, all_in_one: bool) -> Script:
    criteria = task.evaluation_criteria
    told = [str(info) for info in (criteria.communicate_info if criteria else None) or ()]
    actions = (criteria.actions if criteria else None) or ()
    return Script(actions, " ".join(["All done.", *told]), all_in_one)


def _user(script: Script) -> Any:
    """A user of tau2's kind who plays the script."""
    from tau2.data_model.message import ToolCall, UserMessage
    from tau2.user.user_simulator import UserSimulator

    class ScriptedUser(UserSimulator):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(llm="none", instructions="", tools=None)
            self._calls = 0

        def generate_next_message(self, message: Any, state: Any) -> Any:
            actions = script.next_of("user")
            if actions:
                self._calls += 1
                made = [
                    ToolCall(id=f"user_{self._calls}", name=a.name, arguments=a.arguments, requestor="user")
                    for a in actions
                ]
                return UserMessage(role="user", tool_calls=made, cost=0.0), state
            text = STOP if script.has_said_farewell else "Yes, please go on."
            return UserMessage(role="user", content=text, cost=0.0), state

    return ScriptedUser()


def _prepare(checkout: Path, mode: str) -> None:
    """Points tau2 at the checkout, registers the agent and lets the judge of free text agree."""
    if not (checkout / "data" / "tau2" / "domains").is_dir():
        sys.exit(f"{checkout} is no checkout of tau2-bench: data/tau2/domains is missing.")
    os.environ["TAU2_DATA_DIR"] = str(checkout / "data")
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    sys.path.insert(0, str(checkout / "src"))
    from loguru import logger

    logger.remove()
    from forge_core.integrations.tau2 import create_tau2_forge_agent, register

    register()
    if mode == "react":
        from tau2.registry import registry

        registry.register_agent_factory(partial(create_tau2_forge_agent, mode=mode), "forge_react")
    from tau2.data_model.simulation import NLAssertionCheck
    from tau2.evaluator.evaluator_nl_assertions import NLAssertionsEvaluator

    NLAssertionsEvaluator.evaluate_nl_assertions = classmethod(
        lambda cls, trajectory, assertions: [
            NLAssertionCheck(nl_assertion=text, met=True, justification="not judged") for text in assertions
        ]
    )


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tau2_replay")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--domain", action="append", choices=DOMAINS, help="one of them (default: all)")
    parser.add_argument("--all-in-one", action="store_true", help="all calls of a stretch in one answer")
    parser.add_argument("--mode", choices=("step", "react"), default="step")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th task")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
