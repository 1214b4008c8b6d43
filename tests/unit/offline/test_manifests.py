"""What each kind of manifest says of its project."""

from __future__ import annotations

import pytest

from forge_core.offline.skills.manifests import Manifest, read_manifest
from tests.unit.offline.driver import Talk

_PYPROJECT = """
[project]
name = "pot"
version = "1.2"
license = { text = "MIT" }
requires-python = ">=3.11"
authors = [{ name = "Ada Novak", email = "ada@example.org" }]
dependencies = ["httpx[http2]>=0.28,<1", "idna; python_version < '4'"]
scripts = { pot = "pot:main" }
"""
_POETRY = """
[tool.poetry]
name = "pot"
version = "1.2"
authors = ["Ada Novak <ada@example.org>"]
dependencies = { python = "^3.11", httpx = { version = "0.28" } }
"""
_PACKAGE_JSON = """{"name": "pot", "version": "1.2", "license": "MIT", "author": "Ada Novak <ada@example.org>",
"engines": {"node": ">=20"}, "dependencies": {"react": "^19"}, "scripts": {"test": "vitest"}}"""
_CARGO = '[package]\nname = "pot"\nversion = "1.2"\nrust-version = "1.70"\n[dependencies]\nserde = "1"\n'
_GO = "module example.org/pot\n\ngo 1.22\n\nrequire (\n\tgithub.com/a/b v1.4.0\n)\n"
_SETUP_CFG = "[metadata]\nname = pot\nversion = 1.2\n[options]\npython_requires = >=3.9\ninstall_requires =\n    idna\n    httpx>=0.28\n"
_SETUP_PY = 'setup(\n    name="pot",\n    version="1.2",\n    install_requires=["idna", "httpx>=0.28"],\n)\n'
_POM = "<project><parent><version>9</version></parent><artifactId>pot</artifactId><version>1.2</version></project>"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "pyproject.toml",
            _PYPROJECT,
            Manifest(
                "pot", "1.2", "", "MIT", ("Python >=3.11",), ("Ada Novak",),
                {"httpx": ">=0.28,<1", "idna": ""}, {"pot": "pot:main"},
            ),
        ),
        (
            "pyproject.toml",
            _POETRY,
            Manifest("pot", "1.2", languages=("Python ^3.11",), authors=("Ada Novak",), dependencies={"httpx": "0.28"}),
        ),
        (
            "package.json",
            _PACKAGE_JSON,
            Manifest(
                "pot", "1.2", "", "MIT", ("Node >=20",), ("Ada Novak",), {"react": "^19"}, {"test": "vitest"}
            ),
        ),
        ("Cargo.toml", _CARGO, Manifest("pot", "1.2", languages=("Rust 1.70",), dependencies={"serde": "1"})),
        (
            "go.mod",
            _GO,
            Manifest("example.org/pot", languages=("Go 1.22",), dependencies={"github.com/a/b": "v1.4.0"}),
        ),
        (
            "setup.cfg",
            _SETUP_CFG,
            Manifest("pot", "1.2", languages=("Python >=3.9",), dependencies={"idna": "", "httpx": ">=0.28"}),
        ),
        ("setup.py", _SETUP_PY, Manifest("pot", "1.2", dependencies={"idna": "", "httpx": ">=0.28"})),
        ("pom.xml", _POM, Manifest("pot", "1.2")),
    ],
    ids=("pep 621", "poetry", "npm", "cargo", "go", "setup.cfg", "setup.py", "maven"),
)  # fmt: skip
def test_a_manifest_is_read(path: str, text: str, expected: Manifest) -> None:
    assert read_manifest(path, text) == expected


@pytest.mark.parametrize(
    "text", ["", "\x00", "[", "{", "[project]\nnames = 3\ndependencies = 7", '{"author": [1, {}]}']
)
@pytest.mark.parametrize(
    "path", ["pyproject.toml", "package.json", "go.mod", "setup.cfg", "setup.py", "pom.xml"]
)
def test_a_broken_manifest_gives_no_facts_and_no_error(path: str, text: str) -> None:
    assert read_manifest(path, text).name == ""


async def test_the_version_of_a_dependency_is_read_from_the_manifest(talk: Talk) -> None:
    assert "`kettle`: `>=2`" in await talk("which version of kettle do we need?")
    assert "version: 1.2" in await talk("whats the version")
