"""`forge usage`: what the calls of all sessions have used, for people, or as JSON or CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.commands.result import Text
from forge_core.commands.usage_view import WIDTH, ReportFrame, breakdown, limit_note, overview
from forge_core.config.usage_by import UsageBy
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.sanitize import safe_text
from forge_core.session.spending_limits import LIMITS, LimitKind, LimitScope
from forge_core.store.spending_ledger import SpendingLedger
from forge_core.store.usage.usage_index import UsageIndex
from forge_core.store.usage.usage_report import UsageReport, first_day

if TYPE_CHECKING:
    import argparse
    from decimal import Decimal

    from forge_core.config.forge_config import ForgeConfig

_MOST_CELLS = 120
_FORMULA = ("=", "+", "-", "@")
_GREEN, _DIM, _PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[0m"


def run_action(options: argparse.Namespace, config: ForgeConfig) -> int:
    """Print the report that the options ask for; return the exit code.

    Raises:
        ConfigError: --since is unusable.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may not be valid Unicode
    today = date.today()  # of the user's own clock
    since, by = _since(options.since, today), UsageBy(options.by) if options.by else None
    usage = UsageIndex(config.state_dir).update(_progress if sys.stderr.isatty() else _no_progress)
    if options.json or options.csv:
        report = UsageReport.of(usage, by or UsageBy.DAY, since)
        text = _csv(report) if options.csv else json.dumps(report.as_dict(), ensure_ascii=False, indent=2)
        print(safe_text(text) if sys.stdout.isatty() else text)
        return ExitCode.COMPLETE
    frame = ReportFrame(_width(), today, str(Path.home()), rows=None)
    shown = breakdown(usage, by, since, frame) if by else overview(usage, since, frame, _limits(config))
    print(_coloured(shown) if _has_colours() else safe_text(shown.body))
    return ExitCode.COMPLETE


def _since(text: str | None, today: date) -> str:
    try:
        return first_day(text, today) if text else ""
    except ValueError as error:
        raise ConfigError(f"--since is {text!r}; it must be {error}.") from None


def _limits(config: ForgeConfig) -> list[str]:
    """Return how much of the limits of the day and the month is used."""
    ledger = SpendingLedger(config.state_dir / "sessions")
    spent = {LimitScope.DAY: ledger.day, LimitScope.MONTH: ledger.month}
    found = ((kind, spent[kind.scope], _limit(config, kind)) for kind in LIMITS if kind.scope in spent)
    return [limit_note(kind, total(), limit) for kind, total, limit in found if limit]


def _limit(config: ForgeConfig, kind: LimitKind) -> Decimal | None:
    value = getattr(config, kind.setting)
    return None if value is None else kind.measure.parse(str(value))


def _csv(report: UsageReport) -> str:
    """Return the rows as CSV. A name that a spreadsheet would take for a formula begins with an apostrophe:
    names of models and tools come from others.

    Source: https://owasp.org/www-community/attacks/CSV_Injection
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, report.columns(), lineterminator="\n")
    writer.writeheader()
    by = str(report.by)
    for row in report.rows():
        name = row[by].replace("\r", " ")  # the writer would not quote it, and readers end a row there
        quote = "'" if name.lstrip().startswith(_FORMULA) else ""
        writer.writerow(row | {by: f"{quote}{name}"})
    return text.getvalue().removesuffix("\n")


def _width() -> int:
    """Return the cells of a row."""
    return min(shutil.get_terminal_size((WIDTH, 24)).columns, _MOST_CELLS) if sys.stdout.isatty() else WIDTH


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(text: Text) -> str:
    """Return a text for a terminal: in its own green, and dimmed what is empty."""
    parts, done = [], 0
    for tint in text.tints:
        colour = _DIM if tint.category is None else _GREEN
        marked = safe_text(text.body[tint.start : tint.end])
        parts += [safe_text(text.body[done : tint.start]), colour, marked, _PLAIN]
        done = tint.end
    return "".join([*parts, safe_text(text.body[done:])])


def _progress(done: int, total: int) -> None:
    """Show that many journals are read, which takes seconds the first time."""
    if total >= 100 and (done % 50 == 0 or done == total):
        end = "\r\x1b[K" if done == total else ""
        print(f"\rReading sessions: {done:,} of {total:,}{end}", end="", file=sys.stderr, flush=True)


def _no_progress(done: int, total: int) -> None:
    pass
