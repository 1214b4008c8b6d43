"""The welcome: what it says of the mode and the sandbox is true, and what it offers is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions.policy import Decision, PermissionPolicy
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.text_width import cell_len
from forge_core.tools.base import ToolUse
from forge_tui.app import ForgeApp
from forge_tui.first_frame import FirstFrame
from forge_tui.keys.effective import EffectiveKeys, use_keys
from forge_tui.widgets.status_text import Figures
from forge_tui.widgets.welcome.welcome_text import (
    HELP_OFFER,
    MAX_NAMES,
    TALL,
    TRY_HINT,
    WelcomeContent,
    continue_offer,
    examples,
    lines,
    rows_above,
)
from tests.support.chat_app import make_app, ready, say, shown, until
from tests.support.scripted_session import answer
from tests.support.terminal import Emulator
from tests.unit.session.test_saved_sessions import write

ON = SandboxState(SandboxKind.BUBBLEWRAP)
OFF = SandboxState(SandboxKind.OFF, "bwrap not found (apt install bubblewrap)")


def row(head: str, figures: Figures, width: int = 76) -> str:
    rows = ["".join(text for _, text in row) for row in lines(figures, WelcomeContent("1"), width)]
    return next(row for row in rows if row.startswith(f"{head} "))


@pytest.mark.parametrize("state", [ON, OFF], ids=["sandboxed", "bare"])
@pytest.mark.parametrize("mode", PermissionMode)
def test_the_welcome_describes_the_mode_as_the_policy_decides(
    tmp_path: Path, mode: PermissionMode, state: SandboxState
) -> None:
    policy = PermissionPolicy(tmp_path, mode, sandbox=state.strength)
    edit = policy.decide(
        "edit", ToolUse(Effect.WRITE, "a.py", paths=(tmp_path / "a.py",), kind=ToolKind.WRITE)
    ).decision
    command = policy.decide("bash", ToolUse(Effect.RUN, "make")).decision
    said = row("Mode", Figures(model="m", folder="~", mode=str(mode), sandbox=state.label))
    assert str(mode) in said and cell_len(said) <= 76 and "…" not in said
    assert ("asks before it writes" in said) == (edit is Decision.ASK)
    assert ("before most commands" in said) == (command is Decision.ASK)
    assert ("changes nothing" in said) == (edit is command is Decision.DENY)
    assert ("commands unasked" in said or "commands without asking" in said) == (command is Decision.ALLOW)


def test_while_the_user_is_away_the_welcome_says_that_approvals_are_denied() -> None:
    assert "requests for approval are denied" in row("Mode", Figures(model="m", folder="~", is_away=True))
    assert "refused" not in row("Mode", Figures(model="m", folder="~", mode="yolo", is_away=True))


@pytest.mark.parametrize(
    ("label", "width", "said"),
    [
        ("", 76, "…"),
        (ON.label, 76, "on: commands write only here, and reach no network"),
        (OFF.label, 76, "OFF - bwrap not found (apt install bubblewrap)"),
        (OFF.label, 40, "OFF - bwrap not found"),
        (OFF.label, 20, "OFF"),
        (SandboxState(SandboxKind.LANDLOCK, "no user namespaces").label, 76, "weak - no user namespaces"),
    ],
)
def test_the_sandbox_is_shown_with_as_much_of_its_reason_as_fits(label: str, width: int, said: str) -> None:
    assert row("Sandbox", Figures(model="m", folder="~", sandbox=label), width).split(None, 1)[1] == said


@pytest.mark.parametrize(
    ("names", "offered"),
    [
        ([], ["create hello.py that prints hello"]),
        ([".git/"], ["what has changed?", "create hello.py that prints hello"]),
        (["a.py"], ["what is in this folder?", "create hello.py that prints hello"]),
        (["hello.py"], ["what is in this folder?"]),
        (["readme.rst", "hello.py"], ["what is in this folder?", "explain readme.rst"]),
        (
            ["README.md", "tests/", ".git/"],
            ["what is in this folder?", "explain README.md", "run the tests and tell me what fails"],
        ),
        (["x_test.go", "hello.py"], ["what is in this folder?", "run the tests and tell me what fails"]),
        (["readme \x1b[31m.md", "hello.py", "latest.py"], ["what is in this folder?"]),
    ],
)
def test_examples_refer_only_to_existing_files(tmp_path: Path, names: list[str], offered: list[str]) -> None:
    for name in names:
        path = tmp_path / name
        path.mkdir() if name.endswith("/") else path.touch()
    assert list(examples(tmp_path)) == offered


def test_a_large_folder_is_not_read_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3 * MAX_NAMES):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / "tests").mkdir()
    assert "run the tests and tell me what fails" in examples(tmp_path)


def test_an_unreadable_folder_gets_a_generic_example(tmp_path: Path) -> None:
    assert examples(tmp_path / "none") == ("what is in this folder?",)


async def test_the_first_frame_and_the_app_show_the_same_examples(
    config: ForgeConfig, tmp_path: Path
) -> None:
    (tmp_path / "README.txt").touch()
    here = replace(config, working_dir=tmp_path, permission_mode=PermissionMode.AUTO)
    emulator = Emulator(80, 24)
    emulator.feed(FirstFrame(here, home=Path("/home/ada"))(80, 24).painted(""))
    painted = "\n".join("".join(cell[0] for cell in row).rstrip() for row in emulator.cells())
    app = make_app(here)
    async with app.run_test(size=(80, 24)):
        for text in ("explain README.txt", "auto: edits files here unasked", "Sandbox  …"):
            assert text in painted and text in shown(app)
        assert "run the tests" not in painted + shown(app)


async def test_the_welcome_follows_the_mode_and_the_sandbox(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "Sandbox  on: commands write only here" in shown(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Mode     accept-edits: edits files here unasked" in shown(app))
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, lambda: app.chat.status_bar.figures.mode == "auto")
        assert "Mode     auto: edits files here and runs sandboxed commands unasked" in shown(app)


async def test_command_output_replaces_the_welcome(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert app.chat.welcome.display
        await say(pilot, "/mode")
        await until(pilot, lambda: "/mode NAME or Shift+Tab changes it" in shown(app))
        assert not app.chat.welcome.display
        await say(pilot, "/reset")
        await until(pilot, lambda: app.chat.welcome.display)


def texts(content: WelcomeContent, width: int = 76, height: int = 24) -> list[str]:
    """The rows of a block as text."""
    rows = lines(Figures(model="m", folder="~"), content, width, height)
    return ["".join(text for _, text in row) for row in rows]


@pytest.mark.parametrize(
    ("title", "width", "said"),
    [
        ("Fix the parser", 76, "› Continue: Fix the parser (2 h ago, 12 turns)"),
        ("Fix the parser", 46, "› Continue: Fix… (2 h ago, 12 turns)"),
        ("日本語のパーサー", 48, "› Continue: 日本語… (2 h ago, 12 turns)"),
        ("a\x1b[31m\u202eb", 76, "› Continue: a␛[31m\\u202eb (2 h ago, 12 turns)"),
    ],
)
@pytest.mark.parametrize("height", [15, 24, 36])
def test_the_last_session_is_the_first_thing_to_try(title: str, width: int, said: str, height: int) -> None:
    unknown = WelcomeContent("1", ("what?",))
    known = unknown._replace(first=continue_offer("20261120-100000-00000a", title, "2 h ago", 12))
    before, after = texts(unknown, width, height), texts(known, width, height)
    [at] = [y for y, row in enumerate(after) if "Continue" in row]
    assert after[at] == f"Try      {said}"
    if height < 20:
        assert before == after[:at] == after[:-1], "it comes last, where no place is kept for it"
    else:
        assert before[:at] + before[at + 1 :] == after[:at] + after[at + 1 :]
        assert before[at] == "Try      › …", "nothing moves"


def test_without_a_session_the_place_is_taken_by_the_help() -> None:
    content = WelcomeContent("1", ("what?",), first=HELP_OFFER)
    assert texts(content)[-2:] == ["Try      › See what Forge can do · /help", "         › what?"]
    assert "Try" not in "".join(texts(content, height=15)), "a low window has no room for it"


def test_a_low_window_leaves_room_for_a_notice_below_the_block() -> None:
    content = WelcomeContent("1", found="Python · 3 files")
    assert [row.split()[0] for row in texts(content, height=15)] == ["Forge", "Folder", "Model", "Mode"]
    off = Figures(model="m", folder="~", sandbox="sandbox: off")
    assert any("Sandbox" in text for row in lines(off, content, 60, 15) for _, text in row), "a warning stays"


def test_the_ember_needs_colours_and_room() -> None:
    """Four rows of half blocks; without them, the folder and what it contains have names."""
    content = WelcomeContent("1", found="Go · 1 file")
    assert [row[:9] for row in texts(content)[:4]] == ["  ▀▄     ", " ▀▀▀▄ ▄  ", "▀▀█▀▀▀▀  ", "▀▀▀▀▀▀▀  "]
    assert [row[9:] for row in texts(content)[:5]] == [
        "Forge 1",
        "a coding assistant for this folder",
        "~",
        "Go · 1 file",
        "",
    ]
    for plain in (
        texts(content._replace(has_ember=False)),
        texts(content, width=39),
        texts(content, height=20),
    ):
        assert plain[0].startswith("Forge 1  a coding") and plain[2:4] == [
            "Folder   ~",
            "Found    Go · 1 file",
        ]


def test_in_tall_windows_the_block_moves_down() -> None:
    assert [rows_above(height) for height in (24, TALL - 1, TALL, 36, 50, 70)] == [0, 0, 2, 4, 9, 16]
    content = WelcomeContent("1", ("what?",))
    assert texts(content, height=50)[9:] == texts(content, height=29)
    assert texts(content, height=50)[:9] == [""] * 9


def heads(app: ForgeApp) -> list[str]:
    """The first columns of the welcome."""
    rows = [row[:12] for row in shown(app).splitlines()]
    return rows[: next(y for y, row in enumerate(rows) if "Try" in row) + 1]


async def test_the_welcome_offers_the_last_session_of_the_folder(config: ForgeConfig) -> None:
    folder = str(config.working_dir)
    write(config.state_dir, "20261120-100000-00000a", "Fix [b]the[/b] parser", folder=folder)
    write(config.state_dir, "20261120-110000-00000a", "Something else", folder="/elsewhere")
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        before = heads(app)
        await ready(pilot)
        await until(pilot, lambda: "› Continue: Fix [b]the[/b] parser (now, 1 turn)" in shown(app))
        assert heads(app) == before, "nothing has moved"
        await say(pilot, "/reset")
        await until(pilot, lambda: "Continue" not in shown(app) and "See what Forge can do" in shown(app))
        assert app.chat.welcome.display


async def test_a_folder_without_sessions_is_offered_none(config: ForgeConfig) -> None:
    write(config.state_dir, "20261120-110000-00000a", "Something else", folder="/elsewhere")
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "See what Forge can do" in shown(app))
        assert "Continue" not in shown(app)


async def test_old_sessions_are_deleted_after_the_start_if_the_user_wants_it(config: ForgeConfig) -> None:
    old = write(config.state_dir, "20200101-100000-00000a", "Old", at=1_577_872_800.0)
    new = write(config.state_dir, "20261120-110000-00000a", "New")
    app = make_app(replace(config, sessions_keep_days=30))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Deleted 1 session that was not used for 30 days" in shown(app))
    assert new.exists() and not old.exists()


@pytest.mark.parametrize("has_ember", [True, False])
@pytest.mark.parametrize(
    ("found", "changed", "said"),
    [
        ("", 3, "…"),
        ("Python · 2 files", 0, "Python · 2 files"),
        ("Python · 2 files", 3, "Python · 2 files · 3 changed"),
    ],
)
def test_what_was_found_has_a_row_from_the_first_frame(
    found: str, changed: int, said: str, has_ember: bool
) -> None:
    figures = Figures(model="m", folder="~", changed_files=changed)
    content = WelcomeContent("1", found=found, has_ember=has_ember)
    before, after = (lines(figures, content._replace(found=text), 76) for text in ("", found))
    assert "".join(text for _, text in after[3])[9:] == said
    assert len(before) == len(after), "nothing moves"


async def test_the_welcome_shows_what_the_folder_contains(config: ForgeConfig, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").touch()
    app = make_app(replace(config, working_dir=folder))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Python · 1 file" in shown(app))


async def test_the_welcome_knows_the_folder_when_it_comes_back(config: ForgeConfig, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").touch()
    app = make_app(replace(config, working_dir=folder))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chat.welcome.display = False
        await ready(pilot)
        await say(pilot, "/reset")
        await until(pilot, lambda: "Python · 1 file" in shown(app))


# What keys do


async def test_tab_and_enter_send_an_example(config: ForgeConfig, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").touch()
    app = make_app(replace(config, working_dir=folder), [answer("Nothing.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "See what Forge can do" in shown(app))
        await pilot.press("tab", "down", "down")
        await until(pilot, lambda: "❯ explain README.md" in shown(app))
        await pilot.press("up")
        await until(pilot, lambda: "❯ what is in this folder?" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing." in shown(app) and not app.chat.has_turn)
        assert not app.chat.welcome.display and app.focused is app.chat.composer
        await pilot.press("up")
        assert app.chat.composer.text == "what is in this folder?", "Up brings it back as any message"


async def test_the_selection_ends_with_escape_with_typing_and_above_the_first(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        welcome = app.chat.welcome
        await until(pilot, lambda: bool(welcome.offers))
        for keys in (["escape"], ["up"], ["x", "backspace"]):
            await pilot.press("tab")
            assert welcome.has_choice
            await pilot.press(*keys)
            assert not welcome.has_choice and app.chat.composer.is_blank, keys
        await pilot.press("enter")
        await pilot.pause()
        assert welcome.display and not app.chat.has_turn, "Enter takes nothing that is not selected"
        await pilot.press("x", "tab", "down")
        assert not welcome.has_choice, "the keys are the composer's while something is typed"


async def test_a_click_selects_an_offer_and_sends_nothing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "See what Forge can do" in shown(app))
        rows = shown(app).splitlines()
        await pilot.click(offset=(20, next(y for y, row in enumerate(rows) if "See what" in row)))
        await until(pilot, lambda: "❯ See what Forge can do" in shown(app))
        assert len(app.screen_stack) == 1 and app.focused is app.chat.composer
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)


async def test_the_hint_names_the_keys_in_effect(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 30)) as pilot:
        await ready(pilot)
        assert TRY_HINT in shown(app)
        try:
            use_keys(
                replace(EffectiveKeys(), keys={"welcome.next": ("f7",)}, changed=frozenset({"welcome.next"}))
            )
            app.chat.welcome.refresh()
            await until(pilot, lambda: "F7 selects, Enter sends" in shown(app))
        finally:
            use_keys(EffectiveKeys())
