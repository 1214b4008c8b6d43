"""The files that a Python program writes, as far as its source shows: paths in the calls that write."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from forge_core.permissions.programs.word_sets import table
from forge_core.tools.effect_analysis.python_flow import certain_calls, name_of, round_values

_MAX_VALUES = 40
_MAX_NODES = 40_000
_ANY = "*"
_FILE_NAME = re.compile(r"(?:[\w.@+-]+/)*[\w.@+-]*\.\w{1,10}")
_WRITE_METHODS = frozenset({"write_text", "write_bytes", "touch"})
_PLAIN_WRITERS = frozenset(
    {"write_text", "write_bytes", "rename", "replace", "move", "copy", "copy2", "copyfile"}
)
_REMOVERS = frozenset({"unlink", "remove", "rmtree", "rmdir", "removedirs"})
_MAKERS = frozenset({"mkdir", "makedirs"})
_MOVERS = frozenset({"rename", "replace", "move", "renames"})
_COPIERS = frozenset(
    {"copy", "copy2", "copyfile", "copytree", "link", "symlink", "symlink_to", "hardlink_to"}
)
_RUNNERS = frozenset({"run", "call", "check_call", "check_output", "Popen", "system", "popen"})
_SAVERS = re.compile(
    r"to_[a-z]+|save\w*|savefig|dump|export\w*|write_\w+|make_archive|connect|FileHandler|open"
)
_PATH_MODULES = table("os shutil io path tarfile zipfile codecs gzip bz2 lzma pathlib posixpath")
_MIN_KNOWN = 8
"""Letters and digits that the known parts of a template must have."""
_THROUGH = frozenset({"resolve", "absolute", "expanduser", "strip", "lower", "as_posix", "format", "rstrip"})


@dataclass(slots=True)
class ScriptOutputs:
    """The effects of a program on files; paths as in its source, with `*` for unknown parts."""

    writes: dict[str, int] = field(default_factory=dict)
    """Path → how often; 0: unknown."""
    certain: dict[str, int] = field(default_factory=dict)
    """Path → how often at least, in every successful run."""
    templates: dict[str, str] = field(default_factory=dict)
    """Path → a regular expression that matches the text written to it."""
    certain_arguments: list[str] = field(default_factory=list)
    """Arguments whose files every successful run writes: `--option`, or `1` for the first argument."""
    removes: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    """Other file names in the source."""
    runs: list[str] = field(default_factory=list)
    """Command lines."""
    imports: set[str] = field(default_factory=set)
    writes_unknown: bool = False
    """It writes to a path that the source does not determine, perhaps an argument."""


def python_outputs(source: str, script: str) -> ScriptOutputs:
    """Read a program; `script` is the value of its `__file__`."""
    outputs = ScriptOutputs()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return outputs
    _Program(tree, script, outputs).read()
    return outputs


class _Program:
    def __init__(self, tree: ast.Module, script: str, outputs: ScriptOutputs) -> None:
        self._nodes = list(islice(ast.walk(tree), _MAX_NODES))
        self._out = outputs
        # Name → everything that is assigned to it in any scope: the order of the statements is not followed.
        self._values: dict[str, list[ast.expr]] = {}
        self._script = script
        self._depth = 0
        self._certain = certain_calls(tree)
        self._parameters = {
            node.name: [one.arg for one in node.args.args]
            for node in self._nodes
            if isinstance(node, ast.FunctionDef)
        }
        self._repeated = {
            id(inner)
            for node in self._nodes
            if isinstance(node, ast.For | ast.While | ast.AsyncFor)
            for inner in islice(ast.walk(node), _MAX_NODES)
        }

    def read(self) -> None:
        for node in self._nodes:
            self._note(node)
        for node in self._nodes:
            if isinstance(node, ast.Call):
                self._call(node)
        texts = (node.value for node in self._nodes if isinstance(node, ast.Constant))
        names = {text for text in texts if isinstance(text, str) and len(text) < 200}
        self._out.names = {text for text in names if _FILE_NAME.fullmatch(text)} - self._out.reads

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._values.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._values.setdefault(name, []).append(value)
            case ast.For(target=ast.Name(id=name), iter=values):
                self._values.setdefault(name, []).extend(round_values(values) or [values])
            case ast.With(items=items):
                for item in items:
                    if isinstance(item.optional_vars, ast.Name):
                        self._values.setdefault(item.optional_vars.id, []).append(item.context_expr)
            case ast.Call(func=ast.Name(id=name), args=values) if name in self._parameters:
                for parameter, value in zip(self._parameters[name], values, strict=False):
                    if not isinstance(value, ast.Name) or value.id != parameter:
                        self._values.setdefault(parameter, []).append(value)
            case ast.Import(names=names):
                self._out.imports |= {one.name for one in names}
            case ast.ImportFrom(module=str() as module):
                self._out.imports.add(module)

    def _call(self, call: ast.Call) -> None:
        name = name_of(call.func)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        args = call.args
        if name == "open":
            self._open(call)
        elif name in _WRITE_METHODS and receiver is not None:
            self._write(receiver, call)
        elif name in _MAKERS:
            self._out.folders |= set(self._paths(args[0] if args and _is_module(receiver) else receiver))
        elif name in _REMOVERS:
            target = args[0] if args and (_is_module(receiver) or receiver is None) else receiver
            self._out.removes |= set(self._paths(target))
        elif name in _MOVERS | _COPIERS:
            self._transfer(name, receiver, args, call)
        elif name in _RUNNERS and args:
            self._out.runs += self._lines(args[0])
        elif name in ("ZipFile", "TarFile") and args and _is_writing(self._texts(args[1:2])):
            self._write(args[0], call)
        elif _SAVERS.fullmatch(name):
            for one in [*args[:2], *(keyword.value for keyword in call.keywords)]:
                if any(_FILE_NAME.fullmatch(path) for path in self._paths(one)):
                    self._write(one, call)

    def _open(self, call: ast.Call) -> None:
        target, mode = _opened(call)
        modes = self._texts(mode)
        if _is_writing(modes):
            self._write(target, call, is_append=any("a" in text for text in modes))
        else:
            self._out.reads |= set(self._paths(target))

    def _texts(self, nodes: Sequence[ast.expr]) -> list[str]:
        return [text for one in nodes for text in self._paths(one)]

    def _transfer(
        self, name: str, receiver: ast.expr | None, args: Sequence[ast.expr], call: ast.Call
    ) -> None:
        paths = args[:2] if receiver is None or _is_module(receiver) else [receiver, *args]
        if len(paths) != 2:
            return  # str.replace has two arguments, Path.replace one
        old, new = paths
        if name in ("symlink_to", "hardlink_to"):
            old, new = new, old
        if name in _MOVERS:
            self._out.removes |= {path for path in self._paths(old) if path != _ANY}
        self._write(new, call)

    def _write(self, target: ast.expr | None, call: ast.Call, *, is_append: bool = False) -> None:
        is_repeated = is_append and id(call) in self._repeated
        paths = self._paths(target)
        if _is_plain_write(call):
            self._note_certain(target, paths, call)
        template = self._template(call.args[0]) if name_of(call.func) == "write_text" and call.args else ""
        if template and len(paths) == 1:
            self._out.templates[paths[0]] = template
        for path in paths:
            if re.search(r"\w", path.replace(_ANY, "")):
                known = self._out.writes.get(path, 0)
                self._out.writes[path] = 0 if is_repeated else known + 1
            else:
                self._out.writes_unknown = True
        if not paths:
            self._out.writes_unknown = True

    def _note_certain(self, target: ast.expr | None, paths: Sequence[str], call: ast.Call) -> None:
        """Note a write that every successful run makes.

        With as many paths as the loop has iterations, each path is written; otherwise an unknown one of them
        is.
        """
        rounds = self._certain.get(id(call), 0)
        if not rounds or len(paths) not in (1, rounds):
            return
        argument = self._argument(target)
        if argument and rounds == 1:
            self._out.certain_arguments.append(argument)
        for path in paths:
            if _ANY not in path:
                times = rounds if len(paths) == 1 else 1
                self._out.certain[path] = self._out.certain.get(path, 0) + times

    def _argument(self, target: ast.expr | None) -> str:
        """Return the argument of the program that holds the path; empty when none does."""
        match target:
            case ast.Attribute(value=ast.Name(id="args" | "options" | "opts" | "arguments"), attr=name):
                return f"--{name.replace('_', '-')}"
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id="sys"), attr="argv"),
                slice=ast.Constant(value=int() as at),
            ):
                return str(at)
            case ast.Name(id=name) if len(self._values.get(name, [])) == 1:
                value = self._values[name][0]
                return self._argument(value) if not isinstance(value, ast.Name) else ""
            case ast.Call(args=[inner]) if name_of(target.func) == "Path":
                return self._argument(inner)
        return ""

    def _template(self, text: ast.expr) -> str:
        """Return a regular expression for an f-string; empty where it would match too much."""
        if not isinstance(text, ast.JoinedStr):
            return ""
        known = [one.value if isinstance(one, ast.Constant) else None for one in text.values]
        letters = sum(len(re.findall(r"\w", one)) for one in known if isinstance(one, str))
        return (
            "".join(".*" if one is None else re.escape(str(one)) for one in known)
            if letters >= _MIN_KNOWN
            else ""
        )

    def _lines(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.List | ast.Tuple):
            words = [next(iter(self._paths(one)), _ANY) for one in node.elts]
            yield " ".join(f"'{word}'" if "'" not in word else _ANY for word in words)
        else:
            yield from (line for line in self._paths(node) if line != _ANY)

    def _paths(self, node: ast.expr | None) -> list[str]:
        """Return the possible values of an expression, `*` for unknown parts."""
        if node is None:
            return []
        self._depth += 1
        try:
            return list(dict.fromkeys(self._resolved(node)))[:_MAX_VALUES] if self._depth < 12 else [_ANY]
        finally:
            self._depth -= 1

    def _resolved(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Constant(value=str() as text):
                return [text]
            case ast.JoinedStr(values=values):
                return ["".join(one) for one in self._combinations(values)]
            case ast.FormattedValue(value=value):
                return self._paths(value)
            case ast.Name(id="__file__"):
                return [self._script]
            case ast.Name(id=name) if name in self._values:
                return [text for value in self._values[name][:_MAX_VALUES] for text in self._paths(value)]
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return ["".join(one) for one in self._combinations([left, right])]
            case ast.BinOp(left=left, op=ast.Mod()):
                return [re.sub(r"%[^a-zA-Z%]*[a-zA-Z]", _ANY, text) for text in self._paths(left)]
            case ast.Attribute(value=value, attr="parent"):
                return [os.path.dirname(text) or "." for text in self._paths(value)]  # noqa: PTH120
            case ast.Call():
                return self._called(node)
        return [_ANY]

    def _called(self, call: ast.Call) -> list[str]:
        name = name_of(call.func)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in ("Path", "PurePath", "join", "joinpath") and (receiver is None or _is_module(receiver)):
            return self._joined(call.args) if call.args else ["."]
        if name == "joinpath" and receiver is not None:
            return self._joined([receiver, *call.args])
        if name in ("cwd", "getcwd"):
            return ["."]
        if name in ("str", "fspath", "open", "abspath", "realpath") and call.args:
            return self._paths(call.args[0])
        if name == "dirname" and call.args:
            return [os.path.dirname(text) or "." for text in self._paths(call.args[0])]  # noqa: PTH120
        if name in _THROUGH and receiver is not None:
            return [re.sub(r"\{[^}]*\}", _ANY, text) for text in self._paths(receiver)]
        if name in ("with_suffix", "with_name") and receiver is not None and call.args:
            return self._renamed(name, receiver, call.args[0])
        return [_ANY]

    def _renamed(self, how: str, receiver: ast.expr, new: ast.expr) -> list[str]:
        found = []
        for old, text in product(self._paths(receiver), self._paths(new)):
            folder, _, name = old.rpartition("/")
            stem = name.rpartition(".")[0] or name
            found.append(f"{folder}/" * bool(folder) + (stem + text if how == "with_suffix" else text))
        return found

    def _joined(self, nodes: Sequence[ast.expr]) -> list[str]:
        return [os.path.join(*one) for one in self._combinations(nodes)]  # noqa: PTH118

    def _combinations(self, nodes: Sequence[ast.expr]) -> Iterator[tuple[str, ...]]:
        return islice(product(*(self._paths(node) or [_ANY] for node in nodes)), _MAX_VALUES)


def _is_plain_write(call: ast.Call) -> bool:
    """Return whether the call writes or replaces a file whenever it succeeds."""
    name = name_of(call.func)
    if name != "open":
        return name in _PLAIN_WRITERS
    return any(
        isinstance(mode, ast.Constant) and re.fullmatch(r"[rbt]*[wax+][rbt+]*", str(mode.value))
        for mode in _opened(call)[1]
    )


def _opened(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """Return the path and the modes of `open(path, mode)`, `io.open`, `path.open(mode)`, `tarfile.open`."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    arguments = call.args if receiver is None or _is_module(receiver) else [receiver, *call.args]
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    return (arguments[0] if arguments else None), arguments[1:2] or named


def _is_writing(modes: Sequence[str]) -> bool:
    return any(letter in mode for mode in modes for letter in "wax+*")


def _is_module(receiver: ast.expr | None) -> bool:
    """Return whether the receiver of a call is a module that works on paths."""
    return receiver is not None and name_of(receiver) in _PATH_MODULES
