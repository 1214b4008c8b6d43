"""`/review`: what is shown to the model, what becomes of its findings, and that nothing is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.commands.result import CommandNotice, Document, Failure
from forge_core.config.forge_config import Endpoint
from forge_core.events import Notice
from forge_core.session.session import ForgeSession
from tests.support.repositories import do, git, make_repository, write_files
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sessions import scripted_session


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "repo", "Start")
    write_files(
        root,
        dates="def parse(text):\n    return text.split('-')\n\n\ndef day(text):\n    return parse(text)[2]",
    )
    git(root, "add", ".")
    git(root, "commit", "-qm", "Add dates")
    return root


def opened(root: Path, *replies: str | Exception) -> ForgeSession:
    return scripted_session(root, [[reply] for reply in replies])


def calls(session: ForgeSession) -> list[str]:
    """What the model was asked, one text a call."""
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return [str(call[-1].content) for call in llm.seen]


async def shown(session: ForgeSession, line: str) -> str:
    before = git(session.config.working_dir, "status", "--porcelain")
    [result], _ = await do(session, line)
    assert git(session.config.working_dir, "status", "--porcelain") == before
    assert isinstance(result, CommandNotice | Document | Failure)
    return f"{result.title}\n{result.body}" if isinstance(result, Document) else result.text


ANSWER = """Here are the findings:
- `dates.py:6` **High** - day() raises IndexError for "2026-01"
dates.py:2 low  parse() loses\x1b[31m a leading minus
dates.py:99 critical There is no such line
other.py:1 high Another file
dates.py:x high No line
dates.py:6 urgent No severity"""


async def test_findings_are_checked_against_the_file_before_they_are_shown(repo: Path) -> None:
    session = opened(repo, ANSWER, "1. yes\n2: no, it does not\n2 yes")
    text = await shown(session, "/review dates.py")
    assert text == (
        "Review of dates.py: 1 finding\n"
        "- `dates.py:2` **low** parse() loses␛[31m a leading minus\n\n"
        "1 file reviewed, 2 findings dropped by the check against the file."
    )
    first, second = calls(session)
    assert "=== dates.py\n" in first and "     2   \u0020   return text.split('-')" in first
    assert (
        "1. line 2: parse() loses" in second
        and "2. line 6: day() raises" in second
        and "There is no such line" not in second
    )
    assert session.status.usage.total_tokens > 0
    await shown(opened(repo, "none"), "/review dates.py")


async def test_the_next_message_informs_the_model_of_the_findings(repo: Path) -> None:
    session = opened(repo, "dates.py:2 low A claim", "1 yes", "Fixed.")
    await shown(session, "/review dates.py")
    assert [event async for event in session.send("fix it")]
    assert "dates.py:2 low A claim" in calls(session)[-1] and '<review mark="' in calls(session)[-1]


@pytest.mark.parametrize(
    ("target", "seen", "unseen"),
    [
        ("", ["+ UNSTAGED", "+ STAGED", "+ NEW"], ["+ SIDE"]),
        ("main", ["+ SIDE", "+ UNSTAGED", "+ NEW"], ["MAIN"]),
        ("main..side", ["+ SIDE"], ["MAIN", "UNSTAGED", "NEW"]),
        ("main...", ["+ SIDE"], ["MAIN", "UNSTAGED", "NEW"]),
    ],
)
async def test_what_a_target_means(repo: Path, target: str, seen: list[str], unseen: list[str]) -> None:
    git(repo, "checkout", "-qb", "side")
    write_files(repo, side="SIDE = 1")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Side")
    git(repo, "checkout", "-q", "main")
    write_files(repo, only_main="MAIN = 1")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Main")
    git(repo, "checkout", "-q", "side")
    write_files(repo, staged="STAGED = 1", new="NEW = 1", side="SIDE = 1\nUNSTAGED = 1")
    git(repo, "add", "staged.py")
    session = opened(repo, "none")
    assert "no findings" in await shown(session, f"/review {target}".strip())
    [request] = calls(session)
    assert [text for text in seen if text not in request] == []
    assert [text for text in unseen if text in request] == []


async def test_findings_of_a_range_are_checked_against_its_end_not_the_work_tree(repo: Path) -> None:
    write_files(repo, dates="broken")
    session = opened(repo, "dates.py:6 high Fails for short dates", "1 yes")
    assert "`dates.py:6` **high**" in await shown(session, "/review HEAD~1..HEAD")
    assert "return parse(text)[2]" in calls(session)[1]


async def test_what_the_model_may_not_read_is_left_out_and_named(repo: Path) -> None:
    (repo / ".env").write_text("TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n")
    (repo / "code.py").write_text("k = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'\n")
    (repo / "image.bin").write_bytes(b"\0\1\2")
    (repo / "link.py").symlink_to("/etc/hostname")
    (repo / "odd\nname.py").write_text("odd = 1\n")
    session = opened(repo, '"odd\\nname.py":1 low Odd\n.env:1 high Secret', "1 yes")
    text = await shown(session, "/review")
    assert '`"odd\\nname.py":1` **low** Odd' in text and "not reviewed: .env" in text
    assert not any("ghp_" in call for call in calls(session)) and "k = '[redacted]'" in calls(session)[0]
    for target in (".env", "/etc/hostname", "link.py"):
        results, events = await do(opened(repo), f"/review {target}")
        assert not any(isinstance(one, Document) for one in results)
        assert any(isinstance(one, CommandNotice | Notice) for one in (*results, *events))


async def test_the_name_of_a_file_is_no_markdown(repo: Path) -> None:
    name = "a``b ![x](http:evil).py"
    (repo / name).write_text("odd = 1\n")
    text = await shown(opened(repo, f"{name}:1 low Odd", "1 yes"), "/review")
    assert f"- ``` {name}:1 ``` **low** Odd" in text


ENV = "".join(f"LONG_NAME_{number}=value\n" for number in range(20))


async def test_the_former_content_of_a_file_that_the_model_may_not_read_is_left_out(repo: Path) -> None:
    (repo / ".env").write_text(f"{ENV}DB_PASSWORD=hunter2hunter2\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "A mistake")
    git(repo, "mv", ".env", "names.txt")
    (repo / "names.txt").write_text(ENV)
    session = opened(repo, "none")
    assert "no file that Forge may read" in await shown(session, "/review")
    assert calls(session) == []


async def test_files_of_another_folder_that_the_config_names_are_not_reviewed(
    repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/dates.py").write_text("a diary\n")
    git(repo, "config", "core.worktree", str(tmp_path / "private"))
    for line in ("/review", "/review HEAD~1", "/commit", "/pr HEAD~1"):
        session = opened(repo)
        results, events = await do(session, line)
        texts = [one.text for one in (*results, *events) if isinstance(one, Failure | Notice)]
        assert "core.worktree" in " ".join(texts) and calls(session) == [], line
    git(repo, "config", "core.worktree", str(repo))  # as in a submodule
    assert "no findings" in await shown(opened(repo, "none"), "/review HEAD~1")


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("nope", "neither a file here nor a commit"),
        ("--output=x", "neither a file here nor a commit"),
        ("main..nope", "neither a file here nor a commit"),
        ("main..HEAD", "there is nothing to review"),
        ("image.bin", "cannot be reviewed"),
    ],
)
async def test_targets_that_cannot_be_reviewed_are_explained(repo: Path, target: str, complaint: str) -> None:
    (repo / "image.bin").write_bytes(b"\0\1\2")
    results, events = await do(opened(repo), f"/review {target}")
    texts = [one.text for one in (*results, *events) if isinstance(one, Failure | CommandNotice | Notice)]
    assert complaint in " ".join(texts) and not (repo / "x").exists()


async def test_large_changes_are_reviewed_in_pieces_and_what_is_left_out_is_named(repo: Path) -> None:
    for number in range(12):
        write_files(repo, **{f"big{number:02}": f"x{number} = 1\n" * 1_500})
    session = opened(repo, "none")
    text = await shown(session, "/review")
    pieces = calls(session)
    assert len(pieces) == 8 and max(map(len, pieces)) < 9_000
    assert "8 files reviewed" in text and "not reviewed: big08.py" in text


async def test_the_offline_model_and_folders_without_a_repository_are_refused(tmp_path: Path) -> None:
    session = opened(tmp_path)
    assert "is in no git repository" in " ".join(
        result.text for result in (await do(session, "/review"))[0] if isinstance(result, Failure)
    )
    session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    [result], _ = await do(session, "/review")
    assert isinstance(result, Failure) and "needs a model" in result.text
