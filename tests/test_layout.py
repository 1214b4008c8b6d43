"""The shape of the source: small files and functions, shallow packages, no circles, names that say something.

Each test lists all offenders. `tests/layout_exceptions.py` holds the exceptions.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Collection, Iterator

import pytest

from tests import layout_exceptions as exceptions
from tests.base_classes import single_subclasses
from tests.package_shape import ROOT, Module, Source, cycles, depth, load

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MIN_MODULE_LINES = 60
"""A smaller module that only one sibling imports belongs in that sibling."""
BOUNDS = {
    "forge_core.langchain": (7, 5),
    "forge_core.llm": (10, 4),
    "forge_core.permissions": (14, 7),
    "forge_tui.screens": (4, 3),
    "forge_tui.widgets": (21, 4),
}
"""Package → the units that it may have, and its depth (see `tests.package_shape`)."""
MAX_WIDGET_UNITS = 20
"""Units of a sub-package of forge_tui.widgets."""
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}
TOP_LEVEL = {
    "forge_core",
    "forge_tui",
    "tests",
    "themes",
    "docs",
    "pyproject.toml",
    "constraints.txt",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "AGENTS.md",
    "LICENSE",
    ".assets",
    ".ci",
    ".github",
    ".gitignore",
}


@pytest.fixture(scope="module")
def source() -> Source:
    return load()


def check(offenders: Collection[str], allowed: Collection[str], advice: str) -> None:
    """Fail on offenders that are not excepted, and on exceptions that no longer offend."""
    new, stale = sorted({*offenders} - {*allowed}), sorted({*allowed} - {*offenders})
    assert not new, f"{advice}\n" + "\n".join(new)
    assert not stale, "no longer offend, delete them in tests/layout_exceptions.py:\n" + "\n".join(stale)


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_files_and_functions_are_small(source: Source) -> None:
    long = {name for name, module in source.modules.items() if len(module.lines) > MAX_FILE_LINES}
    for name, module in source.modules.items():
        for function in functions(module):
            if (function.end_lineno or 0) - function.lineno >= MAX_FUNCTION_LINES:
                long.add(f"{name}.{function.name}")
    check(
        long,
        exceptions.LONG_TABLES,
        f"files over {MAX_FILE_LINES} lines, functions over {MAX_FUNCTION_LINES}:",
    )


def test_no_base_class_has_only_one_subclass(source: Source) -> None:
    check(
        single_subclasses(source),
        exceptions.BASES_BY_DESIGN,
        "merge these base classes with their only subclass, or make them objects that it owns:",
    )


def test_no_small_module_is_imported_by_only_one_sibling(source: Source) -> None:
    check(
        small_modules_of_one_sibling(source),
        exceptions.SMALL_BY_DESIGN,
        f"under {MIN_MODULE_LINES} lines and imported by one sibling only; move them into it:",
    )


def small_modules_of_one_sibling(source: Source) -> set[str]:
    found = set()
    for name, module in source.modules.items():
        importers = source.importers(name)
        if module.is_package or len(module.lines) >= MIN_MODULE_LINES or len(importers) != 1:
            continue
        [importer] = (source.modules[name] for name in importers)
        is_sibling = not importer.is_package and importer.package == module.package
        if is_sibling and importer.name not in exceptions.REGISTRIES:
            found.add(name)
    return found


def test_the_registries_exist(source: Source) -> None:
    assert exceptions.REGISTRIES.keys() <= source.modules.keys()


def test_there_are_no_circular_imports(source: Source) -> None:
    circles = cycles(source.imports)
    members = {name for circle in circles for name in circle}
    listed = "\n".join(", ".join(circle) for circle in circles)
    check(members, (), f"circular imports:\n{listed}\nmodules in them:")


def test_packages_stay_within_their_size_limits(source: Source) -> None:
    assert BOUNDS.keys() <= {*source.packages()}
    bounds = {
        name: (MAX_WIDGET_UNITS, None) for name in source.packages() if name.startswith("forge_tui.widgets.")
    }
    offenders = {}
    for package, (max_units, max_depth) in {**BOUNDS, **bounds}.items():
        graph = source.unit_graph(package)
        if len(graph) > max_units or (max_depth is not None and depth(graph) > max_depth):
            offenders[package] = (
                f"{package}: {len(graph)} units, depth {depth(graph)}, allowed {max_units}, {max_depth}"
            )
    listed = "\n".join(offenders.values())
    check(offenders, (), f"over their bounds:\n{listed}\npackages:")


def test_class_names_are_unique(source: Source) -> None:
    owners: dict[str, list[str]] = {}
    for name, module in source.modules.items():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(name)
    shared = {name: modules for name, modules in owners.items() if len(modules) > 1}
    listed = "\n".join(f"{name}: {', '.join(modules)}" for name, modules in sorted(shared.items()))
    check(
        shared,
        exceptions.SHARED_CLASS_NAMES,
        f"two public classes of one name; give each a precise one:\n{listed}\nnames:",
    )


def test_no_module_has_a_meaningless_name(source: Source) -> None:
    assert [name for name in source.modules if name.rpartition(".")[2] in VAGUE_NAMES] == []


def test_every_module_has_a_docstring(source: Source) -> None:
    assert [name for name, module in source.modules.items() if not ast.get_docstring(module.tree)] == []


def test_the_top_level_contains_only_the_designed_entries() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this checkout has no git metadata to list its files")
    top = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    assert top - TOP_LEVEL == set()
