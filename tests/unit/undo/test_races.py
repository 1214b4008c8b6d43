"""A user who saves files while commands run loses nothing: whatever an editor has written is there after /undo
and after /redo.

The editor is a process of its own. It and the command wait for each other through files outside the
workspace, so that each race happens in every run.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.builtin import bash as bash_module
from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import UndoStore
from tests.unit.undo.test_usual_commands import PYTHON, RUFF, _environment, make_project
from tests.unit.undo.workspace import GIT, shell

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


MINE = "what the user wrote, in their own words\n"
EDITOR = """
import json, os, sys
for how, name, text in json.loads(sys.argv[1]):
    folder = os.path.dirname(name)
    if folder:
        os.makedirs(folder, exist_ok=True)
    if how == "atomic":
        with open(name + ".tmp1", "w") as file:
            file.write(text); file.flush(); os.fsync(file.fileno())
        os.replace(name + ".tmp1", name)
    elif how == "in place":
        with open(name, "w") as file:
            file.write(text)
    elif how == "vim":
        swap = os.path.join(folder, "." + os.path.basename(name) + ".swp")
        open(swap, "w").write("b0VIM")
        if os.path.exists(name):
            os.rename(name, name + "~")
        open(name, "w").write(text)
    elif how == "delete":
        os.unlink(name)
    elif how == "move":
        os.rename(name, text)
