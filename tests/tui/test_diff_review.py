"""Keeping and reverting hunks in the viewer of `/diff`, over a real undo store."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.undo import UndoStore
from tests.support.chat_app import ChatApp, make_app, shown, until
from tests.tui.test_diff_viewer import opened, press, viewer

pytestmark = pytest.mark.slow
in_full = pytest.mark.skipif(not os.environ.get("FORGE_FULL"), reason="2 s each: in .ci/full only")

LINES = [f"line {number}\n" for number in range(60)]
CHANGED = [*LINES[:5], "five\n", *LINES[6:30], "thirty\n", *LINES[31:55], "end 日本\n", *LINES[56:]]


@pytest.fixture
async def app(config: ForgeConfig, tmp_path: Path) -> AsyncIterator[ChatApp]:
    """A turn has changed a.py in three places and created new.py."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("".join(LINES))
    made = make_app(replace(config, working_dir=root))
    made.scripted.undo = store = UndoStore(root, tmp_path / "undo")
    await store.begin_turn("change things")
    for name, text in (("a.py", "".join(CHANGED)), ("new.py", "import os\n")):
        await store.capture(root / name)
        (root / name).write_text(text)
    await store.end_turn()
    yield made
    await store.aclose()


def text(app: ChatApp, name: str = "a.py") -> str:
    return (app.scripted.config.working_dir / name).read_text()


async def test_a_hunk_is_reverted_and_restored(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "right_square_bracket", "thirty")
        await press(pilot, "x", "Reverted 1 of 3 hunks of a.py (at line 31).")
        await until(pilot, lambda: "thirty" not in shown(app))
        assert text(app) == "".join([*CHANGED[:30], LINES[30], *CHANGED[31:]])
        assert [report.kind for report in app.scripted.restored_files] == ["revert"]
        await press(pilot, "u", "thirty")
        assert "Restored the reverted changes of a.py." in shown(app)
        assert text(app) == "".join(CHANGED)


async def test_kept_hunks_are_folded_and_survive_a_revert_of_the_file(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "a", "✓ kept  line 6  +1 −1")
        assert "+ five" not in shown(app)
        await press(pilot, "X", "Reverted 2 of 3 hunks of a.py (at line 31, 56).")
        await until(pilot, lambda: "2/2" in shown(app) and "import os" in shown(app))  # the next file
        assert text(app) == "".join([*LINES[:5], "five\n", *LINES[6:]])
        await press(pilot, "p", "✓ kept  line 6  +1 −1")
        await press(pilot, "x", "This hunk is marked as kept.")
        await press(pilot, "X", "All of this file is marked as kept.")
        await press(pilot, "a", "+ five")
        await press(pilot, "X", "1/1")
        assert text(app) == "".join(LINES)
        assert "new.py" in shown(app)


async def test_after_a_revert_the_next_hunk_that_is_not_kept_is_current(app: ChatApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        assert "] [ hunk · n p file · a A keep · x X revert · u restore · ? keys · q close" in shown(app)
        await press(pilot, "a", "✓ kept  line 6")
        await press(pilot, "x", "(at line 31).")
        await until(pilot, lambda: "thirty" not in shown(app))
        assert viewer(app).pane.current == (56, 56)
        await press(pilot, "left_square_bracket", "▸   ✓ kept")
        await press(pilot, "a", "+ five")
        await press(pilot, "right_square_bracket a", "2/2")
        await press(pilot, "p", "✓ kept  line 56")
        await press(pilot, "a", "2/2")  # past the kept hunk


async def test_a_note_that_is_longer_than_a_row_is_shown_whole(app: ChatApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        note = f"Reverted 2 of 3 hunks of {'folder/' * 9}a.py (at line 31, 56). Left alone: nothing."
        viewer(app)._note(note)
        await until(pilot, lambda: "Left alone: nothing." in shown(app))
        assert "Reverted 2 of 3 hunks" in shown(app)
        viewer(app)._note("Short.")
        await until(pilot, lambda: "Short." in shown(app).splitlines()[-1])


async def test_a_created_file_is_reverted_as_a_whole(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "n", "import os")
        await press(pilot, "x", "Reverted the changes of new.py.")
        await until(pilot, lambda: "1/1" in shown(app))
        assert not (app.scripted.config.working_dir / "new.py").exists()
        await press(pilot, "u", "1/2")
        assert text(app, "new.py") == "import os\n"


@in_full
async def test_when_all_is_reverted_the_last_revert_can_be_undone(app: ChatApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "X", "1/1")
        await press(pilot, "X", "The last turn changed no files.")
        await press(pilot, "x", "There is no file to keep or revert.")
        await press(pilot, "u", "import os")


@in_full
async def test_a_file_that_has_changed_since_is_left_alone(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        (app.scripted.config.working_dir / "a.py").write_text("mine\n")
        for key in ("x", "X"):
            await press(pilot, key, "Nothing was reverted. a.py: changed since.")
        assert text(app) == "mine\n"


@in_full
async def test_the_working_tree_cannot_be_reverted(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "d", "no git repository")
        for key in ("x", "X", "a", "A", "u"):
            await press(pilot, key, "Only the changes of the last turn can be kept or reverted.")
        assert text(app) == "".join(CHANGED)


async def test_a_click_selects_the_hunk_that_is_reverted(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        rows = shown(app).split("\n")
        row = next(number for number, line in enumerate(rows) if "+ thirty" in line)
        await pilot.click(viewer(app).pane, offset=(20, row - 1))
        await press(pilot, "x", "(at line 31).")


async def test_in_the_whole_file_the_same_hunks_are_reverted(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "E", "line 20")
        await press(pilot, "right_square_bracket right_square_bracket", "end 日本")
        await press(pilot, "x", "Reverted 1 of 3 hunks of a.py (at line 56).")
        await press(pilot, "s", "diff --git")
        await press(pilot, "x", "No hunk is selected.")


@in_full
async def test_marks_of_a_whole_file_are_removed(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "/diff turn", "1/2")
        await press(pilot, "A", "✓ kept  line 56")
        await press(pilot, "A", "+ five")
        assert "✓ kept" not in shown(app)
