"""`/context`: what fills the model's window, as a bar and in figures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from textwrap import wrap

from forge_core.commands.columns import columns, table
from forge_core.commands.figures import dollars, percent_text, share_text, tokens_text, window_text
from forge_core.commands.result import CommandNotice, CommandResult, Failure, Text, Tint
from forge_core.context.elision import droppable
from forge_core.context.ledger import Composition, Item, Kind
from forge_core.sanitize import safe_line
from forge_core.session.context_parts import is_present
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len, clip, clip_start
from forge_core.tools.base import BaseTool

BAR_CELLS = 64
MAX_TURNS = 10
"""The last turns have a row each; earlier ones share one."""
MAX_ITEMS = 12
MAX_DIGITS = 9
"""Of the number of an item; Python converts no text of more than 4,300 digits."""
MAX_NAMED = 3
PRICE_CELLS = 11
NAME_CELLS = 44
TITLE_CELLS = 34
REPORT_CELLS = 74

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


_CATEGORIES = {signs: number for number, (signs, _) in enumerate(_KINDS.values())}
_CHANGED = "{} is no longer there to leave out. /context lists what is, with its number."


async def context(argument: str, session: ForgeSession) -> CommandResult:
    """Show the bar with its legend, the turns, the largest items and their price; `drop` leaves items out,
    `restore` brings instruction files back."""
    word, _, which = argument.partition(" ")
    match word.lower():
        case "drop":
            return await _drop(which.split(), session)
        case "restore":
            return _restore(session)
    composition = await session.context.composition()
    listed = await asyncio.to_thread(droppable, composition, MAX_ITEMS)
    session.context.listed = tuple(listed)
    report = await asyncio.to_thread(_report, composition, listed, len(session.context.left_out))
    deferred = await asyncio.to_thread(_deferred, session.tools.deferred)
    body = "\n\n".join([report, *deferred, *_cache_breaks(session)])
    return Text(body, "Context", tuple(_tints(body, composition)))


def _cache_breaks(session: ForgeSession) -> list[str]:
    """Return where the prompt cache broke in the last turn, and where it will; empty for nowhere."""
    cache = session.context.cache
    last, following = cache.loss, cache.next_loss()
    texts = [f"The prompt cache broke in the last turn: {last.past}"] if last is not None else []
    if following is not None and not session.status.is_running:
        texts.append(f"The next request breaks the prompt cache at: {following.future}")
    return ["\n".join(wrap(safe_line(text), REPORT_CELLS)) for text in texts]


def _deferred(tools: Sequence[BaseTool]) -> list[str]:
    """Return what deferred tools would take if they were sent; empty without any."""
    if not tools:
        return []
    count = f"{len(tools):,} tools of MCP servers are" if len(tools) > 1 else "1 tool of an MCP server is"
    tokens = tokens_text(sum(tool.tokens for tool in tools))
    text = f"{count} deferred: ~{tokens} tokens that requests do not hold. /mcp lists them."
    return ["\n".join(wrap(text, REPORT_CELLS))]


async def _drop(which: Sequence[str], session: ForgeSession) -> CommandResult:
    """Leave out the items that `/context` has listed with these numbers, or all results of tools."""
    if session.status.is_running:
        return Failure("/context drop works between turns. Press Esc to interrupt this one.")
    composition = await session.context.composition()
    if which == ["results"]:
        chosen = [item for item in droppable(composition, sys.maxsize) if item.kind is Kind.RESULT]
    else:
        shown = session.context.listed
        if shown is None:
            return Failure("Nothing was listed yet. /context lists what can be left out, with its number.")
        numbers = {int(number) for number in which if number.isdecimal() and len(number) <= MAX_DIGITS}
        if len(numbers) < len({*which}) or not numbers or not numbers <= {*range(1, len(shown) + 1)}:
            valid = f"the numbers 1 to {len(shown)}" if shown else "results, once there are any"
            return Failure(f"/context lists no such items to drop. Use /context drop with {valid}.")
        chosen = [shown[number - 1] for number in sorted(numbers)]
        gone = [item for item in chosen if not is_present(item, composition)]
        if gone:  # the numbers mean what was listed, whatever has come since
            return Failure(_CHANGED.format(_item_name(gone[0])))
    return _left_out(chosen, session)


def _left_out(chosen: Sequence[Item], session: ForgeSession) -> CommandResult:
    messages = [item.message for item in chosen if item.message]
    files = [item for item in chosen if not item.message]
    before = session.status.context_used
    if messages or not files:
        session.compaction.drop(messages)
    if files:
        session.context.leave_out(files)
        session.reload_instructions()
    names = ", ".join(_item_name(item) for item in chosen[:MAX_NAMED])
    more = f" and {len(chosen) - MAX_NAMED} more" if len(chosen) > MAX_NAMED else ""
    figures = f"~{tokens_text(before)} → ~{tokens_text(session.status.context_used)} tokens"
    undo = ["/compact undo restores it."] if messages else []
    undo += ["/context restore brings instruction files back."] if files else []
    return CommandNotice(f"Left out: {names}{more}. {figures}. {' '.join(undo)}")


def _restore(session: ForgeSession) -> CommandResult:
    """Bring back the instruction files that were left out."""
    if session.status.is_running:
        return Failure("/context restore works between turns. Press Esc to interrupt this one.")
    count = session.context.restore_instructions()
    if not count:
        return Failure("No instruction file is left out. /compact undo restores what else was left out.")
    session.reload_instructions()
    files, _ = _files_text(count)
    return CommandNotice(f"{files} sent again, from the next request on.")


def _files_text(count: int) -> tuple[str, str]:
    """Return a number of files with its verb, and the pronoun for them."""
    return ("1 instruction file is", "it") if count == 1 else (f"{count} instruction files are", "them")


def kind_name(kind: Kind) -> str:
    """Return the name of a part of the window, for the user."""
    return _KINDS[kind][1]


def _report(composition: Composition, listed: Sequence[Item], omitted: int) -> str:
    """Return the report; `listed` can be left out, and so many instruction files are `omitted`."""
    blocks = [
        _headline(composition),
        bar(composition),
        _legend(composition),
        _turns(composition),
        _largest(composition),
        _droppable(listed),
    ]
    if omitted:
        files, them = _files_text(omitted)
        blocks.append(f"{files} left out of this session. /context restore brings {them} back.")
    if composition.is_estimate:
        blocks.append("~ is an estimate: the provider has not counted all of it yet.")
    return "\n\n".join(block for block in blocks if block)


def bar(composition: Composition) -> str:
    """Draw the window in `BAR_CELLS` cells, or only the used part if its size is unknown."""
    parts = _parts(composition)
    drawn = zip((signs for signs, _, _ in parts), _widths(parts, composition), strict=True)
    return "".join((signs[0] + signs[1] * width)[:width] for signs, width in drawn)


def _tints(body: str, composition: Composition) -> Iterator[Tint]:
    """Yield the parts of the bar and the signs of its legend, each in the colour of its category."""
    parts, at = _parts(composition), body.index(bar(composition))
    categories = [_CATEGORIES.get(signs) for signs, _, _ in parts]
    for category, width in zip(categories, _widths(parts, composition), strict=True):
        if width:
            yield Tint(at, at + width, category)
        at += width
    for category, (signs, name, _) in zip(categories, parts, strict=True):
        at = body.index(f"\n{signs[0]}  {name}", at) + 1
        yield Tint(at, at + 1, category)


def _widths(parts: Sequence[tuple[str, str, int]], composition: Composition) -> list[int]:
    """Return the cells of each part in the bar."""
    size = max(composition.window or 0, composition.used, 1)
    return _spread([tokens for _, _, tokens in parts], size)


def _parts(composition: Composition) -> list[tuple[str, str, int]]:
    """Return the signs, name and tokens of each part of the window."""
    parts = [(*_KINDS[kind], tokens) for kind, tokens in composition.by_kind().items()]
    if composition.free is not None:
        parts.append(("░░", "Free", composition.free))
    if composition.reserved:
        parts.append(("╱╱", "Reserved for the answer", composition.reserved))
    return parts


def _spread(tokens: Sequence[int], size: int) -> list[int]:
    """Return the cells of each count: at least one for what is not 0, at the cost of the widest.

    Otherwise by largest remainders, so that they add up to the cells of the sum.
    """
    shares = [divmod(count * BAR_CELLS, size) for count in tokens]
    widths = [whole for whole, _ in shares]
    missing = round(sum(tokens) * BAR_CELLS / size) - sum(widths)
    for index in sorted(range(len(tokens)), key=lambda at: -shares[at][1])[: max(missing, 0)]:
        widths[index] += 1
    for index, count in enumerate(tokens):
        if count and not widths[index]:
            widths[widths.index(max(widths))] -= 1
            widths[index] = 1
    return widths


def _headline(composition: Composition) -> str:
    about = "~" if composition.is_estimate else ""
    used, window = tokens_text(composition.used), window_text(composition.window)
    share = f" ({percent_text(composition.used, composition.window)})" if composition.window else ""
    return f"{safe_line(composition.model)}: {about}{used} of {window} tokens{share}{_price(composition)}"


def _price(composition: Composition) -> str:
    """Return what it costs to send all of it once; empty where no price is known."""
    uncached, cached = composition.prices.uncached, composition.prices.cached
    if not uncached:
        return ""
    text = f"\nIts input costs {dollars(uncached * composition.used)} per request"
    if cached is None or cached == uncached:
        return text
    return f"{text}, {dollars(cached * composition.used)} if it is cached"


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
    cells = NAME_CELLS - (PRICE_CELLS if composition.prices.uncached else 0)
    rows = [
        (
            f"{tokens_text(item.tokens):>6}  {share_text(item.tokens, composition.used):>5}  "
            f"{_item_price(item, composition)}{_item_name(item, cells)}",
            f"turn {item.turn}" if item.turn else "",
        )
        for item in items
    ]
    return f"Largest, with their share of what is used\n{columns(rows)}"


def _item_price(item: Item, composition: Composition) -> str:
    """Return what it costs to send an item once without the cache; empty where no price is known."""
    price = composition.prices.uncached
    return f"{dollars(price * item.tokens):>{PRICE_CELLS - 2}}  " if price else ""


def _droppable(items: Sequence[Item]) -> str:
    """Return the numbered list of what can be left out."""
    if not items:
        return ""
    rows = [
        (
            f"{number:>2} {tokens_text(item.tokens):>6}  {_item_name(item)}",
            f"turn {item.turn}" if item.turn else "instructions",
        )
        for number, item in enumerate(items, 1)
    ]
    return (
        "Can be left out by number, as in /context drop 1;\n"
        f"/context drop results leaves out the results of all tools\n{columns(rows)}"
    )


def _item_name(item: Item, cells: int = NAME_CELLS) -> str:
    who = {Kind.USER: "you: ", Kind.ANSWER: "answer: "}.get(item.kind, "")
    name = safe_line(item.name)
    tool, _, target = name.partition(" ")
    if item.kind is Kind.RESULT and " " not in target:  # a path says most at its end, a command at its start
        return f"{tool} {clip_start(target, cells - cell_len(tool) - 1)}".strip()
    return clip(who + name, cells)
