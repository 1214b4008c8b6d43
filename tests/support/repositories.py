"""Real repositories, and commands of the session that work in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from forge_core.approval import QuestionReply, QuestionRequest
from forge_core.commands.command_table import CommandTable
from forge_core.commands.dispatch import run_command
from forge_core.commands.result import CommandResult, RunWork
from forge_core.events import AgentEvent
from forge_core.session.session import ForgeSession


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would, and return what it prints."""
    variables = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | variables, capture_output=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout).rstrip("\n")


def make_repository(root: Path, *subjects: str) -> Path:
    """Make a repository with a user, and one empty commit for each subject. What a session writes is ignored."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("/state/\n/own/\n")
    for subject in subjects:
        git(root, "commit", "-q", "--allow-empty", "-m", subject)
    return root


def write_files(root: Path, **contents: str) -> None:
    """Write files whose names end with .py: `write_files(root, parser="x = 1")`."""
    for name, text in contents.items():
        (root / f"{name}.py").write_text(f"{text}\n")


class Choosing:
    """A user who gives these answers to questions, one each; None declines. `asked` holds the requests."""

    def __init__(self, *answers: str | tuple[str, ...] | None) -> None:
        self._answers = [*answers]
        self.asked: list[QuestionRequest] = []

    @property
    def texts(self) -> list[str]:
        return [request.questions[0].text for request in self.asked]

    async def __call__(self, request: QuestionRequest) -> QuestionReply:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if answer is None:
            return QuestionReply(declined=True)
        return QuestionReply((answer if isinstance(answer, tuple) else (answer,),))


async def do(session: ForgeSession, line: str) -> tuple[list[CommandResult], list[AgentEvent]]:
    """Run a line such as "/commit fix", with the work that it asks for; return its results and events."""
    name, _, argument = line.removeprefix("/").partition(" ")
    spec = CommandTable().find(name)
    assert spec is not None and spec.problem(argument) is None
    result = await run_command(spec, argument, session)
    if not isinstance(result, RunWork):
        return [result], []
    shown: list[CommandResult] = []
    job = result.job
    events = [event async for event in session.work.run(lambda sink: job(sink, shown.append))]
    return shown, events
