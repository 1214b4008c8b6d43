"""The folder as a whole: a listing, and an overview from its README and manifests."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from forge_core.llm.offline import phrases
from forge_core.llm.offline.memory import Memory
from forge_core.llm.offline.outline import outline
from forge_core.llm.offline.parse import IT, Request
from forge_core.llm.offline.skills.reading import explain_failure, names_in
from forge_core.llm.offline.steps import Call, Outcome, Skill, ask, ask_all
from forge_core.llm.offline.test_commands import test_command
from forge_core.llm.offline.tool_text import numbered_lines

_MANIFESTS = (
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "setup.cfg",
    "composer.json",
    "pom.xml",
)
_README = re.compile(r"^readme(?:\.(?:md|rst|txt|markdown))?$", re.I)
_ROLES = {
    "tests": "tests", "test": "tests", "spec": "tests", "docs": "documentation", "doc": "documentation",
    "examples": "examples",
    "scripts": "scripts", "src": "sources", "lib": "sources", "bin": "executables",
    ".github": "GitHub workflows", "benchmarks": "benchmarks",
    "migrations": "database migrations", "static": "static files", "templates": "templates",
    "themes": "themes",
}  # fmt: skip


def listing(request: Request, memory: Memory) -> Skill:
    """What lies in a folder."""
    path = request.get("path")
    if path == IT:
        place = memory.latest()
        path = place.path.rpartition("/")[0] if place else ""
    outcome = yield from (ask("ls", path=path) if path else ask("ls"))
    if outcome.failed:
        return (yield from explain_failure(path or ".", outcome))
    lines = outcome.text.strip().split("\n")
    if not outcome.text.strip():
        return f"{phrases.code(path) if path else 'This folder'} is empty."
    where = phrases.code(path) if path else "This folder"
    return f"{where} holds:\n\n{phrases.fenced(chr(10).join(phrases.capped(lines, 100)))}"


def overview(request: Request, memory: Memory) -> Skill:
    """What the project says of itself: README, manifest, folders, how its tests are run."""
    tree = yield from ask("ls")
    if tree.failed:
        return phrases.failed("The folder could not be listed", tree.text)
    names = names_in(tree)
    readme = next((name for name in names if _README.match(name)), "")
    manifests = [name for name in _MANIFESTS if name in names][:2]
    wanted = [*([readme] if readme else []), *manifests]
    texts: dict[str, str] = {}
    if wanted:
        outcomes = yield from ask_all(*(Call("read", {"file_path": name, "limit": 400}) for name in wanted))
        texts = {
            name: _body(outcome) for name, outcome in zip(wanted, outcomes, strict=True) if not outcome.failed
        }
    parts = [*_about(readme, manifests, texts), *_folders(names), *_next_steps(names)]
    if not names:
        return "This folder is empty. `create notes.md with 'hello'` makes a first file."
    return "\n\n".join(parts)


def facts(request: Request, memory: Memory) -> Skill:
    """How to install it, what it needs, which version: from the manifest and the README's own section."""
    tree = yield from ask("ls")
    if tree.failed:
        return phrases.failed("The folder could not be listed", tree.text)
    names = names_in(tree)
    readme = next((name for name in names if _README.match(name)), "")
    wanted = [*(name for name in _MANIFESTS if name in names), *([readme] if readme else [])][:3]
    if not wanted:
        return "I see no README and no manifest here that would say so. `list the files` shows what there is."
    outcomes = yield from ask_all(*(Call("read", {"file_path": name, "limit": 400}) for name in wanted))
    texts = {
        name: _body(outcome) for name, outcome in zip(wanted, outcomes, strict=True) if not outcome.failed
    }
    parts = [
        f"From {phrases.code(name)}:\n\n" + "\n".join(f"- {fact}" for fact in found)
        for name, text in texts.items()
        if name != readme and (found := _facts(name, text))
    ]
    if request.get("install"):
        section = _section(texts.get(readme, ""), "install")
        told = (
            f"{phrases.code(readme)} says:\n\n{section}"
            if section
            else "The README has no section on installing."
        )
        parts.insert(0, told)
    return "\n\n".join(parts) or f"{phrases.code(wanted[0])} does not say it in a form that I can read."


