"""What usual commands do to files, with nobody else at work, is undone without a question."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import UndoStore
from tests.unit.undo.workspace import GIT, Shape, make_repository, shapes, shell

pytestmark = pytest.mark.slow


GENERATOR = """
import json, sys
from pathlib import Path
OUT = Path("models")
OUT.mkdir(exist_ok=True)
for name, fields in json.loads(Path("schema.json").read_text()).items():
    (OUT / f"{name.lower()}.py").write_text(f"class {name}:\\n    fields = {fields!r}\\n")
(OUT / "__init__.py").write_text("")
with open("index.txt", "w") as file:
    print(sorted(OUT.iterdir()), file=file)
"""
REPORT = """
import argparse, csv
parser = argparse.ArgumentParser()
parser.add_argument("source"); parser.add_argument("--out")
args = parser.parse_args()
with open(args.source) as source, open(args.out, "w") as target:
    target.write(source.read().upper())
for number in range(3):
    with open(f"part_{number}.csv", "w") as part:
        csv.writer(part).writerow([number])
"""
CODEMOD = """
import pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    path.write_text(path.read_text().replace("old_name", "new_name"))
"""
BUILD_JS = """
const fs = require("fs"), path = require("path");
const out = path.join(__dirname, "bundle");
fs.mkdirSync(out, { recursive: true });
fs.writeFileSync(path.join(out, "app.js"), "console.log(1)\\n");
fs.writeFileSync("manifest.json", JSON.stringify({ a: 1 }));
"""
MAKEFILE = """
OBJECTS = main.o
.PHONY: all clean docs
all: prog version.txt docs
prog: $(OBJECTS)
\t$(CC) -o $@ $^
%.o: %.c
\t$(CC) -c -o $@ $<
version.txt: Makefile
\t@echo 1.0 > $@
docs:
\tmkdir -p site-docs && sed s/x/y/ notes.txt > site-docs/notes.html
clean:
\trm -f prog *.o version.txt
"""
PACKAGE = {
    "name": "demo",
    "version": "1.0.0",
    "scripts": {"build": "node build.js", "prebuild": "touch stamp"},
}
WITH_FUNCTIONS = """
from pathlib import Path
def save(name):
    with open(name, "w") as file:
        file.write(name)
def main():
    for name in ("one.txt", "two.txt"):
        save(name)
    Path("three.txt").write_text("3")
if __name__ == "__main__":
    main()
"""
PATCH = """--- a/notes.txt
+++ b/notes.txt
@@ -1,3 +1,3 @@
 one x
-two x
+two patched
 three x
