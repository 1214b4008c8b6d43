"""The calls of a Python program that every successful run makes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_MAX_ROUNDS = 60
_MAX_DEPTH = 8
_ENDS = frozenset({"exit", "_exit", "quit", "abort", "kill", "execv", "execvp", "execve", "execl", "execlp"})
"""Calls that may end a run successfully before its last line."""
_HARMLESS_CONTEXTS = frozenset({"open", "ZipFile", "TarFile", "closing", "Lock", "TemporaryDirectory"})
"""Context managers that do not suppress exceptions."""
_COMPOUND = ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match | ast.AsyncFor | ast.AsyncWith
_LAZY = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.IfExp | ast.BoolOp


def certain_calls(tree: ast.Module) -> dict[int, int]:
    """Return the `id` of each such call and how often it is made at least."""
    flow = _Flow(tree)
    flow.block(tree.body, 1, 0)
    return flow.found


def round_values(values: ast.expr) -> list[ast.expr]:
    """Return the value of a loop's variable in each iteration; empty where it is unknown."""
    match values:
        case ast.List(elts=items) | ast.Tuple(elts=items) if not any(
            isinstance(i, ast.Starred) for i in items
        ):
            return items
        case ast.Call(func=ast.Name(id="range"), args=[*limits], keywords=[]):
            numbers = [one.value for one in limits if isinstance(one, ast.Constant)]
            known = [number for number in numbers if isinstance(number, int)]
            if 1 <= len(known) == len(limits) <= 2:
                return [ast.Constant(str(number)) for number in range(*known)[: _MAX_ROUNDS + 1]]
    return []


def name_of(node: ast.expr) -> str:
    """Return a name, or the last name of an attribute; empty for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


class _Flow:
    def __init__(self, tree: ast.AST) -> None:
        self.found: dict[int, int] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        names: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                names.append(node.name)
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                self._functions[node.name] = node
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.append(node.id)
            elif isinstance(node, ast.alias):
                names.append(node.asname or node.name)
        # A name that is bound twice may be something else when it is called.
        self._functions = {name: one for name, one in self._functions.items() if names.count(name) == 1}

    def block(self, body: Sequence[ast.stmt], times: int, depth: int) -> bool:
        """Note the calls of statements that run `times`; return whether what follows runs as often."""
        return depth <= _MAX_DEPTH and all(self._statement(one, times, depth) for one in body)

    def _statement(self, node: ast.stmt, times: int, depth: int) -> bool:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return True
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self._expressions(node, times, depth)
                return False
            # The body of `if __name__ == "__main__":` runs, since the file is a script.
            case ast.If(test=test, body=body) if _is_main(test):
                return self.block(body, times, depth)
            case ast.With(items=items, body=body) if all(
                _called(one.context_expr) in _HARMLESS_CONTEXTS for one in items
            ):
                goes_on = all(self._calls(one.context_expr, times, depth) for one in items)
                return goes_on and self.block(body, times, depth)
            case ast.For(iter=values, body=body, orelse=[]) if rounds := len(round_values(values)):
                return rounds <= _MAX_ROUNDS and self.block(body, times * rounds, depth)
            # Without handlers an exception ends the run with a failure, so a successful run has made all
            # calls.
            case ast.Try(body=body, handlers=[], orelse=[], finalbody=last):
                return self.block(body, times, depth) and self.block(last, times, depth)
            # The calls inside may or may not be made; what follows is certain unless the statement can leave.
            case _ if isinstance(node, _COMPOUND):
                return not any(_leaves(inner) for inner in ast.walk(node)) and not self._ends_somewhere(node)
        return self._expressions(node, times, depth)

    def _expressions(self, node: ast.AST, times: int, depth: int) -> bool:
        return all(self._calls(one, times, depth) for one in ast.iter_child_nodes(node))

    def _calls(self, node: ast.AST, times: int, depth: int) -> bool:
        """Note the calls in an expression, inner ones first."""
        # Evaluated later, or not at all.
        if isinstance(node, _LAZY):
            return not self._ends_somewhere(node)
        if not self._expressions(node, times, depth):
            return False
        if not isinstance(node, ast.Call):
            return True
        name = _called(node)
        if name in _ENDS:
            return False
        # By the identity of the node: a call in a function is counted for each call of that function.
        self.found[id(node)] = self.found.get(id(node), 0) + times
        function = self._functions.get(name) if isinstance(node.func, ast.Name) else None
        if function is None:
            return True
        # Calling a generator function does not run its body.
        if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(function)):
            return True
        self.block(function.body, times, depth + 1)
        return not self._ends_somewhere(function)

    def _ends_somewhere(self, node: ast.AST) -> bool:
        """Return whether the run may end in `node`, or in functions of this file that it calls."""
        todo, seen = [node], {id(node)}
        while todo:
            for inner in ast.walk(todo.pop()):
                if isinstance(inner, ast.Call) and _called(inner) in _ENDS:
                    return True
                if isinstance(inner, ast.Name) and inner.id == "SystemExit":
                    return True
                function = self._functions.get(inner.id) if isinstance(inner, ast.Name) else None
                if function is not None and id(function) not in seen:
                    seen.add(id(function))
                    todo.append(function)
        return False


def _leaves(node: ast.AST) -> bool:
    return isinstance(node, ast.Return | ast.Break | ast.Continue) or (
        isinstance(node, ast.Name) and node.id == "SystemExit"
    )


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _called(node: ast.expr) -> str:
    return name_of(node.func) if isinstance(node, ast.Call) else ""
