"""The README is short, and its two commands work for somebody who has only the clone."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAX_LINES = 150


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= MAX_LINES


def test_the_readme_opens_with_two_one_line_commands_using_the_pinned_dependencies() -> None:
    run, test = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert run.endswith("forge chat")
    assert "'.[dev]'" in test and test.endswith("pytest -n auto")
    assert all(" -q -c constraints.txt" in line for line in (run, test))


def test_the_readme_picture_exists() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert pictures
    for path in pictures:
        assert (ROOT / path).is_file(), path


def test_the_readme_links_to_every_page() -> None:
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {"docs/README.md"}
    assert sorted(page for page in pages if f"({page}" not in README) == []


def test_the_pinned_set_contains_every_project_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=\[]", line)[0].lower().replace("_", "-") for line in wanted}
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().split()
    }
    assert names <= pinned
    assert all(re.search(r">=|==", line) for line in wanted), "every dependency has a lower bound"