def _section(text: str, word: str) -> str:
    """The README's section whose heading holds `word`, without its heading, at most 40 lines."""
    lines = text.split("\n")
    entries = outline("README.md", text).entries
    for position, entry in enumerate(entries):
        if word in entry.label.lower():
            later = (other.line for other in entries[position + 1 :] if other.depth <= entry.depth)
            return "\n".join(lines[entry.line : next(later, len(lines) + 1) - 1][:40]).strip()
    return ""


def _about(readme: str, manifests: list[str], texts: Mapping[str, str]) -> list[str]:
    parts = []
    for manifest in manifests:
        facts = _facts(manifest, texts.get(manifest, ""))
        if facts:
            parts.append(f"From {phrases.code(manifest)}:\n\n" + "\n".join(f"- {fact}" for fact in facts))
    found = outline(readme, texts.get(readme, "")) if readme else None
    if found and found.summary:
        parts.insert(0, f"{phrases.code(readme)} says:\n\n> {found.summary}")
    if found and found.entries:
        headings = [entry.label for entry in found.entries if entry.depth <= 1][:12]
        parts.append(f"The README's sections: {', '.join(headings)}.")
    if not parts:
        parts.append("I see no README and no manifest that would say what this is.")
    return parts


def _facts(manifest: str, text: str) -> list[str]:
    """Name, version, purpose and needs from a manifest; only what stands in it."""
    data = _parsed(manifest, text)
    table: Any = data.get("project") or data.get("package") or data
    if not isinstance(table, Mapping):
        return []
    facts = [
        f"{key}: {table[key]}"
        for key in ("name", "version", "description")
        if isinstance(table.get(key), str)
    ]
    needed = table.get("dependencies") or data.get("dependencies")
    needs = (
        [re.split(r"[\s<>=!~;\[]", str(name))[0] for name in needed]
        if isinstance(needed, list | dict)
        else []
    )
    if needs:
        facts.append("depends on: " + ", ".join(needs[:12]) + (" …" if len(needs) > 12 else ""))
    python = table.get("requires-python")
    facts += [f"needs Python {python}"] if isinstance(python, str) else []
    scripts = table.get("scripts")
    if isinstance(scripts, Mapping) and scripts:
        facts.append("commands: " + ", ".join(phrases.code(str(name)) for name in list(scripts)[:10]))
    return facts


def _parsed(manifest: str, text: str) -> Mapping[str, Any]:
    try:
        if manifest.endswith(".toml"):
            return tomllib.loads(text)
        if manifest.endswith(".json"):
            data = json.loads(text)
            return data if isinstance(data, Mapping) else {}
    except (ValueError, RecursionError):
        return {}
    module = re.search(r"^module (\S+)", text, re.MULTILINE) if manifest == "go.mod" else None
    return {"name": module[1]} if module else {}


def _folders(names: list[str]) -> list[str]:
    folders = [name for name in names if name.count("/") == 1 and name.endswith("/") and name != ".git/"]
    if not folders:
        return []
    told = [
        f"- `{name}`" + (f" ({role})" if (role := _ROLES.get(name.rstrip("/").lower())) else "")
        for name in folders[:15]
    ]
    return ["Its folders:\n\n" + "\n".join(told)]


def _next_steps(names: list[str]) -> list[str]:
    command = test_command(names)
    tests = f"Its tests probably run with {phrases.code(command)}: say `run the tests`." if command else ""
    folders = [name.rstrip("/") for name in names if name.count("/") == 1 and name.endswith("/")]
    sources = [name for name in folders if _ROLES.get(name.lower()) == "sources"]
    packages = [name for name in folders if f"{name}/__init__.py" in names]
    folder = next(iter((*sources, *packages)), "")
    look = f"Say `explain {folder}` to look into the code." if folder else ""
    return [" ".join(part for part in (tests, look) if part)] if tests or look else []


def _body(outcome: Outcome) -> str:
    return "\n".join(line.text for line in numbered_lines(outcome.text))
