"""What a folder contains, in a few words: its main language, the number of files, how its tests run."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from forge_core.workspace.ignore import walk
from forge_core.workspace.project_files import find_instructions
from forge_core.workspace.repository import read_small

MAX_FILES = 5_000
MAX_S = 0.25
"""Where the count ends: it is of interest for a moment, and must not keep the processor busy."""
_LANGUAGES = {
    "c": "C",
    "cc": "C++",
    "cpp": "C++",
    "cs": "C#",
    "dart": "Dart",
    "ex": "Elixir",
    "go": "Go",
    "hs": "Haskell",
    "java": "Java",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "kt": "Kotlin",
    "lua": "Lua",
    "php": "PHP",
    "pl": "Perl",
    "py": "Python",
    "r": "R",
    "rb": "Ruby",
    "rs": "Rust",
    "scala": "Scala",
    "sh": "Shell",
    "swift": "Swift",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "zig": "Zig",
}
_TESTS = (
    ("pyproject.toml", "pytest", "pytest"),
    ("pytest.ini", "", "pytest"),
    ("conftest.py", "", "pytest"),
    ("tests/conftest.py", "", "pytest"),
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test"),
    ("package.json", '"test":', "npm test"),
)
"""A file, what it contains, and what runs the tests of such a project."""


def overview(folder: Path) -> str:
    """Return what the folder contains: "Python · 63 files · tests: pytest · AGENTS.md". Ignored files are not
    counted, and of many only the first."""
    languages: Counter[str] = Counter()
    files, is_cut, end = 0, False, time.monotonic() + MAX_S
    for found in walk(folder):
        if is_cut := files >= MAX_FILES or time.monotonic() > end:
            break
        if found.is_file:
            files += 1
            suffix = found.path.rpartition(".")[2].lower()
            if suffix in _LANGUAGES:
                languages[_LANGUAGES[suffix]] += 1
    if not files and not is_cut:
        return "no files"
    count = f"{files:,}{'+' * is_cut} file{'s'[: files != 1]}"
    tests = next((f"tests: {runner}" for name, text, runner in _TESTS if _has(folder / name, text)), "")
    parts = [*(name for name, _ in languages.most_common(1)), count, tests]
    return " · ".join(part for part in [*parts, *find_instructions(folder)[:1]] if part)


def _has(path: Path, text: str) -> bool:
    """Return whether there is a small file that contains the text."""
    content = read_small(path)
    return content is not None and text in content