"""

Edit = tuple[str, str, str]


def saves(name: str, how: str = "atomic") -> list[Edit]:
    return [(how, name, MINE)]


GENERATE = f"{PYTHON} gen.py"
SCRIPT = f"{PYTHON} -c \"open('index.txt', 'w').write('made')\""
RACES: dict[str, tuple[str, list[Edit]]] = {
    "an atomic save of a source while make runs": ("make; WAIT", saves("main.c")),
    "a save in place of a file that nothing names": ("make; WAIT", saves("other.txt", "in place")),
    "a new file while make runs": ("make; WAIT", saves("ideas.md")),
    "a new file beside the sources while pytest runs": (
        f"{PYTHON} -m pytest -q; WAIT",
        saves("pkg/fresh.py"),
    ),
    "a save of the file that pytest is given": (
        f"{PYTHON} -m pytest -q test_it.py; WAIT",
        saves("test_it.py"),
    ),
    "a deletion while pytest runs": (f"WAIT; {PYTHON} -m pytest -q", [("delete", "notes.txt", "")]),
    "a move while make runs": ("make; WAIT", [("move", "other.txt", "mine.txt")]),
    "swap and backup files": (f"{PYTHON} -m pytest -q; WAIT", saves("pkg/b.py", "vim")),
    "an atomic save after sed": ("sed -i s/x/y/ notes.txt; WAIT", saves("notes.txt")),
    "a save in place after sed": ("sed -i s/x/y/ notes.txt; WAIT", saves("notes.txt", "in place")),
    "a save before sed": ("WAIT; sed -i s/x/y/ notes.txt; true", saves("notes.txt")),
    "a save after a redirect": ("echo made > made.txt; WAIT", saves("made.txt", "in place")),
    "an atomic save after a redirect": ("echo made > notes.txt; WAIT", saves("notes.txt")),
    "an atomic save of a link that was written through": ("echo x > linked; WAIT", saves("linked")),
    "a save after an append": ("echo more >> notes.txt; WAIT", saves("notes.txt", "in place")),
    "a save in a tree that was formatted": (f"{RUFF} format .; WAIT", saves("pkg/b.py")),
    "a new file in a tree that is formatted": (f"{RUFF} format pkg; WAIT", saves("pkg/mine.py")),
    "a save after git checkout": ("git checkout -q side; WAIT", saves("other.txt")),
    "a new file while git merges": ("git merge -q --no-edit side; WAIT", saves("ideas.md")),
    "a save after git stash pop": ("echo x>side.md; git stash -u; git stash pop; WAIT", saves("notes.txt")),
    "a save of what a script has written": (f"{SCRIPT}; WAIT", saves("index.txt", "in place")),
    "a new file in a folder that code was generated into": (f"{GENERATE}; WAIT", saves("models/mine.py")),
    "a save of a generated file": (f"{GENERATE}; WAIT", saves("models/user.py")),
    "a save of the script that runs": (f"{GENERATE}; WAIT", saves("gen.py")),
    "a save of what the script reads": (f"WAIT; {GENERATE}", [("atomic", "schema.json", '{"Mine": []}')]),
    "a save of a build script": ("npm run build; WAIT", saves("build.js")),
    "a save of package.json": ("npm run build; WAIT", [("atomic", "package.json", '{"name": "mine"}')]),
    "a file again where one was moved away": ("mv notes.txt n.txt; WAIT", saves("notes.txt")),
    "a file again where one was removed": ("rm notes.txt; WAIT", saves("notes.txt")),
    "a save of a copy": ("cp notes.txt copy.txt; WAIT", saves("copy.txt", "in place")),
    "a save of an extracted file": ("tar xf packed.tar; WAIT", saves("t/n.txt")),
    "a new file among extracted ones": ("tar xf packed.tar; WAIT", saves("t/mine.txt")),
    "a save of a patched file": ("patch -p1 < fix.patch; WAIT", saves("notes.txt")),
    "a save during chmod": ("chmod 600 notes.txt; WAIT", saves("notes.txt", "in place")),
    "a save in a tree that a script rewrites": (f"{PYTHON} codemod.py pkg; WAIT", saves("pkg/b.py")),
    "different edits of signs in a tree that is rewritten": (
        "perl -pi -e s/nothing/more/ *.nothing; WAIT",
        [("atomic", "pkg/a.py", "x != 1\n"), ("atomic", "pkg/b.py", "a - b\n")],
    ),
    "a text that asks not to edit something": (
        "mkdir -p made; WAIT",
        [("atomic", "README.md", f"Please do not edit what is in build.\n{MINE}")],
    ),
    "a description in a manifest": (
        "npm pkg get name; WAIT",
        [("atomic", "package.json", '{\n"name": "p",\n"description": "a wholly independent tool"\n}\n')],
    ),
    "the same edit in many files": (
        f"{PYTHON} -m pytest -q; WAIT",
        [("atomic", f"pkg/{name}.py", f"mine = 1  # {name}\n") for name in ("a", "b", "c")],
    ),
    "several saves of one file": (
        "make; WAIT",
        [("in place", "notes.txt", "draft\n"), ("atomic", "notes.txt", MINE), *saves("made/new.txt")],
    ),
}

UNWRITTEN: dict[str, str] = {
    "after a failure": "false && echo ok > FILE; WAIT",
    "after a failure, last": "WAIT; false && echo ok > FILE",
    "after a success": "true || echo > FILE; WAIT",
    "in an if": "if [ -e nope ]; then echo > FILE; fi; WAIT",
    "in an else": "if true; then :; else echo > FILE; fi; WAIT",
    "in a case": "case x in y) echo > FILE;; esac; WAIT",
    "in a while": "while false; do echo > FILE; done; WAIT",
    "in a loop over nothing": "for i in $(ls nope* 2>/dev/null); do echo > FILE; done; WAIT",
    "in a loop that breaks": "for i in 1 2; do break; echo > FILE; done; WAIT",
    "in a function that nobody calls": "f() { echo x > FILE; }; WAIT",
    "in a group after a test": "[ -e nope ] && { echo a; echo x > FILE; }; WAIT",
    "in a subshell after a failure": "false && (cd pkg; echo x > ../FILE); WAIT",
    "after a test": "[ -e nope ] && touch FILE; WAIT",
    "after a negation": "! true && echo x > FILE; WAIT",
    "after a cd that fails": "cd nope 2>/dev/null && echo x > FILE; WAIT",
    "in a folder that was not entered": "false && cd pkg; echo x > made; true || rm FILE; cd ..; WAIT",
    "by tee": "false && echo x | tee FILE; WAIT",
    "by tee in the middle": "false && echo x | tee FILE | cat; WAIT",
    "in a pipe that is not reached": "false && echo x > made | tee FILE; WAIT",
    "by an inner shell": "sh -c 'false && echo x > FILE'; WAIT",
    "by an inner shell that is skipped": "false && sh -c 'echo x > FILE'; WAIT",
    "by eval": "eval 'false && echo x > FILE'; WAIT",
    "by a trap": "trap 'echo x > FILE' USR1; WAIT",
    "after exit": "WAIT; exit 0; echo x > FILE",
    "after exec": "WAIT; exec true; echo x > FILE",
    "after set -e": "set -e; WAIT; false; echo x > FILE",
    "after an unset variable": "set -u; WAIT; echo $nope; echo x > FILE",
    "after a missing value": "WAIT; : ${nope:?}; echo x > FILE",
    "after an input that is missing": "cat < nope > FILE; WAIT",
    "in a group with an input that is missing": "{ echo x > FILE; } < nope; WAIT",
    "after an output that can't be opened": "echo x > nope/nope > FILE; WAIT",
    "by touch with a missing reference": "touch -r nope FILE; WAIT",
    "by a hard link": "ln main.c FILE.c && ln -f FILE.c FILE && rm FILE && WAIT",
    "by a script that touches it": f"{PYTHON} -c \"import pathlib; pathlib.Path('FILE').exists() and pathlib.Path('FILE').touch()\" && WAIT",
    "by a script that opens it in some mode": f"{PYTHON} -c \"m = 'r'; print('FILE'); open('main.c', m)\" && WAIT",
    "by the name of a link": "ln -s main.c FILE.link && false; echo x > FILE.link; false && rm FILE; WAIT",
    "before a missing value": "(: ${nope:?} > FILE); WAIT",
    "in a shell that is killed": "WAIT; kill -9 $$; echo x > FILE",
    "where set -C forbids it": "set -C; echo x > FILE; WAIT",
    "by cp of nothing": "cp nope FILE; WAIT",
    "by cp of nothing, last": "WAIT; cp nope FILE",
    "by cp to an existing file": "touch -a FILE; cp -n main.c FILE; WAIT",
    "by mv of nothing": "mv nope FILE; WAIT",
    "by mv after a failure": "echo x > made && false && mv made FILE; WAIT",
    "by install of nothing": "install nope FILE; WAIT",
    "by ln of nothing": "ln nope FILE; WAIT",
    "by a compiler": "gcc nope.c -o FILE; WAIT",
    "by a compiler that only checks": "gcc -fsyntax-only main.c -o FILE && WAIT",
    "by curl": "curl -sf file:///nope -o FILE; WAIT",
    "by sort": "sort nope -o FILE; WAIT",
    "by dd": "dd if=nope of=FILE; WAIT",
    "by dd in a timeout": "timeout 0.01 sleep 5 && dd if=/dev/zero of=FILE count=1; WAIT",
    "by truncate": "truncate -c -s 0 FILE.nope && WAIT; false && truncate -s 0 FILE",
    "by gunzip that tests": "gzip -kc main.c > FILE.gz; gunzip -t FILE.gz && WAIT",
    "by split": "split main.c FILE.part && split -n 1 main.c FILE.part && WAIT",
    "by perl": "false && perl -pi -e s/x/y/ FILE; WAIT",
    "by a program that is missing": "nosuchprog FILE; WAIT",
    "by a program that only reads it": f"{PYTHON} -c 'print(1)' FILE && WAIT",
    "by xargs without input": "xargs -r tee FILE < /dev/null && WAIT",
    "by flock that does not wait": "(flock 9; flock -n 9.lock tee FILE < /dev/null) 9> 9.lock; WAIT",
    "by find without a match": "find . -name nope -exec cp {} FILE ';' && WAIT",
    "by make": "printf 'all:\\nFILE:\\n\\techo x > FILE\\n' > rules.mk; make -f rules.mk && WAIT",
    "by npm": "npm run nothing --if-present && false && npm init -y; false && echo > FILE; WAIT",
    "by a script that exits": f"{PYTHON} -c \"import sys; sys.exit(0); open('FILE', 'w')\" && WAIT",
    "by a script that branches": (
        f"{PYTHON} -c \"import sys\nif len(sys.argv) > 5:\n    open('FILE', 'w')\" && WAIT"
    ),
    "by a function of a script": f"{PYTHON} -c \"def f():\n    open('FILE', 'w')\" && WAIT",
    "by a script that returns": (f"{PYTHON} -c \"def f():\n    return\n    open('FILE', 'w')\nf()\" && WAIT"),
    "by a script that catches": (
        f"{PYTHON} -c \"try:\n    1 / 0\n    open('FILE', 'w')\nexcept Exception: pass\" && WAIT"
    ),
    "by a script that fails": f"{PYTHON} -c \"1 / 0; open('FILE', 'w')\"; WAIT",
    "by a script from a here-document": f"{PYTHON} - <<'E' && WAIT\nfor n in []:\n    open('FILE', 'w')\nE\n",
    "by a node script that exits": (
        "node -e \"process.exit(0); require('fs').writeFileSync('FILE', 'x')\" && WAIT"
    ),
    "by a node script that branches": "node -e \"if (0) require('fs').writeFileSync('FILE', 'x')\" && WAIT",
    "only by setting its times": "touch FILE; touch FILE; WAIT",
    "before a formatter": "mkdir -p made; cat > made/x.py <<'E'\nx=1\nE\nfalse && cp made/x.py FILE; WAIT",
    "less often than it is saved": "for i in 1 2 3; do echo $i >> FILE; done; WAIT",
    "in a shell script that stops": "printf 'exit 0\\necho x > FILE\\n' > s.sh; sh s.sh && WAIT",
}
"""Lines that name FILE as something that they write, and do not write it, or not as its last writer."""
LAYOUT = "import os\nold_name = {'a':1}\n\n\ndef f( x ):\n  return x+old_name['a']\n"
UNFORMATTED: dict[str, str] = {
    "a formatter that is skipped": f"false && {RUFF} format .; WAIT",
    "a linter that is skipped": f"true || {RUFF} check --fix --select I .; WAIT",
    "a formatter of another folder": f"mkdir x; {RUFF} format x; WAIT",
    "a formatter that is missing": "nosuchprog || false && black pkg/a.py; WAIT",
    "a formatter that has formatted the file before": f"{RUFF} format .; WAIT",
    "a linter that has repaired the file before": f"{RUFF} check --fix --select F,I .; WAIT",
    "a formatter of the file alone": f"{RUFF} format pkg/a.py && WAIT",
    "a formatter in an if": f"if false; then {RUFF} format pkg; fi; WAIT",
}


@dataclass
class Desk:
    """A user at the same files as a session."""

    root: Path
    context: ExecutionContext
    store: UndoStore
    jobs: JobTable
    sync: Path

    @property
    def wait(self) -> str:
        return f"touch {self.sync}/ready; while [ ! -e {self.sync}/go ]; do sleep 0.01; done"

    async def edit(self, edits: list[Edit]) -> None:
        words = [sys.executable, "-I", "-S", "-c", EDITOR, json.dumps(edits)]
        await asyncio.to_thread(subprocess.run, words, cwd=self.root, check=True)

    async def ready(self, running: asyncio.Future[ToolResult]) -> None:
        while not (self.sync / "ready").exists():
            assert not running.done(), running.result().for_model()
            await asyncio.sleep(0.01)

    async def run(self, command: str, edits: list[Edit]) -> str:
        """A command that waits at WAIT until the user has saved."""
        for name in ("ready", "go"):
            (self.sync / name).unlink(missing_ok=True)
        call = {"command": command.replace("WAIT", self.wait)}
        running = asyncio.ensure_future(ToolExecutor().execute(BashTool(), call, self.context))
        await self.ready(running)
        await self.edit(edits)
        (self.sync / "go").touch()
        return (await running).for_model()

    def check(self, edits: list[Edit]) -> None:
        """Everything that the editor has left is as it left it."""
        last = {name: (how, text) for how, name, text in edits}
        for name, (how, text) in last.items():
            path = self.root / name
            if how == "move":
                assert not path.exists() and (self.root / text).exists()
            elif how == "delete":
                assert not path.exists()
            else:
                assert path.read_text() == text, name


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(bash_module, "START_GRACE_S", 0.05)
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)
    root, sync = tmp_path / "ws", tmp_path / "sync"
    root.mkdir()
    sync.mkdir()
    make_project(root)
    store, jobs = UndoStore(root, tmp_path / "state" / "s1" / "undo"), JobTable()
    context = ExecutionContext(root, before_images=store, jobs=jobs, environment=_environment(tmp_path))
    yield Desk(root, context, store, jobs, sync)
    await jobs.aclose()
    await store.aclose()


@pytest.mark.parametrize(("command", "edits"), RACES.values(), ids=RACES.keys())
async def test_user_edits_during_a_command_survive_undo_and_redo(
    desk: Desk, command: str, edits: list[Edit]
) -> None:
    for program in ("npm", "make", "patch", "tar"):
        if program in command.split() and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if "perl" in command:
        shell(desk.root, "echo 'x == 1' > pkg/a.py; echo 'a + b' > pkg/b.py")
    elif "pkg get" in command:
        (desk.root / "package.json").write_text('{\n"name": "p",\n"description": "an independent tool"\n}\n')
    await desk.store.begin_turn("race")
    await desk.run(command, edits)
    await desk.store.end_turn()
    if "before sed" not in command and not command.endswith("notes.txt; true"):
        desk.check(edits)
    left = {name: (desk.root / name).read_bytes() for _, name, _ in edits if (desk.root / name).exists()}
    report = await desk.store.undo()
    await _still(desk, edits, left)
    touched = {str(path.relative_to(desk.root)) for path in report.touched}
    assert touched.isdisjoint(left)
    await desk.store.redo()
    await _still(desk, edits, left)


@pytest.mark.parametrize("line", UNWRITTEN.values(), ids=UNWRITTEN.keys())
async def test_user_edits_to_a_file_not_written_by_the_command_survive(desk: Desk, line: str) -> None:
    """Of a file that existed and of a new one, saved in both ways."""
    for program in ("npm", "make", "gcc", "curl", "node", "perl"):
        if program in line.split() and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    edits = []
    await desk.store.begin_turn("race")
    for name, how in (("notes.txt", "atomic"), ("ideas.md", "in place")):
        await desk.run(line.replace("FILE", name), saves(name, how))
        edits += saves(name, how)
    await desk.store.end_turn()
    desk.check(edits)
    await desk.store.undo()
    desk.check(edits)
    await desk.store.redo()
    desk.check(edits)


@pytest.mark.parametrize("line", UNFORMATTED.values(), ids=UNFORMATTED.keys())
async def test_user_reformatting_survives_when_the_formatter_did_not_run(desk: Desk, line: str) -> None:
    edits = [("atomic", "pkg/a.py", LAYOUT)]
    await desk.store.begin_turn("race")
    await desk.run(line, edits)
    await desk.store.end_turn()
    await desk.store.undo()
    desk.check(edits)
    await desk.store.redo()
    desk.check(edits)


async def test_user_edits_before_a_job_writes_the_file_survive(desk: Desk) -> None:
    edits = saves("notes.txt") + saves("ideas.md", "in place")
    await desk.store.begin_turn("job")
    command = f"{desk.wait}; touch ideas.md; {PYTHON} --version > notes.txt"
    await ToolExecutor().execute(BashTool(), {"command": command, "run_in_background": True}, desk.context)
    await desk.edit(edits)
    await desk.store.end_turn()
    await desk.store.undo()
    desk.check(edits)
    await desk.jobs.stop(1)


async def test_user_edits_before_a_command_times_out_survive(desk: Desk) -> None:
    edits = saves("notes.txt")
    await desk.store.begin_turn("slow")
    call = {"command": f"{desk.wait}; sleep 7303; echo made > notes.txt", "timeout_s": 2}
    running = asyncio.ensure_future(ToolExecutor().execute(BashTool(), call, desk.context))
    await desk.ready(running)
    await desk.edit(edits)
    await running
    await desk.store.end_turn()
    await desk.store.undo()
    desk.check(edits)


async def _still(desk: Desk, edits: list[Edit], left: dict[str, bytes]) -> None:
    for name, data in left.items():
        assert (desk.root / name).read_bytes() == data, name
    for how, name, _ in edits:
        if how in ("delete", "move") and name not in left:
            assert not (desk.root / name).exists(), name


async def test_user_edits_while_a_job_runs_survive(desk: Desk) -> None:
    """The job has written a file before, and does so again at its end."""
    edits = saves("notes.txt") + saves("ideas.md") + saves("first.txt", "in place")
    await desk.store.begin_turn("job")
    command = "echo 1 > first.txt; WAIT; echo 2 > last.txt"
    await desk.run(command, [])
    await desk.store.end_turn()
    await desk.store.begin_turn("a longer job")
    for name in ("ready", "go"):
        (desk.sync / name).unlink()
    call = {"command": command.replace("WAIT", desk.wait), "run_in_background": True}
    await ToolExecutor().execute(BashTool(), call, desk.context)
    await desk.edit(edits)
    await desk.store.end_turn()
    await desk.store.undo()
    desk.check(edits)
    await desk.store.redo()
    desk.check(edits)
    (desk.sync / "go").touch()
    await desk.jobs.output(1, wait_s=20)
    await desk.store.undo()
    desk.check(edits)


async def test_user_edits_between_two_commands_of_a_turn_survive(desk: Desk) -> None:
    edits = saves("notes.txt") + saves("ideas.md")
    await desk.store.begin_turn("two")
    await ToolExecutor().execute(BashTool(), {"command": "sed -i s/x/y/ notes.txt"}, desk.context)
    await desk.edit(edits)
    await ToolExecutor().execute(
        BashTool(), {"command": "sed -i s/wrote/typed/ notes.txt; make"}, desk.context
    )
    await desk.store.end_turn()
    await desk.store.undo()
    desk.check(edits)


async def test_user_edits_after_an_undo_survive_a_redo(desk: Desk) -> None:
    await desk.store.begin_turn("edit")
    await ToolExecutor().execute(
        BashTool(), {"command": "sed -i s/x/y/ notes.txt; rm other.txt"}, desk.context
    )
    await desk.store.end_turn()
    await desk.store.undo()
    edits = saves("notes.txt", "in place") + saves("other.txt")
    await desk.edit(edits)
    report = await desk.store.redo()
    assert [one.name for one in report.conflicts] == ["notes.txt", "other.txt"]
    desk.check(edits)


@pytest.mark.parametrize("moment", ["first", "last"])
async def test_user_edits_at_the_start_or_end_of_a_command_survive(desk: Desk, moment: str) -> None:
    """Between the look that comes before a command and its start, and between its end and the look after."""
    edits = saves("notes.txt") + saves("ideas.md") + saves("made.txt", "in place")
    command = "sed -i s/x/y/ notes.txt; echo made > made.txt"
    await desk.store.begin_turn("race")
    watch = await desk.store.before_command(expected_effects(command, desk.root))
    if moment == "first":
        await desk.edit(edits)
        command = "true"
    shell(desk.root, command)
    if moment == "last":
        await desk.edit(edits)
    effects = await desk.store.after_command(watch)
    await desk.store.end_turn()
    assert {"notes.txt", "ideas.md"} <= set(effects.doubtful)
    await desk.store.undo()
    assert (desk.root / "notes.txt").read_text() == (desk.root / "ideas.md").read_text() == MINE


async def test_doubtful_files_are_undone_when_selected(desk: Desk) -> None:
    edits = saves("notes.txt") + saves("ideas.md") + saves("docs/a.md")
    await desk.store.begin_turn("choose")
    await desk.run("make; WAIT", edits)
    await desk.store.end_turn()
    first = await desk.store.undo()
    assert {name for name, _ in first.doubtful} >= {"notes.txt", "ideas.md", "docs/a.md"}
    assert all(command.startswith("make; touch") for _, command in first.doubtful)
    desk.check(edits)
    second = await desk.store.undo(["docs", "notes.txt"])
    assert second.conflicts == ()
    assert (desk.root / "notes.txt").read_text().startswith("one x")
    assert not (desk.root / "docs/a.md").exists() and (desk.root / "ideas.md").exists()
    await desk.store.undo(None)
    assert not (desk.root / "ideas.md").exists()
    await desk.store.redo()
    desk.check(edits)
    with pytest.raises(ForgeError, match="not among the files"):
        await desk.store.undo(["main.c"])
    await desk.store.undo(None)
    assert not (desk.root / "ideas.md").exists() and not (desk.root / "prog").exists()


async def test_doubtful_files_are_remembered_after_a_restart(desk: Desk) -> None:
    await desk.store.begin_turn("choose")
    await desk.run("sed -i s/one/1/ notes.txt; WAIT", saves("ideas.md"))
    await desk.store.end_turn()
    await desk.store.undo()
    await desk.store.aclose()
    again = UndoStore(desk.root, desk.sync.parent / "state" / "s1" / "undo")
    await again.load()
    (view,) = again.turns()
    assert [name for name, _ in view.doubtful] == ["ideas.md"] and view.is_undone
    await again.undo(["ideas.md"])
    assert not (desk.root / "ideas.md").exists()
    await again.redo()
    desk.check(saves("ideas.md"))
    await again.aclose()
