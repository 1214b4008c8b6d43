"""The text of a first AGENTS.md: what manifests and configuration files say about a project.

Only facts that a file holds are written, and only commands that a manifest, a script or a configuration file
declares. Nothing is executed, and links that lead out of the folder are not followed.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from forge_core.sanitize import safe_line
from forge_core.workspace.project_files import read_project_file

REQUEST = """\
Read this repository and write AGENTS.md in the working folder: instructions for coding assistants that work \
here. If there is one already, read it first, keep what is still right, and change only what is wrong, \
missing or unnecessary.

Read the manifests, the configuration of linters, formatters, tests and CI, the README and the main source \
files before you write. Then describe, in at most 60 lines of Markdown:
- what the project is, in one or two sentences;
- the layout: the folders that matter, and what each holds;
- the commands to set up, build, test (all tests, and a single one), lint and format;
- conventions that differ from what is usual, and pitfalls that the code shows.

Write only what you have found in files, and no general advice. Do not copy secrets."""
"""The message that asks a model to write the file, or to improve it."""

MAX_LINES = 40
_MAX_BYTES = 200_000
_MAX_ENTRIES = 2_000
_MAX_FOLDERS, _MAX_COMMANDS, _MAX_WORKFLOWS = 8, 12, 4
_MAX_SCRIPTS = 6
"""Of one manifest or Makefile."""
_DESCRIPTION_CHARS = 300
_NAME = re.compile(r"[A-Za-z][\w:.-]{0,39}")
_TARGET = re.compile(r"(?m)^([A-Za-z][\w-]{0,39})[ \t]*::?(?![=:])")
_GENERATED = {
    "__pycache__",
    "node_modules",
    "dist",
    "build",
    "target",
    "vendor",
    "venv",
    "env",
    "out",
    "coverage",
}
_ROLES = {
    "src": "source code",
    "lib": "source code",
    "cmd": "programs",
    "docs": "documentation",
    "doc": "documentation",
    "examples": "examples",
    "scripts": "scripts",
    "benches": "benchmarks",
}
_TESTS = ("tests", "test", "spec", "__tests__")
_USUAL_SCRIPTS = ("test", "build", "lint", "typecheck", "check", "format", "dev", "start")
_LOCK_FILES = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}

_Table: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class _Facts:
    """What was found, by section, in the order in which it is written."""

    name: str = ""
    description: str = ""
    stack: list[str] = field(default_factory=list)
    commands: list[tuple[str, str]] = field(default_factory=list)
    """A command, and the file that declares it."""
    conventions: list[str] = field(default_factory=list)


def initial_instructions(folder: Path) -> str:
    """Return the text for AGENTS.md in `folder`, at most `MAX_LINES` lines; empty if no manifest, Makefile or
    configuration file is found. Reads files."""
    files = _Files(folder)
    facts = _Facts()
    for read in (_python, _node, _rust, _go, _cmake, _make, _checks):
        read(files, facts)
    if not (facts.stack or facts.commands or facts.conventions):
        return ""
    description = facts.description or _readme_line(files)
    lines = [f"# {facts.name or safe_line(folder.name) or 'Project'}", ""]
    lines += [description, ""] if description else []
    lines += [f"{one}." for one in facts.stack]
    layout = _layout(files)
    commands = [f"- `{command}` ({source})" for command, source in facts.commands[:_MAX_COMMANDS]]
    for heading, items in (("Layout", layout), ("Commands", commands), ("Conventions", facts.conventions)):
        if items:
            lines += ["", f"## {heading}", "", *items]
    text = "\n".join(lines[:MAX_LINES])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


class _Files:
    """The files of one folder, read without following links out of it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.names = self.entries("")

    def has(self, *names: str) -> str:
        """Return the first of these entries of the folder that exists; empty for none."""
        return next((name for name in names if name in self.names), "")

    def text(self, name: str) -> str:
        """Return the text of a file; empty if there is none."""
        file = read_project_file(self._root, name, _MAX_BYTES)
        return "" if file is None or file.is_cut else file.text

    def toml(self, name: str) -> _Table:
        try:
            return tomllib.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> _Table:
        try:
            return _table(json.loads(self.text(name) or "{}"))
        except (ValueError, RecursionError):
            return {}

    def ini(self, name: str) -> configparser.RawConfigParser:
        found = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            # .editorconfig may begin with keys before the first section
            found.read_string(f"[top]\n{self.text(name)}")
        except configparser.Error:
            return configparser.RawConfigParser()
        return found

    def entries(self, folder: str, *, only_folders: bool = False) -> list[str]:
        """Return the sorted names in a folder, links to folders left out; empty if it cannot be read."""
        real = Path(os.path.realpath(self._root / folder))
        if not real.is_relative_to(os.path.realpath(self._root)):
            return []
        try:
            with os.scandir(real) as found:
                return sorted(
                    entry.name
                    for entry in islice(found, _MAX_ENTRIES)
                    if entry.is_dir(follow_symlinks=False) or (not only_folders and entry.is_file())
                )
        except OSError:
            return []


