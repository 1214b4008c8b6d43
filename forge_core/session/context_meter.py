"""The fill level of the context window: the provider's last count, and an estimate of what followed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from forge_core.context.ledger import Composition, Item, Kind, fitted, history_items
from forge_core.context.prompt_cache import Segment
from forge_core.context.system_prompt import SystemPrompt
from forge_core.events import LLMEnd
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.account.pricing import UNKNOWN_PRICES, InputPrices
from forge_core.llm.models import Message
from forge_core.llm.tokens import estimate_tokens
from forge_core.tools.base import BaseTool
from forge_core.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A moment at which the provider has counted."""

    counted: int
    """Its tokens, without reasoning."""
    estimated: int
    """Our estimate of the same."""
    reasoning: int = 0
    """Of the last answer: no message shows it."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The content of a window at one moment; `composition` may be called in a thread."""

    fixed: Sequence[Item]
    """System prompt, instruction files, tools."""
    history: Sequence[tuple[Message, int]]
    turn: int
    """The number of the newest one."""
    counted: int
    """Tokens of all these together."""
    reasoning: int
    is_estimate: bool

    def composition(
        self, model: str, window: int | None, reserved: int, prices: InputPrices = UNKNOWN_PRICES
    ) -> Composition:
        """Return an item for each part. O(number of messages)."""
        shown = fitted([*self.fixed, *history_items(self.history, self.turn)], self.counted)
        if self.reasoning:
            last = Item(Kind.REASONING, self.reasoning, "reasoning of the last answer", self.turn)
            shown = (*shown, last)
        room = max((window or 0) - self.counted - self.reasoning, 0)
        return Composition(model, shown, window, min(reserved, room), self.is_estimate, prices)


class ContextMeter:
    """Follows one agent. `used` costs the same however long the conversation is: each message is estimated
    once. Estimates are scaled by how far the last one was off."""

    def __init__(self, agent: ForgeAgent) -> None:
        self._agent = agent
        self._anchor: _Anchor | None = None
        self._prompt = SystemPrompt("")
        self._tools: tuple[ToolRegistry | None, tuple[Segment, ...]] = (None, ())

    @property
    def prompt(self) -> SystemPrompt:
        """The agent's system message, and what it quotes."""
        return self._prompt

    def use_prompt(self, prompt: SystemPrompt) -> None:
        """Set the agent's system message."""
        self._agent.memory.set_system_message(Message.system(prompt.text))
        self._prompt = prompt

    def answered(self, event: LLMEnd) -> None:
        """Use the provider's count, if it sent one; the answer is in the memory already."""
        usage, estimated = event.usage, self._estimate()
        if usage.estimated or not usage.prompt_tokens or not estimated:
            return
        reasoning = min(usage.reasoning_tokens, usage.completion_tokens)
        self._anchor = _Anchor(usage.total_tokens - reasoning, estimated, reasoning)

    def reset(self) -> None:
        """Forget the conversation; the correction of the estimates stays."""
        if (anchor := self._anchor) is not None:
            self._anchor = _Anchor(anchor.counted, anchor.estimated)

    @property
    def used(self) -> int:
        """Tokens in the window."""
        return self._scaled(self._estimate()) + self._reasoning

    @property
    def is_estimate(self) -> bool:
        """Whether anything of `used` is not the provider's count."""
        return self._anchor is None or self._estimate() != self._anchor.estimated

    def history_limit(self, tokens: int) -> int:
        """Return the tokens, as the memory counts them, that the history may have for `used` to be
        `tokens`."""
        anchor, memory = self._anchor, self._agent.memory
        estimate = tokens if anchor is None else tokens * anchor.estimated // max(anchor.counted, 1)
        return estimate - self._estimate() + sum(one for _, one in memory.counted_history())

    def holding(self, turn: int) -> Holding:
        """Return the content behind `used` at this moment; `turn` is the number of the newest turn."""
        return Holding(
            [*self._prompt_items(), *self._tool_items()],
            list(self._agent.memory.counted_history()),
            turn,
            self._scaled(self._estimate()),
            self._reasoning,
            self.is_estimate,
        )

    @property
    def _reasoning(self) -> int:
        return self._anchor.reasoning if self._anchor is not None else 0

    def _estimate(self) -> int:
        return self._agent.memory.token_count() + sum(tool.tokens for tool in self.tool_segments())

    def _scaled(self, estimate: int) -> int:
        anchor = self._anchor
        if anchor is None:
            return estimate
        return (2 * estimate * anchor.counted + anchor.estimated) // (2 * anchor.estimated)

    def _prompt_items(self) -> list[Item]:
        message = self._agent.memory.system_message
        whole = self._agent.memory.count_tokens(message) if message is not None else 0
        files = [
            Item(Kind.INSTRUCTIONS, estimate_tokens(one.text), one.path) for one in self._prompt.instructions
        ]
        rest = max(whole - sum(item.tokens for item in files), 0)
        return [Item(Kind.SYSTEM, rest, "system prompt"), *files]

    def _tool_items(self) -> list[Item]:
        return [Item(Kind.TOOLS, tool.tokens, tool.name) for tool in self.tool_segments()]

    def tool_segments(self) -> tuple[Segment, ...]:
        """Return the definitions of the tools as they are sent; the same object while they are the same."""
        registry = self._agent.registry
        if self._tools[0] is not registry:
            self._tools = registry, tuple(_tool_segment(tool) for tool in registry)
        return self._tools[1]


def _tool_segment(tool: BaseTool) -> Segment:
    schema = json.dumps(tool.to_openai_schema(), ensure_ascii=False)
    return Segment(tool.name, schema, estimate_tokens(schema))
