"""How a project's tests are run, told from the names of its files. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_PYTHON = "pytest.ini pyproject.toml setup.py setup.cfg tox.ini conftest.py requirements.txt"
_BY_FILE: tuple[tuple[tuple[str, ...], str], ...] = (
    (tuple(_PYTHON.split()), "PYTHON"),
    (("package.json",), "npm test"), (("go.mod",), "go test ./..."), (("Cargo.toml",), "cargo test"),
    (("mix.exs",), "mix test"), (("pom.xml",), "mvn -q test"), (("composer.json",), "composer test"),
    (("Gemfile", "Rakefile"), "bundle exec rake test"), (("deno.json", "deno.jsonc"), "deno test"),
    (("build.gradle", "build.gradle.kts"), "./gradlew test"), (("Package.swift",), "swift test"),
    (("Makefile", "makefile", "GNUmakefile"), "make test"),
)  # fmt: skip


def python_of(names: Sequence[str]) -> str:
    """The interpreter for a project with these top-level names: its own environment's where there is one."""
    folders = {name.rstrip("/") for name in names}
    for environment in (".venv", "venv", "env"):
        if environment in folders:
            return f"{environment}/bin/python"
    return "python3"


def install_command(names: Sequence[str]) -> str:
    """A command line that gives a Python project an environment of its own with what its tests need."""
    lists = [name for name in names if name.startswith("requirements") and name.endswith((".txt", ".in"))]
    wanted = [name for name in lists if "dev" in name or "test" in name] or lists[:1]
    needs = "".join(f" -r {name}" for name in wanted[:2])
    if not needs and {"pyproject.toml", "setup.py"} & set(names):
        needs = " -e ."
    has_environment = python_of(names) != "python3"
    # The folder ignores itself, as it does from Python 3.13 on: git and searches then leave it out.
    make = "" if has_environment else "python3 -m venv .venv && echo '*' > .venv/.gitignore && "
    python = python_of(names) if has_environment else ".venv/bin/python"
    return f"{make}{python} -m pip install pytest{needs}"


def test_command(names: Sequence[str], path: str = "", only: str = "") -> str:
    """The command line that runs the tests (only those in `path`, or whose names hold the word `only`, where
    the runner can), "" when unknown."""
    bare = {name.rstrip("/") for name in names}
    chosen = f" -k {only}" if only else ""
    python = f"{python_of(names)} -m pytest -q{chosen}"
    if path.endswith(".py") or "::" in path:
        return f"{python} {path}"
    for files, command in _BY_FILE:
        if bare & set(files):
            return _with_path(python if command == "PYTHON" else command, path)
    is_python = any(name.endswith(".py") and "test" in name for name in bare)
    return _with_path(python, path) if is_python or bare & {"tests", "test"} else ""


def _with_path(command: str, path: str) -> str:
    if not path:
        return command
    if command == "go test ./...":
        return f"go test ./{path.strip('./')}/..."
    return f"{command} {path}" if "pytest" in command else command
