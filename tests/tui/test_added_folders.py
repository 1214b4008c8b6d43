"""Folders that the user adds, on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from forge_core.approval import Responder
from forge_core.runtime import build_session, load_session_config
from forge_tui.widgets.status_text import Figures, folder_part
from tests.support.chat_app import make_app, ready, say, shown, type_text, until


@pytest.mark.parametrize(
    ("names", "whole", "shorter"),
    [
        (["lib"], "~/work +lib", "+lib"),
        (["lib", "docs"], "~/work +2 folders", "+2 folders"),
        (["bad\x1b[31m"], "~/work +bad␛[31m", "+bad␛[31m"),
        (["a-very-long-name-of-a-folder"], "~/work +a-very-long-nam…", "+a-very-long-nam…"),
    ],
)
def test_the_bar_names_one_folder_or_counts_them(names: Sequence[str], whole: str, shorter: str) -> None:
    part = folder_part(Figures(folder="~/work", added=tuple(names)))
    assert part.text == whole
    assert part.shorter == ("folder", shorter)


def test_a_long_folder_does_not_displace_those_that_were_added() -> None:
    part = folder_part(Figures(folder="/a" * 60, added=("lib",)))
    assert part.text.endswith(" +lib")


@pytest.mark.slow
async def test_a_folder_that_is_added_shows_in_the_bar_and_its_files_after_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/only_there.py").write_text("x")
    environ = {"FORGE_HOME": str(tmp_path / "forge"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    config = load_session_config(
        tmp_path / "work", flags={"model": "offline", "sandbox": "off"}, environ=environ
    )

    def make_session(responder: Responder, _: object) -> object:
        return build_session(config, responder, responder)

    app = make_app(config, make_session=make_session)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "/add-dir ../lib")
        await until(pilot, lambda: "+lib" in shown(app))
        await type_text(pilot, "@only_there")
        await until(pilot, lambda: any("only_there.py" in row.label for row in app.chat.popup.rows))
