"""`/cost`: tokens and money by model and by turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from forge_core.commands.columns import table
from forge_core.commands.figures import cost_text, percent_text, tokens_text
from forge_core.commands.result import CommandResult, Text, Tint
from forge_core.llm.account.spending import Spending
from forge_core.llm.models import TokenUsage
from forge_core.sanitize import safe_line
from forge_core.session.billing import SessionSpending, TurnSpending
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len, clip, clip_middle

MAX_TURNS = 20
"""The last turns have a row each; earlier ones share one."""
WIDTH = 74
"""Cells of a row, in a terminal of 80 columns. Names get what the figures do not need."""
HEADER = ("In", "Cached", "Out", "Reasoning", "Cost", "Share")
BAR_CELLS, LEAST_BAR = 6, 3
"""The most and the least of the bar of the turn that cost most. The names of models get their room first."""
GAP = 2
"""Cells between columns."""
BAR_CATEGORY = 7
_BAR = re.compile("▇+$", re.MULTILINE)
LEAST_NAME = 12
"""Cells of the names below which there are no bars."""
_LARGE = 100
"""Dollars from which cents are enough."""


async def cost(argument: str, session: ForgeSession) -> CommandResult:
    """Show the table; the rows of each part add up to the total."""
    spent = session.spending()
    if not spent.total.usage.total_tokens:
        return Text("No tokens used yet.", "Cost")
    provider = session.status.provider_label
    cells_of = partial(_cells, total=spent.total, provider=provider)
    models = [(safe_line(name) or "?", cells_of(part)) for name, part in spent.by_model.items()]
    turns = [(name, cells_of(part)) for name, part in _turns(spent.turns)]
    total = cells_of(spent.total)
    room = WIDTH - _width([cells for _, cells in (*models, *turns)] + [total])
    needed = max([LEAST_NAME, *(cell_len(name) for name, _ in models)])
    bar_cells = min(room - needed - GAP, BAR_CELLS)
    bars = [""] * len(turns)
    if bar_cells >= LEAST_BAR:
        room -= bar_cells + GAP
        bars = _bars([part.usage for _, part in _turns(spent.turns)], spent.total.usage, bar_cells)
    head = [("By model", *HEADER, ""), *((clip_middle(name, room), *cells, "") for name, cells in models)]
    body = [("By turn", *("" for _ in HEADER), "")]
    body += [(clip(name, room), *cells, drawn) for (name, cells), drawn in zip(turns, bars, strict=True)]
    lines = [line.rstrip() for line in table([*head, *body, ("Total", *total, "")]).splitlines()]
    blocks = [lines[: len(head)], lines[len(head) : -1], lines[-1:], _notes(spent, provider)]
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return Text(text, "Cost", tuple(Tint(*bar.span(), BAR_CATEGORY) for bar in _BAR.finditer(text)))


def _width(rows: Sequence[tuple[str, ...]]) -> int:
    """Return the cells that all columns but the names need."""
    return sum(GAP + max(len(cell) for cell in column) for column in zip(HEADER, *rows, strict=True))


def _cells(part: Spending, total: Spending, provider: str) -> tuple[str, ...]:
    """Return the figures of a row of a table with this total."""
    usage = part.usage
    about = "~" if usage.estimated else ""
    digits = 2 if (total.known_usd or 0) >= _LARGE else 4
    return (
        f"{about}{tokens_text(usage.prompt_tokens)}",
        _or_dash(usage.cached_tokens),
        f"{about}{tokens_text(usage.completion_tokens)}",
        _or_dash(usage.reasoning_tokens),
        cost_text(usage.cost_usd, part.known_usd, provider, is_estimate=usage.estimated, digits=digits),
        _share(usage, total.usage),
    )


def _share(usage: TokenUsage, whole: TokenUsage) -> str:
    """Return the share of the cost if it is known completely, else of the tokens."""
    if whole.cost_usd:
        return percent_text(float(usage.cost_usd or 0), float(whole.cost_usd))
    return percent_text(usage.total_tokens, whole.total_tokens)


def _bars(parts: Sequence[TokenUsage], whole: TokenUsage, most_cells: int) -> list[str]:
    """Return a bar for each part, by cost or by tokens as its share is; any use fills a cell."""
    amounts = [float(part.cost_usd or 0) if whole.cost_usd else part.total_tokens for part in parts]
    most = max(amounts, default=0)
    cells = [max(round(most_cells * amount / most), 1) if amount else 0 for amount in amounts]
    return [("▇" * filled).ljust(most_cells) for filled in cells]


def _turns(turns: Sequence[TurnSpending]) -> list[tuple[str, Spending]]:
    """Return a row for what was cleared or rewound, one for earlier turns, and one for each of the last."""
    before = [("Cleared or rewound", turn.spending) for turn in turns if not turn.number]
    own = [turn for turn in turns if turn.number]
    earlier, shown = own[:-MAX_TURNS], own[-MAX_TURNS:]
    rows = list(before)
    if earlier:
        numbers = f"{earlier[0].number}-{earlier[-1].number}" if len(earlier) > 1 else f"{earlier[0].number}"
        rows.append((f"{numbers} total", sum((turn.spending for turn in earlier), Spending())))
    width = len(str(shown[-1].number)) if shown else 0
    rows += [(f"{turn.number:>{width}} {safe_line(turn.title)}", turn.spending) for turn in shown]
    return rows


def _notes(spent: SessionSpending, provider: str) -> list[str]:
    usage, notes = spent.total.usage, []
    if usage.cached_tokens:
        share = percent_text(usage.cached_tokens, usage.prompt_tokens)
        notes.append(f"{share} of the input came from the provider's cache.")
    if usage.estimated:
        notes.append("~ is an estimate: a call was cut short, or its provider sent no count.")
    if not usage.cost_usd:
        unknown = usage.cost_usd is None and provider not in ("offline", "local")
        notes.append(f"{'? is an unknown price. ' if unknown else ''}The shares are those of tokens.")
    return notes


def _or_dash(count: int) -> str:
    return tokens_text(count) if count else "-"
