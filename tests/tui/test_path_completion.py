"""`@` paths in the composer: what the popup offers, and what Tab, Enter, Esc and the arrows do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.workspace.path_completion import shortened
from tests.support.chat_app import ChatApp, make_app, make_config, ready, shown, type_text, until

pytestmark = pytest.mark.slow


@asynccontextmanager
async def chat(folder: Path) -> AsyncIterator[tuple[ChatApp, Pilot[Any]]]:
    work = folder / "work"
    for name in ("src/app.py", "src/view.py", "a b.txt", "[bold]x.md", "bad\x1bname"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x")
    app = make_app(make_config(folder, working_dir=work))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        yield app, pilot


def labels(app: ChatApp) -> list[str]:
    return [row.label for row in app.chat.popup.rows] if app.chat.popup.is_open else []


async def test_an_at_sign_offers_files_and_tab_takes_one(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "see @")
        await until(pilot, lambda: labels(app) == ["src/", "a b.txt", "[bold]x.md"])
        await type_text(pilot, "ap")
        await until(pilot, lambda: labels(app) == ["src/app.py"])
        assert "src/app.py" in shown(app)
        await pilot.press("tab")
        assert app.chat.composer.text == "see @src/app.py "
        assert not app.chat.popup.is_open


async def test_enter_takes_the_row_that_the_arrows_have_chosen_and_sends_nothing(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "@")
        await until(pilot, lambda: len(labels(app)) == 3)
        await pilot.press("down", "enter")
        assert app.chat.composer.text == '@"a b.txt" '
        assert app.scripted.sent == []
        await pilot.press("enter")
        await until(pilot, lambda: len(app.scripted.sent) == 1)


async def test_tab_on_a_folder_descends(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "@sr")
        await until(pilot, lambda: labels(app)[:1] == ["src/"])
        await pilot.press("tab")
        assert app.chat.composer.text == "@src/"
        await until(pilot, lambda: labels(app) == ["src/app.py", "src/view.py"])
        await pilot.press("tab")
        assert app.chat.composer.text == "@src/app.py "


async def test_escape_closes_the_popup_for_this_word_only(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "@a")
        await until(pilot, lambda: bool(labels(app)))
        await pilot.press("escape")
        await type_text(pilot, "p")
        await pilot.pause()
        assert labels(app) == []
        await type_text(pilot, " @ap")
        await until(pilot, lambda: labels(app) == ["src/app.py"])


async def test_a_path_is_completed_in_the_middle_of_a_text_and_keeps_its_lines(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "see  now")
        await pilot.press(*["left"] * 4)
        await type_text(pilot, "@vie:10-20")
        await until(pilot, lambda: labels(app) == ["src/view.py"])
        await pilot.press("tab")
        assert app.chat.composer.text == "see @src/view.py:10-20  now"


@pytest.mark.parametrize("path", ["src/app.py", "src/"])
async def test_enter_sends_when_the_path_has_been_typed_in_full(tmp_path: Path, path: str) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, f"see @{path}")
        await until(pilot, lambda: labels(app)[:1] == ["src/app.py"])
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == [f"see @{path}"])


async def test_an_address_opens_nothing(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "ada@a")
        await pilot.pause()
        assert labels(app) == []


def test_a_long_path_is_cut_in_the_middle_with_its_marks() -> None:
    path = "packages/" + "deep/" * 20 + "token_view.py"
    marks = tuple(range(len(path) - 13, len(path) - 8))
    text, kept = shortened(path, marks, 30)
    assert "…" in text
    assert len(text) <= 30
    assert "".join(text[at] for at in kept) == "token"
    assert shortened("a.py", (0,), 30) == ("a.py", (0,))


async def test_a_line_for_the_shell_offers_no_paths(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "!scp @a")
        await pilot.pause()
        assert labels(app) == []
        await pilot.press("home", "delete")
        await pilot.press("end", "p")
        await until(pilot, lambda: labels(app) == ["src/app.py"])


async def test_files_in_use_come_first_then_changed_ones(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        app.scripted.context.used = [str(tmp_path / "elsewhere.py"), str(tmp_path / "work/src/view.py")]
        app.chat._repository._changed = ["../x", "a b.txt", "gone.py"]
        await type_text(pilot, "@")
        await until(pilot, lambda: labels(app) == ["src/view.py", "a b.txt", "src/", "[bold]x.md"])


async def test_keys_of_one_burst_complete_what_they_have_typed(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "@")
        await until(pilot, lambda: len(labels(app)) == 3)
        for key in "ap":  # no answer can be shown between these keys
            app.chat.composer.insert(key)
        app.chat.composer.action_complete()
        assert app.chat.composer.text == "@src/app.py "


async def test_what_is_shown_stays_until_a_longer_query_is_answered(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "@")
        await until(pilot, lambda: len(labels(app)) == 3)
        app.chat.composer.insert("a")
        app.chat.composer._follow()
        assert len(labels(app)) == 3
        await until(pilot, lambda: "src/app.py" in labels(app))
        app.chat.composer.insert(" ")
        await until(pilot, lambda: labels(app) == [])
