"""Sub-agents with `isolation: worktree`: they work elsewhere, and what they did comes back in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forge_core.approval import deny_all
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import ToolEnd
from forge_core.runtime import build_session
from tests.support.agent_server import AgentServer, calling, config_for, saying, task_call
from tests.support.repositories import git, make_repository

WRITE = ("c1", "write", {"file_path": "made.txt", "content": "made\n"})
LOOK = ("c2", "bash", {"command": "pwd; git branch --show-current; cat a.txt made.txt"})


def prepare(root: Path) -> Path:
    """Make a repository with an agent that gets a worktree."""
    work = make_repository(root / "work")
    (work / "a.txt").write_text("hello\n")
    (work / ".forge/agents").mkdir(parents=True)
    (work / ".forge/agents/maker.md").write_text(
        "---\ndescription: Makes\nisolation: worktree\n---\nMake it."
    )
    git(work, "add", "a.txt")
    git(work, "commit", "-qm", "Start")
    (work / ".git/info/exclude").write_text("/.forge/\n")
    return work


async def report_of(root: Path, *answers: object, **settings: Any) -> tuple[str, AgentServer]:
    scripts = {
        "go": [calling("0.01", task_call("t1", "make", agent="maker")), saying("0.01", "Done.")],
        "make": [*answers],
    }
    with AgentServer(scripts) as server:  # type: ignore[arg-type]
        settings = {"permission_mode": PermissionMode.ACCEPT_EDITS, **settings}
        config = config_for(root, server, is_trusted=True, **settings)
        session = build_session(config, deny_all)
        events = [event async for event in session.send("go")]
        await session.aclose()
    [end] = [one for one in events if isinstance(one, ToolEnd) and one.name == "task"]
    return end.result, server


async def test_its_changes_are_in_a_worktree_and_in_the_report(tmp_path: Path) -> None:
    work = prepare(tmp_path)
    (work / "mine.txt").write_text("being edited\n")
    report, server = await report_of(tmp_path, calling("0.01", WRITE, LOOK), saying("0.01", "I made it."))
    [folder] = (tmp_path / "state/worktrees").glob("*/agent-*")
    assert (folder / "made.txt").read_text() == "made\n" and not (work / "made.txt").exists()
    assert git(work, "status", "--porcelain") == "?? mine.txt"
    assert report.startswith("I made it.") and str(folder) in report and "+made\n" in report
    first, second = server.bodies("make")
    assert f"Folder: {folder}" in str(first["messages"][0]["content"])
    seen = str(second["messages"][-1]["content"])
    assert f"{folder}\n" in seen and f"forge/{folder.name}\n" in seen and "hello\nmade\n" in seen


async def test_without_changes_the_worktree_goes_and_without_a_repository_the_agent_fails(
    tmp_path: Path,
) -> None:
    work = prepare(tmp_path)
    report, _ = await report_of(tmp_path, saying("0.01", "Nothing to do."))
    assert report == "Nothing to do." and not [*(tmp_path / "state/worktrees").glob("*/agent-*")]
    assert "forge/agent-" in git(work, "branch")
    (work / ".git").rename(tmp_path / "gone")
    report, server = await report_of(tmp_path, saying("0.01", "Never asked."))
    assert "is in no git repository" in report and not server.bodies("make")


async def test_its_report_does_not_show_files_that_a_rule_denies(tmp_path: Path) -> None:
    work = prepare(tmp_path)
    (work / "keys.txt").write_text("a secret\n")
    git(work, "add", "keys.txt")
    git(work, "commit", "-qm", "Keys")
    script = "import sys; open('ke' + 'ys.txt', 'a').write('more'); open('made.txt', 'w').write('made')"
    run = ("c1", "bash", {"command": f'python3 -c "{script}"'})
    report, _ = await report_of(
        tmp_path,
        calling("0.01", run),
        saying("0.01", "Done."),
        deny=("read(keys.txt)",),
        permission_mode=PermissionMode.YOLO,
    )
    assert "+made" in report and "a secret" not in report and "keys.txt: not shown" in report
