"""`forge usage`, through the command line's own arguments."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.load import state_dir
from forge_core.events import LLMEnd, ToolEnd, ToolStart
from forge_core.exit_codes import ExitCode
from forge_core.llm.models import TokenUsage
from forge_core.redact import Redactor
from forge_core.store.journal import Journal, journal_path
from forge_core.store.usage.usage_report import first_day
from forge_tui.cli import main

NOON = time.mktime((2026, 11, 3, 12, 0, 0, 0, 0, -1))
KNOWN = {
    "calls": 1,
    "input_tokens": 1000,
    "cached_tokens": 0,
    "output_tokens": 10,
    "reasoning_tokens": 0,
    "cost_usd": "0.0123",
    "known_usd": "0.0123",
    "unpriced_calls": 0,
    "estimated_calls": 0,
}
UNKNOWN = {**KNOWN, "cost_usd": None, "known_usd": "0", "unpriced_calls": 1}
BOTH = {**KNOWN, "calls": 2, "input_tokens": 2000, "output_tokens": 20, "cost_usd": None, "unpriced_calls": 1}
TOOL = {"calls": 1, "failed": 0, "seconds": 0.5, "result_chars": 4}


class Terminal(io.StringIO):
    """A standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _session() -> None:
    """A session of two calls, one of them of unknown price."""
    folder = state_dir({"FORGE_HOME": str(Path.home() / "forge")})
    journal = Journal(journal_path(folder, "20261103-100000-00000a"), Redactor())
    journal.record("session", {"id": "a", "working_dir": "/w/shop", "provider": "custom"})
    for day, model, cost in ((0, "acme/large", Decimal("0.0123")), (1, "acme/\x1b[31mnew", None)):
        usage = TokenUsage(prompt_tokens=1000, completion_tokens=10, cost_usd=cost)
        end = LLMEnd(
            timestamp=NOON + day * 86_400,
            usage=usage,
            cost_usd=cost,
            finish_reason="stop",
            duration_s=1.0,
            total_usage=usage,
            model=model,
        )
        journal.event(end)
    name = "mcp__git__log"
    journal.event(ToolStart(timestamp=NOON, call_id="1", name=name, arguments={}))
    journal.event(
        ToolEnd(timestamp=NOON, call_id="1", name=name, result="four", success=True, duration_s=0.5)
    )
    journal.close()


@pytest.mark.parametrize(
    ("arguments", "rows", "total"),
    [
        ([], [{"day": "2026-11-03", **KNOWN}, {"day": "2026-11-04", **UNKNOWN}], BOTH),
        (["--since", "2026-11-04"], [{"day": "2026-11-04", **UNKNOWN}], UNKNOWN),
        (
            ["--by", "model"],
            [{"model": "acme/large", **KNOWN}, {"model": "acme/\x1b[31mnew", **UNKNOWN}],
            BOTH,
        ),
        (["--by", "project"], [{"project": "/w/shop", **BOTH}], BOTH),
        (["--by", "tool"], [{"tool": "mcp__git__log", **TOOL}], BOTH),
        (["--by", "server"], [{"server": "git", **TOOL}], BOTH),
    ],
)
def test_programs_read_the_same_rows_as_json_and_as_csv(
    arguments: list[str],
    rows: list[dict[str, Any]],
    total: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["usage", *arguments, "--json"]) == ExitCode.COMPLETE
    found = json.loads(capsys.readouterr().out)
    since = arguments[1] if "--since" in arguments else None
    by = arguments[1] if "--by" in arguments else "day"
    assert found == {"by": by, "since": since, "rows": rows, "total": total}
    assert main(["usage", *arguments, "--csv"]) == ExitCode.COMPLETE
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert read == [{key: "" if one is None else str(one) for key, one in row.items()} for row in rows]


def test_a_name_is_no_formula_of_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("=HYPERLINK(1)", "+1", "-1", "@sum", "\t=1", "\r=1", "a=1")
    journal = Journal(
        journal_path(state_dir({"FORGE_HOME": str(Path.home() / "forge")}), "20261103-100000-00000b"),
        Redactor(),
    )
    journal.record("session", {"id": "b", "working_dir": "/w/shop", "provider": "custom"})
    for number, name in enumerate(names):
        journal.event(ToolStart(timestamp=NOON + number, call_id=f"f{number}", name=name, arguments={}))
        journal.event(
            ToolEnd(
                timestamp=NOON + number,
                call_id=f"f{number}",
                name=name,
                result="",
                success=False,
                duration_s=0,
            )
        )
    journal.close()
    assert main(["usage", "--by", "tool", "--csv"]) == ExitCode.COMPLETE
    read = {row["tool"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))}
    assert read == {"mcp__git__log", "a=1", "' =1", *(f"'{name}" for name in names[:-2])}


@pytest.mark.parametrize("form", ["--csv", "--json"])
def test_a_terminal_is_sent_no_escapes_in_the_forms_for_programs(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["usage", "--by", "model", form]) == ExitCode.COMPLETE
    assert isinstance(sys.stdout, Terminal)
    assert "\x1b" not in sys.stdout.getvalue() and "acme/" in sys.stdout.getvalue()


def test_without_a_terminal_there_are_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "budget_day", "5"]) == 0
    for arguments in ([], ["--by", "model"]):
        capsys.readouterr()
        assert main(["usage", *arguments]) == ExitCode.COMPLETE
        shown = capsys.readouterr()
        assert "\x1b" not in shown.out and "acme/large" in shown.out and shown.err == ""
        assert ("$0.00 of the day's limit of $5.00 is used (0%)." in shown.out) is (not arguments)


@pytest.mark.parametrize(("variable", "has_colours"), [("", True), ("1", False)])
def test_a_terminal_shows_bars_in_its_own_green_unless_the_user_wants_no_colours(
    monkeypatch: pytest.MonkeyPatch, variable: str, has_colours: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["usage", "--by", "model"]) == ExitCode.COMPLETE
    assert isinstance(sys.stdout, Terminal)
    shown = sys.stdout.getvalue()
    assert ("\x1b[32m▇" in shown) is has_colours
    assert "\x1b[31m" not in shown, "of a model's name"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-01", "2026-11-01"),
        ("2026-11", "2026-11-01"),
        ("1d", "2026-11-27"),
        ("30d", "2026-10-29"),
        ("2w", "2026-11-14"),
    ],
)
def test_the_first_day_can_be_written_in_several_ways(text: str, day: str) -> None:
    assert first_day(text, date(2026, 11, 27)) == day


@pytest.mark.parametrize("text", ["", "0d", "999999d", "2026", "2026-13", "2026-02-30", "yesterday", "３d"])
def test_an_unusable_first_day_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="a day"):
        first_day(text, date(2026, 11, 27))
    if text:
        assert main(["usage", "--since", text]) == ExitCode.USAGE
        assert f"--since is {text!r}; it must be a day" in capsys.readouterr().err


def test_the_forms_for_programs_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--json", "--csv"]) == ExitCode.USAGE
    assert "not allowed with" in capsys.readouterr().err