--- /dev/null
+++ b/added.txt
@@ -0,0 +1 @@
+added
"""


def make_project(root: Path) -> None:
    """A small project of everything, in a repository without ignore rules and with two branches."""
    files = {
        "main.c": "int main(void) { return 0; }\n",
        "Makefile": MAKEFILE,
        "notes.txt": "one x\ntwo x\nthree x\n",
        "other.txt": "other\n",
        "pkg/__init__.py": "",
        "pkg/a.py": "import os\nold_name = {'a':1}\ndef f( x ):\n  return x+old_name['a']\n",
        "pkg/b.py": "from pkg.a import f, old_name\nprint( f(1), old_name )\n",
        "test_it.py": "from pkg.a import f\ndef test_f():\n    assert f(1) == 2\n",
        "schema.json": json.dumps({"User": ["name"], "OrderLine": ["count"]}),
        "gen.py": GENERATOR,
        "report.py": REPORT,
        "codemod.py": CODEMOD,
        "build.js": BUILD_JS,
        "package.json": json.dumps(PACKAGE, indent=2) + "\n",
        "lib/package.json": json.dumps({"name": "lib", "version": "1.0.0"}),
        "fix.patch": PATCH,
        "run.sh": "#!/bin/sh\nset -e\nmkdir -p tmp-out\necho $1 > tmp-out/result\ncp notes.txt tmp-out/copy.txt\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "run.sh").chmod(0o755)
    (root / "linked").symlink_to("other.txt")
    make_repository(root)
    shell(root, "git checkout -q -b side && echo side >> other.txt && echo new > side.txt && git add -A")
    shell(root, "git commit -qm side && sed -i 's/one x/one side/' notes.txt && git commit -qam clash")
    shell(root, "git checkout -q main && echo main > main.txt && git add -A && git commit -qm main")
    shell(root, "mkdir t && cp notes.txt t/n.txt && echo packed > t/p.txt && tar cf packed.tar t && rm -r t")
    shell(root, "git add -A && git commit -qm packed")


PYTHON = sys.executable
RUFF = str(Path(sys.executable).with_name("ruff"))
COMMANDS = {
    "pytest": f"{PYTHON} -m pytest -q",
    "make": "make",
    "make, then clean": "make && make clean",
    "gcc": "gcc main.c && gcc -c main.c && cc -o tool main.c",
    "npm init": "cd lib && rm package.json && npm init -y",
    "npm run": "npm run build",
    "npm install, offline": "npm install --offline --no-audit ./lib",
    "npm version and pack": "npm version minor --no-git-tag-version && npm pack",
    "a formatter of a tree": f"{RUFF} format .",
    "a formatter of a file": f"{RUFF} format pkg/a.py",
    "a linter that repairs": f"{RUFF} check --fix --select F,I . && {RUFF} format pkg",
    "git checkout of a branch": "git checkout side",
    "git checkout of a file": "echo mine > other.txt && git checkout other.txt && git checkout side -- notes.txt",
    "git stash": "echo mine > other.txt && echo untracked > u.txt && git stash -u",
    "git stash and pop": "echo mine > other.txt && git stash && git checkout -q side && git stash pop",
    "git merge": "git merge side --no-edit",
    "git merge with a conflict": "sed -i 's/one x/one main/' notes.txt && git commit -qam m && git merge side",
    "git rebase": "git checkout -q side && git rebase main",
    "git cherry-pick and revert": "git cherry-pick side~1 && git revert --no-edit HEAD",
    "git reset --hard": "echo mine >> notes.txt && git reset -q --hard side",
    "git apply": "git apply fix.patch",
    "git clean": "echo x > junk.txt && mkdir junk && echo y > junk/y && git clean -fdq",
    "git mv and rm": "git mv notes.txt renamed.txt && git rm -q other.txt",
    "git commit": "echo more >> other.txt && git add -A && git commit -qm more",
    "patch": "patch -p1 < fix.patch",
    "patch from a here-document": f"patch -p1 <<'EOF'\n{PATCH}EOF\n",
    "sed -i": "sed -i 's/x/y/' notes.txt other.txt",
    "sed -i with a backup and a glob": "sed -i.bak -e 's/x/z/' -e '/two/d' *.txt",
    "sed -i through xargs": "grep -rl old_name pkg | xargs sed -i 's/old_name/new_name/g'",
    "sed -i through find": "find pkg -name '*.py' -exec sed -i 's/old_name/new_name/g' {} +",
    "two edits of one file": "sed -i 's/x/y/' notes.txt && sed -i 's/one/1/' notes.txt && echo end >> notes.txt",
    "mv": "mv notes.txt moved.txt && mv pkg lib/ && mkdir d && mv other.txt moved.txt d",
    "cp": "cp notes.txt copy.txt && cp -r pkg pkg2 && cp main.c build.js lib/",
    "rm": "rm notes.txt && rm -rf pkg && rm -f *.js",
    "mkdir, touch, chmod, ln": "mkdir -p a/b/c && touch a/b/x && chmod 600 main.c && ln -s main.c link && ln main.c hard",
    "tar": "tar xf packed.tar && tar czf all.tgz pkg lib && mkdir out2 && tar -C out2 -xzf all.tgz",
    "gzip": "gzip -k notes.txt && gzip other.txt",
    "a redirect, tee, dd": "echo a > r.txt && echo b | tee -a r.txt t.txt && dd if=/dev/zero of=z.bin bs=10 count=1",
    "a here-document": "cat > new.cfg <<'EOF'\n[a]\nb = 1\nEOF\n",
    "a loop": "for i in $(seq 1 30); do echo $i > file-$i.txt; echo $i >> log.txt; done",
    "a Python script that generates code": f"{PYTHON} gen.py",
    "a script that generates it again": f"{PYTHON} gen.py && sed -i 's/OrderLine/Line/' schema.json && {PYTHON} gen.py",
    "a Python script with arguments": f"{PYTHON} report.py notes.txt --out upper.txt",
    "a Python script on a tree": f"{PYTHON} codemod.py pkg",
    "python -c": f"{PYTHON} -c \"open('made.txt', 'w').write('x'); import os; os.rename('other.txt', 'o.txt')\"",
    "Python from a here-document": f"{PYTHON} - <<'EOF'\nfrom pathlib import Path\nPath('h.txt').write_text('x')\nEOF\n",
    "a shell script": "./run.sh done",
    "a node script": "node build.js && node -e \"require('fs').writeFileSync('e.txt', 'x')\"",
    "perl": "perl -pi -e 's/x/q/' notes.txt",
    "awk": "awk '{print $1}' notes.txt > first.txt && mv first.txt notes.txt",
    "a redirect after a command": "test -d pkg && wc -l notes.txt > count.txt",
    "a redirect of a command that fails": "cd pkg && grep nothing a.py > found.txt",
    "a copy into a new folder": "mkdir -p d && cp notes.txt main.c d/",
    "a copy unless it exists": "[ -e copy.txt ] || cp notes.txt copy.txt; true",
    "a line unless it is there": "grep -q build .gitignore 2>/dev/null || echo build >> .gitignore; true",
    "loops that write new files": (
        "for n in a b c; do echo $n > $n.txt; done; for i in {1..3}; do wc -l notes.txt > out/$i; done; "
        "mkdir out && for i in 1 2; do wc -l notes.txt > out/$i.txt; done"
    ),
    "a formatter of a new file": f"cat > new.py <<'EOF'\nx = {{'a':1}}\nEOF\n{RUFF} format new.py && sed -i s/a/b/ pkg/a.py && {RUFF} format pkg/a.py",
    "a redirect through a link": "echo x > linked",
    "an inner shell": "bash -c 'wc -l notes.txt > count.txt && cp main.c m.c'",
    "a script with functions": f"{PYTHON} - <<'EOF'\n{WITH_FUNCTIONS}EOF\n",
    "make after a change": "make && sleep 0.01 && touch Makefile && make",
    "in a folder": "cd pkg && sed -i 's/old_name/n/' a.py b.py && echo x > made.txt && (cd .. && echo y > top.txt)",
}
NEEDED = {
    "npm": "npm",
    "node": "node",
    "gcc": "gcc",
    "make": "make",
    "patch": "patch",
    "perl": "perl",
    "tar": "tar",
}


@dataclass
class Bench:
    root: Path
    context: ExecutionContext
    store: UndoStore

    async def turn(self, *commands: str) -> None:
        await self.store.begin_turn("turn")
        for command in commands:
            await ToolExecutor().execute(BashTool(), {"command": command}, self.context)
        await self.store.end_turn()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of every test, to copy: it takes twenty programs to make."""
    root = tmp_path_factory.mktemp("usual") / "ws"
    root.mkdir()
    make_project(root)
    return root


