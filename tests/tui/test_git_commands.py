"""The commands around git, in the app and in plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Responder
from forge_tui.screens.prompts.question import QuestionPrompt
from tests.support.chat_app import ChatApp, make_app, make_config, pass_until, ready, say, shown, until
from tests.support.repositories import git, make_repository, write_files
from tests.support.scripted_llm import Gate, Piece
from tests.support.sessions import scripted_session
from tests.tui.test_plain_chat import piped

pytestmark = pytest.mark.slow


def app_in(repo: Path, *replies: list[Piece]) -> ChatApp:
    """The app around a real session in a repository."""

    def session(responder: Responder, _: Any) -> Any:
        return scripted_session(repo, replies, approver=responder, questioner=responder)

    return make_app(make_config(repo.parent, working_dir=repo), make_session=session)


async def test_a_commit_from_the_choice_of_files_to_its_pull_request(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", "Start")
    write_files(repo, parser="x = 1", other="y = 1")
    hook = repo / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho '[red]counted[/red]'\n")
    hook.chmod(0o755)
    gate = Gate()
    app = app_in(repo, ["Never", gate], ["Add [b]x[/b]"], ["Add [b]a parser[/b]"])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)

        async def asked(text: str) -> None:
            await until(pilot, lambda: isinstance(app.focused, QuestionPrompt) and text in shown(app), text)
            app.clock.pass_(2)

        await say(pilot, "/commit")
        await asked("Nothing is staged.")
        await pilot.press("down", "down", "space", "enter")
        await gate.reached.wait()
        await pilot.press("escape")  # the model takes too long
        await until(pilot, lambda: not app.chat.has_turn)
        assert git(repo, "status", "--porcelain") == "A  parser.py\n?? other.py"
        await say(pilot, "/commit")
        await asked("Add [b]x[/b]")
        assert "Commit 1 file" in shown(app) and "git runs post-commit (.git/hooks)." in shown(app)
        await pilot.press("enter")
        await pass_until(app, pilot, lambda: "Committed: Add [b]x[/b]" in shown(app))
        assert "[red]counted[/red]" in shown(app) and not app.chat.has_turn
        git(repo, "branch", "base", "HEAD~1")
        await say(pilot, "/pr base")
        await asked("Pull request onto base, 1 commit")
        await pilot.press("enter")
        await until(pilot, lambda: app.clipboard == "Add [b]a parser[/b]" and not app.chat.has_turn)
        assert "The title and the text of the pull request\n" in shown(app)
        assert shown(app).count("Add [b]a parser[/b]") == 1
    assert git(repo, "log", "-1", "--format=%s") == "Add [b]x[/b]"


def test_a_commit_in_plain_text(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", "Start")
    write_files(repo, parser="x = 1", other="y = 1")
    done = piped("/commit\n3\n3\nAdd a parser\n1\n", repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "Question: Commit: choose files\n" in done.stdout
        and "Notice: Committed: Add a parser\n" in done.stdout
    )
    assert git(repo, "show", "--name-only", "--format=%s") == "Add a parser\n\nparser.py"
