"""What a folder contains, in a few words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.workspace import overview as module
from forge_core.workspace.overview import overview


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_S", 60.0)


def make(folder: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_language_files_tests_and_instructions_are_named(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py", "d.rs", "AGENTS.md", "LICENSE")
    make(tmp_path, "pyproject.toml", text="[tool.pytest.ini_options]\n")
    assert overview(tmp_path) == "Python · 6 files · tests: pytest · AGENTS.md"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Cargo.toml", "", "1 file · tests: cargo test"),
        ("go.mod", "", "1 file · tests: go test"),
        ("package.json", '{"scripts": {"test": "vitest"}}', "1 file · tests: npm test"),
        ("package.json", "{}", "1 file"),
        ("pyproject.toml", "", "1 file"),
        ("conftest.py", "", "Python · 1 file · tests: pytest"),
    ],
)
def test_the_runner_of_the_tests_follows_from_a_file(tmp_path: Path, name: str, text: str, said: str) -> None:
    make(tmp_path, name, text=text)
    assert overview(tmp_path) == said


def test_an_empty_or_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert overview(tmp_path) == overview(tmp_path / "none") == "no files"


def test_ignored_files_are_not_counted(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "build/b.js", "build/c.js")
    make(tmp_path, ".gitignore", text="build/\n")
    assert overview(tmp_path) == "Python · 2 files"


def test_of_many_files_only_the_first_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 3)
    make(tmp_path, *(f"{number}.go" for number in range(9)))
    assert overview(tmp_path) == "Go · 3+ files"


def test_as_many_files_as_are_counted_are_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 3)
    make(tmp_path, "a.go", "b.go", "c.go")
    assert overview(tmp_path) == "Go · 3 files"


def test_a_count_without_time_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_S", -1.0)
    make(tmp_path, "a.go")
    assert overview(tmp_path) == "0+ files"


def test_a_pipe_in_place_of_a_manifest_is_not_read(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pyproject.toml")
    assert overview(tmp_path) == "Python · 1 file"
