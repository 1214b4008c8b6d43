"""What an import costs, in an interpreter of its own each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from tests.bench.langchain.figures import Figure, middle
from tests.bench.langchain.peers import importable

_KEYED = 'model="a/b", api_key="sk-or-test"'
STEPS = {
    "import httpx, for comparison": "import httpx",
    "import forge_core.llm.client": "import forge_core.llm.client",
    "import langchain_core's chat model, for comparison": "import langchain_core.language_models.chat_models",
    "import forge_core.langchain.model.chat_model": "import forge_core.langchain.model.chat_model",
    "import and build OpenRouterLLM": f"from forge_core.langchain import OpenRouterLLM as M; M({_KEYED})",
    "import and build ChatOpenAI": f"from langchain_openai import ChatOpenAI as M; M({_KEYED})",
    "import and build ChatOpenRouter": f"from langchain_openrouter import ChatOpenRouter as M; M({_KEYED})",
}
"""A model counts with its construction: one of them loads most of itself only then."""

_CODE = """
import sys, time
before = time.process_time()
exec(sys.argv[1])
print(time.process_time() - before, len(sys.modules), "langchain_core" in sys.modules)
"""


def figures(is_quick: bool) -> Iterator[Figure]:
    rounds = 3 if is_quick else 9
    present = {name: step for name, step in STEPS.items() if importable(_package(step))}
    costs: dict[str, list[float]] = {name: [] for name in present}
    modules: dict[str, int] = {}
    for number in range(rounds + 1):
        for name, step in present.items():
            cost_ms, modules[name], has_langchain = _done(step)
            if number:  # the first one writes byte code and fills the disk cache
                costs[name].append(cost_ms)
            if step == "import forge_core.llm.client":
                assert not has_langchain, "the client must not know LangChain"
    for name, step in STEPS.items():
        if name in present:
            yield Figure(f"CPU: {name}", f"{middle(costs[name]):.0f} ms, {modules[name]} modules")
        else:
            yield Figure(f"CPU: {name}", f"no {_package(step)} here")


def _package(step: str) -> str:
    return step.split()[1].partition(".")[0]


def _done(step: str) -> tuple[float, int, bool]:
    done = subprocess.run(
        [sys.executable, "-c", _CODE, step], capture_output=True, text=True, check=True, timeout=120
    )
    seconds, count, has_langchain = done.stdout.split()
    return float(seconds) * 1e3, int(count), has_langchain == "True"
