"""What fills the model's window: one item per message, tool and instruction file, in tokens.

Only what the window holds; `forge_core.llm.account.spending` has what calls have cost. Everything here is
computed on request, in time linear in the number of messages.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from forge_core.llm.account.pricing import UNKNOWN_PRICES, InputPrices
from forge_core.llm.models import Message, MessageRole, ToolCall

_NAME_CHARS = 200
_TARGETS = ("file_path", "path", "pattern", "command", "id")
"""Arguments that say best what a call is about; the first that it has, else its first argument."""


class Kind(StrEnum):
    """The parts of a window, in the order in which they are sent."""

    SYSTEM = "system"
    TOOLS = "tools"
    INSTRUCTIONS = "instructions"
    SUMMARY = "summary"
    """What a compaction has put in the place of earlier messages."""
    USER = "user"
    ANSWER = "answer"
    REASONING = "reasoning"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Item:
    """One part of the window's content."""

    kind: Kind
    tokens: int
    label: str = ""
    """The name of an item that is not a message: a tool, a file."""
    turn: int = 0
    """The turn that added it; 0 for items before the first."""
    message: Message | None = None
    call: ToolCall | None = None
    """On a result: the call that it answers."""

    @property
    def name(self) -> str:
        """The name, as one line of untrusted text."""
        if self.message is None:
            return self.label
        if self.kind is Kind.RESULT:
            return call_name(self.call, self.message)
        calls = [call.name for call in self.message.tool_calls or ()]
        return _line(self.message.text) or (f"calls {', '.join(calls)}" if calls else "")


@dataclass(frozen=True, slots=True)
class Composition:
    """The content of a window; the items' tokens add up to `used`."""

    model: str
    items: tuple[Item, ...]
    window: int | None
    """Its size; None where unknown."""
    reserved: int = 0
    """Kept free for the answer."""
    is_estimate: bool = False
    """Whether `used` is not the provider's count."""
    prices: InputPrices = UNKNOWN_PRICES
    used: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "used", sum(item.tokens for item in self.items))

    @property
    def free(self) -> int | None:
        """The tokens left beside the reserve; None where the window's size is unknown."""
        return None if self.window is None else max(self.window - self.used - self.reserved, 0)

    def by_kind(self) -> dict[Kind, int]:
        """Return tokens of each kind that takes any, in the order of `Kind`."""
        sums = dict.fromkeys(Kind, 0)
        for item in self.items:
            sums[item.kind] += item.tokens
        return {kind: tokens for kind, tokens in sums.items() if tokens}

    def by_turn(self) -> dict[int, dict[Kind, int]]:
        """Return tokens of each turn's messages by kind, the oldest turn first."""
        turns: dict[int, dict[Kind, int]] = {}
        for item in self.items:
            if item.turn:
                kinds = turns.setdefault(item.turn, {})
                kinds[item.kind] = kinds.get(item.kind, 0) + item.tokens
        return turns

    def largest(self, count: int) -> list[Item]:
        """Return the largest items, largest first, without the system prompt and the tools."""
        others = (item for item in self.items if item.kind not in (Kind.SYSTEM, Kind.TOOLS) and item.tokens)
        return heapq.nlargest(count, others, key=lambda item: item.tokens)


def history_items(history: Iterable[tuple[Message, int]], last_turn: int) -> list[Item]:
    """Return an item per message, each given with its tokens; the newest turn has the number `last_turn`."""
    items: list[Item] = []
    calls: dict[str, ToolCall] = {}
    turn = 0
    for message, tokens in history:
        match message.role:
            case MessageRole.USER if message.extra.get("compaction"):
                items.append(Item(Kind.SUMMARY, tokens, "summary of the earlier conversation"))
            case MessageRole.USER:
                turn += not (turn and message.extra.get("within_turn"))
                items.append(Item(Kind.USER, tokens, turn=turn, message=message))
            case MessageRole.TOOL:
                call = calls.get(message.tool_call_id or "")
                items.append(Item(Kind.RESULT, tokens, turn=turn, message=message, call=call))
            case _:
                for one in message.tool_calls or ():
                    calls[one.id] = one
                items.append(Item(Kind.ANSWER, tokens, turn=turn, message=message))
    dropped = max(last_turn - turn, 0)
    if not dropped:
        return items
    return [item if item.kind is Kind.SUMMARY else replace(item, turn=item.turn + dropped) for item in items]


def fitted(items: Sequence[Item], used: int) -> tuple[Item, ...]:
    """Return the items in the same proportions, adding up to exactly `used` (largest remainders)."""
    total = sum(item.tokens for item in items)
    if total in (0, used):
        return tuple(items)
    shares = [divmod(item.tokens * used, total) for item in items]
    missing = used - sum(whole for whole, _ in shares)
    first = sorted(range(len(items)), key=lambda index: -shares[index][1])[:missing]
    sizes = [whole for whole, _ in shares]
    for index in first:
        sizes[index] += 1
    return tuple(replace(item, tokens=size) for item, size in zip(items, sizes, strict=True))


def reserved_output(window: int | None, max_output: int | None) -> int:
    """Return the tokens to keep free for an answer: the longest that the model writes, at most half of the
    window."""
    return min(max_output, window // 2) if window and max_output else 0


def call_name(call: ToolCall | None, result: Message) -> str:
    """Return the tool and the target of the call that `result` answers, in one line of untrusted text."""
    if call is None:
        return _line(str(result.name or result.extra.get("name") or "")) or "a result"
    return _line(f"{call.name} {_target(call.arguments)}")


def _target(raw: str) -> str:
    try:
        arguments = json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict) or not arguments:
        return ""
    key = next((name for name in _TARGETS if name in arguments), next(iter(arguments)))
    value = arguments[key]
    return value if isinstance(value, str) else json.dumps(value)


def _line(text: str) -> str:
    return " ".join(text[: 4 * _NAME_CHARS].split())[:_NAME_CHARS]
