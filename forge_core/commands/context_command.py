"""`/context`: what fills the model's window, as a bar and in figures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from forge_core.commands.columns import columns, table
from forge_core.commands.figures import percent_text, share_text, tokens_text, window_text
from forge_core.commands.result import CommandResult, Text
from forge_core.context.ledger import Composition, Item, Kind
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len, clip, clip_start

BAR_CELLS = 64
MAX_TURNS = 10
"""The last turns have a row each; earlier ones share one."""
MAX_ITEMS = 12
NAME_CELLS = 44
TITLE_CELLS = 34

_KINDS = {
    Kind.SYSTEM: ("S█", "System prompt"),
    Kind.TOOLS: ("T▒", "Tools"),
    Kind.INSTRUCTIONS: ("I█", "Instruction files"),
    Kind.SUMMARY: ("C▓", "Summary by /compact"),
    Kind.USER: ("Y▒", "Your messages"),
    Kind.ANSWER: ("A█", "Answers and calls"),
    Kind.REASONING: ("H▒", "Hidden reasoning"),
    Kind.RESULT: ("R▓", "Tool results"),
}
"""How the bar shows a category: its letter, then its shade, so that it needs no colour."""


async def context(argument: str, session: ForgeSession) -> CommandResult:
    """Show the bar with its legend, the turns and the largest items."""
    return Text(await asyncio.to_thread(_report, await session.composition()), "Context")


def kind_name(kind: Kind) -> str:
    """Return the name of a part of the window, for the user."""
    return _KINDS[kind][1]


def _report(composition: Composition) -> str:
    blocks = [
        _headline(composition),
        bar(composition),
        _legend(composition),
        _turns(composition),
        _largest(composition),
    ]
    if composition.is_estimate:
        blocks.append("~ is an estimate: the provider has not counted all of it yet.")
    return "\n\n".join(block for block in blocks if block)


def bar(composition: Composition) -> str:
    """Draw the window in `BAR_CELLS` cells, or only the used part if its size is unknown."""
    parts = _parts(composition)
    size = max(composition.window or 0, composition.used, 1)
    widths = _spread([tokens for _, _, tokens in parts], size)
    drawn = zip((signs for signs, _, _ in parts), widths, strict=True)
    return "".join((signs[0] + signs[1] * width)[:width] for signs, width in drawn)


def _parts(composition: Composition) -> list[tuple[str, str, int]]:
    """Return the signs, name and tokens of each part of the window."""
    parts = [(*_KINDS[kind], tokens) for kind, tokens in composition.by_kind().items()]
    if composition.free is not None:
        parts.append(("··", "Free", composition.free))
    if composition.reserved:
        parts.append(("░░", "Reserved for the answer", composition.reserved))
    return parts


def _spread(tokens: Sequence[int], size: int) -> list[int]:
    """Return the cells of each count. Largest remainders, so that they add up to the cells of the sum."""
    shares = [divmod(count * BAR_CELLS, size) for count in tokens]
    widths = [whole for whole, _ in shares]
    missing = round(sum(tokens) * BAR_CELLS / size) - sum(widths)
    for index in sorted(range(len(tokens)), key=lambda at: -shares[at][1])[: max(missing, 0)]:
        widths[index] += 1
    return widths


def _headline(composition: Composition) -> str:
    about = "~" if composition.is_estimate else ""
    used, window = tokens_text(composition.used), window_text(composition.window)
    share = f" ({percent_text(composition.used, composition.window)})" if composition.window else ""
    return f"{safe_line(composition.model)}: {about}{used} of {window} tokens{share}"


def _legend(composition: Composition) -> str:
    size = composition.window or composition.used
    return table(
        [
            (f"{signs[0]}  {name}", tokens_text(tokens), share_text(tokens, size))
            for signs, name, tokens in _parts(composition)
        ]
    )


def _turns(composition: Composition) -> str:
    """Return the table of tokens by turn."""
    turns = composition.by_turn()
    if not turns:
        return ""
    kinds = (Kind.USER, Kind.ANSWER, Kind.RESULT)
    asked = {item.turn: item for item in reversed(composition.items) if item.kind is Kind.USER}
    numbers = list(turns)
    earlier, shown = numbers[:-MAX_TURNS], numbers[-MAX_TURNS:]
    rows: list[tuple[str, ...]] = [("Turn", "You", "Answers", "Results", "Total")]
    width = len(str(shown[-1]))

    def row(name: str, parts: Sequence[dict[Kind, int]]) -> tuple[str, ...]:
        sums = [sum(part.get(kind, 0) for part in parts) for kind in kinds]
        sums[1] += sum(part.get(Kind.REASONING, 0) for part in parts)
        return name, *(tokens_text(count) if count else "-" for count in (*sums, sum(sums)))

    if earlier:
        rows.append(row(f"{earlier[0]}-{earlier[-1]} total", [turns[number] for number in earlier]))
    for number in shown:
        title = safe_line(asked[number].name) if number in asked else ""
        rows.append(row(clip(f"{number:>{width}} {title}", TITLE_CELLS), [turns[number]]))
    return table(rows)


def _largest(composition: Composition) -> str:
    """Return the table of the largest items."""
    items = composition.largest(MAX_ITEMS)
    if not items:
        return ""
    rows = [
        (
            f"{tokens_text(item.tokens):>6}  {share_text(item.tokens, composition.used):>5}  "
            f"{_item_name(item)}",
            f"turn {item.turn}" if item.turn else "",
        )
        for item in items
    ]
    return f"Largest, with their share of what is used\n{columns(rows)}"


def _item_name(item: Item) -> str:
    who = {Kind.USER: "you: ", Kind.ANSWER: "answer: "}.get(item.kind, "")
    name = safe_line(item.name)
    tool, _, target = name.partition(" ")
    if item.kind is Kind.RESULT and " " not in target:  # a path says most at its end, a command at its start
        return f"{tool} {clip_start(target, NAME_CELLS - cell_len(tool) - 1)}".strip()
    return clip(who + name, NAME_CELLS)