def _python(files: _Files, facts: _Facts) -> None:
    manifest = files.toml("pyproject.toml")
    project, tool = _table(manifest.get("project")), _table(manifest.get("tool"))
    poetry = _table(tool.get("poetry"))
    _introduce(facts, project or poetry)
    if not files.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"):
        return
    source = files.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
    version = _text(project.get("requires-python"))
    facts.stack.append(f"Python{f' {version}' if version else ''} (`{source}`)")
    runner = {"uv.lock": "uv run ", "poetry.lock": "poetry run "}.get(files.has("uv.lock", "poetry.lock"), "")
    if pytest := _pytest_source(files, tool, manifest):
        facts.commands.append((f"{runner}python -m pytest", pytest))
    for program, command, names in (
        ("tox", "tox", ("tox.ini",)),
        ("nox", "nox", ("noxfile.py",)),
        ("ruff", f"{runner}ruff check .", ("ruff.toml", ".ruff.toml")),
        ("black", f"{runner}black --check .", ()),
        ("mypy", f"{runner}{_mypy(_table(tool.get('mypy')))}", ("mypy.ini", ".mypy.ini")),
    ):
        declared = files.has(*names) or ("pyproject.toml" if program in tool else "")
        if declared:
            facts.commands.append((command, declared))
    _python_conventions(tool, facts)


def _pytest_source(files: _Files, tool: _Table, manifest: _Table) -> str:
    """Return the file that shows that pytest is used; empty if none does."""
    if "pytest" in tool:
        return "pyproject.toml"
    if "pytest" in files.ini("tox.ini"):
        return "tox.ini"
    if "tool:pytest" in files.ini("setup.cfg"):
        return "setup.cfg"
    if found := files.has("pytest.ini", ".pytest.ini", "conftest.py"):
        return found
    groups = _table(manifest.get("dependency-groups")), _table(manifest.get("project"))
    optional = _table(groups[1].get("optional-dependencies"))
    listed = [one for group in (*groups[0].values(), *optional.values()) for one in _list(group)]
    if any(re.match(r"pytest\b(?!-)", _text(one)) for one in listed):
        return "pyproject.toml"
    folder = files.has(*_TESTS)
    return f"{folder}/conftest.py" if folder and "conftest.py" in files.entries(folder) else ""


def _mypy(settings: _Table) -> str:
    return "mypy" if {"files", "packages", "modules"} & settings.keys() else "mypy ."


def _python_conventions(tool: _Table, facts: _Facts) -> None:
    for program, key in (("ruff", "line-length"), ("black", "line-length")):
        length = _table(tool.get(program)).get(key)
        if isinstance(length, int):
            facts.conventions.append(f"- Lines of at most {length} characters (`{program}`).")
            break
    if _table(tool.get("mypy")).get("strict") is True:
        facts.conventions.append("- Type annotations are checked by mypy in strict mode.")


def _node(files: _Files, facts: _Facts) -> None:
    manifest = files.json("package.json")
    if not manifest:
        return
    _introduce(facts, manifest)
    named = _text(manifest.get("packageManager")).partition("@")[0]
    lock = files.has(*_LOCK_FILES)
    program = named if named in ("npm", *_LOCK_FILES.values()) else _LOCK_FILES.get(lock, "npm")
    version = _text(_table(manifest.get("engines")).get("node"))
    kind = "TypeScript" if files.has("tsconfig.json") else "JavaScript"
    facts.stack.append(f"{kind} for Node{f' {version}' if version else ''}, with {program} (`package.json`)")
    facts.commands.append((f"{program} install", "package.json"))
    scripts = [name for name in _table(manifest.get("scripts")) if _NAME.fullmatch(name)]
    usual = [name for name in _USUAL_SCRIPTS if name in scripts]
    others = [name for name in scripts if name not in usual]
    for name in [*usual, *others][:_MAX_SCRIPTS]:
        facts.commands.append((f"{program} run {name}", "package.json"))
    if re.search(r'"strict"\s*:\s*true', files.text("tsconfig.json")):
        facts.conventions.append("- TypeScript is checked in strict mode (`tsconfig.json`).")


def _rust(files: _Files, facts: _Facts) -> None:
    manifest = files.toml("Cargo.toml")
    if not manifest:
        return
    package = _table(manifest.get("package"))
    _introduce(facts, package)
    edition = _text(package.get("edition"))
    members = "workspace" in manifest
    kind = f"Rust{f', edition {edition}' if edition else ''}{', a workspace' if members else ''}"
    facts.stack.append(f"{kind} (`Cargo.toml`)")
    facts.commands += [("cargo build", "Cargo.toml"), ("cargo test", "Cargo.toml")]
    if found := files.has("clippy.toml", ".clippy.toml"):
        facts.commands.append(("cargo clippy", found))
    if found := files.has("rustfmt.toml", ".rustfmt.toml"):
        facts.commands.append(("cargo fmt --check", found))


