"""With neither langgraph nor weakincentives the package imports, its settings work, its constructors complain."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forge_core.integrations.langgraph import LangGraphClientConfig, LangGraphModelConfig

_PROGRAM = """
import sys
for name in ("langgraph", "langchain", "weakincentives"):
    sys.modules[name] = None
import forge_core.integrations.langgraph as package
for name in package.__all__:
    getattr(package, name)
for make in (
    lambda: package.GraphRunner(llm=1),
    lambda: package.LangGraphAdapter(model="m"),
    lambda: package.SessionCheckpointer({}),
    lambda: package.BudgetTrackingCallback(None),
    lambda: package.wink_tool_to_langgraph(None, session=None, prompt=None, adapter=None),
):
    try:
        make()
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.slow
def test_without_the_packages_all_names_import_and_constructors_say_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert all("pip install" in line for line in lines)
    assert [("'langgraph'" in line, "'weakincentives'" in line) for line in lines] == [
        (True, False),
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]


def test_recursion_limit_and_thread_id_are_passed_to_the_graph_config() -> None:
    config = LangGraphClientConfig(recursion_limit=6, interrupt_before=("tools",), thread_id="t")
    assert config.to_invoke_kwargs() == {
        "config": {"recursion_limit": 6, "configurable": {"thread_id": "t"}},
        "interrupt_before": ["tools"],
    }
    assert LangGraphClientConfig().to_invoke_kwargs() == {"config": {"recursion_limit": 25}}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"recursion_limit is {limit}"):
        LangGraphClientConfig(recursion_limit=limit)


def test_only_explicitly_set_sampling_parameters_are_sent() -> None:
    config = LangGraphModelConfig(temperature=0.0, stop=("END",), seed=0, model_provider="acme")
    assert config.to_request_params() == {"temperature": 0.0, "stop": ["END"], "seed": 0}
    assert LangGraphModelConfig().to_request_params() == {}


def test_the_provider_prefix_is_added_to_the_model_name_once() -> None:
    config = LangGraphModelConfig(model_provider="acme")
    assert config.full_name("large") == config.full_name("acme/large") == "acme/large"
    assert LangGraphModelConfig().full_name("large") == "large"
