"""`/pr`: the draft from the commits, where it goes, and that gh runs only when its line was approved."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import Answer
from forge_core.commands.result import CommandNotice, CopyText, Failure
from forge_core.config.forge_config import Endpoint
from forge_core.events import ToolEnd
from forge_core.session.session import ForgeSession
from tests.support.repositories import Choosing, do, git, make_repository, write_files
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sessions import Answering, scripted_session

TEXT = "# Parse dates\n\n## Why\nThey were text.\n\nGenerated with Claude Code"
DRAFT = "Parse dates\n\n## Why\nThey were text."


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A branch of two commits, of which main has none, in a repository with a template."""
    root = make_repository(tmp_path / "repo", "Start")
    (root / ".github").mkdir()
    (root / ".github" / "PULL_REQUEST_TEMPLATE.md").write_text("## Why\n\n## Tests\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Add a template")
    git(root, "checkout", "-qb", "ada/parse-dates")
    for name, text in (("dates", "x = 1"), ("key", "k = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'")):
        write_files(root, **{name: text})
        git(root, "add", ".")
        git(root, "commit", "-qm", f"Add {name}\n\nBecause of {name}.")
    return root


def opened(root: Path, user: Choosing, *replies: str, approver: Answering | None = None) -> ForgeSession:
    return scripted_session(root, [[reply] for reply in replies], questioner=user, approver=approver)


def sent(session: ForgeSession) -> str:
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return "\n".join(str(message.content) for call in llm.seen for message in call)


async def test_the_draft_is_made_of_the_commits_and_the_template_and_can_be_edited(repo: Path) -> None:
    write_files(repo, dirty="y = 1")
    user = Choosing(f"{DRAFT}\n\nAnd tested.", "Copy it")
    session = opened(repo, user, TEXT)
    [result], _ = await do(session, "/pr")
    assert isinstance(result, CopyText) and result.text == f"{DRAFT}\n\nAnd tested."
    assert user.asked[0].heading == "Pull request onto main, 2 commits"
    assert user.texts[0] == f"{DRAFT}\n\nUncommitted changes are not included."
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    [[_, request]] = llm.seen
    asked = str(request.content)
    for text in (
        "Add dates\nBecause of dates.",
        "ada/parse-dates onto main",
        "+x = 1",
        "## Tests",
        "added key.py",
    ):
        assert text in asked
    assert "ghp_" not in asked and "y = 1" not in asked and "Add a template" not in asked
    [result], _ = await do(opened(repo, Choosing(None), TEXT), "/pr")
    assert isinstance(result, CommandNotice) and "dropped" in result.text


async def test_a_file_is_written_but_none_is_replaced(repo: Path) -> None:
    user = Choosing("Write my pr.md")
    await do(opened(repo, user, TEXT), "/pr my pr.md")
    assert (repo / "my pr.md").read_text() == f"{DRAFT}\n"
    [result], _ = await do(opened(repo, Choosing(), TEXT), "/pr my pr.md")
    assert isinstance(result, Failure) and "exists already" in result.text
    [result], _ = await do(opened(repo, Choosing("Write no/where.md"), TEXT), "/pr no/where.md")
    assert isinstance(result, Failure) and "cannot be written" in result.text
    [result], _ = await do(opened(repo, Choosing("Write ~nobody/x.md"), TEXT), "/pr ~nobody/x.md")
    assert isinstance(result, Failure) and "cannot be written" in result.text


async def test_the_offline_model_gives_the_subjects_and_the_template(repo: Path) -> None:
    user = Choosing("Copy it")
    session = opened(repo, user)
    session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    [result], _ = await do(session, "/pr main")
    assert isinstance(result, CopyText)
    assert result.text == "Parse dates\n\n- Add dates\n- Add key\n\n## Why\n\n## Tests"


