"""Measure the packages: units, depth, circular imports, size.

    python -m tests.package_shape [PACKAGE ...]

A unit of a package is a module directly in it (`__init__` not counted) or a sub-package, which counts as one.
The depth is the number of units in the longest chain in which each unit imports the next; units that import each
other in a circle count as one step of as many units as the circle has. Imports under `if TYPE_CHECKING:` run
nothing and are left out; imports inside functions count. A name that a package re-exports is traced to the module
that defines it, so that an import through `__init__` is an import of that module.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.collection_pause import without_collection

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("forge_core", "forge_tui")
Graph = Mapping[str, frozenset[str]]
"""Name → the names that it imports."""


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A source file, parsed."""

    name: str
    """Dotted; a package's own name for its `__init__`."""
    path: Path
    is_package: bool
    lines: tuple[str, ...]
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package that this module lies in; of a package itself, its parent."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Import:
    """One name of an import statement."""

    base: str
    """The module, dotted, also where the statement is relative."""
    name: str | None
    """What is imported from it; None where it is the module itself."""
    alias: str
    """The name that it is bound to."""
    is_for_types: bool
    """Whether it stands under TYPE_CHECKING."""


class Source:
    """All modules of the product and what they import from each other."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.modules = modules
        self._statements = {name: list(_imports(module)) for name, module in modules.items()}
        self._exports = {name: self._exported(name) for name, module in modules.items() if module.is_package}
        self.imports: Graph = {name: self._imported(name, with_types=False) for name in modules}
        """What runs: without imports under TYPE_CHECKING."""
        self.mentions: Graph = {name: self._imported(name, with_types=True) for name in modules}
        """The same with imports under TYPE_CHECKING."""

    def importers(self, name: str) -> frozenset[str]:
        """The modules that import `name`, also if only for type checkers."""
        return frozenset(importer for importer, imported in self.mentions.items() if name in imported)

    def packages(self) -> list[str]:
        return sorted(name for name, module in self.modules.items() if module.is_package)

    def units(self, package: str) -> list[str]:
        """The modules directly in a package and its sub-packages."""
        return sorted(name for name, module in self.modules.items() if module.package == package)

    def unit_graph(self, package: str) -> Graph:
        """Which unit of a package imports which."""
        units = self.units(package)
        owner = {name: unit for unit in units for name in self.modules if _is_within(name, unit)}
        graph: dict[str, set[str]] = {unit: set() for unit in units}
        for name, unit in owner.items():
            graph[unit] |= {owner[target] for target in self.imports[name] if target in owner} - {unit}
        return {unit: frozenset(targets) for unit, targets in graph.items()}

    def bindings(self, importer: str) -> dict[str, str]:
        """What each imported name of a module stands for, dotted; a re-exported name by its defining module."""
        found = {}
        for statement in self._statements[importer]:
            base = self._exports.get(statement.base, {}).get(statement.name or "", statement.base)
            found[statement.alias] = base if statement.name is None else f"{base}.{statement.name}"
        return found

    def _imported(self, importer: str, *, with_types: bool) -> frozenset[str]:
        found: set[str] = set()
        for statement in self._statements[importer]:
            if with_types or not statement.is_for_types:
                found |= self._resolved(statement.base, statement.name)
        return frozenset(found - {importer})

    def _resolved(self, base: str, name: str | None) -> set[str]:
        """The modules behind `from base import name`, or `import base`."""
        if name is not None and f"{base}.{name}" in self.modules:
            return {f"{base}.{name}"}
        if base not in self.modules:
            return set()
        source = self._exports.get(base, {}).get(name or "")
        return {base} if source is None else {base, source}

    def _exported(self, package: str) -> dict[str, str]:
        """Re-exported name → the module that a package takes it from."""
        return {
            found.name: found.base
            for found in self._statements[package]
            if found.name is not None
            if found.base in self.modules and f"{found.base}.{found.name}" not in self.modules
        }


@cache
def load(*packages: str, root: Path = ROOT) -> Source:
    """The parsed source of `packages`, by default of the whole product."""
    with without_collection():  # 0.5 s in place of 1.9 s, and the trees are kept
        modules = {}
        for package in packages or PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                text = path.read_text(encoding="utf-8")
                modules[name] = Module(name, path, is_package, tuple(text.splitlines()), ast.parse(text))
        return Source(modules)


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _imports(module: Module) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(module.tree, False)]
    while waiting:
        node, is_for_types = waiting.pop()
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, None, alias.asname or alias.name, is_for_types)
            case ast.ImportFrom():
                base = _absolute(node, module)
                for alias in node.names:
                    yield Import(base, alias.name, alias.asname or alias.name, is_for_types)
            case ast.If() if _is_type_checking(node.test):
                waiting += [(child, True) for child in node.body]
                waiting += [(child, is_for_types) for child in node.orelse]
            case ast.stmt() | ast.Module() | ast.ExceptHandler() | ast.match_case():
                waiting += [(child, is_for_types) for child in ast.iter_child_nodes(node)]


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    """The module that an import names, also where it is relative."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    start = parts[: len(parts) - node.level + module.is_package]
    return ".".join([*start, *([node.module] if node.module else [])])


