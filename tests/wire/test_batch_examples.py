"""The examples of docs/batch.md, run as they are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.batches import IDENTITY

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "batch.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with clones, where `forge` uses the offline model."""
    for name in ("shop", "django__django"):
        clone = tmp_path / "clones" / name
        clone.mkdir(parents=True)
        (clone / "LICENSE").write_text("Copyright 2025 the authors\n")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run(["git", *IDENTITY, *words], cwd=clone, check=True)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/forge"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m forge_tui.cli "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FORGE_MODEL", "offline")
    return tmp_path


def run_blocks(folder: Path, heading: str) -> str:
    """Run the examples of a section in order; return what they print."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    printed = ""
    for language, code in BLOCK.findall(section):
        shell = ["bash", "-e", "-c"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run([*shell, code], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        printed += done.stdout
    return printed


def test_one_prompt_changes_many_clones(folder: Path) -> None:
    printed = run_blocks(folder, "One prompt over many clones")
    assert "2 of 2 complete" in printed and "+Copyright 2026" in printed
    for clone in (folder / "clones").iterdir():
        assert (clone / "LICENSE").read_text() == "Copyright 2026 the authors\n"


def test_instances_of_swe_bench_become_predictions(folder: Path) -> None:
    clone = folder / "clones/django__django"
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
    instance = {
        "instance_id": "django__django-11099",
        "repo": "django/django",
        "base_commit": head.stdout.strip(),
        "problem_statement": "Replace 2025 by {{year}} in LICENSE",
    }
    (folder / "instances.jsonl").write_text(json.dumps(instance) + "\n")
    assert "1 of 1 complete" in run_blocks(folder, "SWE-bench")
    prediction = json.loads((folder / "predictions.jsonl").read_text())
    patch = prediction.pop("model_patch")
    assert prediction == {"instance_id": "django__django-11099", "model_name_or_path": "forge"}
    assert "+Copyright {{year}} the authors" in patch
    subprocess.run(["git", "apply", "--check"], cwd=clone, input=patch, text=True, check=True)
