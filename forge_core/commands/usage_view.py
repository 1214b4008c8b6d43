"""A report of usage as people read it: tables with bars, and a calendar.

The calendar comes last: in a low window, the end of a text is what shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from forge_core.commands.columns import table
from forge_core.commands.figures import dollars, percent_text, tokens_text
from forge_core.commands.result import Text, Tint
from forge_core.commands.usage_calendar import CATEGORY, bar, calendar, legend, tints, weeks_in
from forge_core.config.usage_by import UsageBy
from forge_core.durations import time_taken
from forge_core.sanitize import safe_line
from forge_core.session.spending_limits import LimitKind
from forge_core.store.usage.usage_figures import CallFigures, ToolFigures, Usage
from forge_core.store.usage.usage_report import UsageReport
from forge_core.text_width import cell_len, clip_middle, clip_start

WIDTH = 74
"""Cells of a row, in a terminal of 80 columns."""
MOST_ROWS = 30
"""Of a table in the chat; a sum of the others follows."""
_MOST_WEEKS = 53
_DAYS = 7
"""That have a bar in the overview."""
_MODELS = 5
_BAR_CELLS = 16
_GAP = 2
_LEAST_NAME = 10
_CHARS_PER_TOKEN = 4
_CALL_HEAD = ("Calls", "In", "Cached", "Out", "Cost")
_TOOL_HEAD = ("Calls", "Failed", "Time", "Results")
_BAR = re.compile("▇+$")
_SUMS = "Sums"


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """What a report is shown in."""

    width: int
    """Cells of a row."""
    today: date
    home: str
    """Of the user: projects in it begin with "~"."""
    rows: int | None = MOST_ROWS
    """Of a table; None for all."""


def overview(usage: Usage, since: str, frame: ReportFrame, limits: Iterable[str] = ()) -> Text:
    """Return the sums by model and of the last days, a calendar, and notes; `limits` are more notes."""
    days = UsageReport.of(usage, UsageBy.DAY, since)
    if not days.total.calls:
        return Text(_nothing(since), "Usage")
    is_by_cost = _is_by_cost(days.total)
    amounts = {date.fromisoformat(day): _amount(one, is_by_cost) for day, one in days.calls.items()}
    weeks = _weeks(amounts, frame)
    marked = [*calendar(amounts, frame.today, weeks), "", legend(f"({_unit(is_by_cost)})")]
    models = UsageReport.of(usage, UsageBy.MODEL, since).calls
    parts = [
        ("Models", _shortened([(_model(name), one) for name, one in models.items()], _MODELS)),
        ("Days", _last_days(days.calls, frame.today)),
        (_SUMS, _sums(days, frame.today)),
    ]
    tables = _call_tables(parts, days.total, frame)
    return _joined([*tables, marked, _notes(days.total, limits)], "Usage", calendar_at=len(tables))


def breakdown(usage: Usage, by: UsageBy, since: str, frame: ReportFrame) -> Text:
    """Return a table with a row for each day, model, project, tool or server."""
    report, title = UsageReport.of(usage, by, since), f"Usage by {by}"
    if by in (UsageBy.TOOL, UsageBy.SERVER):
        if not report.tools:
            return Text(_nothing(since, "tool calls"), title)
        rows = [(safe_line(name) or "?", one) for name, one in report.tools.items()]
        return _joined([_tool_table(str(by).capitalize(), rows, frame)], title)
    if not report.calls:
        return Text(_nothing(since), title)
    named = [(_name(by, name, frame), one) for name, one in report.calls.items()]
    sums = [("Total", report.total)]
    if by is UsageBy.DAY and frame.rows is not None:
        named, before = named[-frame.rows :], named[: -frame.rows]
        if before:
            sums.insert(0, (f"{len(before)} earlier days", sum((one for _, one in before), CallFigures())))
    parts = [(f"{by}s".capitalize(), _shortened(named, frame.rows)), ("", sums)]
    return _joined([*_call_tables(parts, report.total, frame), _notes(report.total, ())], title)


def limit_note(kind: LimitKind, spent: Decimal, limit: Decimal) -> str:
    """Return how much of a limit of the day or the month is used."""
    text, share = kind.measure.text, percent_text(float(spent), float(limit))
    return f"{text(spent)} of the {kind.scope}'s limit of {text(limit)} is used ({share})."


def cost_text(figures: CallFigures, digits: int) -> str:
    """Return what calls have cost: "$1.24", "~" before an estimate, "?" for unknown prices, "$1.24+?" where
    some are unknown, "free" for calls of this machine."""
    if not figures.priced_calls:
        return "?" if figures.unpriced_calls else "free" if figures.calls else "-"
    about, more = "~" if figures.estimated_calls else "", "+?" if figures.unpriced_calls else ""
    return f"{about}{dollars(figures.known_usd, digits)}{more}"


def _nothing(since: str, what: str = "model calls") -> str:
    return f"There are no {what}{f' since {since}' if since else ''}."


def _is_by_cost(total: CallFigures) -> bool:
    """Return whether amounts are costs: otherwise too many prices are unknown, or there is no cost."""
    return bool(total.known_usd) and total.priced_calls >= total.unpriced_calls


def _amount(figures: CallFigures, is_by_cost: bool) -> float:
    return float(figures.known_usd) if is_by_cost else figures.total_tokens


def _unit(is_by_cost: bool) -> str:
    return "cost of a day" if is_by_cost else "tokens of a day"


def _weeks(amounts: Mapping[date, float], frame: ReportFrame) -> int:
    """Return how many weeks the calendar has: as many as all days need and fit; at least 26."""
    needed = (frame.today - min(amounts)).days // 7 + 2
    return min(max(needed, 26), weeks_in(frame.width), _MOST_WEEKS)


def _last_days(days: Mapping[str, CallFigures], today: date) -> list[tuple[str, CallFigures]]:
    shown = [today - timedelta(days=back) for back in reversed(range(_DAYS))]
    return [(f"{day:%a} {day.isoformat()}", days.get(day.isoformat(), CallFigures())) for day in shown]


def _sums(days: UsageReport, today: date) -> list[tuple[str, CallFigures]]:
    monday, month = today - timedelta(days=today.weekday()), today.replace(day=1)
    first = days.since or min(days.calls)
    parts = [("This week", monday.isoformat()), ("This month", month.isoformat()), (f"Since {first}", first)]
    return [(name, _from(days.calls, day)) for name, day in parts if day >= first]


def _from(days: Mapping[str, CallFigures], first: str) -> CallFigures:
    return sum((one for day, one in days.items() if day >= first), CallFigures())


def _name(by: UsageBy, name: str, frame: ReportFrame) -> str:
    if by is UsageBy.PROJECT:
        path = safe_line(name)
        is_inside = bool(frame.home) and f"{path}/".startswith(f"{frame.home}/")
        return f"~{path.removeprefix(frame.home)}" if is_inside else path or "(deleted sessions)"
    return _model(name) if by is UsageBy.MODEL else name


def _model(name: str) -> str:
    return safe_line(name) or "(unknown)"


def _shortened(
    rows: Sequence[tuple[str, CallFigures]], most: int | None
) -> Sequence[tuple[str, CallFigures]]:
    """Return the first rows and the sum of the others."""
    if most is None or len(rows) <= most:
        return rows
    rest = rows[most - 1 :]
    return [*rows[: most - 1], (f"{len(rest)} others", sum((one for _, one in rest), CallFigures()))]


def _call_tables(
    parts: Sequence[tuple[str, Sequence[tuple[str, CallFigures]]]], total: CallFigures, frame: ReportFrame
) -> list[list[str]]:
    """Return a table for each part, with a heading if it has one; the columns of all are the same."""
    digits = 2 if total.known_usd >= 1 else 4
    is_by_cost = _is_by_cost(total)
    cells = [[(name, _call_cells(one, digits)) for name, one in rows] for _, rows in parts]
    room, bar_cells = _room([row for some in cells for row in some], _CALL_HEAD, frame)
    lines: list[tuple[str, ...]] = []
    for (heading, rows), named in zip(parts, cells, strict=True):
        if heading:
            lines.append((heading, *(_CALL_HEAD if not lines else [""] * len(_CALL_HEAD)), ""))
        amounts = [_amount(one, is_by_cost) for _, one in rows]
        most = max(amounts) if heading and heading != _SUMS else 0
        drawn = [bar(amount, most, bar_cells).ljust(bar_cells) for amount in amounts]
        lines += [
            (_clipped(name, room), *row, marks) for (name, row), marks in zip(named, drawn, strict=True)
        ]
    rest = iter([line.rstrip() for line in table(lines).splitlines()])
    return [[next(rest) for _ in range(bool(heading) + len(rows))] for heading, rows in parts]


def _call_cells(figures: CallFigures, digits: int) -> tuple[str, ...]:
    if not figures.calls:
        return ("-",) * len(_CALL_HEAD)
    about = "~" if figures.estimated_calls else ""
    return (
        f"{figures.calls:,}",
        f"{about}{tokens_text(figures.input_tokens)}",
        tokens_text(figures.cached_tokens) if figures.cached_tokens else "-",
        f"{about}{tokens_text(figures.output_tokens)}",
        cost_text(figures, digits),
    )


def _tool_table(heading: str, rows: Sequence[tuple[str, ToolFigures]], frame: ReportFrame) -> list[str]:
    most_rows = frame.rows if frame.rows is not None and len(rows) > frame.rows else len(rows)
    rest = rows[most_rows:]
    shown = [*rows[:most_rows]]
    if rest:
        shown.append((f"{len(rest)} others", sum((one for _, one in rest), ToolFigures())))
    cells = [(name, _tool_cells(one)) for name, one in shown]
    room, bar_cells = _room(cells, _TOOL_HEAD, frame)
    most = max(one.calls for _, one in shown)
    bars = [bar(one.calls, most, bar_cells).ljust(bar_cells) for _, one in shown]
    body = [(_clipped(name, room), *row, drawn) for (name, row), drawn in zip(cells, bars, strict=True)]
    return [line.rstrip() for line in table([(heading, *_TOOL_HEAD, ""), *body]).splitlines()]


def _tool_cells(figures: ToolFigures) -> tuple[str, ...]:
    return (
        f"{figures.calls:,}",
        f"{figures.failed:,}" if figures.failed else "-",
        time_taken(figures.seconds),
        f"~{tokens_text(figures.result_chars // _CHARS_PER_TOKEN)}",
    )


def _room(
    rows: Sequence[tuple[str, tuple[str, ...]]], head: Sequence[str], frame: ReportFrame
) -> tuple[int, int]:
    """Return the cells of the names and of the bars: what the figures leave. Names come first."""
    figures = sum(
        _GAP + max(map(cell_len, column)) for column in zip(head, *(cells for _, cells in rows), strict=True)
    )
    room = frame.width - figures
    needed = max(_LEAST_NAME, *(cell_len(name) for name, _ in rows))
    bar_cells = min(max(room - needed - _GAP, 6), max(_BAR_CELLS, frame.width // 4))
    return max(room - bar_cells - _GAP, _LEAST_NAME), bar_cells


def _clipped(name: str, room: int) -> str:
    return clip_start(name, room) if name.startswith(("/", "~")) else clip_middle(name, room)


def _notes(total: CallFigures, limits: Iterable[str]) -> list[str]:
    notes = [*limits]
    if total.cached_tokens:
        share = percent_text(total.cached_tokens, total.input_tokens)
        notes.append(f"{share} of the input came from the provider's cache.")
    if total.estimated_calls:
        notes.append("~ is an estimate: a call was cut short, or its provider sent no count.")
    if total.unpriced_calls:
        notes.append("? is an unknown price.")
    return notes


def _joined(blocks: Sequence[Sequence[str]], title: str, calendar_at: int = -1) -> Text:
    """Return the lines of the blocks, with a blank one between them, and their colours; `calendar_at` is the
    index of the calendar."""
    lines: list[str] = []
    found: list[Tint] = []
    at = 0
    for index, block in enumerate(blocks):
        for line in ["", *block] if lines and block else block:
            lines.append(line)
            if index == calendar_at:
                found += tints(line, at)
            elif (drawn := _BAR.search(line)) is not None:
                found.append(Tint(at + drawn.start(), at + drawn.end(), CATEGORY))
            at += len(line) + 1
    return Text("\n".join(lines), title, tuple(found))
