"""python -m tests.bench.undo [--files 5000]

What a checkpoint costs on a repository, how fast the store grows, and whether undo touches other files.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from forge_core.undo import UndoStore
from forge_core.undo.snapshot.listing import scan
from forge_core.workspace.ignore import IgnoreRules, walk
from tests.unit.undo.workspace import make_repository, shell, times

ROUNDS = 15
CHANGED = 100
"""Files that each measured command changes."""


def make_files(root: Path, count: int) -> None:
    """Files of 0.4 to 16 KB of source-like text, 10 folders deep at most, and an ignored folder."""
    source = Path(__file__).with_name("server.py").read_text().splitlines(keepends=True)
    chance = random.Random(1)
    for number in range(count):
        folder = root / f"package{number % 50}" / f"part{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module{number}.py").write_text("".join(chance.choices(source, k=chance.randint(10, 400))))
    (root / "node_modules").mkdir()
    for number in range(1000):
        (root / "node_modules" / f"{number}.js").write_text("x")
    (root / ".gitignore").write_text("node_modules/\n*.pyc\n")


def stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def row(name: str, shown: str, bar: str, is_met: bool | None) -> None:
    verdict = {True: "ok", False: "MISSED", None: ""}[is_met]
    print(f"| {name:<58} | {shown:>16} | {bar:>10} | {verdict:<6} |", flush=True)


async def checkpoints(store: UndoStore) -> tuple[list[float], float]:
    """Milliseconds each, and the CPU's share of one: a busy machine shows in the first figure alone."""
    taken, cpu = [], []
    for _ in range(ROUNDS):
        start, busy = time.perf_counter(), time.process_time()
        watch = await store.before_command()
        taken.append((time.perf_counter() - start) * 1000)
        cpu.append((time.process_time() - busy) * 1000)
        await store.after_command(watch)
    return taken, statistics.median(cpu)


def change_times(root: Path) -> dict[Path, int]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path: path.stat().st_ctime_ns for path in files}


async def growth(store: UndoStore, root: Path, folder: Path, command: str) -> float:
    """Bytes that the store grows by for each byte of the changed files, three commands in a row and the
    checkpoint after them."""
    before = stored_bytes(folder)
    changed = 0
    for number in range(3):
        watch = await store.before_command()
        old = change_times(root)
        shell(root, command.format(seed=number))
        await store.after_command(watch)
        new = change_times(root)
        changed += sum(path.stat().st_size for path in new if old.get(path) != new[path])
    await store.after_command(await store.before_command())
    return (stored_bytes(folder) - before) / changed


async def measure(folder: Path, files: int) -> None:
    root = folder / "ws"
    root.mkdir()
    make_files(root, files)
    make_repository(root)
    shell(root, "git gc -q")
    state = folder / "state" / "s" / "undo"
    store = UndoStore(root, state)
    await store.begin_turn("bench")
    start = time.perf_counter()
    await store.after_command(await store.before_command())
    cold = (time.perf_counter() - start) * 1000
    warm, cpu = await checkpoints(store)
    row(f"first checkpoint, {files:,} files", f"{cold:.0f} ms", "≤ 500 ms", cold <= 500)
    p50, p95 = statistics.median(warm), sorted(warm)[int(len(warm) * 0.95)]
    row("a warm checkpoint, p50/p95", f"{p50:.0f}/{p95:.0f} ms", "< 50 ms", p50 < 50)
    row("the same, CPU", f"{cpu:.0f} ms", "", None)
    row("the store after the first checkpoint", f"{stored_bytes(state) / 1000:.0f} KB", "", None)
    await store.end_turn()
    for name, command in (
        ("text", "for f in package3/part3/*; do echo '# {seed}' >> $f; done"),
        ("random bytes", "for f in package4/part4/*; do head -c 8000 /dev/urandom > $f; done"),
        (
            "new files",
            "mkdir -p made{seed}; for n in {{1..100}}; do head -c 8000 /dev/urandom > made{seed}/$n; done",
        ),
    ):
        await store.begin_turn(name)
        ratio = await growth(store, root, state, command)
        await store.end_turn()
        row(f"growth for each byte changed: {name}", f"{ratio:.2f}", "≤ 1.1", ratio <= 1.1)
    await touched(store, root)
    await store.aclose()
    compare_walks(root)


async def touched(store: UndoStore, root: Path) -> None:
    before = times(root)
    start = time.perf_counter()
    reports = [await store.undo(), await store.undo(), await store.undo()]
    spent = time.perf_counter() - start
    own = {name for report in reports for name in (*report.restored, *report.deleted)}
    after = times(root)
    others = sum(after.get(name) != stamp for name, stamp in before.items() if name not in own)
    row(f"undo of {len(own)} files", f"{spent:.2f} s", "", None)
    row("other files touched", str(others), "0", others == 0)


def compare_walks(root: Path) -> None:
    """The two ways to look over the tree, and the shortcut that is used."""
    rules = IgnoreRules(root)
    first = scan(str(root), rules, {}, {})

    def median(work: object) -> float:
        taken = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            work()  # type: ignore[operator]
            taken.append((time.perf_counter() - start) * 1000)
        return statistics.median(taken)

    fresh = median(lambda: scan(str(root), IgnoreRules(root), {}, {}))
    known = median(lambda: scan(str(root), rules, first.stamps, first.ignored))
    general = median(lambda: [one.entry.stat(follow_symlinks=False) for one in walk(root)])
    listed = median(lambda: shell(root, "git ls-files -m -o --exclude-standard"))
    row("a walk that tests each entry against the rules", f"{fresh:.0f} ms", "", None)
    row("a walk that knows most entries (used)", f"{known:.0f} ms", "", None)
    row("the general walk of the search tools, with stat", f"{general:.0f} ms", "", None)
    row("git ls-files -m -o, for comparison", f"{listed:.0f} ms", "", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    options = parser.parse_args()
    row("figure", "here", "bar", None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asyncio.run(measure(Path(os.path.realpath(folder)), options.files))


if __name__ == "__main__":
    main()