@pytest.fixture
async def bench(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)
    root = shutil.copytree(project, tmp_path / "ws", symlinks=True)
    store, jobs = UndoStore(root, tmp_path / "state" / "s1" / "undo"), JobTable()
    yield Bench(
        root,
        ExecutionContext(root, before_images=store, jobs=jobs, environment=_environment(tmp_path)),
        store,
    )
    await jobs.aclose()
    await store.aclose()


def _environment(tmp_path: Path) -> dict[str, str]:
    import os

    light = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the plugins of this suite, of no use to the test
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", **GIT, **light}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
async def test_a_common_command_is_undone_and_redone_without_conflicts(bench: Bench, command: str) -> None:
    for word, program in NEEDED.items():
        if word in command and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    before = covered(bench.root)
    await bench.turn(command)
    after = covered(bench.root)
    (view,) = bench.store.turns() or (None,)
    assert view is None or view.doubtful == ()
    assert (await bench.store.undo()).conflicts == ()
    assert covered(bench.root) == before
    assert (await bench.store.redo()).conflicts == ()
    assert covered(bench.root) == after


def covered(root: Path) -> dict[str, Shape]:
    """All but caches that bring ignore rules of their own."""
    ignored = (".ruff_cache", ".pytest_cache")
    return {name: one for name, one in shapes(root).items() if name.split("/")[0] not in ignored}
