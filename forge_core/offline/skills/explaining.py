"""Outlines of files and folders, and descriptions of definitions."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from pathlib import PurePosixPath

from forge_core.offline import phrases
from forge_core.offline.conversation import Call
from forge_core.offline.intents import Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory, search_scope, target
from forge_core.offline.skills.file_lookup import files_named, listed_paths, only_match
from forge_core.offline.skills.reading import explain_failure, names_in, read_block
from forge_core.offline.skills.search import (
    definition,
    find_definitions,
    list_hits,
    module,
    nearest_definitions,
)
from forge_core.offline.source_code import (
    MAX_ENTRIES,
    Outline,
    OutlineEntry,
    fence_language,
    first_sentence,
    outline,
    parse_python,
)
from forge_core.offline.steps import Skill, ask, ask_all, say
from forge_core.offline.tool_output import Hit, Numbered, numbered_lines, stated_total

_PAGE, _MAX_OUTLINED = 400, 2_400
"""Lines of one read whose text is never cut, and lines of a file that are outlined."""
_WITNESSES = ("readme.md", "readme.rst", "__init__.py", "mod.rs", "doc.go")
_KIND = re.compile(r"^(?!.* and ).*\b(class|function)(?:e?s)\b", re.I)
_WELL_KNOWN = ("README", "LICENSE", "LICENCE", "Makefile", "Dockerfile", "CHANGELOG", "NOTICE")


def explain(request: Request, memory: Memory) -> Skill:
    """Outline a file or a folder; describe a definition where "it" was one."""
    location = target(request, memory)
    if location is None:
        return phrases.needs_target("explain")
    if location.line is not None:
        return (yield from _explain_at(Hit(location.path, location.line), ""))
    name = PurePosixPath(location.path).name
    if location.path.endswith("/") or location.path in (".", ".."):
        return (yield from explain_folder(location.path))
    if "." in name or name.startswith(_WELL_KNOWN):
        kind = _KIND.match(request.text)
        return (yield from explain_file(location.path, kind[1].lower() if kind else ""))
    return (yield from _explain_word(location.path, request, memory))


def explain_symbol(request: Request, memory: Memory) -> Skill:
    """Show where a function or class is defined, its signature and its docstring."""
    name, scope = request.get("name"), search_scope(request.get("path"), memory)
    hits = yield from find_definitions(name, scope)
    if not hits and (found := (yield from module(name))):
        return (yield from explain_file(found))
    if not hits:
        hits = yield from nearest_definitions(name)
        if not hits:
            return (yield from definition(request.with_args(sought=name), memory))
        yield from say(f"There is no `{name}`; taking the name that is nearest.")
        name = ""
    described = yield from _explain_at(hits[0], name)
    if len(hits) > 1:
        others = phrases.count(len(hits) - 1, "more definition is", "more definitions are")
        described += f"\n\n{others} under that name:\n\n{list_hits(hits[1:])}"
    return described


def explain_file(path: str, kind: str = "") -> Skill:
    """Outline a file from its text; only its classes or its functions where those are asked for."""
    outcome = yield from ask("read", file_path=path)
    if outcome.failed:
        return (yield from explain_failure(path, outcome, lambda found: explain_file(found, kind)))
    lines, total, last = numbered_lines(outcome.text), stated_total(outcome.text), 0
    while lines and last < lines[-1].number < (total or 0) and lines[-1].number < _MAX_OUTLINED:
        last = lines[-1].number
        page = yield from ask("read", file_path=path, offset=last + 1, limit=_PAGE)
        lines += [] if page.failed else numbered_lines(page.text)
    found = outline(path, "\n".join(line.text for line in lines))
    is_partial = bool(total and total > len(lines))
    return _describe_outline(
        path, found, total or len(lines), lines[-1].number if is_partial and lines else None, kind
    )


def _describe_outline(path: str, found: Outline, total: int, seen_to: int | None, kind: str) -> str:
    parts = [f"{code(path)} has {phrases.count(total, 'line')}."]
    if found.summary and not kind:
        parts.append("Its own description:\n\n" + phrases.quoted(found.summary))
    if found.imports and not kind:
        names = ", ".join(code(name) for name in found.imports[:20])
        parts.append(f"It imports {names}{' …' if len(found.imports) > 20 else ''}.")
    if found.entries:
        entries = [entry for entry in found.entries if _is_of(kind, entry.label)] or found.entries
        if len(entries) > MAX_ENTRIES:
            entries = [entry for entry in entries if not entry.depth]
        shown = entries[:MAX_ENTRIES]
        listing = "\n".join(_entry(entry) for entry in shown)
        rest = len(found.entries) - len(shown) if not kind else 0
        parts.append(f"Outline (line: what):\n\n{listing}" + (f"\n\n… and {rest} more." if rest else ""))
    if seen_to:
        parts.append(f"This covers the lines up to {seen_to:,}; the file is longer than one read gives.")
    if not found.entries and not found.summary:
        parts.append(f"I see no headings or definitions in it to outline. `read {path}` shows the text.")
    return "\n\n".join(parts)


def _is_of(kind: str, label: str) -> bool:
    words = r"class|struct" if kind == "class" else r"(?:async )?def|func|fn"
    return not kind or bool(re.match(words, label))


def _entry(entry: OutlineEntry) -> str:
    note = f" — {entry.note}" if entry.note else ""
    return f"{'  ' * min(entry.depth, 5)}- {entry.line}: {code(entry.label)}{note}"


def explain_folder(path: str) -> Skill:
    """List a folder, and quote its README or package docstring."""
    listing = yield from ask("ls", path=path, depth=2)
    if listing.failed:
        return (yield from explain_failure(path, listing, explain_file))
    folder = path.rstrip("/")
    names = names_in(listing)
    witness = next((name for name in names if name.lower() in _WITNESSES), "")
    parts = [f"{code(folder)} contains:\n\n{phrases.block(listing.text)}"]
    if witness:
        text = yield from ask("read", file_path=f"{folder}/{witness}", limit=200)
        if not text.failed:
            body = "\n".join(line.text for line in numbered_lines(text.text))
            summary = outline(witness, body).summary
            if summary:
                parts.append(f"Its {code(witness)} says:\n\n{phrases.quoted(summary)}")
    parts.append("`explain FILE` outlines one of the files.")
    return "\n\n".join(parts)


def _explain_word(word: str, request: Request, memory: Memory) -> Skill:
    """Explain a bare word: a folder or file of that name, else a definition."""
    folder, files = yield from ask_all(
        Call("glob", {"pattern": f"{word}/**"}), Call("glob", {"pattern": f"**/{PurePosixPath(word).name}.*"})
    )
    if any(f"/{word}/" in f"/{path}" for path in listed_paths(folder)):
        return (yield from explain_folder(word))
    named = [path for path in listed_paths(files) if PurePosixPath(path).stem == PurePosixPath(word).name]
    if named:
        return (yield from explain_file(memory.short(named[0])))
    symbol = Request(request.intent, {"name": word}, request.text)
    hits = yield from find_definitions(word, {})
    if hits:
        return (yield from explain_symbol(symbol, memory))
    if not request.text.lower().startswith("what"):
        near = yield from files_named(word)
        found = only_match(near)
        return (yield from explain_file(found)) if found else phrases.no_such_file(word, near[:5])
    return f"I found no {code(word)} in this folder: no file, folder or definition has that name."


def _explain_at(hit: Hit, name: str) -> Skill:
    """Describe the definition at a line by its text."""
    block = yield from read_block(hit.path, hit.line, 800)
    if isinstance(block, str):
        return block
    source = textwrap.dedent("\n".join(line.text for line in block))
    tree = parse_python(source) if hit.path.endswith((".py", ".pyi")) else None
    node = tree.body[0] if tree and tree.body else None
    where = code(f"{hit.path}:{hit.line}")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _describe_function(node, where, block)
    if isinstance(node, ast.ClassDef):
        return _describe_class(node, where, block)
    shown = phrases.fenced("\n".join(line.text for line in block[:40]), fence_language(hit.path))
    subject = f"`{name}` is" if name else "It is"
    return f"{subject} at {where}, {phrases.count(len(block), 'line')}:\n\n{shown}"


def _describe_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, where: str, block: Sequence[Numbered]
) -> str:
    head = block[: max(node.body[0].lineno - 1, 1)]
    shown = phrases.fenced(textwrap.dedent("\n".join(line.text for line in head)), "python")
    parts = [f"`{node.name}` is a function at {where}, {phrases.count(len(block), 'line')}:\n\n{shown}"]
    parts += _documentation(ast.get_docstring(node))
    inner = list(ast.walk(node))
    facts = {
        "calls": [_shape(n.func) for n in inner if isinstance(n, ast.Call)],
        "raises": [_shape(n.exc) for n in inner if isinstance(n, ast.Raise) and n.exc],
        "returns": [_shape(n.value) for n in inner if isinstance(n, ast.Return) and n.value],
    }
    lines = [f"- {verb} {_listed(names)}" for verb, names in facts.items() if names]
    if lines:
        parts.append("It\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _shape(node: ast.expr) -> str:
    """Return an expression in short: a call without its arguments, anything long cut."""
    if isinstance(node, ast.Call):
        return f"{_shape(node.func)}(…)"
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:59] + "…"


def _listed(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(code(name) for name in unique[:10]) + (" …" if len(unique) > 10 else "")


def _describe_class(node: ast.ClassDef, where: str, block: Sequence[Numbered]) -> str:
    bases = ", ".join(code(ast.unparse(base)) for base in node.bases)
    parts = [
        f"`{node.name}` is a class at {where}, {phrases.count(len(block), 'line')}"
        + (f", based on {bases}." if bases else ".")
    ]
    parts += _documentation(ast.get_docstring(node))
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    if methods:
        first = block[0].number
        listing = "\n".join(
            f"- {first + item.lineno - 1}: {code(item.name)}"
            + (f" — {note}" if (note := first_sentence(ast.get_docstring(item))) else "")
            for item in methods[:40]
        )
        parts.append(f"Its methods (line: name):\n\n{listing}")
    return "\n\n".join(parts)


def _documentation(docstring: str | None) -> list[str]:
    if not docstring:
        return ["It has no docstring."]
    lines = phrases.capped(docstring.strip().split("\n"), 15)
    return ["Its docstring says:\n\n" + phrases.quoted("\n".join(lines))]
