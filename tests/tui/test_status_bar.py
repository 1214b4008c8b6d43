"""The status bar: what it says, and what a narrow terminal loses first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_tui.theming import VARIABLES
from forge_tui.widgets.status_bar import StatusBar
from forge_tui.widgets.status_text import SEPARATOR, Figures, context_part, fit, mode_role
from tests.support.chat_app import make_app, ready, say, shown, until
from tests.support.scripted_session import answer

FULL = Figures(
    model="anthropic/claude-sonnet-4.5",
    provider="openrouter",
    cost_usd=Decimal("0.0312"),
    known_usd=Decimal("0.0312"),
    prompt_tokens=40_000,
    cached_tokens=33_200,
    is_running=True,
    turn_out=870,
    context_used=12_430,
    context_window=200_000,
    mode="accept-edits",
    sandbox="sandbox: on",
    folder="~/src/engine",
    branch="main",
)


def names(width: int, figures: Figures = FULL) -> list[str]:
    left, right = fit(figures, width)
    return [part.name for part in (*left, *right)]


OFF = "sandbox: OFF - bwrap not found (apt install bubblewrap). Commands that may write will ask."
WEAK = "sandbox: weak - no user namespaces. Commands that may write will ask."


def text(figures: Figures, width: int = 200) -> str:
    left, _ = fit(figures, width)
    return SEPARATOR.join(part.text for part in left)


def test_the_running_job_count_stays_on_a_narrow_status_bar() -> None:
    assert "jobs" not in names(160)
    for count, said in ((1, "1 job"), (2, "2 jobs")):
        _, right = fit(replace(FULL, running_jobs=count), 160)
        assert [part.text for part in right if part.name == "jobs"] == [said]
    assert names(40, replace(FULL, running_jobs=1)) == ["model", "mode", "jobs"]


def test_in_yolo_mode_the_sandbox_label_does_not_say_that_commands_ask() -> None:
    for mode, is_said in (("ask", True), ("yolo", False)):
        _, right = fit(replace(FULL, mode=mode, sandbox=OFF), 250)
        text = SEPARATOR.join(part.text for part in right)
        assert ("will ask" in text) == is_said and "OFF - bwrap not found" in text


def test_a_wide_status_bar_shows_everything() -> None:
    assert names(160) == [
        "model",
        "context",
        "cost",
        "cache",
        "out",
        "mode",
        "sandbox on",
        "folder",
        "branch",
    ]
    assert text(FULL) == "anthropic/claude-sonnet-4.5 · ▰▱▱▱▱▱▱▱▱▱ 6% · $0.031 · cache 83% · 870 out"


def test_a_narrowing_status_bar_drops_parts_in_fixed_order_but_never_the_mode() -> None:
    said: list[str] = []
    for width in range(160, 10, -1):
        left, right = fit(FULL, width)
        line = SEPARATOR.join(part.text for part in (*left, *right))
        said += [line] if line not in said else []
    everything = SEPARATOR.join(part.text for side in fit(FULL, 160) for part in side)
    gone = [everything]
    for lost in (" · 870 out", " · main", " · ~/src/engine", "anthropic/", " · sandbox: on", " · cache 83%"):
        gone.append(gone[-1].replace(lost, ""))
    gone.append(gone[-1].replace("▰▱▱▱▱▱▱▱▱▱ ", ""))
    gone.append(gone[-1].replace(" · $0.031", ""))
    gone += ["claude-sonnet-4.5 · accept-edits", "accept-edits"]
    assert said == gone


def test_switching_to_an_estimate_and_back_keeps_the_same_status_parts() -> None:
    live = replace(FULL, is_context_estimate=True, is_cost_estimate=True, is_turn_estimate=True)
    for width in range(20, 160):
        assert names(width) == names(width, live)
        shown = [part.text.replace("~", "") for part in fit(live, width)[0]]
        assert shown == [part.text for part in fit(FULL, width)[0]], width


@pytest.mark.parametrize("mode", ["ask", "accept-edits"])
def test_eighty_columns_keep_every_figure(mode: str) -> None:
    shown = text(replace(FULL, mode=mode), 76)
    assert shown == "claude-sonnet-4.5 · ▰▱▱▱▱▱▱▱▱▱ 6% · $0.031 · cache 83%"


@pytest.mark.parametrize("label", [OFF, WEAK, "sandbox: OFF"])
@pytest.mark.parametrize("width", [24, 30, 60, 80, 120, 200])
def test_a_sandbox_that_is_not_fully_on_always_shows_as_a_warning(label: str, width: int) -> None:
    figures = replace(FULL, sandbox=label, mode="ask", folder="~/" + "deep/" * 20)
    left, right = fit(figures, width)
    shown = next(part for part in right if part.name == "sandbox")
    assert shown.text.startswith(label.partition(" - ")[0]) and shown.role == "warning"
    assert sum(cell_len(part.text) for part in (*left, *right)) <= width


def test_the_sandbox_label_shortens_with_the_width() -> None:
    def label(width: int) -> str:
        right = fit(replace(FULL, sandbox=OFF), width)[1]
        return next(part.text for part in right if part.name == "sandbox")

    assert [label(width) for width in (260, 160, 80)] == [
        OFF,
        "sandbox: OFF - bwrap not found",
        "sandbox: OFF",
    ]


def test_yolo_and_away_are_shown_as_separate_badges() -> None:
    right = fit(replace(FULL, mode="yolo", is_away=True), 140)[1]
    assert [(part.text, part.role) for part in right[:2]] == [(" yolo ", "badge"), ("afk", "warning")]


def test_the_remaining_status_parts_fit_the_width() -> None:
    for width in range(20, 140):
        left, right = fit(FULL, width)
        used = sum(cell_len(part.text) for part in (*left, *right))
        gaps = len(SEPARATOR) * (len(left) - 1 + max(len(right) - 1, 0))
        assert used + gaps <= width


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"provider": "offline", "cost_usd": None, "known_usd": None}, "offline"),
        ({"provider": "local", "cost_usd": None, "known_usd": None, "is_unpriced": True}, "local"),
        ({"provider": "local"}, "$0.031"),
        ({"cost_usd": None, "known_usd": None, "is_unpriced": True}, "?"),
        ({"cost_usd": None, "is_unpriced": True}, "$0.031+?"),
        ({"cost_usd": None, "known_usd": None}, "$0.00"),
        ({"is_cost_estimate": True}, "~$0.031"),
    ],
)
def test_cost_shows_an_amount_or_the_reason_for_none(changes: dict[str, Any], said: str) -> None:
    assert text(replace(FULL, **changes)).split(SEPARATOR)[2] == said


@pytest.mark.parametrize(
    ("used", "window", "is_estimate", "said"),
    [
        (0, 200_000, False, "▱▱▱▱▱▱▱▱▱▱ 0%"),
        (120, 200_000, True, "▰▱▱▱▱▱▱▱▱▱ ~<1%"),
        (62_000, 1_000_000, False, "▰▱▱▱▱▱▱▱▱▱ 6%"),
        (499_000, 1_000_000, False, "▰▰▰▰▰▱▱▱▱▱ 50%"),
        (199_000, 200_000, False, "▰▰▰▰▰▰▰▰▰▱ 100%"),
        (5000, 1000, False, "▰▰▰▰▰▰▰▰▰▰ 100%"),
        (5000, None, False, "5.0k/?"),
        (5000, None, True, "~5.0k/?"),
        (None, 200_000, False, ""),
    ],
)
def test_context_shows_the_used_part_of_the_window(
    used: int | None, window: int | None, is_estimate: bool, said: str
) -> None:
    figures = Figures(context_used=used, context_window=window, is_context_estimate=is_estimate)
    assert context_part(figures).text == said


@pytest.mark.parametrize(
    ("used", "role"),
    [(0, "plain"), (159_000, "plain"), (160_000, "warning"), (189_000, "warning"), (190_000, "error")],
)
def test_a_window_that_fills_up_is_a_warning_and_then_an_error(used: int, role: str) -> None:
    assert context_part(Figures(context_used=used, context_window=200_000)).role == role


def test_the_cache_and_the_output_show_only_while_a_turn_runs() -> None:
    idle = text(replace(FULL, is_running=False))
    assert idle == "anthropic/claude-sonnet-4.5 · ▰▱▱▱▱▱▱▱▱▱ 6% · $0.031"


@pytest.mark.parametrize(("branch", "said"), [("main", "main*"), ("", ""), ("b" * 30, "b" * 23 + "…*")])
def test_uncommitted_changes_mark_the_branch(branch: str, said: str) -> None:
    shown = [part.text for part in fit(replace(FULL, branch=branch, changed_files=2), 200)[1]]
    assert (said or shown[-1]) == shown[-1] and shown[-1] != "*"


@pytest.mark.parametrize("mode", PermissionMode)
def test_every_mode_has_a_colour_of_its_own(mode: PermissionMode) -> None:
    part = next(part for part in fit(replace(FULL, mode=str(mode)), 200)[1] if part.name == "mode")
    assert part.text.strip() == mode
    assert f"status--{part.role}" in StatusBar.COMPONENT_CLASSES
    assert mode_role(mode) in VARIABLES


def test_unknown_figures_are_not_shown() -> None:
    unknown = replace(FULL, cached_tokens=None, turn_out=0, provider="", cost_usd=None, known_usd=None)
    assert text(unknown) == "anthropic/claude-sonnet-4.5 · ▰▱▱▱▱▱▱▱▱▱ 6%"
    assert text(replace(FULL, cached_tokens=0)).endswith("cache 0% · 870 out")


def test_untrusted_names_are_sanitized_and_shortened() -> None:
    figures = Figures(model="m\x1b[2J" + "x" * 200, folder="~/a\nb\x07", branch="\u202eevil" * 20)
    left, right = fit(figures, 400)
    text = "".join(part.text for part in (*left, *right))
    assert "\x1b" not in text and "\n" not in text and "\x07" not in text and "\u202e" not in text
    assert len(text) < 200


def test_a_long_folder_keeps_its_end() -> None:
    figures = Figures(folder="~/a/very/long/path/to/some/deep/folder/engine")
    folder = next(part.text for part in fit(figures, 200)[1] if part.name == "folder")
    assert folder.endswith("/folder/engine") and folder.startswith("~/a") and "…" in folder


async def test_uncommitted_changes_are_counted_between_turns(config: ForgeConfig) -> None:
    counts = [2, 2, 2]

    async def changed_files(folder: Path) -> list[str]:
        return ["a"] * (counts.pop(0) if counts else 0)

    app = make_app(config, [answer("Done.")])
    app.chat._repository._environment = replace(app._environment, changed_files=changed_files)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: shown(app).splitlines()[-1].endswith(" main*"))
        counts[:] = [0]
        await say(pilot, "commit")
        await until(pilot, lambda: shown(app).splitlines()[-1].rstrip().endswith(" main"))