def cycles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one node, each sorted (Tarjan's algorithm)."""
    return sorted(sorted(component) for component in _components(graph) if len(component) > 1)


def depth(graph: Graph) -> int:
    """The number of nodes in the longest chain; a circle counts as a step of as many nodes as it has."""
    longest: dict[str, int] = {}
    for component in _components(graph):  # what a component imports comes before it
        below = {target for node in component for target in graph[node]} - set(component)
        steps = len(component) + max((longest[target] for target in below), default=0)
        longest |= dict.fromkeys(component, steps)
    return max(longest.values(), default=0)


def _components(graph: Graph) -> list[list[str]]:
    """The strongly connected components, each after those that it imports."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        open_nodes.append(node)
        for target in sorted(graph[node]):
            if target not in order:
                visit(target)
            if target in open_nodes:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == order[node]:
            at = open_nodes.index(node)
            found.append(open_nodes[at:])
            del open_nodes[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


@dataclass(frozen=True, slots=True)
class Size:
    """Lines of source."""

    code: int = 0
    """Without blank lines, comment lines and docstrings."""
    comments: int = 0
    """Lines that hold nothing but a comment."""

    def __add__(self, other: Size) -> Size:
        return Size(self.code + other.code, self.comments + other.comments)

    @property
    def comments_per_1000(self) -> float:
        return 1000 * self.comments / self.code if self.code else 0.0


@cache
def size(module: Module) -> Size:
    """The size of a module."""
    docstrings, strings = _lines_in_strings(module.tree)
    code = comments = 0
    for number, line in enumerate(module.lines, 1):
        if number in docstrings:
            continue
        if number in strings:
            code += 1
        elif line.lstrip().startswith("#"):
            comments += 1
        elif line.strip():
            code += 1
    return Size(code, comments)


def _lines_in_strings(tree: ast.Module) -> tuple[set[int], set[int]]:
    """The lines of docstrings, also those under fields, and the lines of other strings of several lines."""
    docstrings: set[int] = set()
    strings: set[int] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            docstrings |= _lines_of(node.value)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            strings |= _lines_of(node)
        else:
            waiting += [child for child in ast.iter_child_nodes(node) if _may_hold_strings(child)]
    return docstrings, strings


def _may_hold_strings(node: ast.AST) -> bool:
    """Whether a node can hold a docstring or a string of several lines."""
    if isinstance(node, ast.expr):
        return node.end_lineno != node.lineno
    return isinstance(node, ast.Expr) or getattr(node, "end_lineno", None) != getattr(node, "lineno", 0)


def _lines_of(node: ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def total(modules: Iterable[Module]) -> Size:
    return sum((size(module) for module in modules), Size())


def report(source: Source, packages: Iterable[str]) -> Iterator[str]:
    """The lines of the table and of the list of circles."""
    yield f"{'package':<42} {'units':>5} {'depth':>5} {'circles':>7} {'code':>6} {'comments/1000':>13}"
    for package in packages:
        inside = [module for name, module in source.modules.items() if _is_within(name, package)]
        graph, lines = source.unit_graph(package), total(inside)
        yield (
            f"{package:<42} {len(graph):>5} {depth(graph):>5} {len(cycles(graph)):>7}"
            f" {lines.code:>6} {lines.comments_per_1000:>13.1f}"
        )
    circles = cycles(source.imports)
    yield f"\ncircular imports between modules: {len(circles)}"
    yield from ("  " + ", ".join(circle) for circle in circles)
    whole = total(source.modules.values())
    yield (
        f"\n{len(source.modules)} files, {whole.code} lines of code, {whole.comments} comment lines"
        f" ({whole.comments_per_1000:.1f} per 1,000)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.package_shape", description="Measure the packages."
    )
    parser.add_argument(
        "packages", nargs="*", metavar="PACKAGE", help="default: all, with their sub-packages"
    )
    source = load()
    names = parser.parse_args().packages or source.packages()
    if unknown := [name for name in names if name not in source.packages()]:
        parser.error(f"no such package: {', '.join(unknown)}")
    print("\n".join(report(source, names)))


if __name__ == "__main__":
    main()
