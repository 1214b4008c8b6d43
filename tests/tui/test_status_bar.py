"""The status bar: what it says, and what a narrow terminal loses first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from rich.cells import cell_len

from forge_tui.widgets.status_bar import SEPARATOR, Figures, context_text, cost_text, fit, tokens_text

FULL = Figures(
    model="anthropic/claude-sonnet-4.5",
    provider="openrouter",
    tokens_in=12_430,
    tokens_out=870,
    cost_usd=Decimal("0.0312"),
    context_used=12_000,
    context_window=200_000,
    mode="accept-edits",
    sandbox="sandbox: on",
    folder="~/src/engine",
    branch="main",
)


def names(width: int, figures: Figures = FULL) -> list[str]:
    left, right = fit(figures, width)
    return [part.name for part in (*left, *right)]


OFF = "sandbox: OFF - bwrap not found (apt install bubblewrap). Each command will ask."
WEAK = "sandbox: weak - no user namespaces. Commands that can write will ask."


def test_a_wide_terminal_shows_everything() -> None:
    assert names(140) == ["model", "tokens", "cost", "context", "mode", "sandbox on", "folder", "branch"]


def test_narrowing_drops_parts_in_one_fixed_order_and_never_the_mode() -> None:
    dropped: list[str] = []
    for width in range(140, 10, -1):
        gone = [name for name in names(140) if name not in names(width)]
        dropped += [name for name in gone if name not in dropped]
    assert dropped == ["branch", "folder", "tokens", "sandbox on", "cost", "context", "model"]
    assert names(13) == ["mode"]


@pytest.mark.parametrize("label", [OFF, WEAK, "sandbox: OFF"])
@pytest.mark.parametrize("width", [24, 30, 60, 80, 120, 200])
def test_a_sandbox_that_is_not_fully_on_always_shows_as_a_warning(label: str, width: int) -> None:
    figures = replace(FULL, sandbox=label, mode="ask", folder="~/" + "deep/" * 20)
    left, right = fit(figures, width)
    shown = next(part for part in right if part.name == "sandbox")
    assert shown.text.startswith(label.partition(" - ")[0]) and shown.role == "warning"
    assert sum(cell_len(part.text) for part in (*left, *right)) <= width


def test_the_label_of_the_sandbox_gets_shorter_with_the_room() -> None:
    def label(width: int) -> str:
        right = fit(replace(FULL, sandbox=OFF), width)[1]
        return next(part.text for part in right if part.name == "sandbox")

    assert [label(width) for width in (260, 140, 80)] == [
        OFF,
        "sandbox: OFF - bwrap not found",
        "sandbox: OFF",
    ]


def test_yolo_is_a_badge_and_being_away_a_mark_of_its_own() -> None:
    right = fit(replace(FULL, mode="yolo", is_away=True), 140)[1]
    assert [(part.text, part.role) for part in right[:2]] == [(" yolo ", "badge"), ("afk", "warning")]


@pytest.mark.parametrize("width", range(20, 140))
def test_what_is_kept_fits(width: int) -> None:
    left, right = fit(FULL, width)
    used = sum(cell_len(part.text) for part in (*left, *right))
    gaps = len(SEPARATOR) * (len(left) - 1 + max(len(right) - 1, 0))
    assert used + gaps <= width


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_430, "12.4k"), (999_949, "999.9k"), (2_500_000, "2.5M")],
)
def test_tokens_are_short(count: int, text: str) -> None:
    assert tokens_text(count) == text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (Figures(provider="offline", tokens_in=5), "offline"),
        (Figures(provider="local", tokens_in=5), "local"),
        (Figures(provider="local", tokens_in=5, cost_usd=Decimal("0.0421")), "$0.0421"),
        (Figures(provider="openrouter", tokens_in=5), "?"),
        (Figures(provider="custom", tokens_in=5), "?"),
        (Figures(provider="openrouter"), "$0.00"),
        (Figures(provider="openrouter", tokens_in=5, cost_usd=Decimal("0.0021")), "$0.0021"),
        (Figures(provider="openrouter", tokens_in=5, cost_usd=Decimal("12.3456")), "$12.35"),
        (Figures(provider="openrouter", tokens_in=5, cost_usd=Decimal("0.1"), is_estimate=True), "~$0.1000"),
        (Figures(), ""),
    ],
)
def test_cost_is_money_or_says_why_not(figures: Figures, text: str) -> None:
    assert cost_text(figures) == text


@pytest.mark.parametrize(
    ("used", "window", "text"), [(0, None, "?"), (0, 1000, "0%"), (62, 1000, "6%"), (5000, 1000, "100%")]
)
def test_context_is_a_share_of_the_window(used: int, window: int | None, text: str) -> None:
    assert context_text(Figures(context_used=used, context_window=window)) == text


def test_foreign_names_are_made_harmless_and_short() -> None:
    figures = Figures(model="m\x1b[2J" + "x" * 200, folder="~/a\nb\x07", branch="\u202eevil" * 20)
    left, right = fit(figures, 400)
    text = "".join(part.text for part in (*left, *right))
    assert "\x1b" not in text and "\n" not in text and "\x07" not in text and "\u202e" not in text
    assert len(text) < 200


def test_a_long_folder_keeps_its_end() -> None:
    figures = Figures(folder="~/a/very/long/path/to/some/deep/folder/engine")
    folder = next(part.text for part in fit(figures, 200)[1] if part.name == "folder")
    assert folder.endswith("/folder/engine") and folder.startswith("~/a") and "…" in folder
