"""The facts in a project's manifest: pyproject.toml, package.json, Cargo.toml, go.mod and others. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MANIFESTS = (
    "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "setup.cfg", "setup.py", "composer.json",
    "pom.xml"
)  # fmt: skip
_REQUIREMENT = re.compile(r"^([\w.@/-]+)\s*(?:\[[^\]]*\])?\s*(.*)$")
_ASSIGNED = re.compile(
    r"^\s*(name|version|description|license|author|python_requires)\s*=\s*\(?['\"]?([^'\"\n]+)", re.MULTILINE
)
"""The fields of setup.py and setup.cfg."""
_REQUIRES = re.compile(r"^\s*install_requires\s*=\s*(\[[^\]]*\]|\n(?:[ \t]+\S.*\n?)+)", re.MULTILINE)
_LANGUAGES = {"requires-python": "Python", "python_requires": "Python", "rust-version": "Rust", "go": "Go"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts in a manifest; empty where it has none."""

    name: str = ""
    version: str = ""
    description: str = ""
    license: str = ""
    languages: tuple[str, ...] = ()
    """The languages and the versions that are needed: `Python >=3.11`."""
    authors: tuple[str, ...] = ()
    dependencies: Mapping[str, str] = field(default_factory=dict)
    """Name → version, as written; "" where any version will do."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The programs or scripts by name, and what they start."""


def read_manifest(path: str, text: str) -> Manifest:
    """Return the manifest in `text`, of the kind that `path` names. What cannot be read is left out."""
    data = _parsed(path.rsplit("/", 1)[-1], text)
    sections = (data.get("project"), data.get("package"), _map(data.get("tool")).get("poetry"))
    table = next(filter(None, map(_map, sections)), data)
    needs = _needs(table.get("dependencies") or data.get("dependencies") or data.get("require"))
    languages = [f"{language} {table[key]}" for key, language in _LANGUAGES.items() if table.get(key)]
    languages += [f"{name.capitalize()} {wanted}" for name, wanted in _map(table.get("engines")).items()]
    languages += [f"Python {needs.pop('python')}"] if "python" in needs else []
    people = _list(table.get("authors")) + _list(table.get("author"))
    authors = [_text(one, "name", "email").partition(" <")[0] for one in people]
    main = {"main": table["main"]} if table.get("main") else {}
    starts = _map(table.get("scripts")) or _map(table.get("bin")) or main
    return Manifest(
        _text(table.get("name")),
        _text(table.get("version")),
        _text(table.get("description")),
        _text(table.get("license"), "text", "file").split("\n")[0],
        tuple(languages),
        tuple(filter(None, authors)),
        needs,
        {str(name): str(what) for name, what in starts.items()},
    )


def _parsed(name: str, text: str) -> Mapping[str, Any]:
    try:
        if name.endswith((".toml", ".json")):
            return _map(tomllib.loads(text) if name.endswith(".toml") else json.loads(text))
    except (ValueError, RecursionError):
        return {}
    if name == "go.mod":
        found = dict(re.findall(r"^(module|go) (\S+)", text, re.MULTILINE))
        needs = dict(re.findall(r"^(?:require )?\s*([\w.-]+\.\w+/\S+) (v\S+)", text, re.MULTILINE))
        return {"name": found.get("module"), "go": found.get("go"), "dependencies": needs}
    if name == "pom.xml":
        own = re.sub(r"(?s)<(parent|dependencies|build|dependencyManagement)>.*?</\1>", "", text)
        found = dict(reversed(re.findall(r"<(artifactId|version|description)>([^<]+)<", own)))
        return {**found, "name": found.get("artifactId")}
    fields = {key: value.strip() for key, value in reversed(_ASSIGNED.findall(text))}
    listed = _REQUIRES.search(text)
    return {**fields, "dependencies": re.findall(r"[^\s'\",\[\]][^'\",\n]*", listed[1]) if listed else []}


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if value else []


def _text(value: object, *keys: str) -> str:
    """Return a text, or the entry of a table under the first of `keys` that it has."""
    found = next((value[key] for key in keys if key in value), "") if isinstance(value, Mapping) else value
    return found if isinstance(found, str) else ""


def _needs(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(name): _text(spec, "version") for name, spec in value.items()}
    split = (_REQUIREMENT.match(str(one).partition(";")[0].strip()) for one in _list(value))
    return {found[1]: found[2].strip() for found in split if found}
