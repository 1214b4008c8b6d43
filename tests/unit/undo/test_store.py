"""Undo and redo, turn by turn, over real files and real commands."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.tools.effect_analysis.command_lines import expected_effects
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shapes, shell, times


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(tmp_path)
    yield workspace
    await workspace.store.aclose()


async def test_an_edit_a_new_file_and_its_new_folders_are_undone_and_redone(ws: Workspace) -> None:
    (ws.root / "a.txt").write_text("old\n")
    before = shapes(ws.root)
    await ws.store.begin_turn("change things")
    await ws.write("a.txt", "new\n")
    await ws.write("deep/er/b.txt", "made\n")
    await ws.store.end_turn()
    after = shapes(ws.root)
    report = await ws.store.undo()
    assert shapes(ws.root) == before
    assert report.text_of_turn == "change things"
    assert report.restored == ("a.txt",)
    assert report.deleted == ("deep", "deep/er", "deep/er/b.txt")
    assert report.conflicts == ()
    await ws.store.redo()
    assert shapes(ws.root) == after
    await ws.store.undo()
    assert shapes(ws.root) == before


COMMANDS = {
    "create": "echo x > new.txt",
    "append": "echo x >> a.txt",
    "move": "mv a.txt d/moved.txt",
    "delete a tree": "rm -r d",
    "mode": "chmod 755 a.txt; chmod 700 d",
    "link": "ln -s a.txt link; ln -sf nowhere dangling",
    "a link becomes a file": "rm link0; echo x > link0",
    "a file becomes a link": "ln -sf /etc/passwd a.txt",
    "a folder becomes a file": "rm -r d; echo x > d",
    "a file becomes a folder": "rm a.txt; mkdir -p a.txt/b; echo x > a.txt/b/c",
    "truncate": "truncate -s 3 a.txt; truncate -s 0 d/b.txt",
    "empty folders": "mkdir -p e/f/g",
    "hard link and append": "ln a.txt hard; echo x >> hard",
    "sed -i": "sed -i s/old/new/ a.txt",
    "closed folder": "chmod 500 d; mkdir c; echo x > c/x; chmod 500 c",
    "same bytes, other order": "cp a.txt t; cp d/b.txt a.txt; cp t d/b.txt; rm t",
    "odd names": "touch $'new\\nline' $'\\xff\\xfe' $'\\e[31m' -- '-rf' ' ' 'ü'",
    "git commit": "echo x > a.txt; git add -A; git commit -qm second",
    "git checkout": "git checkout -q -b other; git rm -q a.txt; git commit -qm gone",
    "forged time": "touch -r a.txt ref; printf 'OLD\\n' > a.txt; touch -r ref a.txt; rm ref",
}


@pytest.mark.parametrize("in_git", [False, True], ids=["plain", "git"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
async def test_changes_by_a_command_are_undone_and_redone(ws: Workspace, command: str, in_git: bool) -> None:
    (ws.root / "d" / "e").mkdir(parents=True)
    (ws.root / "a.txt").write_text("old\n")
    (ws.root / "d" / "b.txt").write_text("bbb\n")
    (ws.root / "d" / "e" / "c.txt").write_text("c\n")
    (ws.root / "link0").symlink_to("d/b.txt")
    (ws.root / "other.txt").write_text("untouched\n")
    if in_git:
        make_repository(ws.root)
    before, other = shapes(ws.root), times(ws.root)["other.txt"]
    await ws.turn("run it", command)
    after = shapes(ws.root)
    assert after != before or not in_git
    assert (await ws.store.undo()).conflicts == ()
    assert shapes(ws.root) == before
    assert (await ws.store.redo()).conflicts == ()
    assert shapes(ws.root) == after
    assert (await ws.store.undo()).conflicts == ()
    assert shapes(ws.root) == before
    assert times(ws.root)["other.txt"] == other


async def test_a_later_edit_by_the_user_is_a_conflict_and_stays(ws: Workspace) -> None:
    (ws.root / "a.txt").write_text("a\n")
    (ws.root / "b.txt").write_text("b\n")
    await ws.turn("both", "echo x >> a.txt; echo x >> b.txt; echo x > c.txt")
    (ws.root / "a.txt").write_text("mine\n")
    (ws.root / "c.txt").unlink()
    report = await ws.store.undo()
    assert [(one.name, one.why) for one in report.conflicts] == [("a.txt", "changed since")]
    assert (ws.root / "a.txt").read_text() == "mine\n"
    assert (ws.root / "b.txt").read_text() == "b\n"


async def test_the_users_edit_between_two_commands_of_a_turn_survives_undo(ws: Workspace) -> None:
    (ws.root / "a.txt").write_text("a\n")
    await ws.store.begin_turn("twice")
    await ws.run("echo tool >> a.txt")
    (ws.root / "a.txt").write_text("mine\n")
    await ws.run("echo tool >> a.txt")
    await ws.store.end_turn()
    await ws.store.undo()
    assert (ws.root / "a.txt").read_text() == "mine\n"


async def test_an_edit_right_after_a_file_tool_is_not_attributed_to_it(ws: Workspace) -> None:
    await ws.store.begin_turn("write")
    await ws.write("a.txt", "tool\n")
    (ws.root / "a.txt").write_text("mine\n")
    await ws.store.end_turn()
    report = await ws.store.undo()
    assert [one.name for one in report.conflicts] == ["a.txt"]
    assert (ws.root / "a.txt").read_text() == "mine\n"


async def test_turns_are_undone_one_by_one_and_a_new_change_clears_redo(ws: Workspace) -> None:
    await ws.turn("one", "echo 1 > a")
    await ws.turn("two", "echo 2 > a")
    await ws.turn("only looks", "cat a")
    assert (await ws.store.undo()).text_of_turn == "two"
    assert (await ws.store.undo()).text_of_turn == "one"
    assert (await ws.store.undo()).turn == 0
    assert (await ws.store.redo()).text_of_turn == "one"
    assert (ws.root / "a").read_text() == "1\n"
    await ws.turn("three", "echo 3 > b")
    assert (await ws.store.redo()).turn == 0
    assert [(view.text, view.is_undone) for view in ws.store.turns()] == [("one", False), ("three", False)]
    assert shapes(ws.root).keys() == {"a", "b"}


async def test_undo_is_refused_while_a_turn_runs(ws: Workspace) -> None:
    await ws.store.begin_turn("busy")
    await ws.write("a", "x")
    with pytest.raises(ForgeError, match="turn is running"):
        await ws.store.undo()
    await ws.store.end_turn()
    assert (await ws.store.undo()).deleted == ("a",)
    await ws.store.begin_turn("busy again")
    with pytest.raises(ForgeError, match="turn is running"):
        await ws.store.redo()


async def test_a_change_that_the_turn_itself_reverts_is_not_listed(ws: Workspace) -> None:
    (ws.root / "a").write_text("a")
    await ws.turn("there and back", "mv a b", "mv b a; touch a")
    assert ws.store.turns() == ()


async def test_a_background_job_is_covered_until_its_turn_ends(ws: Workspace) -> None:
    await ws.store.begin_turn("serve")
    job = await ws.store.before_command(
        expected_effects("echo early > early; echo late > late; echo later > later", ws.root, is_job=True)
    )
    shell(ws.root, "echo early > early")
    await ws.run("echo other > other")
    shell(ws.root, "echo late > late")
    await ws.store.end_turn()
    (ws.root / "mine").write_text("between the turns")
    shell(ws.root, "echo later > later")
    await ws.store.begin_turn("next")
    (ws.root / "mine").write_text("and during the next")
    effects = await ws.store.after_command(job)
    await ws.store.end_turn()
    assert any("mine" in text for text in effects.not_undoable)
    assert not any("later" in text for text in effects.not_undoable)
    report = await ws.store.undo()
    assert report.deleted == ("early", "late", "other")
    assert shapes(ws.root).keys() == {"mine", "later"}


async def test_files_changed_outside_the_workspace_by_a_tool_are_restored(
    ws: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("old")
    await ws.store.begin_turn("elsewhere")
    await ws.edit(str(outside), lambda path: path.write_text("new"))
    await ws.store.end_turn()
    assert (await ws.store.undo()).restored == (str(outside),)
    assert outside.read_text() == "old"


async def test_undo_of_a_hard_link_does_not_touch_the_linked_file(ws: Workspace) -> None:
    (ws.root / "a").write_text("a")
    (ws.root / "c").write_text("c")
    (ws.root / "same").write_text("a")
    (ws.root / "same").chmod(0o600)
    before, stamp = shapes(ws.root), times(ws.root)["a"]
    await ws.turn("link", "ln -f a c; ln -f a same")
    assert (await ws.store.undo()).conflicts == ()
    assert (shapes(ws.root), times(ws.root)["a"]) == (before, stamp)


async def test_a_hard_link_that_the_user_has_made_since_keeps_its_content(ws: Workspace) -> None:
    (ws.root / "a").write_text("old")
    await ws.turn("change", "echo tool > a")
    (ws.root / "kept").hardlink_to(ws.root / "a")
    await ws.store.undo()
    assert ((ws.root / "a").read_text(), (ws.root / "kept").read_text()) == ("old", "tool\n")


async def test_a_file_hard_linked_outside_the_workspace_is_restored_in_place(
    ws: Workspace, tmp_path: Path
) -> None:
    (ws.root / "a").write_text("old")
    (tmp_path / "outside").hardlink_to(ws.root / "a")
    await ws.turn("change", "echo tool > a")
    assert (tmp_path / "outside").read_text() == "tool\n"
    await ws.store.undo()
    assert (tmp_path / "outside").read_text() == "old"


async def test_undo_of_a_write_through_a_link_restores_its_target(ws: Workspace) -> None:
    (ws.root / "a").write_text("old")
    (ws.root / "link").symlink_to("a")
    await ws.store.begin_turn("edit")
    await ws.edit("link", lambda path: path.write_text("new"))
    await ws.store.end_turn()
    assert (await ws.store.undo()).restored == ("a",)
    assert (ws.root / "a").read_text() == "old"


async def test_undo_of_a_removed_link_does_not_touch_its_target(ws: Workspace) -> None:
    (ws.root / "a").write_text("old")
    (ws.root / "link").symlink_to("a")
    await ws.store.begin_turn("remove")
    await ws.edit("link", os.unlink)
    (ws.root / "a").write_text("mine")
    await ws.store.end_turn()
    assert (await ws.store.undo()).restored == ("link",)
    assert (ws.root / "a").read_text() == "mine"


async def test_a_planted_link_never_leads_undo_out_of_the_workspace(ws: Workspace, tmp_path: Path) -> None:
    (ws.root / "d").mkdir()
    (ws.root / "d" / "f").write_text("in")
    victim = tmp_path / "victim"
    victim.mkdir()
    await ws.turn("delete", "rm d/f")
    (ws.root / "d").rmdir()
    (ws.root / "d").symlink_to(victim)
    report = await ws.store.undo()
    assert [one.name for one in report.conflicts] == ["d/f"]
    assert list(victim.iterdir()) == []


async def test_state_kept_inside_the_workspace_is_not_watched(tmp_path: Path) -> None:
    from forge_core.undo import UndoStore

    root = tmp_path / "ws"
    root.mkdir()
    private = root / ".state"
    store = UndoStore(root, private / "s" / "undo", private=private)
    ws = Workspace(root, store)
    await ws.turn("x", "echo x > a; echo y > .state/journal")
    await store.aclose()
    assert ws.changed() == {"a"}


async def test_non_unicode_names_survive_a_restart(ws: Workspace, tmp_path: Path) -> None:
    await ws.turn("odd", r"printf x > $'\xff\nname'; printf y > ü")
    await ws.store.aclose()
    again = make_workspace(tmp_path)
    await again.store.load()
    assert [name for name, _ in again.store.turns()[0].changes] == ["ü", os.fsdecode(b"\xff\nname")]
    await again.store.undo()
    assert shapes(again.root) == {}
    await again.store.aclose()
