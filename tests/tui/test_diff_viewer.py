"""`/diff` over real repositories and a real undo store: keys, sources, sizes, file names, live changes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.undo import UndoStore
from forge_core.workspace.change_source import ChangedFile, ChangeList, ChangeStatus, Counts
from forge_core.workspace.work_tree import WorkTreeChanges
from forge_tui.screens.diff.screen import DiffScreen
from forge_tui.screens.panels.help import HelpScreen
from forge_tui.widgets.diff.diff_pane import DiffPane, ReadingPosition
from forge_tui.widgets.diff.file_list import cut_path
from forge_tui.widgets.diff.unified_diff import read_patch
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, answer
from tests.unit.undo.workspace import shell

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with two changed files of two hunks each, one new file and one binary one."""
    root = tmp_path / "project"
    root.mkdir()
    lines = [f"line {number}" for number in range(60)]
    for name in ("a.py", "b.py"):
        (root / name).write_text("\n".join(lines) + "\n")
    shell(root, "git init -q -b main && git add -A && git commit -qm first")
    for name in ("a.py", "b.py"):
        changed = [*lines]
        changed[5], changed[50] = f"{name} five", f"{name} fifty"
        (root / name).write_text("\n".join(changed) + "\n")
    (root / "new.py").write_text("import os\n")
    (root / "blob").write_bytes(b"\0\1")
    return root


@pytest.fixture
def app(config: ForgeConfig, folder: Path) -> ChatApp:
    return make_app(replace(config, working_dir=folder))


def viewer(app: ChatApp) -> DiffScreen:
    screen = app.screen
    assert isinstance(screen, DiffScreen)
    return screen


async def opened(pilot: Pilot[None], line: str = "/diff worktree", wanted: str = "/4") -> ChatApp:
    app = await ready(pilot)
    await say(pilot, line)
    await until(
        pilot, lambda: isinstance(app.screen, DiffScreen) and is_read(app) and wanted in shown(app), wanted
    )
    return app


def is_read(app: ChatApp) -> bool:
    """Whether nothing is being read: git runs beside the screen, and takes its time."""
    return all(worker.is_finished for worker in app.workers if worker.group.startswith("diff-"))


async def press(pilot: Pilot[None], keys: str, wanted: str) -> None:
    app = pilot.app
    assert isinstance(app, ChatApp)
    await pilot.press(*keys.split())
    await pilot.pause()
    await until(pilot, lambda: is_read(app) and wanted in shown(app), f"{wanted!r} after {keys}")


def path_of(app: ChatApp) -> str:
    file = viewer(app).file
    assert file is not None
    return file.path


