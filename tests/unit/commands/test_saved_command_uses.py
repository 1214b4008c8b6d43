"""The file of command uses: what was used lately and often comes first; damage is tolerated."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.commands.saved_command_uses import SavedCommandUses
from forge_core.commands.specs import SPECS

DAY_S = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def uses(tmp_path: Path, clock: Clock) -> SavedCommandUses:
    return SavedCommandUses(tmp_path / "state", clock=clock)


def test_uses_are_counted_in_a_private_file(uses: SavedCommandUses, tmp_path: Path) -> None:
    assert uses.read() == {}
    uses.add("jobs")
    assert uses.add("jobs") == {"jobs": 2.0}
    assert uses.read() == {"jobs": 2.0}
    file = tmp_path / "state" / "commands.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["commands.json"]


def test_what_was_used_lately_comes_before_what_was_used_often_long_ago(
    uses: SavedCommandUses, clock: Clock
) -> None:
    for _ in range(3):
        uses.add("diff")
    clock.now += 60 * DAY_S
    scores = uses.add("cost")
    assert scores["cost"] > scores["diff"] > 0
    clock.now += 14 * DAY_S
    assert uses.read()["cost"] == pytest.approx(0.5)


def test_a_clock_that_was_set_back_loses_nothing(uses: SavedCommandUses, clock: Clock) -> None:
    uses.add("diff")
    clock.now -= 300 * DAY_S
    assert uses.read() == {"diff": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"v": 1}',
        '{"v": 1, "at": "today", "scores": {"diff": 1}}',
        '{"v": 1, "at": NaN, "scores": {"diff": 1}}',
        '{"v": 1, "at": 1, "scores": ["diff"]}',
        '{"v": 1, "at": 1790000000, "scores": {"diff": "x", "cost": NaN, "jobs": -1, "undo": 1e99}}',
        "[" * 100_000,
        '{"v": 1, "at": 1, "scores": {}}' + " " * 70_000,
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(
    uses: SavedCommandUses, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "state" / "commands.json"
    file.parent.mkdir()
    file.write_text(text)
    assert uses.read() == {}
    assert uses.add("diff") == {"diff": 1.0}
    assert uses.read() == {"diff": 1.0}


def test_the_file_is_bounded_by_the_commands_there_are(uses: SavedCommandUses, tmp_path: Path) -> None:
    for spec in SPECS:
        uses.add(spec.name)
    assert len(uses.read()) == len(SPECS)
    assert (tmp_path / "state" / "commands.json").stat().st_size < 4_000


def test_uses_order_what_matches_equally_and_nothing_else() -> None:
    scores = {"thinking": 2.0, "tools": 9.0, "cost": 5.0}

    def use(name: str) -> float:
        return scores.get(name, 0.0)

    names = [spec.name for spec in CommandTable().suggest("", use)]
    assert names[:4] == ["tools", "cost", "thinking", "help"]
    assert names[3:] == [spec.name for spec in SPECS if spec.name not in scores]
    assert [spec.name for spec in CommandTable().suggest("th", use)][:2] == ["thinking", "theme"]
    assert CommandTable().suggest("the", use)[0].name == "theme"
    assert CommandTable().suggest("to", use)[:2] == CommandTable().suggest("to")[:2]
