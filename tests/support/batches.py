"""Batches for tests: a repository, a file of tasks, and the program that runs them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.sse_server import MODEL

IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@example.org")


@dataclass(frozen=True, slots=True)
class BatchFolder:
    """A folder with a repository, tasks and results."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> BatchFolder:
        folder = cls(path)
        folder.repo.mkdir(parents=True)
        (folder.repo / "greeting.py").write_text("Hello\n")
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run(["git", *IDENTITY, *words], cwd=folder.repo, check=True)
        return folder

    @property
    def repo(self) -> Path:
        return self.path / "repo"

    @property
    def out(self) -> Path:
        return self.path / "out"

    @property
    def tasks(self) -> Path:
        return self.path / "tasks.jsonl"

    def write(self, tasks: Iterable[Mapping[str, Any]], **shared: Any) -> None:
        """Write the file of tasks; `shared` holds fields of all of them."""
        lines = [{"repo": "repo", **shared, **one} for one in tasks]
        self.tasks.write_text("".join(json.dumps(one) + "\n" for one in lines))

    def program(self, *options: str) -> subprocess.Popen[str]:
        """Start `forge batch`, as the leader of a group."""
        command = [sys.executable, "-m", "forge_tui.cli", "batch", str(self.tasks), "--out", str(self.out)]
        return subprocess.Popen(
            [*command, *options],
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> tuple[int, str]:
        """Run it to its end; return the exit code and what it has printed."""
        program = self.program(*options)
        text = program.communicate(timeout=240)[0]
        return program.returncode, text

    def log(self) -> list[dict[str, Any]]:
        """Return the whole lines of the record."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for line in (self.out / "batch.jsonl").read_text().split("\n"):
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return the results by the id of their task."""
        lines = (self.out / "results.jsonl").read_text().splitlines()
        return {row["id"]: row for row in map(json.loads, lines)}

    def ends(self) -> Counter[str]:
        """Return how often each task has ended."""
        return Counter(one["id"] for one in self.log() if one["type"] == "end")

    def lost_worktrees(self) -> set[str]:
        """Return the worktrees that no record of an attempt or an end names, and those that are gone although one
        says that they were kept."""
        listed = subprocess.run(
            ["git", "worktree", "list", "--porcelain"],
            cwd=self.repo,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        there = {
            line.removeprefix("worktree ") for line in listed.splitlines() if line.startswith("worktree ")
        }
        kept = {
            one["worktree"] for one in self.log() if one["type"] in ("attempt", "end") and one["worktree"]
        }
        unknown = {one for one in there if Path(one) != self.repo} - kept
        return unknown | {one for one in kept if not Path(one, ".git").exists()}


def at(url: str) -> dict[str, Any]:
    """Return the fields of a task whose model is at a loopback server."""
    return {"model": MODEL, "env": {"FORGE_BASE_URL": url}}


def without_request_retries() -> None:
    """Make every `forge` of the test send each request once."""
    folder = Path(os.environ["FORGE_HOME"]) / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("max_retries = 0\n")
