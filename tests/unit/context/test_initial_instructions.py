"""The text of a first AGENTS.md, on small projects of each kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from forge_core.context.initial_instructions import MAX_LINES, initial_instructions


def text_for(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return initial_instructions(folder)


def commands(text: str) -> list[str]:
    return re.findall(r"(?m)^- `([^`]+)` \(", text)


def test_python(tmp_path: Path) -> None:
    text = text_for(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "snow"\ndescription = "Counts flakes."\n'
            'requires-python = ">=3.12"\n[tool.pytest.ini_options]\n[tool.ruff]\nline-length = 100\n'
            '[tool.mypy]\nstrict = true\nfiles = ["snow"]\n',
            "uv.lock": "",
            "snow/__init__.py": "",
            "tests/test_snow.py": "",
            "misc/a.txt": "",
            "node_modules/x/index.js": "",
            ".github/workflows/ci.yml": "",
        },
    )
    assert text == (
        "# snow\n\nCounts flakes.\n\nPython >=3.12 (`pyproject.toml`).\n\n"
        "## Layout\n\n- `snow/`: Python package\n- `tests/`: tests\n- Other folders: `misc/`\n\n"
        "## Commands\n\n- `uv run python -m pytest` (pyproject.toml)\n"
        "- `uv run ruff check .` (pyproject.toml)\n- `uv run mypy` (pyproject.toml)\n\n"
        "## Conventions\n\n- Lines of at most 100 characters (`ruff`).\n"
        "- Type annotations are checked by mypy in strict mode.\n- CI: `.github/workflows/ci.yml`.\n"
    )


@pytest.mark.parametrize(
    ("files", "is_used"),
    [
        ({"requirements.txt": "requests\n"}, False),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8", {include-group = "x"}]\n'}, True),
        ({"pyproject.toml": '[project.optional-dependencies]\ndev = ["pytest-xdist"]\n'}, False),
        ({"setup.py": "", "tox.ini": "[pytest]\n"}, True),
        ({"setup.py": "", "tests/conftest.py": ""}, True),
    ],
)
def test_pytest_is_named_only_where_a_file_shows_it(
    tmp_path: Path, files: Mapping[str, str], is_used: bool
) -> None:
    assert ("python -m pytest" in commands(text_for(tmp_path, files))) is is_used


def test_node(tmp_path: Path) -> None:
    text = text_for(
        tmp_path,
        {
            "package.json": '{"name": "web", "engines": {"node": ">=20"}, "scripts": {"zip": "x", "lint": "x", '
            '"test": "x", "bad; rm -rf": "x"}}',
            "pnpm-lock.yaml": "",
            "tsconfig.json": '{"compilerOptions": {"strict": true}}',
            ".prettierrc": "",
            ".editorconfig": "root = true\n[*]\nindent_style = space\nindent_size = 2\n",
        },
    )
    assert commands(text) == ["pnpm install", "pnpm run test", "pnpm run lint", "pnpm run zip"]
    assert "TypeScript for Node >=20, with pnpm (`package.json`)." in text
    assert "- TypeScript is checked in strict mode" in text and "- Prettier is configured" in text
    assert "- Indentation: spaces of 2 (`.editorconfig`)." in text


def test_rust(tmp_path: Path) -> None:
    text = text_for(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "ferris"\nedition = "2021"\n[workspace]\n',
            "rustfmt.toml": "",
            "crates/a/Cargo.toml": "",
            "src/main.rs": "",
        },
    )
    assert text.startswith("# ferris\n\nRust, edition 2021, a workspace (`Cargo.toml`).\n")
    assert commands(text) == ["cargo build", "cargo test", "cargo fmt --check"]
    assert "- `src/`: source code\n- Other folders: `crates/`" in text


def test_go_with_make(tmp_path: Path) -> None:
    text = text_for(
        tmp_path,
        {
            "go.mod": "module example.org/gopher\n\ngo 1.22\n",
            "Makefile": "CC := gcc\n.PHONY: test\ntest: all\n\tgo test\nall:\n%.o: %.c\nbin/x: y\nrun all2::\n",
            "README.md": "# gopher\n\n[![badge](x)](y)\n\nGopher digs small tunnels quickly.\n",
        },
    )
    assert text.startswith("# gopher\n\nGopher digs small tunnels quickly.\n\nGo 1.22, module")
    assert commands(text) == ["go build ./...", "go test ./...", "make all", "make test"]


def test_cmake_tests_are_named_only_if_enabled(tmp_path: Path) -> None:
    off = text_for(tmp_path, {"CMakeLists.txt": "project(engine C)\n# enable_testing()\n"})
    assert off.startswith("# engine\n\nBuilt with CMake")
    assert commands(off) == ["cmake -S . -B build", "cmake --build build"]
    assert "ctest --test-dir build" in text_for(tmp_path, {"CMakeLists.txt": "enable_testing()\n"})


def test_a_mixed_project_stays_short(tmp_path: Path) -> None:
    scripts = ", ".join(f'"s{n}": "x"' for n in range(40))
    text = text_for(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "both"\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n',
            "package.json": f'{{"name": "other", "scripts": {{{scripts}}}}}',
            "Makefile": "".join(f"t{n}:\n" for n in range(40)),
            "CMakeLists.txt": "project(x)",
            "eslint.config.js": "",
            "Cargo.toml": "[package]\n",
            "go.mod": "module x\n",
            "README.md": "One line of prose in the README.\n",
            **{f"d{n}/__init__.py": "" for n in range(40)},
            **{f"e{n}/x": "" for n in range(40)},
        },
    )
    assert text.startswith("# both\n") and "Python" in text and "Node" in text and "CMake" in text
    assert len(text.splitlines()) <= MAX_LINES and "\n## Conventions\n\n- " in text


def test_nothing_is_written_for_a_folder_without_facts(tmp_path: Path) -> None:
    assert text_for(tmp_path, {}) == ""
    assert text_for(tmp_path, {"notes.txt": "x", "src/a.c": ""}) == ""


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "[[["},
        {"package.json": "[" * 100_000},
        {"package.json": '{"name": 3, "scripts": ["a"], "engines": "x", "packageManager": 7}'},
        {"Cargo.toml": 'package = "x"'},
        {"pyproject.toml": 'project = 3\ntool = "x"', ".editorconfig": "no section\n[*\n", "tox.ini": "a\n["},
    ],
)
def test_malformed_files_are_no_error(tmp_path: Path, files: Mapping[str, str]) -> None:
    assert "Traceback" not in text_for(tmp_path, files)


def test_text_from_files_stays_on_its_line(tmp_path: Path) -> None:
    text = text_for(tmp_path, {"package.json": '{"name": "a\\n# b", "description": "x\\u001b[8m\\n## y`"}'})
    assert "\x1b" not in text and "\n# b" not in text and "\n## y" not in text


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (tmp_path / "Makefile").write_text("secret:\n")
    (inner / "Makefile").symlink_to(tmp_path / "Makefile")
    assert initial_instructions(inner) == ""
