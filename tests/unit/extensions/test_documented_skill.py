"""The skill in docs/extending.md does what the page says."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from forge_core.extensions.catalog import load_catalog
from forge_core.extensions.custom_commands import CustomCommand
from forge_core.extensions.locations import ExtensionKind
from forge_core.extensions.skills import skill_list, skill_text, skills_for_model
from forge_core.runtime import load_session_config

PAGE = Path(__file__).parents[3] / "docs/extending.md"
_EXAMPLE = re.compile(
    r"^`~/\.claude/(?P<path>[^`]+)`:\n\n```markdown\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def written_examples(home: Path) -> list[Path]:
    """Write each file that the page shows to its place; return their paths."""
    paths = []
    for found in _EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")):
        path = home / ".claude" / found["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found["text"], encoding="utf-8")
        paths.append(path)
    return paths


def test_the_skill_of_the_page_is_listed_loaded_and_grants_what_it_says(tmp_path: Path) -> None:
    written_examples(tmp_path)
    (tmp_path / "work").mkdir()
    config = load_session_config(tmp_path / "work")
    catalog = load_catalog(dataclasses.replace(config, own_extensions=(tmp_path / ".claude",)))

    skill = catalog.find(ExtensionKind.SKILL, "release-notes")
    assert skill is not None
    assert catalog.problems == ()
    listed = skill_list(skills_for_model(catalog), None).text
    assert "- release-notes: Writes release notes from the git log. Use before a release" in listed
    assert "Write the release notes for 2.1.\n\n1. Run `git log` from" in skill_text(skill, "2.1")
    assert [str(rule) for rule in CustomCommand.of(skill).grants()[0]] == [
        "bash(git log:*)",
        "bash(git tag:*)",
    ]
