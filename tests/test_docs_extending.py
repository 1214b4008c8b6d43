"""The examples of docs/extending.md: files that people copy, each after a comment with its kind and name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.custom_commands import CustomCommand, MessageText, ShellPart, argument_hint
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import FOLDERS, ExtensionKind, ExtensionScope, SearchedFolder
from forge_core.extensions.model_aliases import named_model
from forge_core.extensions.styles import find_style
from forge_core.runtime import load_session_config
from tests.generate_docs import ROOT

PAGE = (ROOT / "docs/extending.md").read_text("utf-8")
_FILE = re.compile(r"<!-- (command|style): ([\w-]+) -->\n```markdown\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def documented(kind: ExtensionKind, name: str, folder: Path) -> Definition:
    """What the file of this kind and name on the page defines."""
    text = next(text for one, named, text in _FILE.findall(PAGE) if (one, named) == (kind, name))
    path = folder / FOLDERS[kind][0] / f"{name}.md"
    path.parent.mkdir()
    path.write_text(text)
    found = Definition.read(path, kind, SearchedFolder(path.parent, ExtensionScope.USER, None))
    assert not found.problems
    return found


def test_the_command_does_what_the_page_says(tmp_path: Path) -> None:
    command = CustomCommand.of(documented(ExtensionKind.COMMAND, "review", tmp_path))

    assert (command.name, argument_hint(command.definition)) == ("review", "[file]")
    assert command.definition.description == "Look for bugs in a file"
    assert [str(rule) for rule in command.grants()[0]] == ["bash(git log:*)"]
    assert command.expand("src/main.py") == (
        MessageText("Look for bugs in @src/main.py. Its last changes:\n\n"),
        ShellPart("git log -3 --oneline -- src/main.py"),
    )


def test_the_style_does_what_the_page_says(tmp_path: Path) -> None:
    catalog = ExtensionCatalog((documented(ExtensionKind.STYLE, "teacher", tmp_path),))

    style = find_style("teacher", catalog)

    assert style is not None and style.keeps_work
    assert style.description == "For people who learn to program"
    assert style.text.startswith("Explain every term")


def test_the_models_that_the_page_names_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```toml\n(\[model_aliases\]\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("FORGE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text(example)
    config = load_session_config(tmp_path)

    for name, model in tomllib.loads(example)["model_aliases"].items():
        assert named_model(name, config, ()).model == model
