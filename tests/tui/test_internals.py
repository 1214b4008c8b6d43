"""Private parts of Textual, Rich and Pygments are used in few files, which name each; all of them exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import forge_tui

ROOT = Path(forge_tui.__file__).parent
LIBRARIES = ("textual", "rich", "pygments")
PLACES = {
    "app.py",
    "cli_reference/parser_parts.py",
    "keymap.py",
    "screens/chat/screen.py",
    "terminal/caret.py",
    "terminal/compositor.py",
    "terminal/driver.py",
    "terminal/input.py",
    "terminal/internals.py",
    "terminal/output.py",
    "terminal/screen_model.py",
    "widgets/blockview/highlighting.py",
}
WHERE_DEFINED = (
    *("textual.app", "textual.screen", "textual.widget", "textual.dom", "textual.message_pump"),
    *("textual._compositor", "textual.driver", "textual.drivers.linux_driver", "textual.strip"),
    "textual.drivers._writer_thread",
    *("textual._ansi_sequences", "textual._xterm_parser", "textual.document._wrapped_document"),
    "textual.widgets._text_area",
    *("rich.console", "rich.style", "pygments.lexer", "pygments.token"),
    "argparse",
)
"""The modules whose private parts are used."""


def is_private(name: str) -> bool:
    """Handlers (`_on_key`) count as public: defining them is how Textual means widgets to be written."""
    return name.startswith("_") and not name.startswith(("__", "_on_"))


def defined(nodes: Iterable[ast.AST]) -> set[str]:
    """The private names that some source defines, in classes or on objects."""
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
    return set(filter(is_private, names))


@cache
def by_class(module: str) -> dict[str, set[str]]:
    """The private names that each class of a module defines, its own included."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {node.name: defined(ast.walk(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def of_bases(cls: type) -> set[str]:
    """The private names of the classes of libraries that a class is derived from."""
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] in LIBRARIES]
    return set().union(*(by_class(base.__module__)[base.__name__] for base in bases))


def imported(nodes: list[ast.AST]) -> Iterator[str]:
    """Private modules, and private names of public ones."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            yield from filter(is_private, (node.module or "").split("."))
            yield from filter(is_private, (alias.name for alias in node.names))


def inherited(tree: ast.Module, path: Path) -> Iterator[str]:
    """Private names of a base that a class reads, sets or overrides, on purpose or not."""
    module = ".".join(("forge_tui", *path.relative_to(ROOT).with_suffix("").parts))
    for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        theirs = of_bases(getattr(importlib.import_module(module), node.name))
        for part in ast.walk(node):
            match part:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in theirs:
                    yield name
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in theirs:
                    yield name


def of_others(nodes: list[ast.AST]) -> Iterator[str]:
    """Private names that are asked of an object, and that the file itself does not define."""
    own = defined(nodes)
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "os")):
                pass
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield name


def uses(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    return {*imported(nodes), *inherited(tree, path), *of_others(nodes)}


def told(path: Path) -> set[str]:
    """The private names that a file's docstrings mention."""
    nodes = ast.walk(ast.parse(path.read_text()))
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    return set(re.findall(r"`(?:\w+\.)*?(_[A-Za-z]\w*)", "\n".join(texts)))


@cache
def existing() -> set[str]:
    """The private parts of the installed libraries, and the private modules they stand in."""
    names = {part for name in WHERE_DEFINED for part in name.split(".")}
    return names.union(
        *(defined_there for name in WHERE_DEFINED for defined_there in by_class(name).values())
    )


def test_only_the_listed_files_use_private_apis() -> None:
    found = {str(path.relative_to(ROOT)): uses(path) for path in ROOT.rglob("*.py")}
    assert {name: names for name, names in found.items() if names and name not in PLACES} == {}
    assert {name for name, names in found.items() if names} == PLACES


@pytest.mark.parametrize("place", sorted(PLACES))
def test_each_private_api_is_documented_in_its_file_and_exists(place: str) -> None:
    used = uses(ROOT / place)
    assert used <= told(ROOT / place), "say in a docstring what is relied on, and why"
    assert used <= existing(), "the installed libraries lack it"
