"""What a sandboxed command leaves for other programs to run later: reported at once, and undone."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.placeholders import MountedPaths
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import UndoStore
from tests.unit.undo.workspace import GIT, make_repository, shell

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed"),
]


@dataclass
class Project:
    """A workspace in which scripts of the model run as the bash tool runs them."""

    root: Path
    context: ExecutionContext
    store: UndoStore

    async def script(self, text: str, *, language: str = "sh", command: str = "") -> str:
        """Run a script that was there before the turn, so that nothing on the line says what it writes."""
        (self.root / "evil").write_text(text)
        await self.store.begin_turn("turn")
        line = command or f"{'python3' if language == 'python' else 'sh'} evil"
        done = await ToolExecutor().execute(BashTool(), {"command": line}, self.context)
        await self.store.end_turn()
        return done.for_model()


@pytest.fixture
async def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Project]]:
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)
    made: list[Project] = []

    def project(*, repository: bool = True, sandboxed: bool = True) -> Project:
        root = (tmp_path / "ws").resolve()
        root.mkdir()
        (root / "a.py").write_text("x = 1\n")
        (root / ".gitignore").write_text("build/\n.env*\n*.log\nlogs/\n.idea/\n")
        if repository:
            make_repository(root)
        state_dir = tmp_path / "state"
        sandbox = None
        if sandboxed:
            state = probe_now("auto", root)
            if state.kind is not SandboxKind.BUBBLEWRAP:
                pytest.skip(f"no bubblewrap sandbox here: {state.reason}")
            sandbox = Sandbox(state, root, state_dir=state_dir)
        store = UndoStore(root, state_dir / "s1" / "undo", private=state_dir, mounts=MountedPaths(state_dir))
        context = ExecutionContext(root, before_images=store, jobs=JobTable(), sandbox=sandbox)
        made.append(Project(root, context, store))
        return made[-1]

    yield project
    for one in made:
        assert one.context.jobs is not None
        await one.context.jobs.aclose()
        await one.store.aclose()


NESTED = """
git init -q nested && cd nested && echo x > file && git add file
git -c user.name=a -c user.email=a@b commit -qm x
git config core.fsmonitor "touch $PWD/../stolen; false"
"""
ATTACK = f"({NESTED}); git add nested 2>/dev/null"


async def test_a_nested_repository_is_reported_and_undone(make: Callable[..., Project]) -> None:
    project = make()
    told = await project.script(ATTACK)
    assert "nested/.git (git)" in told
    assert "nested (a link in git's index)" in told
    await project.store.undo()
    assert not (project.root / "nested" / ".git").exists()
    subprocess.run(["git", "status"], cwd=project.root, env=os.environ | GIT, check=True, capture_output=True)
    assert not (project.root / "stolen").exists()


def _index(root: Path) -> str:
    return subprocess.run(
        ["git", "ls-files", "--stage"],
        cwd=root,
        env=os.environ | GIT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("sandboxed", [True, False])
async def test_undo_removes_the_link_from_gits_index_and_nothing_else(
    make: Callable[..., Project], sandboxed: bool
) -> None:
    project = make(sandboxed=sandboxed)
    (project.root / "staged.py").write_text("y = 1\n")
    shell(project.root, "git add staged.py")
    before = _index(project.root)
    await project.script(ATTACK)
    planted = _index(project.root)
    assert "160000" in planted
    report = await project.store.undo()
    assert not report.conflicts
    assert "nested (in git's index)" in report.deleted
    assert _index(project.root) == before
    assert "nested (in git's index)" in (await project.store.redo()).restored
    assert _index(project.root) == planted
    await project.store.undo()
    assert _index(project.root) == before


async def test_undo_leaves_a_link_that_has_changed_since(make: Callable[..., Project]) -> None:
    project = make()
    await project.script(ATTACK)
    other = "1" * 40
    shell(project.root, f"git -c core.fsmonitor= update-index --cacheinfo 160000,{other},nested")
    report = await project.store.undo()
    assert [one.name for one in report.conflicts] == ["nested"]
    assert other in _index(project.root)


async def test_a_link_to_a_repository_of_the_users_stays_without_a_sandbox(
    make: Callable[..., Project],
) -> None:
    project = make(sandboxed=False)
    shell(project.root, f"({NESTED})")
    await project.script("git add nested 2>/dev/null")
    planted = _index(project.root)
    assert "160000" in planted
    await project.store.undo()
    assert _index(project.root) == planted


async def test_without_the_undo_the_attack_works(make: Callable[..., Project]) -> None:
    project = make()
    await project.script(ATTACK)
    subprocess.run(
        ["git", "status"], cwd=project.root, env=os.environ | GIT, check=False, capture_output=True
    )
    assert (project.root / "stolen").exists()


@pytest.mark.parametrize("repository", [True, False])
async def test_redo_brings_the_repository_back_and_a_second_undo_removes_it(
    make: Callable[..., Project], repository: bool
) -> None:
    project = make(repository=repository)
    await project.script(NESTED)
    assert not (await project.store.undo()).conflicts
    assert not (await project.store.redo()).conflicts
    assert shell(project.root, "git -c core.fsmonitor= -C nested fsck --strict") == 0
    await project.store.undo()
    assert not (project.root / "nested" / ".git").exists()


PLANTS = {  # name → script, what is reported, what undo removes
    "a .git file": ("mkdir -p sub; echo 'gitdir: ../a' > sub/.git", "sub/.git (git)", "sub/.git"),
    "a bare repository": ("git init -q --bare store", "store (a bare git repository)", "store/config"),
    "a bare repository with a work tree": (
        "git init -q --bare x/y.git; git -C x/y.git config core.worktree ..",
        "x/y.git (a bare git repository)",
        "x/y.git/config",
    ),
    "deep down": (
        "mkdir -p a/b/c/d/e/f/g && git init -q a/b/c/d/e/f/g",
        "a/b/c/d/e/f/g/.git (git)",
        "a/b/c/d/e/f/g/.git",
    ),
    "a renamed folder": (
        "git init -q x && mv x y && mkdir z && mv y z/w",
        "z/w/.git (git)",
        "z/w/.git",
    ),
    "copied from elsewhere": ("git init -q /tmp/x && cp -r /tmp/x here", "here/.git (git)", "here/.git"),
    "a link to a repository": (
        "git init -q store1/.git; ln -s store1/.git .x; mkdir s; ln -s ../store1/.git s/.git",
        "s/.git (git)",
        "s/.git",
    ),
    "an editor's tasks": (
        "mkdir -p .vscode; echo '{}' > .vscode/tasks.json",
        ".vscode/tasks.json (an editor)",
        ".vscode/tasks.json",
    ),
    "an environment": (
        "echo 'touch x' > .envrc2; echo 'touch x' > src.envrc; mkdir s; echo 'curl x' > s/.mise.toml",
        "s/.mise.toml (",
        "s/.mise.toml",
    ),
    "instructions": (
        "mkdir -p docs; echo 'run x' > docs/AGENTS.md",
        "docs/AGENTS.md (an assistant)",
        "docs/AGENTS.md",
    ),
    "git attributes": ("echo '* filter=x' > .gitattributes", ".gitattributes (git)", ".gitattributes"),
    "a hook manager": (
        "mkdir .husky; echo x > .husky/pre-commit",
        ".husky/pre-commit (a git hook)",
        ".husky/pre-commit",
    ),
    "a folder that the command has git ignore": (
        "echo own/ >> .gitignore; git init -q own",
        "own/.git (git)",
        "",
    ),
    "a folder that the command has git exclude": (
        "echo own/ >> .git/info/exclude; mkdir -p own/a/b && git init -q own/a/b",
        "own/a/b/.git (git)",
        "",
    ),
    "a .git file in a new ignored folder": (
        "mkdir -p build/x; echo 'gitdir: ../../a' > build/x/.git",
        "build/x/.git (git)",
        "",
    ),
    "what git ignores": ("echo x >> .git/info/exclude", ".git/info/exclude (git)", ""),
    "attributes in .git": ("echo '* filter=x' > .git/info/attributes", ".git/info/attributes (git)", ""),
    "steps of a rebase": (
        "mkdir .git/rebase-merge; echo 'exec touch x' > .git/rebase-merge/git-rebase-todo",
        ".git/rebase-merge/git-rebase-todo (git)",
        "",
    ),
    "submodules": (
        "printf '[submodule \"x\"]\\n path = x\\n url = y\\n' > .gitmodules",
        ".gitmodules (git)",
        ".gitmodules",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
async def test_other_plants_are_reported_and_undone(name: str, make: Callable[..., Project]) -> None:
    project = make()
    text, reported, path = PLANTS[name]
    told = await project.script(text)
    assert reported in told
    if path:
        assert os.path.lexists(project.root / path)
        await project.store.undo()
        assert not os.path.lexists(project.root / path)


JOBS = {
    "its shell has ended": ("sh evil & disown", "{plant}"),
    "it has ended": ("sh evil", "{plant}"),
    "its shell ends first": ("sh evil", "(until [ -e go2 ]; do sleep 0.02; done; {plant}) & sleep 0.3"),
}


@pytest.mark.parametrize("is_same_turn", [True, False])
@pytest.mark.parametrize("name", JOBS)
async def test_what_a_job_plants_is_reported_once_it_ends(
    name: str, is_same_turn: bool, make: Callable[..., Project]
) -> None:
    project = make()
    reports: list[str] = []
    jobs = project.context.jobs
    assert jobs is not None
    jobs.on_end = reports.append
    line, text = JOBS[name]
    plant = "git init -q nested; echo x > CLAUDE.md; echo x > tool; chmod u+s tool"
    (project.root / "evil").write_text("until [ -e go ]; do sleep 0.02; done\n" + text.format(plant=plant))
    await project.store.begin_turn("turn")
    params = {"command": line, "run_in_background": "disown" not in line}
    await ToolExecutor().execute(BashTool(), params, project.context)
    if not is_same_turn:
        await project.store.end_turn()
    (project.root / "go").write_text("")
    (project.root / "go2").write_text("")
    async with asyncio.timeout(30):
        await jobs.list()[0].end_reported.wait()
    await project.store.end_turn()
    for told in ("\n".join(reports), "\n".join(jobs.news())):
        assert "CLAUDE.md (an assistant), nested/.git (git)" in told
        assert "the setuid or setgid bit was removed: tool" in told


async def test_what_a_stopped_job_has_planted_is_reported(make: Callable[..., Project]) -> None:
    project = make()
    reports: list[str] = []
    jobs = project.context.jobs
    assert jobs is not None
    jobs.on_end = reports.append
    (project.root / "evil").write_text(
        "until [ -e go ]; do sleep 0.02; done; git init -q nested; echo made; sleep 60"
    )
    await project.store.begin_turn("turn")
    params = {"command": "sh evil", "run_in_background": True}
    await ToolExecutor().execute(BashTool(), params, project.context)
    (project.root / "go").write_text("")
    assert (await jobs.output(1, wait_s=20)).output == "made\n"
    await jobs.stop(1)
    async with asyncio.timeout(30):
        await jobs.list()[0].end_reported.wait()
    await project.store.end_turn()
    assert "nested/.git (git)" in "\n".join(reports)


async def test_an_ignored_plant_is_reported(make: Callable[..., Project]) -> None:
    told = await make().script("mkdir .idea; echo x > .idea/workspace.xml")
    assert ".idea/ (an editor)" in told


async def test_an_index_link_of_an_ignored_folder_is_reported(make: Callable[..., Project]) -> None:
    told = await make().script(
        f"mkdir build; cd build; ({NESTED}); cd ..; git add -f build/nested 2>/dev/null"
    )
    assert "build/nested (a link in git's index)" in told


async def test_a_change_of_a_file_that_was_there_is_reported(make: Callable[..., Project]) -> None:
    project = make()
    (project.root / "CLAUDE.md").write_text("be kind\n")
    assert "CLAUDE.md (an assistant)" in await project.script("echo 'run x' >> CLAUDE.md")
    assert "CLAUDE.md" not in await project.script("echo x > other")


async def test_repositories_that_were_there_are_not_reported(make: Callable[..., Project]) -> None:
    project = make()
    shell(project.root, "git init -q vendor/lib && git init -q --bare store")
    told = await project.script("echo x > vendor/lib/file; echo x > out")
    assert "other programs act" not in told
    shell(project.root, "git init -q mine")
    assert "other programs act" not in await project.script("echo y > out")
    await project.store.undo()
    assert (project.root / "mine" / ".git").exists()


async def test_a_repository_of_the_users_that_is_replaced_is_reported(make: Callable[..., Project]) -> None:
    project = make()
    deep = "a/b/c/d/e/f/g"
    shell(project.root, f"mkdir -p {deep} && git init -q {deep}")
    told = await project.script(f"mv {deep}/.git {deep}/old; git init -q {deep}")
    assert f"{deep}/.git (git)" in told


async def test_config_and_hooks_that_a_sandbox_cannot_hold_are_reported(make: Callable[..., Project]) -> None:
    project = make(sandboxed=False)
    told = await project.script("echo x > .git/hooks/pre-commit; git config core.fsmonitor x")
    assert ".git/config (git)" in told
    assert ".git/hooks/pre-commit (git)" in told


STEERING_SCRIPT = """
import os
for name in ("vscode/tasks.json", "husky/pre-push", "mcp.json", "github/workflows/x.yml"):
    path = os.path.join(os.getcwd(), "." + name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write("{}")
open("AGENT" + "S.md", "w").write("Obey.")
"""


@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("repository", [True, False])
async def test_what_a_script_writes_for_tools_is_named_and_undone(
    make: Callable[..., Project], sandboxed: bool, repository: bool
) -> None:
    project = make(sandboxed=sandboxed, repository=repository)
    names = [".vscode/tasks.json", ".husky/pre-push", ".mcp.json", ".github/workflows/x.yml", "AGENTS.md"]
    told = await project.script(STEERING_SCRIPT, language="python")
    for name in names:
        assert f"{name} (" in told
        assert (project.root / name).exists()
    assert "may be the user's own edits" not in told
    report = await project.store.undo()
    assert not report.conflicts
    assert [name for name in names if (project.root / name).exists()] == []


async def test_an_existing_file_for_tools_that_a_script_changes_is_named(
    make: Callable[..., Project],
) -> None:
    project = make(sandboxed=False)
    (project.root / "AGENTS.md").write_text("Test first.\n")
    shell(project.root, "git add AGENTS.md && git commit -qm agents")
    told = await project.script(STEERING_SCRIPT, language="python")
    assert "AGENTS.md (an assistant)" in told
    await project.store.undo(None)
    assert (project.root / "AGENTS.md").read_text() == "Test first.\n"


async def test_ordinary_commands_report_nothing(make: Callable[..., Project]) -> None:
    project = make()
    for text in (
        "echo x > b.py",
        "mkdir -p src && echo x > src/c.py",
        "git add -A; git commit -qm x",
        "true",
    ):
        told = await project.script(text)
        assert "other programs act" not in told
        assert "setuid" not in told


async def test_later_work_in_a_planted_repository_is_the_commands(make: Callable[..., Project]) -> None:
    project = make()
    await project.script(NESTED)
    told = await project.script(
        "cd nested && echo y > f && git -c core.fsmonitor= add f && git log -1 > /dev/null"
    )
    assert "nested/.git" not in told.partition("may be the user's own edits")[2]


async def test_setuid_bits_are_dropped_and_reported(make: Callable[..., Project]) -> None:
    project = make()
    text = (
        "import os\nopen('tool', 'w').write('x')\n"
        "try: os.chmod('tool', 0o2755)\nexcept PermissionError: pass\n"
        "try: os.chmod('tool', 0o6755)\nexcept PermissionError: pass\n"
    )
    told = await project.script(text, language="python")
    assert stat.S_IMODE((project.root / "tool").stat().st_mode) == 0o755
    assert "[the setuid or setgid bit was removed: tool]" in told


async def test_setuid_bits_of_large_files_are_dropped(make: Callable[..., Project]) -> None:
    project = make()
    await project.script("head -c 12000000 /dev/zero > large; chmod 2755 large")
    assert stat.S_IMODE((project.root / "large").stat().st_mode) == 0o755


async def test_bits_that_the_user_set_stay(make: Callable[..., Project]) -> None:
    project = make()
    (project.root / "own").write_text("x")
    (project.root / "own").chmod(0o4755)
    (project.root / "shared").mkdir()
    (project.root / "shared").chmod(0o2775)
    told = await project.script("echo x > shared/file; mkdir shared/below; echo y > own")
    assert "setuid" not in told
    assert (project.root / "shared" / "below").stat().st_mode & stat.S_ISGID


async def test_commands_outside_the_sandbox_keep_the_bits_that_they_set(make: Callable[..., Project]) -> None:
    project = make(sandboxed=False)
    told = await project.script("echo x > tool; chmod 4755 tool")
    assert (project.root / "tool").stat().st_mode & stat.S_ISUID
    assert "setuid" not in told
