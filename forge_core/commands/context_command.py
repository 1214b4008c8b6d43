"""`/context`: what fills the model's window, as a bar and in figures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from forge_core.commands.columns import table
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
_FREE, _RESERVED = "·", "░"


@dataclass(frozen=True, slots=True)
class _Part:
    """A category as the bar shows it: its letter, then its shade, so that it needs no colour."""

    letter: str
    shade: str
    name: str


_PARTS = {
    Kind.SYSTEM: _Part("S", "█", "System prompt"),
    Kind.TOOLS: _Part("T", "▒", "Tools"),
    Kind.INSTRUCTIONS: _Part("I", "█", "Instruction files"),
    Kind.USER: _Part("Y", "▒", "Your messages"),
    Kind.ANSWER: _Part("A", "█", "Answers and calls"),
    Kind.REASONING: _Part("H", "▒", "Hidden reasoning"),
    Kind.RESULT: _Part("R", "▓", "Tool results"),
}


async def context(argument: str, session: ForgeSession) -> CommandResult:
    """Show the bar with its legend, the turns and the largest items."""
    return Text(await asyncio.to_thread(_report, await session.composition()), "Context")


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
    size = composition.window or composition.used
    parts = [(f"{_PARTS[kind].letter}{_PARTS[kind].shade}", n) for kind, n in composition.by_kind().items()]
    tail = [(_FREE * 2, composition.free or 0), (_RESERVED * 2, composition.reserved)]
    widths = _spread([tokens for _, tokens in (*parts, *tail)], max(size, composition.used, 1))
    drawn = zip((signs for signs, _ in (*parts, *tail)), widths, strict=True)
    return "".join((signs[0] + signs[1] * width)[:width] for signs, width in drawn)


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
    kinds = composition.by_kind()
    rows = [
        (f"{_PARTS[kind].letter}  {_PARTS[kind].name}", *_figures(tokens, composition))
        for kind, tokens in kinds.items()
    ]
    if composition.free is not None:
        rows.append((f"{_FREE}  Free", *_figures(composition.free, composition)))
    if composition.reserved:
        rows.append((f"{_RESERVED}  Reserved for the answer", *_figures(composition.reserved, composition)))
    return table(rows)


def _figures(tokens: int, composition: Composition) -> tuple[str, str]:
    return tokens_text(tokens), share_text(tokens, composition.window or composition.used)


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
    names = [_item_name(item) for item in items]
    width = max(map(cell_len, names))
    rows = [
        (f"{tokens_text(item.tokens):>6}  {share_text(item.tokens, composition.used):>5}  ", name, item)
        for item, name in zip(items, names, strict=True)
    ]
    lines = [
        f"{figures}{name}{' ' * (width - cell_len(name))}  {turn}".rstrip()
        for figures, name, item in rows
        for turn in [f"turn {item.turn}" if item.turn else ""]
    ]
    return "\n".join(["Largest, with their share of what is used", *lines])


def _item_name(item: Item) -> str:
    who = {Kind.USER: "you: ", Kind.ANSWER: "answer: "}.get(item.kind, "")
    name = safe_line(item.name)
    tool, _, target = name.partition(" ")
    if item.kind is Kind.RESULT and " " not in target:  # a path says most at its end, a command at its start
        return f"{tool} {clip_start(target, NAME_CELLS - cell_len(tool) - 1)}".strip()
    return clip(who + name, NAME_CELLS)
