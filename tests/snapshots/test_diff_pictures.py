"""How diffs look: in a card, and in the viewer with its list, as a patch, and with nothing to show."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.result import FileDiff
from forge_core.tools.editing.diff import file_diff
from forge_core.undo import UndoStore
from forge_tui.screens.diff.screen import DiffScreen
from tests.snapshots.test_snapshots import tool
from tests.support.chat_app import make_app, ready, say, shown, until
from tests.support.scripted_session import Step, answer
from tests.unit.undo.workspace import shell

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

Compare = Callable[..., bool]

OLD = '''"""Prices, with and without tax."""

from decimal import Decimal

RATE = Decimal("0.19")


def gross(net):
    """What the customer pays."""
    return net + net * RATE


def label(price):
    return "price: " + str(price)
'''
NEW = '''"""Prices, with and without tax."""

from decimal import Decimal

RATE = Decimal("0.21")


def gross(net: Decimal) -> Decimal:
    """What the customer pays, rounded to cents because a till knows no half cents: 日本 café 👍."""
    return (net + net * RATE).quantize(Decimal("0.01"))


def label(price):
\treturn f"price: {price}"'''


def scripts() -> list[list[Step]]:
    diffs: tuple[FileDiff, ...] = (file_diff("prices.py", OLD, NEW),)
    edit = tool("1", "edit", {"path": "prices.py"}, "done", summary="+4 −4", diffs=diffs)
    return [[*answer("", pieces=1)[:1], *edit, *answer("Rounded.")]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src/till").mkdir(parents=True)
    (root / "src/till/prices.py").write_text(OLD)
    (root / "README.md").write_text("# Shop\n")
    (root / "logo.png").write_bytes(b"\x89PNG\0")
    shell(root, "git init -q -b main && git add -A && git commit -qm first")
    (root / "src/till/prices.py").write_text(NEW)
    (root / "README.md").unlink()
    (root / "logo.png").write_bytes(b"\x89PNG\0\0")
    (root / "src/till/tests.py").write_text("def test_gross():\n    assert gross(1) == 1.21\n")
    return root


@pytest.mark.parametrize("size", [(80, 30), (220, 30)], ids=["stacked-80", "split-220"])
def test_a_diff_in_a_card(snap_compare: Compare, config: ForgeConfig, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        await say(pilot, "round the prices")
        await until(pilot, lambda: "Rounded." in shown(app) and not app.chat.has_turn)

    assert snap_compare(make_app(config, scripts()), terminal_size=size, run_before=before)


VIEWS = {
    "split-with-list": ("forge-dark", (270, 36), ["n", "n"], "tests.py"),
    "split-light": ("forge-light", (220, 36), ["n", "n", "b"], "│"),
    "stacked-with-list": ("forge-dark", (120, 36), ["n", "n"], "tests.py"),
    "stacked-80": ("forge-dark", (80, 24), ["n", "n"], "3/4"),
    "patch": ("forge-dark", (80, 24), ["n", "n", "s"], "diff --git"),
    "list-80": ("forge-light", (80, 24), ["b", "n", "n"], "tests.py"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_the_viewer(snap_compare: Compare, config: ForgeConfig, folder: Path, view: str) -> None:
    theme, size, keys, wanted = VIEWS[view]

    async def before(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        await say(pilot, "/diff worktree")
        await until(pilot, lambda: "1/4" in shown(app) and "−1" in shown(app))
        for number, key in enumerate(keys, 1):
            await pilot.press(key)
            passed = keys[:number].count("n") + 1
            await until(pilot, lambda passed=passed: f"{passed}/4" in shown(app))
        await until(pilot, lambda: wanted in shown(app) and "label(price)" in shown(app))

    app = make_app(replace(config, working_dir=folder, theme=theme))
    assert snap_compare(app, terminal_size=size, run_before=before)


def test_the_viewer_with_nothing_to_show(snap_compare: Compare, config: ForgeConfig, folder: Path) -> None:
    async def before(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        await say(pilot, "/diff turn")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "Undo is off" in shown(app))

    app = make_app(replace(config, working_dir=folder))
    assert snap_compare(app, terminal_size=(80, 24), run_before=before)


REVIEWS = {
    "kept-80": ("forge-dark", (80, 24), ["a"], "✓ kept"),
    "kept-light": ("forge-light", (100, 30), ["a"], "✓ kept"),
    "reverted-80": ("forge-dark", (80, 24), ["x"], "Reverted 1 of 2"),
}


@pytest.mark.parametrize("review", REVIEWS)
def test_a_review_of_the_last_turn(
    snap_compare: Compare, config: ForgeConfig, tmp_path: Path, review: str
) -> None:
    theme, size, keys, wanted = REVIEWS[review]
    root, texts = tmp_path / "shop", [OLD + "\n# end" * 12, NEW + "\n# end" * 10 + "\n# 日本"]
    root.mkdir()
    (root / "prices.py").write_text(texts[0])
    app = make_app(replace(config, working_dir=root, theme=theme))
    app.scripted.undo = store = UndoStore(root, tmp_path / "undo")

    async def before(pilot: Pilot[None]) -> None:
        await store.begin_turn("round the prices")
        await store.capture(root / "prices.py")
        (root / "prices.py").write_text(texts[1])
        await store.end_turn()
        await ready(pilot)
        await say(pilot, "/diff turn")
        await until(pilot, lambda: "1/1" in shown(app) and "−" in shown(app))
        await pilot.press(*keys)
        await until(pilot, lambda: wanted in shown(app) and "日本" in shown(app))
        await store.aclose()

    assert snap_compare(app, terminal_size=size, run_before=before)
