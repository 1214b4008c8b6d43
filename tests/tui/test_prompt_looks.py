"""The permission prompt: why it asks, where a command would run, and what stands out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.style import Style

from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.request_text import all_facts, cut_facts, facts_of
from forge_tui.widgets.exact_text import command_lines, exact_rows, spans
from tests.support.asking import ask, asking
from tests.support.chat_app import ChatApp, command_request, edit_request

pytestmark = pytest.mark.slow

WORKSPACE = Path("/home/ada/engine")
LINE = "ls src && rm -rf build"
RISKY = command_request(LINE, risky=((10, 22),), is_destructive=True, sandbox="off")


def style_of(app: ChatApp, text: str) -> Style:
    """Return the style of the first segment on the screen that contains the text."""
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            if text in segment.text:
                return segment.style or Style.null()
    raise AssertionError(f"{text!r} is not in one segment")


def colour(app: ChatApp, variable: str) -> str:
    return app.theme_variables[variable].lower()


# Where it would run, and why it asks


@pytest.mark.parametrize(
    ("sandbox", "place"),
    [("full", "sandboxed"), ("weak", "weakly sandboxed"), ("off", "not sandboxed"), ("", "")],
)
def test_the_facts_begin_with_where_a_command_runs(sandbox: str, place: str) -> None:
    request = command_request(sandbox=sandbox, reason="a rule covers it")
    expected = " · ".join(filter(None, (place, "a rule covers it")))
    assert facts_of(request, WORKSPACE, room=80) == expected
    shown = [line.text for line in all_facts(request, WORKSPACE)]
    assert shown[: bool(place)] == [place][: bool(place)]


def test_the_usual_reason_is_shown_in_a_sandbox_only() -> None:
    request = command_request(reason="make is not known", is_usual_reason=True)
    assert facts_of(replace(request, sandbox="full"), WORKSPACE, room=80) == "sandboxed · make is not known"
    assert facts_of(replace(request, sandbox="off"), WORKSPACE, room=80) == "not sandboxed"
    assert facts_of(replace(request, sandbox="full"), WORKSPACE, room=20).startswith("sandboxed · ")


def test_that_nothing_confines_a_command_is_never_cut_off() -> None:
    request = command_request(sandbox="off", reason="because " * 99)
    assert facts_of(request, WORKSPACE, room=30).startswith("not sandboxed · ")
    cut = cut_facts(replace(request, reason=""), WORKSPACE, "", is_title_cut=False)
    assert [line.text for line in cut] == ["", "not sandboxed"]
    full = replace(request, sandbox="full", is_usual_reason=True)
    assert cut_facts(full, WORKSPACE, "", is_title_cut=False) == []


async def test_not_sandboxed_is_amber_and_the_reason_dim(config: ForgeConfig) -> None:
    app = asking(config, RISKY)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        amber, dim = style_of(app, "not sandboxed"), style_of(app, "commands ask first")
        assert amber.color is not None and amber.color.name == colour(app, "warning")
        assert dim.color is not None and dim.color.name == colour(app, "forge-muted")


async def test_an_edit_has_no_place(config: ForgeConfig) -> None:
    assert "sandboxed" not in facts_of(edit_request(), WORKSPACE, room=80)


# The part of a command that makes it ask


async def test_the_risky_part_is_underlined(config: ForgeConfig) -> None:
    app = asking(config, RISKY)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert style_of(app, "rm -rf build").underline
        assert not style_of(app, "ls src && ").underline


def test_marks_follow_lines_and_wrapping_and_change_no_text() -> None:
    command = "ls\nfor x in a; do\n  rm -rf 日本\u202e\ndone"
    start = command.index("do\n")
    marked = command_lines(command, [(start, len(command))])
    plain = command_lines(command)
    for width in (8, 20, 80):
        texts = [
            ["".join(text for _, text in row) for row in exact_rows(lines, width)]
            for lines in (marked, plain)
        ]
        assert texts[0] == texts[1]
    roles = [[role for role, _ in spans(line)] for line in marked]
    assert roles[:2] == [["plain"], ["plain", "plain risky"]]
    assert "strange" in roles[2] and "foreign" in roles[2]  # a mark hides no warning
    assert roles[3] == ["plain risky"]
