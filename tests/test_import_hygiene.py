"""What a start may import: checked in fresh interpreters, through `sys.modules`."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "textual",
    "rich",
    "langchain_core",
    "langsmith",
    "httpx",
    "pydantic",
    "importlib.metadata",
    "tiktoken",
)


def loaded_after(statement: str, names: tuple[str, ...]) -> list[str]:
    """Which of `names` are imported once `statement` has run in an interpreter of its own."""
    program = f"{statement}\nimport sys\nprint(*[n for n in {names!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split() if done.stdout.strip() else []


@pytest.mark.parametrize(
    "statement",
    [
        "import forge_core",
        "import forge_core.events",
        "import forge_core.llm",
        "import forge_core.langchain",
        "import forge_core.tools",
        "import forge_core.commands.specs",
        "import forge_core.runtime",
        "import forge_core.config.load",
        "import forge_tui.cli",
        "from forge_tui.cli import main; main(['--version'])",
        "from forge_tui.cli import main; main(['--help'])",
        "import forge_tui.terminal.launcher",
    ],
)
def test_an_entry_point_imports_nothing_heavy(statement: str) -> None:
    assert loaded_after(statement, HEAVY) == []


def test_the_provider_client_needs_no_langchain() -> None:
    assert loaded_after("from forge_core.llm import OpenRouterClient", ("langchain_core", "textual")) == []


def test_the_app_module_leaves_the_engine_to_the_warm_up() -> None:
    engine = (
        "langchain_core",
        "langsmith",
        "httpx",
        "pydantic",
        "markdown_it",
        "pygments.lexers",
        "tiktoken",
    )
    assert loaded_after("import forge_tui.app, forge_tui.chat", engine) == []
