"""Undo of what calls did in folders that the user has added beside the workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.undo import CommandEffects
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shapes, shell


class WithFolder(Workspace):
    """A workspace with the folder `lib` beside it."""

    @property
    def lib(self) -> Path:
        return self.root.parent / "lib"

    async def run(self, command: str) -> CommandEffects:
        watch = await self.store.before_command(expected_effects(command, self.root, added=(self.lib,)))
        exit_status = shell(self.root, command)
        return await self.store.after_command(watch, exit_status=exit_status)


@pytest.fixture(params=["plain", "repositories"])
async def ws(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[WithFolder]:
    plain = make_workspace(tmp_path)
    ws = WithFolder(plain.root, plain.store, plain.troubles)
    ws.lib.mkdir()
    for folder in (ws.root, ws.lib):
        (folder / "a.txt").write_text("old\n")
        (folder / "gone.txt").write_text("old\n")
        if request.param == "repositories":
            make_repository(folder)
    await ws.store.add_folder(ws.lib)
    yield ws
    await ws.store.aclose()


async def test_commands_are_undone_and_redone_in_all_folders(ws: WithFolder) -> None:
    before = shapes(ws.root), shapes(ws.lib)
    commands = ["echo new > a.txt; echo new > ../lib/a.txt", "rm ../lib/gone.txt; mkdir ../lib/sub"]
    effects = await ws.turn("change", *commands, "cp a.txt ../lib/sub/copy.txt; cd ../lib; echo x > made")
    assert not any(one.not_undoable or one.doubtful for one in effects)
    after = shapes(ws.root), shapes(ws.lib)
    assert after != before
    report = await ws.store.undo()
    assert not report.conflicts
    assert (shapes(ws.root), shapes(ws.lib)) == before
    await ws.store.redo()
    assert (shapes(ws.root), shapes(ws.lib)) == after


async def test_edits_of_tools_are_undone_there_and_are_no_changes_of_a_command(ws: WithFolder) -> None:
    await ws.turn("look", "true")
    await ws.store.begin_turn("edit and run")
    await ws.write("../lib/a.txt", "edited\n")
    effects = await ws.run("echo x > other.txt")
    await ws.store.end_turn()
    assert effects.doubtful == ()
    assert ws.changed() == {f"{ws.lib}/a.txt", "other.txt"}
    await ws.store.undo()
    assert (ws.lib / "a.txt").read_text() == "old\n"
    assert not (ws.root / "other.txt").exists()


async def test_an_edit_of_the_user_meanwhile_is_kept(ws: WithFolder) -> None:
    await ws.turn("look", "true")
    await ws.store.begin_turn("run")
    watch = await ws.store.before_command(expected_effects("make", ws.root, added=(ws.lib,)))
    (ws.lib / "a.txt").write_text("mine\n")
    effects = await ws.store.after_command(watch, exit_status=0)
    await ws.store.end_turn()
    assert effects.doubtful == (f"{ws.lib}/a.txt",)
    await ws.store.undo()
    assert (ws.lib / "a.txt").read_text() == "mine\n"


async def test_a_command_for_all_of_the_workspace_claims_nothing_in_an_added_folder(ws: WithFolder) -> None:
    await ws.turn("look", "true")
    await ws.store.begin_turn("format")
    watch = await ws.store.before_command(expected_effects("rm -r *", ws.root, added=(ws.lib,)))
    (ws.lib / "gone.txt").unlink()
    effects = await ws.store.after_command(watch, exit_status=0)
    await ws.store.end_turn()
    assert effects.doubtful == (f"{ws.lib}/gone.txt",)


async def test_hooks_that_appear_in_its_repository_are_named(ws: WithFolder) -> None:
    await ws.turn("look", "true")
    (hook,) = await ws.turn("plant", "mkdir -p ../lib/.git/hooks; echo x > ../lib/.git/hooks/pre-commit")
    assert f"{ws.lib}/.git/hooks/pre-commit" in hook.changed


async def test_a_folder_that_is_added_later_is_covered_from_then_on(tmp_path: Path) -> None:
    plain = make_workspace(tmp_path)
    ws = WithFolder(plain.root, plain.store, plain.troubles)
    ws.lib.mkdir()
    (ws.lib / "a.txt").write_text("old\n")
    await ws.turn("before", "echo x > here")
    await ws.store.add_folder(ws.lib)
    await ws.turn("after", "echo new > ../lib/a.txt")
    await ws.store.undo()
    assert (ws.lib / "a.txt").read_text() == "old\n"
    await ws.store.aclose()


async def test_a_folder_that_is_too_large_is_reported_and_the_workspace_stays_covered(tmp_path: Path) -> None:
    plain = make_workspace(tmp_path, max_entries=20)
    ws = WithFolder(plain.root, plain.store, plain.troubles)
    ws.lib.mkdir()
    for number in range(30):
        (ws.lib / f"{number}.txt").write_text("old\n")
    (ws.root / "a.txt").write_text("old\n")
    await ws.store.add_folder(ws.lib)
    (effects,) = await ws.turn("change", "echo new > a.txt")
    assert any(str(ws.lib) in one for one in effects.not_undoable)
    await ws.store.undo()
    assert (ws.root / "a.txt").read_text() == "old\n"
    await ws.store.aclose()


@pytest.mark.parametrize("ws", ["repositories"], indirect=True)
async def test_what_git_does_there_is_undone(ws: WithFolder) -> None:
    shell(ws.lib, "git switch -q -c other; echo other > a.txt; git commit -q -am other; git switch -q main")
    await ws.turn("look", "true")
    await ws.turn("check out", "git -C ../lib checkout other -- a.txt")
    assert (ws.lib / "a.txt").read_text() == "other\n"
    await ws.store.undo()
    assert (ws.lib / "a.txt").read_text() == "old\n"


async def test_contents_that_are_replaced_survive_when_room_is_made_for_an_added_folder(
    tmp_path: Path,
) -> None:
    plain = make_workspace(tmp_path, limit_bytes=60_000)
    ws = WithFolder(plain.root, plain.store, plain.troubles)
    ws.lib.mkdir()
    old = "".join(f"{number} " for number in range(2_000))
    (ws.root / "a.txt").write_text(old)
    (ws.lib / "b.txt").write_text("old\n")
    await ws.store.add_folder(ws.lib)
    await ws.turn("look", "true")
    (ws.root / "big.py").write_text(
        "import random; open('../lib/b.txt', 'wb').write(random.randbytes(58_000))\n"
    )
    await ws.turn("change", "echo new > a.txt; python3 big.py")
    await ws.store.undo()
    assert (ws.root / "a.txt").read_text() == old
    await ws.store.aclose()
