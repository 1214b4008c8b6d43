"""The shape of the source: small files, small functions, honest names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
VAGUE_NAMES = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "misc.py", "common.py"}
TOP_LEVEL = {
    "forge_core",
    "forge_tui",
    "tests",
    "themes",
    "pyproject.toml",
    "README.md",
    "docs",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "CHANGELOG.md",
    "constraints.txt",
}


def sources() -> list[Path]:
    return sorted(path for package in ("forge_core", "forge_tui") for path in (ROOT / package).rglob("*.py"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_and_its_functions_are_small(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= MAX_FILE_LINES, f"{path.name} has {lines} lines; move one subject out of it"
    long = [f"{name} ({size})" for name, size in functions(path) if size > MAX_FUNCTION_LINES]
    assert not long, f"functions over {MAX_FUNCTION_LINES} lines in {path.name}: {long}"


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [path.name for path in sources() if path.name in VAGUE_NAMES] == []


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_the_top_level_holds_what_the_design_names() -> None:
    import subprocess

    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this checkout has no git metadata to list its files")
    top = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL
