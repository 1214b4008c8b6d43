"""Random trees, random tools, random commands, a person in between: undo and redo against a plain oracle.

The oracle knows nothing of the store: it compares what the tree holds before and after each step.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from forge_core.undo import UndoReport
from tests.unit.undo.workspace import (
    Shape,
    Workspace,
    make_repository,
    make_workspace,
    shapes,
    shell,
    times,
)

pytestmark = pytest.mark.property


EXAMPLES = 600 if os.environ.get("FORGE_FULL") == "1" else 30
NAMES = ["a.txt", "b", "d/c.txt", "d/e/f", "d/odd\nname", os.fsdecode(b"x/\xff\xfe"), "x/-rf", "l"]
HUMAN = ["a.txt", "b", "d/c.txt", "x/-rf", "human", "d/human", "new/human"]
CLOSED = ["chmod 500 d"] if os.geteuid() == 0 else []
"""Only root can go on working in such a folder."""
ABSENT: Shape = ("absent", 0, b"")

names = st.sampled_from(NAMES)
words = st.sampled_from(["one", "two two", "", "x" * 3000, "lines\n" * 40])


def quoted(name: str) -> str:
    """For bash, byte by byte."""
    return "$'" + "".join(f"\\x{byte:02x}" for byte in os.fsencode(name)) + "'"


commands = st.one_of(
    st.builds(
        lambda n, w: f"mkdir -p $(dirname -- {quoted(n)}); printf %s {quoted(w)} > {quoted(n)}", names, words
    ),
    st.builds(lambda n, w: f"printf %s {quoted(w)} >> {quoted(n)}", names, words),
    st.builds(lambda n, m: f"mv -- {quoted(n)} {quoted(m)}", names, names),
    st.builds(lambda n: f"rm -rf -- {quoted(n)}", names),
    st.builds(lambda n: f"rm -rf -- {quoted(n.rpartition('/')[0] or '.')}/*", names),
    st.builds(lambda n, mode: f"chmod {mode} -- {quoted(n)}", names, st.sampled_from(["600", "755", "444"])),
    st.builds(lambda n, m: f"ln -sfn -- {quoted(n)} {quoted(m)}", names, names),
    st.builds(lambda n, m: f"ln -f -- {quoted(n)} {quoted(m)}", names, names),
    st.builds(lambda n, size: f"truncate -s {size} -- {quoted(n)}", names, st.sampled_from([0, 2, 500])),
    st.builds(lambda n: f"mkdir -p -- {quoted(n)}", st.sampled_from(["new", "new/er", "d/e/g", "b"])),
    st.builds(lambda n: f"cp -r -- d {quoted(n)}", st.sampled_from(["new", "x", "d2"])),
    st.builds(lambda n: f"sed -i s/o/0/ -- {quoted(n)}", names),
    st.sampled_from([*CLOSED, "chmod 755 d", "touch a.txt b"]),
    st.sampled_from(
        [
            "git add -A; git commit -qm next",
            "git checkout -q .",
            "git checkout -q -B other HEAD~1",
            "git stash -q",
            "git reset -q --hard",
            "git gc -q --prune=now",
        ]
    ),
)
edits = st.tuples(st.just("edit"), names, words)
unlinks = st.tuples(st.just("unlink"), names, st.just(""))
runs = st.tuples(st.just("run"), commands, st.just(""))
human = st.tuples(st.just("human"), st.sampled_from(HUMAN), words)
turns = st.lists(st.one_of(runs, runs, runs, edits, unlinks, human), min_size=1, max_size=4)
ways_back = st.lists(st.one_of(st.sampled_from(["undo", "undo", "redo"]), human), min_size=1, max_size=6)


@dataclass
class Oracle:
    """What each turn did, by the tree alone."""

    turns: list[dict[str, tuple[Shape, Shape]]] = field(default_factory=list)
    undone: list[tuple[dict[str, tuple[Shape, Shape]], dict[str, tuple[Shape, Shape]]]] = field(
        default_factory=list
    )

    def end(self, turn: dict[str, tuple[Shape, Shape]]) -> None:
        if turn:
            self.turns.append(turn)
            self.undone.clear()


def join(turn: dict[str, tuple[Shape, Shape]], before: dict[str, Shape], after: dict[str, Shape]) -> None:
    for name in before.keys() | after.keys():
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        if old == new:
            continue
        first = turn[name][0] if name in turn and turn[name][1] == old else old
        turn.pop(name, None)
        if first != new:
            turn[name] = first, new


def expected(
    now: dict[str, Shape], changes: dict[str, tuple[Shape, Shape]]
) -> tuple[dict[str, Shape], set[str], set[str]]:
    """The tree after `changes` are taken from left to right, the paths done, and those in conflict."""
    result = dict(now)
    done: set[str] = set()
    conflicts: set[str] = set()
    for name, (old, new) in changes.items():
        here = now.get(name, ABSENT)
        if here == new:
            done.add(name)
        elif here == old:
            result.pop(name, None)
            if new != ABSENT:
                result[name] = new
            done.add(name)
        else:
            conflicts.add(name)
    for name in sorted(changes, key=lambda one: one.count("/"), reverse=True):
        old, new = changes[name]
        if name not in done or old[0] != "folder" or now.get(name) != old or new[0] == "folder":
            continue
        below = {path for path in result if path.startswith(name + "/")}
        if below:
            result[name] = old
            done.discard(name)
            if not below & conflicts:
                conflicts.add(name)
    return result, done, conflicts


async def step(ws: Workspace, kind: str, what: str, text: str) -> None:
    match kind:
        case "run":
            await ws.run(what)
        case "edit":
            path = ws.root / what
            if os.access(path, os.W_OK) if path.is_file() else not path.parent.exists():
                await ws.edit(what, lambda path: tool_write(path, text))
        case "unlink":
            if (ws.root / what).is_file():
                await ws.edit(what, os.unlink)


def tool_write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def human_edit(root: Path, name: str, text: str) -> None:
    """The user edits a file, or deletes it with an empty text."""
    path = root / name
    if path.is_dir() or path.is_symlink() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        return
    if text:
        path.unlink(missing_ok=True)
        path.write_text("human " + text)
    else:
        path.unlink(missing_ok=True)


async def play(folder: Path, in_git: bool, plan: list, back: list) -> None:
    ws = make_workspace(folder)
    shell(
        ws.root, "mkdir -p d/e x; echo a > a.txt; echo c > d/c.txt; echo f > d/e/f; ln -s a.txt l; echo z > z"
    )
    if in_git:
        make_repository(ws.root)
    oracle = Oracle()
    for number, steps in enumerate(plan):
        turn: dict[str, tuple[Shape, Shape]] = {}
        await ws.store.begin_turn(f"turn {number}")
        for kind, what, text in steps:
            if kind == "human":
                human_edit(ws.root, what, text)
                continue
            before = shapes(ws.root)
            await step(ws, kind, what, text)
            join(turn, before, shapes(ws.root))
        await ws.store.end_turn()
        oracle.end(turn)
    for move in back:
        if isinstance(move, tuple):
            human_edit(ws.root, move[1], move[2])
        else:
            await check(ws, oracle, move)
    await ws.store.aclose()
    assert ws.troubles == []


async def check(ws: Workspace, oracle: Oracle, move: str) -> None:
    stack = oracle.turns if move == "undo" else oracle.undone
    now, stamps = shapes(ws.root), times(ws.root)
    if not stack:
        report = await (ws.store.undo() if move == "undo" else ws.store.redo())
        assert (report.turn, shapes(ws.root)) == (0, now)
        return
    if move == "undo":
        whole = oracle.turns.pop()
        changes = {name: (new, old) for name, (old, new) in whole.items()}
        report = await ws.store.undo()
    else:
        whole, changes = oracle.undone.pop()
        report = await ws.store.redo()
    result, done, conflicts = expected(now, changes)
    assert shapes(ws.root) == result
    compare(report, done, conflicts)
    event(f"{move}: {'conflicts' if conflicts else 'clean'}")
    after = times(ws.root)
    for name, stamp in stamps.items():
        if name not in changes:
            assert after[name] == stamp, f"{name!r} was touched"
    if move == "undo":
        oracle.undone.append((whole, {name: whole[name] for name in done}))
    else:
        oracle.turns.append(whole)


def compare(report: UndoReport, done: set[str], conflicts: set[str]) -> None:
    assert {conflict.name for conflict in report.conflicts} == conflicts
    assert {*report.restored, *report.deleted} == done


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(in_git=st.booleans(), plan=st.lists(turns, min_size=1, max_size=3), back=ways_back)
def test_the_tree_matches_an_oracle_and_conflicts_are_where_the_user_edited(
    in_git: bool, plan: list, back: list
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(play(Path(folder), in_git, plan, back))
        finally:
            shell(Path(folder), "chmod -R u+rwx .")
