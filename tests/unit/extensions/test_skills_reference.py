"""The reference program of agentskills.io agrees with Forge on generated skills, valid and invalid ones."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from forge_core.extensions.catalog import load_catalog
from forge_core.extensions.locations import ExtensionKind
from forge_core.runtime import load_session_config

reference = pytest.importorskip("skills_ref", reason="skills-ref is not installed")

COUNT = 60
NAMES = ("pdf", "release-notes", "a1", "x" * 64, "über-prüfung", "数据", "on", "no", "true")
BAD_NAMES = (
    "PDF",
    "-pdf",
    "pdf-",
    "pdf--forms",
    "pdf_forms",
    "pdf forms",
    "x" * 65,
    "pdf.v2",
    "a:b",
    "Ünder",
)
DESCRIPTIONS = (
    "Extracts text from PDF files. Use when the user mentions forms.",
    "'Quoted: with a colon'",
    '"Double \\"quoted\\" text"',
    ">-\n  Folded over\n  two lines",
    "|\n  Literal\n  lines",
    "d" * 1024,
    "1.5",
    "Uses `code`, *stars* and <tags>",
)
BAD_DESCRIPTIONS = ("", "''", "d" * 1025, None)
EXTRAS = (
    "",
    "license: Apache-2.0",
    "allowed-tools: Bash(git add *) Read",
    'metadata:\n  author: someone\n  version: "1.0"',
    "compatibility: Needs Python 3.11",
)
LENIENT = ("Unexpected fields", "Compatibility exceeds", "Missing required field in frontmatter: name")
"""Errors of the reference that Forge says nothing about: such files are common, and mean what they say."""


def generated(seed: int) -> tuple[str, str]:
    """A folder's name, and the text of its SKILL.md. Every third one has a fault."""
    pick = random.Random(seed)
    name, description, extra = pick.choice(NAMES), pick.choice(DESCRIPTIONS), pick.choice(EXTRAS)
    folder, given = name, name
    body = f"# {name}\n\nDo it."
    if seed % 3 == 0:
        fault = pick.randrange(7)
        if fault == 0:
            folder = given = pick.choice(BAD_NAMES)
        elif fault == 1:
            folder, given = "another", "pdf"
        elif fault == 2:
            given = ""
        elif fault == 3:
            description = pick.choice(BAD_DESCRIPTIONS) or ""
        elif fault == 4:
            extra = "user-invocable: false"
        elif fault == 5:
            extra = f"compatibility: {'c' * 501}"
        else:
            return folder, f"{body}\n"
    lines = [f"name: {given}"] if given else []
    lines += [f"description: {description}", *([extra] if extra else [])]
    return folder, "\n".join(["---", *lines, "---", body, ""])


def test_the_reference_agrees_on_generated_skills(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    loaded = load_session_config(tmp_path / "work")
    counts = {"valid": 0, "warned": 0, "lenient": 0, "skipped": 0}
    for seed in range(COUNT):
        place = tmp_path / str(seed)
        name, text = generated(seed)
        folder = place / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        errors = reference.validate(folder)
        catalog = load_catalog(dataclasses.replace(loaded, own_extensions=(place,)))
        found = catalog.of_kind(ExtensionKind.SKILL)
        context = f"{seed}: {text!r}: {errors} / {catalog.problems}"

        if not errors:
            known = reference.read_properties(folder)
            (one,) = found
            assert catalog.problems == (), context
            assert one.name == known.name, context
            assert one.description.split() == known.description.split(), context
            counts["valid"] += 1
        elif not found:
            assert "has no description" in catalog.problems[0], context
            counts["skipped"] += 1
        elif all(error.startswith(LENIENT) for error in errors):
            counts["lenient"] += 1
        else:
            assert catalog.problems, context
            counts["warned"] += 1

    assert sum(counts.values()) == COUNT
    assert all(counts.values()), counts