async def test_the_template_is_one_of_the_folder_that_the_model_may_read(repo: Path, tmp_path: Path) -> None:
    session = opened(repo, Choosing(None), TEXT)
    session.policy.add("deny", "read(.github/**)")
    await do(session, "/pr")
    assert sent(session) and "## Tests" not in sent(session)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/default.md").write_text("a diary\n")
    git(repo, "rm", "-rq", ".github")
    (repo / ".github").symlink_to(tmp_path / "private")
    session = opened(repo, Choosing(None), TEXT)
    await do(session, "/pr")
    assert sent(session) and "a diary" not in sent(session)


async def test_a_text_of_the_commits_holds_nothing_that_a_terminal_obeys(repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    git(repo, "checkout", "-qb", "\u202efix")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Fix\x1b[31m\n\n\x1b[201~rm -rf\u202e")
    user = Choosing("Copy it")
    session = opened(repo, user)
    session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    [result], _ = await do(session, "/pr")
    assert isinstance(result, CopyText) and result.text.startswith("Fix␛[31m\n\n␛[201~rm -rf\\u202e")
    assert user.texts[0].startswith(result.text)


GH = """#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
printf '\\n'; cat
"""


async def test_gh_runs_only_after_its_line_was_approved(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    title = "It's $(a) `title`"
    approver = Answering(Answer.NO, Answer.ONCE)
    session = opened(repo, Choosing(*["Create it with gh"] * 3), f"{title}\n\nText", approver=approver)
    [result], events = await do(session, "/pr gh")
    assert isinstance(result, CommandNotice) and "gh was not run" in result.text
    assert not any(isinstance(event, ToolEnd) for event in events)
    git(repo, "config", "core.fsmonitor", "./watch")  # gh calls git, which runs it
    [result], events = await do(session, "/pr gh main")
    git(repo, "config", "--unset", "core.fsmonitor")
    assert approver.asked[1].details["The repository's settings name"] == "core.fsmonitor ./watch"
    assert isinstance(result, CommandNotice) and "has created" in result.text
    [card] = [event for event in events if isinstance(event, ToolEnd)]
    assert card.result == f"<pr><create><--base><main><--title><{title}><--body-file><->\nText"
    request = approver.asked[1]
    assert (
        request.is_destructive
        and request.sandbox == "off"
        and request.target.startswith("gh pr create --base")
    )
    session.policy.add("deny", "bash(gh:*)")
    [result], events = await do(session, "/pr gh main")
    assert isinstance(result, Failure) and len(approver.asked) == 2 and "gh was not run" in result.text


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("/pr copy nope", "There is no branch 'nope'"),
        ("/pr copy --output=x", "There is no branch '--output=x'"),
        ("/pr copy HEAD", "There is nothing to request"),
    ],
)
async def test_what_cannot_be_requested_is_explained(repo: Path, line: str, complaint: str) -> None:
    [result], _ = await do(opened(repo, Choosing()), line)
    assert isinstance(result, Failure) and complaint in result.text


async def test_the_base_is_the_main_branch_of_the_server(repo: Path, tmp_path: Path) -> None:
    git(repo, "branch", "-m", "main", "trunk")
    [result], _ = await do(opened(repo, Choosing()), "/pr")
    assert isinstance(result, Failure) and "No base was found" in result.text
    git(tmp_path, "clone", "-q", "--branch", "trunk", str(repo), "clone")
    clone = tmp_path / "clone"
    git(clone, "checkout", "-q", "--detach")
    git(clone, "remote", "set-head", "origin", "trunk")
    write_files(clone, more="z = 1")
    git(clone, "add", "more.py")
    git(clone, "commit", "-qm", "Add more")
    user = Choosing("Copy it")
    session = opened(clone, user)
    session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    [result], _ = await do(session, "/pr")
    assert user.asked[0].heading == "Pull request onto trunk, 1 commit"
    assert isinstance(result, CopyText) and result.text.startswith("Add more\n\n## Why")
