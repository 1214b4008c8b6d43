"""What a command did to files: what is kept before it, and what the model is told after it."""

import re
import shutil
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from forge_core.tools import BashTool, ExecutionContext, ReadTool, ToolExecutor
from forge_core.tools.builtin import bash as bash_module
from forge_core.tools.shell import effects as effects_module
from forge_core.tools.shell.effects import _planted
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import CommandEffects
from forge_core.undo.expected_effects import UNKNOWN, ExpectedEffects


class Images:
    """Notes when it is asked to look, and tells what it was told to."""

    def __init__(self, *not_undoable: str) -> None:
        self.looks: list[str] = []
        self._effects = CommandEffects(not_undoable=not_undoable)

    async def capture(self, path: Path) -> None:
        self.looks.append(f"file {path.name}")

    async def before_command(self, expected: ExpectedEffects = UNKNOWN, earlier: object = None) -> object:
        self.looks.append("before")
        return len(self.looks)

    async def after_command(
        self, watch: object, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        self.looks.append(f"after {watch}")
        return self._effects

    async def settle(self) -> None:
        """Nothing to note here."""


async def bash(root: Path, command: str, images: Images | None = None, **more: object) -> str:
    context = ExecutionContext(root, before_images=images)
    return (await ToolExecutor().execute(BashTool(), {"command": command, **more}, context)).for_model()


async def test_a_writing_command_is_tracked_and_files_beyond_undo_are_reported(tmp_path: Path) -> None:
    images = Images("big.bin", "build/ (ignored)")
    told = await bash(tmp_path, "echo x > new.txt", images)
    assert images.looks == ["before", "after 1"]
    assert "[/undo cannot bring back: big.bin, build/ (ignored)]" in told


@pytest.mark.parametrize("command", ["ls", "git status", "cat a.txt | head -3"])
async def test_a_read_only_command_is_not_tracked(tmp_path: Path, command: str) -> None:
    images = Images("big.bin")
    assert "undo" not in await bash(tmp_path, command, images)
    assert images.looks == []


async def test_a_command_that_fails_or_times_out_is_tracked_to_its_end(tmp_path: Path) -> None:
    images = Images()
    await bash(tmp_path, "echo x > new.txt; exit 3", images)
    assert images.looks == ["before", "after 1"]
    tool, context = BashTool(), ExecutionContext(tmp_path, before_images=images)
    images.looks.clear()
    command = {"command": "echo y > new.txt; sleep 7301", "timeout_s": 0.2}
    await ToolExecutor().execute(tool, command, context)
    await tool.aclose()
    assert images.looks == ["before", "after 1"]


async def test_job_effects_are_checked_when_its_call_returns_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bash_module, "START_GRACE_S", 0.1)
    (tmp_path / "seen.txt").write_text("one\n")
    images, jobs = Images(), JobTable()
    context = ExecutionContext(tmp_path, before_images=images, jobs=jobs)
    executor = ToolExecutor()
    await executor.execute(ReadTool(), {"file_path": "seen.txt"}, context)
    command = "while [ ! -e go ]; do sleep 0.02; done; echo two >> seen.txt"
    await executor.execute(BashTool(), {"command": command, "run_in_background": True}, context)
    assert images.looks == ["before", "after 1", "before"]
    (tmp_path / "go").touch()
    news = await jobs.output(1, wait_s=10)
    assert images.looks == ["before", "after 1", "before", "after 3"]
    assert news.notes == ("[changed by the command, read again before editing: seen.txt]",)
    await jobs.aclose()


def test_the_use_of_a_call_includes_network_access(tmp_path: Path) -> None:
    tool, context = BashTool(), ExecutionContext(tmp_path)
    quiet = tool.describe_use({"command": "make"}, context)
    loud = tool.describe_use({"command": "make", "network": True}, context)
    assert (quiet.needs_network, loud.needs_network) == (False, True)
    assert quiet.effect is loud.effect is Effect.RUN


def test_the_prompt_shows_the_timeout(tmp_path: Path) -> None:
    tool, context = BashTool(), ExecutionContext(tmp_path)
    assert tool.describe_use({"command": "make"}, context).details["Timeout"] == "120 s"
    job = {"command": "make", "run_in_background": True}
    assert tool.describe_use(job, context).details["Timeout"] == "none, it runs in the background"
    assert tool.describe_use(job | {"timeout_s": 30}, context).details["Timeout"] == "30 s"


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
async def test_a_command_classified_as_read_only_cannot_write_even_if_misclassified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "kept.txt").write_text("kept\n")
    state = probe_now("auto", root)
    if state.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"no bubblewrap sandbox here: {state.reason}")
    monkeypatch.setattr(effects_module, "is_read_only", lambda command, folder: True)
    sandbox = Sandbox(state, root, state_dir=tmp_path / "state")
    context = ExecutionContext(root, sandbox=sandbox)
    command = "cat kept.txt; echo gone > kept.txt; touch new.txt; rm kept.txt"
    done = await ToolExecutor().execute(BashTool(), {"command": command}, context)
    assert "kept" in done.for_model() and "Read-only file system" in done.for_model()
    assert [one.name for one in root.iterdir()] == ["kept.txt"]
    assert (root / "kept.txt").read_text() == "kept\n"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (("sub/.git", "sub/.git/config", "sub/.git/hooks/post-merge"), ["sub/.git"]),
        (("sub/.git/config",), ["sub/.git/config"]),
        (("sub/.git/objects/ab/cd", "sub/.git/index"), []),
        (("sub/.git/objects/ab/cd", "sub/.git/info/exclude"), ["sub/.git/info/exclude"]),
    ],
)
def test_of_a_repository_only_what_makes_git_run_programs_is_named(
    changed: tuple[str, ...], named: list[str]
) -> None:
    notes = "".join(_planted(CommandEffects(changed=changed)))
    assert [path for path in changed if re.search(rf"{re.escape(path)}(?![\w/])", notes)] == named