def _go(files: _Files, facts: _Facts) -> None:
    text = files.text("go.mod")
    module = re.search(r"(?m)^module[ \t]+(\S+)", text)
    if module is None:
        return
    facts.name = facts.name or safe_line(module[1].rpartition("/")[2])
    version = re.search(r"(?m)^go[ \t]+([\d.]+)", text)
    name = _text(module[1])
    facts.stack.append(f"Go{f' {version[1]}' if version else ''}, module `{name}` (`go.mod`)")
    facts.commands += [("go build ./...", "go.mod"), ("go test ./...", "go.mod")]
    if found := files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml"):
        facts.commands.append(("golangci-lint run", found))


def _cmake(files: _Files, facts: _Facts) -> None:
    text = re.sub(r"(?m)#.*$", "", files.text("CMakeLists.txt"))
    if not text.strip():
        return
    named = re.search(r"(?i)\bproject\s*\(\s*([\w-]+)", text)
    facts.name = facts.name or (safe_line(named[1]) if named else "")
    facts.stack.append("Built with CMake (`CMakeLists.txt`)")
    source = "CMakeLists.txt"
    facts.commands += [("cmake -S . -B build", source), ("cmake --build build", source)]
    if re.search(r"(?i)\benable_testing\s*\(|\binclude\s*\(\s*CTest\b", text):
        facts.commands.append(("ctest --test-dir build", source))


def _make(files: _Files, facts: _Facts) -> None:
    source = files.has("GNUmakefile", "makefile", "Makefile")  # the order in which make looks for them
    targets = dict.fromkeys(_TARGET.findall(files.text(source))) if source else {}
    usual = [name for name in ("all", *_USUAL_SCRIPTS) if name in targets]
    others = [name for name in targets if name not in usual]
    facts.commands += [(f"make {name}", source) for name in [*usual, *others][:_MAX_SCRIPTS]]


def _checks(files: _Files, facts: _Facts) -> None:
    """Add what linters, formatters and CI of any language declare."""
    if found := files.has(".pre-commit-config.yaml"):
        facts.commands.append(("pre-commit run --all-files", found))
    for program, beginnings in (
        ("ESLint", (".eslintrc", "eslint.config.")),
        ("Prettier", (".prettierrc", "prettier.config.")),
        ("Biome", ("biome.json",)),
        ("clang-format", (".clang-format",)),
    ):
        if name := next((one for one in files.names if one.startswith(beginnings)), ""):
            facts.conventions.append(f"- {program} is configured (`{_text(name)}`).")
    editor = files.ini(".editorconfig")
    style = editor.get("*", "indent_style", fallback="")
    size = editor.get("*", "indent_size", fallback="")
    if style in ("tab", "space"):
        width = f" of {size}" if style == "space" and size.isdecimal() else ""
        facts.conventions.append(f"- Indentation: {style}s{width} (`.editorconfig`).")
    workflows = [name for name in files.entries(".github/workflows") if name.endswith((".yml", ".yaml"))]
    ci = [f".github/workflows/{_text(name)}" for name in workflows[:_MAX_WORKFLOWS]]
    ci += [name for name in (".gitlab-ci.yml",) if files.has(name)]
    if ci:
        facts.conventions.append(f"- CI: {', '.join(f'`{one}`' for one in ci)}.")


def _layout(files: _Files) -> list[str]:
    """Return a line for each top-level folder of which something is known, then one for the others."""
    folders = [
        name
        for name in files.entries("", only_folders=True)
        if not name.startswith(".") and name not in _GENERATED and not name.endswith(".egg-info")
    ]
    known = [(name, role) for name in folders if (role := _role(name, files.entries(name)))]
    lines = [f"- `{_text(name)}/`: {role}" for name, role in known[:_MAX_FOLDERS]]
    others = [name for name in folders if name not in dict(known)][:_MAX_FOLDERS]
    if others:
        lines.append(f"- Other folders: {', '.join(f'`{_text(name)}/`' for name in others)}")
    return lines


def _role(name: str, entries: Sequence[str]) -> str:
    """Return what a folder holds, by its name and entries; empty if that is unknown."""
    if name in _TESTS:
        return "tests"
    for manifest in ("package.json", "Cargo.toml", "go.mod", "pyproject.toml"):
        if manifest in entries:
            return f"has its own `{manifest}`"
    return "Python package" if "__init__.py" in entries else _ROLES.get(name, "")


def _readme_line(files: _Files) -> str:
    """Return the first line of prose in the README."""
    name = files.has("README.md", "readme.md", "README.rst", "README.txt", "README")
    prose = (line.strip() for line in files.text(name).splitlines()) if name else iter(())
    return next((_text(line) for line in prose if len(line) > 20 and line[0].isalnum()), "")


def _introduce(facts: _Facts, manifest: _Table) -> None:
    """Take name and description from a manifest; the first that has them counts."""
    facts.name = facts.name or _text(manifest.get("name"))
    facts.description = facts.description or _text(manifest.get("description"))


def _text(value: object) -> str:
    """Return a string as one line without characters that end a code span."""
    return safe_line(value).strip().replace("`", "'")[:_DESCRIPTION_CHARS] if isinstance(value, str) else ""


def _table(value: object) -> _Table:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
