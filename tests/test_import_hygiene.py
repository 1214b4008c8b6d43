"""What a start may import: checked in fresh interpreters, through `sys.modules`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    "keyring",
)

NOT_BEFORE_THE_FRAME = (
    *HEAVY,
    "asyncio",
    "subprocess",
    "socket",
    "ssl",
    "logging",
    "json",
    "hashlib",
    "shutil",
    "lzma",
    "bz2",
    "zipfile",
    "tempfile",
    "random",
    "importlib.resources",
)
"""Of the standard library what takes more than a millisecond to load and paints nothing."""

_BUILD_SESSION = """
from forge_core.approval import deny_all
from forge_core.runtime import build_session, load_session_config
build_session(load_session_config(".", flags={"base_url": "http://127.0.0.1:9/v1", "model": "m/m"}), deny_all)
"""


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
        "import forge_tui.terminal.first_paint.launcher",
    ],
)
def test_an_entry_point_imports_nothing_heavy(statement: str) -> None:
    assert loaded_after(statement, HEAVY) == []


def test_the_provider_client_does_not_import_langchain() -> None:
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
    assert loaded_after("import forge_tui.app", engine) == []


def test_the_plain_chat_does_without_textual() -> None:
    names = ("textual", "rich")
    assert loaded_after("from forge_tui.plain.plain_chat import run_plain", names) == []


def test_building_a_provider_session_imports_everything_the_first_turn_needs() -> None:
    wanted = (
        "httpcore",
        "langsmith.run_helpers",
        "langchain_core.tracers.langchain",
        "langchain_core.tools.simple",
    )
    assert loaded_after(_BUILD_SESSION, wanted) == list(wanted)


def test_a_session_needs_no_optional_module_and_no_deferred_package() -> None:
    """The libraries import what else they need, and print no warning."""
    program = f"""
import sys
from forge_core.lazy import OPTIONAL, trim_imports
trim_imports()
{_BUILD_SESSION}
from forge_tui.widgets.transcript.markdown.markdown_parser import parse
assert parse("see https://example.org")
print(*[name for name in OPTIONAL if sys.modules[name]], *[name for name in sys.modules if name.startswith("langsmith.types.")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("langsmith.types.run_select_field\n", "")


def test_the_first_frame_imports_only_what_it_needs(tmp_path: Path) -> None:
    program = f"""
import os
os.environ.update(HOME={str(tmp_path)!r}, FORGE_HOME={str(tmp_path)!r}, OPENROUTER_API_KEY="")
from forge_tui import cli
from forge_tui.terminal.first_paint import launcher
class Painted(BaseException): pass
def paint(make, text):
    assert "Forge" in (frame := make(120, 36).painted(text)) and "fix it" in frame
    raise Painted
launcher.paint = paint
os.environ["TERM"] = "xterm"
os.isatty = lambda descriptor: True
try:
    cli.main(["chat", {str(tmp_path)!r}, "-p", "fix it"])
except Painted:
    pass
"""
    assert loaded_after("import sys" + program, ("forge_tui.first_frame", *NOT_BEFORE_THE_FRAME)) == [
        "forge_tui.first_frame"
    ]


def test_a_headless_run_needs_no_optional_module_and_collects_no_garbage_while_it_imports(
    tmp_path: Path,
) -> None:
    program = """
import gc, sys
from forge_core.lazy import OPTIONAL
from forge_tui.cli import main
early = []
gc.callbacks.append(lambda *_: early.append("langchain_core" in sys.modules and not gc.get_freeze_count()))
assert main(["run", "--model", "offline", "hello"]) == 0
print()
print([name for name in OPTIONAL if sys.modules.get(name, True)], any(early), gc.isenabled())
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["[] False True"], "")
