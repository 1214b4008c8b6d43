"""Amounts as users write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.config.amounts import count, dollars, seconds
from forge_core.config.save import save_user_setting, unset_user_setting
from forge_core.runtime import load_session_config


@pytest.mark.parametrize(
    ("read", "text", "amount"),
    [
        (dollars, "2.50", 2.5), (dollars, "$5", 5.0), (dollars, 0, 0.0),
        (count, "200k", 200_000), (count, "1.5M", 1_500_000), (count, 50, 50), (count, "10,000", 10_000),
        (seconds, "90", 90), (seconds, "90s", 90), (seconds, "30m", 1800), (seconds, "1h30m", 5400),
        (seconds, "2 h", 7200), (seconds, 2.5, 2.5),
    ],
)  # fmt: skip
def test_amounts_are_read(read: Any, text: object, amount: float) -> None:
    assert read(text) == amount


@pytest.mark.parametrize("read", [dollars, count, seconds])
@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", True, None, "1e99", [5], "5 6", "$", "h"])
def test_everything_else_is_refused(read: Any, text: object) -> None:
    with pytest.raises(ValueError, match=r"an amount|a whole number|a duration"):
        read(text)


def test_limits_of_the_day_are_in_a_table_of_the_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"FORGE_HOME": str(tmp_path / "home"), "FORGE_MODEL": "offline", "FORGE_MAX_COST": "2"}
    folder = tmp_path / "home" / "config"
    folder.mkdir(parents=True)
    path = folder / "config.toml"
    path.write_text("# mine\n[budget]\nmonth = 50 # enough\nweek = 3\n")
    save_user_setting(folder, "budget_day", "5.00")
    config = load_session_config(tmp_path, environ=environ)
    assert (config.budget_day, config.budget_month, config.max_cost) == (5.0, 50.0, 2.0)
    assert "month = 50 # enough" in path.read_text()
    assert "day = 5.0" in path.read_text()
    assert ["budget_week" in notice for notice in config.notices] == [True]
    assert unset_user_setting(folder, "budget_month")
    assert load_session_config(tmp_path, environ=environ).budget_month is None
