"""Find base classes that serve a single subclass and nothing else."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.package_shape import Module, Source


def single_subclasses(source: Source) -> dict[str, str]:
    """Base class → its only direct subclass, for the classes that have one and are used in no other way.

    Not counted as uses: annotations, `isinstance`, attributes of the class and class patterns. A class that is
    called, raised, caught or passed on is one in its own right.
    """
    subclasses: dict[str, list[str]] = defaultdict(list)
    used: set[str] = set()
    for name, module in source.modules.items():
        names = _Names(source, module)
        for node in names.classes:
            for base in node.bases:
                subclasses[names.dotted(base)].append(f"{name}.{node.name}")
        used |= {names.dotted(use) for use in _uses(module.tree)}
    ours = {f"{name}.{node.name}" for name, module in source.modules.items() for node in _classes(module)}
    return {base: found[0] for base, found in subclasses.items() if len(found) == 1 and base in ours - used}


class _Names:
    """What the names of a module stand for."""

    def __init__(self, source: Source, module: Module) -> None:
        self.classes = list(_classes(module))
        own = {node.name: f"{module.name}.{node.name}" for node in self.classes}
        self._bindings = {**source.bindings(module.name), **own}

    def dotted(self, node: ast.expr) -> str:
        """The dotted name of a class behind an expression; empty for what is no name."""
        match node:
            case ast.Name():
                return self._bindings.get(node.id, "")
            case ast.Attribute():
                return f"{self.dotted(node.value)}.{node.attr}"
            case ast.Subscript():
                return self.dotted(node.value)
            case _:
                return ""


def _classes(module: Module) -> Iterator[ast.ClassDef]:
    return (node for node in module.tree.body if isinstance(node, ast.ClassDef))


def _uses(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that name something as a value."""
    match node:
        case ast.Name():
            yield node
            return
        case ast.Attribute():
            yield node
            if not isinstance(node.value, ast.Name):
                yield from _uses(node.value)
            return
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            yield from _uses(node.args[0])
            return
        case ast.MatchClass():
            children: list[ast.AST] = [*node.patterns, *node.kwd_patterns]
        case ast.ClassDef():
            children = [*node.body, *node.decorator_list, *node.keywords]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children = [
                *node.body,
                *node.decorator_list,
                *node.args.defaults,
                *filter(None, node.args.kw_defaults),
            ]
        case ast.AnnAssign():
            children = [node.value] if node.value else []
        case _:
            children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _uses(child)
