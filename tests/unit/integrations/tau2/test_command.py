"""Registration, tau2's command line, and what happens without tau2."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from forge_core.integrations import tau2 as forge_tau2

pytestmark = pytest.mark.slow


WITHOUT_TAU2 = "import sys; sys.modules['tau2'] = None\n"


@pytest.fixture
def registry() -> Iterator[Any]:
    """tau2's registry as it comes, and as it was afterwards."""
    found = import_module("tau2.registry").registry
    before = dict(found._agent_factories)
    for name in ("forge_agent", "langchain_agent", "mine"):
        found._agent_factories.pop(name, None)
    yield found
    found._agent_factories.clear()
    found._agent_factories.update(before)


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_registering_twice_keeps_both_agent_names(registry: Any) -> None:
    forge_tau2.register()
    forge_tau2.register()
    made = forge_tau2.create_tau2_forge_agent
    assert registry.get_agent_factory("forge_agent") is made
    assert registry.get_agent_factory("langchain_agent") is made


def test_an_existing_registration_of_the_old_name_is_kept(registry: Any) -> None:
    theirs = object()
    registry.register_agent_factory(theirs, "langchain_agent")
    forge_tau2.register("mine")
    assert registry.get_agent_factory("langchain_agent") is theirs
    assert registry.get_agent_factory("mine") is forge_tau2.create_tau2_forge_agent


def test_an_already_registered_name_is_rejected(registry: Any) -> None:
    with pytest.raises(ValueError, match="already registered"):
        forge_tau2.register("llm_agent")


def test_the_factory_accepts_the_arguments_that_tau2_passes(registry: Any) -> None:
    forge_tau2.register()
    agent = registry.get_agent_factory("forge_agent")(
        tools=[],
        domain_policy="p",
        llm="m",
        llm_args={"api_key": "sk-1"},
        task=object(),
        audio_native_config=None,
        audio_taps_dir=None,
    )
    base = import_module("tau2.agent.base_agent").HalfDuplexAgent
    assert isinstance(agent, base) and isinstance(agent, forge_tau2.LangChainAgent)
    assert isinstance(agent.get_init_state(), forge_tau2.LangChainAgentState)


def test_forge_tau2_runs_the_tau2_command_line_with_the_forge_agent(
    registry: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list(sys.argv)
    assert forge_tau2.main(["run", "--help"]) == 0
    assert "tau2 run" in capsys.readouterr().out
    assert forge_tau2.main(["run", "--max-steps-of-nobody"]) == 2
    assert sys.argv == before
    assert "forge_agent" in registry.get_agents()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["run", "--domain", "mock"], ["run", "--agent", "forge_agent", "--domain", "mock"]),
        (["run", "--agent", "llm_agent"], ["run", "--agent", "llm_agent"]),
        (["run", "--agent=llm_agent"], ["run", "--agent=llm_agent"]),
        (["run", "--audio-native"], ["run", "--audio-native"]),
        (["view"], ["view"]),
        ([], []),
    ],
    ids=range(6),
)
def test_a_run_without_an_agent_is_forges(
    registry: Any, monkeypatch: pytest.MonkeyPatch, given: list[str], expected: list[str]
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(import_module("tau2.cli"), "main", lambda: seen.append(sys.argv[1:]))
    assert forge_tau2.main(given) == 0
    assert seen == [expected]


@pytest.mark.parametrize(("code", "expected"), [(None, 0), (3, 3), ("no such domain", 1)])
def test_the_tau2_exit_code_is_passed_through(
    registry: Any, monkeypatch: pytest.MonkeyPatch, code: int | str | None, expected: int
) -> None:
    def leave() -> None:
        raise SystemExit(code)

    monkeypatch.setattr(import_module("tau2.cli"), "main", leave)
    assert forge_tau2.main(["view"]) == expected


def test_without_tau2_the_package_imports_and_its_use_names_the_repository() -> None:
    program = WITHOUT_TAU2 + (
        "import forge_core.integrations.tau2 as t\n"
        "t.Tau2ForgeState(); t.create_tau2_forge_agent; t.register; t.LangChainAgent\n"
        "for use in (lambda: t.Tau2ForgeAgent([], ''), t.register):\n"
        "    try: use()\n"
        "    except ImportError as error: print(error)\n"
        "print(t.main(['run']))"
    )
    lines = python(program).splitlines()
    address = "https://github.com/sierra-research/tau2-bench"
    assert sum(address in line for line in lines) == 3
    assert sum(line == "1" for line in lines) == 1


def test_importing_the_package_loads_neither_tau2_nor_langchain() -> None:
    program = "import sys, forge_core.integrations.tau2\nprint({'tau2', 'langchain_core', 'pydantic'} & set(sys.modules))"
    assert python(program).strip() == "set()"


def test_forge_tau2_passes_all_arguments_through(registry: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from forge_tui.cli import main

    assert main(["tau2", "run", "--help"]) == 0
    assert "tau2 run" in capsys.readouterr().out
    assert "langchain_agent" in registry.get_agents()
    assert main(["--help"]) == 0
    assert "tau2-bench" in capsys.readouterr().out


def test_forge_tau2_names_what_to_install() -> None:
    program = (
        WITHOUT_TAU2 + "from forge_tui.cli import main; sys.exit(main(['tau2', 'run', '--domain', 'mock']))"
    )
    said = python(program)
    assert said.startswith("forge: tau2-bench is not installed.") and said.count("\n") == 1