async def test_keys_move_through_files_and_hunks(app: ChatApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        assert "Working tree  a.py" in shown(app)
        await until(pilot, lambda: "1/4  +2  −2" in shown(app), "the figures, which come by themselves")
        await press(pilot, "n", "binary")
        assert path_of(app) == "b.py"
        await press(pilot, "n", "Binary, 2 bytes")
        await press(pilot, "p", "b.py five")
        await press(pilot, "p", "a.py five")
        await press(pilot, "right_square_bracket", "a.py fifty")
        assert path_of(app) == "a.py"
        await press(pilot, "right_square_bracket", "b.py five")
        await press(pilot, "right_square_bracket", "b.py fifty")
        assert path_of(app) == "b.py"
        await press(pilot, "left_square_bracket left_square_bracket", "a.py fifty")
        assert "▸   lines 48–54" in shown(app)
        assert viewer(app).pane.place == ReadingPosition(48, is_at_hunk=True, hunk=(51, 51))
        await press(pilot, "q", "Ask about this folder")


async def test_letters_work_in_both_cases(app: ChatApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await press(pilot, "N", "b.py five")
        await press(pilot, "P", "a.py five")
        await press(pilot, "e", "line 30")
        await press(pilot, "Q", "Ask about this folder")


def is_split(app: ChatApp) -> bool:
    return any("line 5 " in row and "a.py five" in row for row in shown(app).split("\n"))


def has_list(app: ChatApp) -> bool:
    return " ? new.py" in shown(app)


async def test_the_diff_is_side_by_side_if_each_side_has_70_columns(app: ChatApp) -> None:
    async with app.run_test(size=(189, 36)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: is_split(app) and has_list(app), "both")
        assert viewer(app).pane.size.width == 143
        await pilot.resize_terminal(188, 36)
        await until(pilot, lambda: not is_split(app) and has_list(app), "stacked")
        assert "- line 5" in shown(app)
        await press(pilot, "b", "a.py five")
        await until(pilot, lambda: is_split(app) and not has_list(app), "side by side")
        await pilot.resize_terminal(142, 36)
        await until(pilot, lambda: not is_split(app), "stacked")
        await press(pilot, "b", " ? new.py")
        await pilot.resize_terminal(189, 36)
        await until(pilot, lambda: is_split(app) and has_list(app), "both")


@pytest.mark.parametrize("width", [100, 120, 158])
async def test_choosing_side_by_side_hides_the_list_when_there_is_no_room(app: ChatApp, width: int) -> None:
    async with app.run_test(size=(width, 36)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: has_list(app) and "+2 −2" in shown(app))
        assert not is_split(app)
        await pilot.press("v")
        await until(pilot, lambda: is_split(app) and not has_list(app), "side by side")
        await pilot.press("b")
        await until(pilot, lambda: is_split(app) and has_list(app), "both, as they were asked for")
        await pilot.press("b", "v")
        await until(pilot, lambda: not is_split(app) and not has_list(app), "stacked")
        await press(pilot, "b", " ? new.py")


async def test_a_patch_keeps_its_position_when_the_screen_grows(app: ChatApp) -> None:
    async with app.run_test(size=(100, 12)) as pilot:
        await opened(pilot)
        await press(pilot, "s", "diff --git a/a.py b/a.py")
        await press(pilot, "end", "+a.py fifty")
        await pilot.resize_terminal(170, 12)
        await until(pilot, lambda: viewer(app).pane.size.width > 120)
        await pilot.pause()
        assert "+a.py fifty" in shown(app)
        await press(pilot, "s", "▸")


async def test_a_narrow_screen_stacks_the_diff_and_hides_the_list(app: ChatApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "- line 5" in shown(app)
        assert "+ a.py five" in shown(app)
        await press(pilot, "v", "│")
        assert is_split(app)
        await press(pilot, "b", " ? new.py")
        await press(pilot, "b", "a.py five")
        assert " ? new.py" not in shown(app)


async def test_the_whole_file_and_the_raw_patch_can_be_shown(app: ChatApp) -> None:
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot)
        assert "line 30" not in shown(app)
        await press(pilot, "right_square_bracket", "▸")
        await press(pilot, "E", "line 45")
        await press(pilot, "left_square_bracket", "line 30")
        await press(pilot, "E", "lines 48–54")
        await press(pilot, "right_square_bracket", "▸   lines 48–54")
        place = viewer(app).pane.place
        await press(pilot, "s", "diff --git a/a.py b/a.py")
        assert "@@ -3,7 +3,7 @@" in shown(app)
        await press(pilot, "s", "▸   lines 48–54")
        assert viewer(app).pane.place == place
        await press(pilot, "s", "diff --git a/a.py b/a.py")
        await press(pilot, "n", "+b.py five")
        await press(pilot, "n", "Binary, 2 bytes")
        await press(pilot, "n", "+++ b/new.py")
        await press(pilot, "s", "1 + import os")


async def test_a_key_toggles_between_the_last_turn_and_the_working_tree(
    config: ForgeConfig, folder: Path, tmp_path: Path
) -> None:
    app = make_app(replace(config, working_dir=folder))
    store = UndoStore(folder, tmp_path / "undo")
    app.scripted.undo = store
    try:
        await store.begin_turn("write a [bold]poem[/] \x1b[31m")
        await store.capture(folder / "poem")
        (folder / "poem").write_text("roses\n")
        await store.end_turn()
        async with app.run_test(size=(100, 30)) as pilot:
            await opened(pilot, "/diff", "1 + roses")
            assert "Last turn: write a [bold]poem[/] ␛[31m  poem" in shown(app)
            await press(pilot, "d", "Working tree")
            await press(pilot, "d", "1 + roses")
            await store.begin_turn("nothing")
            await store.end_turn()
            await press(pilot, "r", "The last turn changed no files.")
            assert "d shows the working tree" in shown(app)
            await press(pilot, "right_square_bracket n s E v b d", "Working tree")
    finally:
        await store.aclose()


async def test_the_diff_viewer_opens_during_a_turn_and_can_reload(config: ForgeConfig, folder: Path) -> None:
    gate = Gate()
    app = make_app(replace(config, working_dir=folder), [[gate, *answer("done")]])
    async with app.run_test(size=(200, 36)) as pilot:
        await ready(pilot)
        await say(pilot, "work")
        await gate.reached.wait()
        await say(pilot, "/diff")
        await until(pilot, lambda: "a.py five" in shown(app))
        (folder / "a.py").write_text("rewritten\n")
        await press(pilot, "r", "rewritten")
        shell(folder, "git add -A && git commit -qm second")
        await press(pilot, "r", "Nothing differs from the last commit.")
        gate.open()
        await press(pilot, "escape", "done")
        assert "done" in shown(app)


async def test_a_click_chooses_a_file_and_the_wheel_scrolls(app: ChatApp) -> None:
    async with app.run_test(size=(120, 12)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: " ? new.py" in shown(app))
        await pilot.click(viewer(app).files, offset=(5, 1))
        await until(pilot, lambda: "b.py five" in shown(app))
        await pilot.press("end")
        await until(pilot, lambda: "b.py fifty" in shown(app))
        await pilot.press("home", "pagedown", "j", "k", "down", "up", "pageup")
        await until(pilot, lambda: "b.py five" in shown(app))
        assert "b.py five" in shown(app)


async def test_untrusted_file_names_are_shown_as_plain_text(config: ForgeConfig, tmp_path: Path) -> None:
    root = tmp_path / "odd"
    root.mkdir()
    shell(root, "git init -q")
    for name in (b"[bold red]x", b"\x1b[2J\x1b]0;t\x07", b"\xff\xfe", b"a\nb", "日本\u202e".encode()):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"\x1b[31mred\n\xff\x00"[:-1])
    app = make_app(replace(config, working_dir=root))
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(pilot, wanted="/5")
        for _ in range(5):
            text = shown(app)
            assert not set(text) & {chr(code) for code in (*range(10), *range(11, 32), 127, 0x202E)}
            assert "␛[31mred" in text
            await pilot.press("s", "s", "n")
            await pilot.pause()
        await until(pilot, lambda: "[bold red]x" in shown(app) and "a⏎b" in shown(app))


async def test_keys_are_listed_and_ctrl_c_copies_what_is_selected(app: ChatApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "Next, previous hunk" in shown(app)
        assert "Send; while Forge works" not in shown(app)
        await press(pilot, "escape", "1/4")
        screen = viewer(app)
        rows = [index for index, row in enumerate(shown(app).split("\n")) if "a.py five" in row]
        x = shown(app).split("\n")[rows[0]].index("a.py five")
        await pilot.mouse_down(offset=(x, rows[0]))
        await pilot.hover(offset=(x + 8, rows[0]))
        await pilot.mouse_up(offset=(x + 8, rows[0]))
        assert screen.pane.selected_text() == "a.py five"
        await pilot.press("ctrl+c")
        assert app.clipboard == "a.py five"
        assert app.screen is screen
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.screen is app.chat)


async def test_outside_of_a_repository_the_screen_says_so(config: ForgeConfig, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    app = make_app(replace(config, working_dir=plain))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "/diff", "no git repository")
        await press(pilot, "d", "Undo is off")
        await press(pilot, "q", "Ask about this folder")
        assert "Ask about this folder" in shown(app)


async def test_an_unsupported_diff_argument_is_rejected(app: ChatApp) -> None:
    async with app.run_test(size=(100, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/diff HEAD~1")
        await until(pilot, lambda: "/diff does not know 'HEAD~1'" in shown(app))
        assert "/diff does not know 'HEAD~1'" in shown(app)


@pytest.mark.parametrize(
    ("path", "shown_as"),
    [
        ("httpx/_client.py", "httpx/_client.py"),
        ("tests/client/test_auth.py", "test…/test_auth.py"),
        ("docs/日本/日本語の名.md", "doc…/日本語の名.md"),
        ("docs/environment_variables.md", "docs/…variables.md"),
        ("a_name_without_any_folder.py", "a_nam…ny_folder.py"),
    ],
)
def test_a_truncated_path_keeps_its_file_name_where_it_fits(path: str, shown_as: str) -> None:
    assert cut_path(path, 18) == shown_as


async def test_only_the_visible_part_of_a_long_file_is_rendered(
    app: ChatApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge_tui.widgets.diff import diff_pane

    drawn: list[int] = []
    real = diff_pane.draw_stretches

    def counted(stretches: list[object], *rest: object) -> None:
        drawn.append(sum(map(len, stretches)))  # type: ignore[arg-type]
        real(stretches, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(diff_pane, "draw_stretches", counted)
    body = "".join(f" line {number}\n-old {number}\n+new {number}\n" for number in range(40_000))
    patch = read_patch(f"@@ -1,80000 +1,80000 @@\n{body}")
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        drawn.clear()
        pane: DiffPane = viewer(app).pane
        pane.show_patch(patch, "python", is_split=True, place=None)
        await pilot.press("end", "home", "pagedown")
        pane.show_patch(patch, "python", is_split=True, place=ReadingPosition(60_000, is_at_hunk=False))
        await until(pilot, lambda: "new 29999" in shown(app))
        assert 0 < sum(drawn) < 3_000


async def test_the_footer_shows_the_notes_of_the_covered_activity_line(app: ChatApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        await press(pilot, "f9", "mouse released · F9 · ] [ hunk")
        app.chat.activity.note("Copied 7 characters", 60)
        await until(pilot, lambda: "Copied 7 characters" in shown(app))
        assert "hunk" not in shown(app).splitlines()[-1]
        app.chat.activity.note("gone", 0.01)
        await press(pilot, "f9", " ] [ hunk")
        assert "mouse" not in shown(app).splitlines()[-1]


class Broken(WorkTreeChanges):
    async def read(self) -> ChangeList:
        raise RuntimeError("a bug")


async def test_an_internal_error_in_the_diff_viewer_ends_the_app(config: ForgeConfig, tmp_path: Path) -> None:
    app = make_app(config)
    with pytest.raises(RuntimeError, match="a bug"):
        async with app.run_test() as pilot:
            await ready(pilot)
            app.push_screen(DiffScreen(lambda source: Broken(tmp_path), "worktree"))
            await until(pilot, lambda: app.crash is not None)
    assert isinstance(app.crash, RuntimeError)


async def test_new_figures_do_not_scroll_the_list(config: ForgeConfig, tmp_path: Path) -> None:
    gate = asyncio.Event()
    names = [f"file{number:02d}.py" for number in range(60)]

    class Slow(WorkTreeChanges):
        async def read(self) -> ChangeList:
            return ChangeList("Many", tuple(ChangedFile(name, ChangeStatus.CHANGED) for name in names))

        async def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
            await gate.wait()
            yield {name: Counts(7, 0) for name in names}

    app = make_app(config)
    async with app.run_test(size=(120, 20)) as pilot:
        await ready(pilot)
        app.push_screen(DiffScreen(lambda source: Slow(tmp_path), "worktree"))
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "file00.py" in shown(app))
        viewer(app).files.scroll_to(y=30, animate=False)
        await until(pilot, lambda: "file35.py" in shown(app))
        gate.set()
        await until(pilot, lambda: "+7" in shown(app))
        assert "file35.py" in shown(app)
