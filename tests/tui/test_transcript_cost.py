"""The fifth hour costs what the first minute did: in CPU of this process, the least of some runs, wide bounds."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from forge_core.events import LLMChunk
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.bench.script import add_history, pieces
from tests.support.transcripts import STYLES, call_ended, said, tool_ended, tool_started

FEW, MANY = 10, 10_000
WIDTH, HEIGHT = 119, 34
SLACK_MS = 3.0
"""What a busy machine may add to an act that takes next to nothing."""


class History:
    """The blocks of a transcript, without a widget around them."""

    def __init__(self, blocks: int) -> None:
        self.layout = Layout()
        self.layout.configure(WIDTH, HEIGHT, STYLES)
        self.conversation = TranscriptBuilder(self.layout)
        self.apply = self.conversation.apply
        self.add_markdown = self.conversation.add_markdown
        for number in range(blocks):
            add_history(self, number)
        self.frame()

    def add_user(self, text: str) -> None:
        self.conversation.add(UserBlock(text))

    def frame(self) -> None:
        self.layout.frame()

    def stream(self) -> None:
        for number, piece in enumerate(pieces(200)):
            self.apply(said(piece))
            if number % 5 == 0:
                self.conversation.flush()
                self.frame()
        self.apply(call_ended())
        self.layout.follows_end = True

    def call_tool(self) -> None:
        self.apply(tool_started("bash", command="ls"))
        self.frame()
        self.apply(tool_ended("bash", "a\nb"))
        self.frame()

    def resize(self) -> None:
        for width in (WIDTH - 20, WIDTH):
            self.layout.configure(width, HEIGHT, STYLES)
            self.frame()

    def page_up_and_back(self) -> None:
        self.layout.scroll(-HEIGHT)
        self.frame()
        self.layout.scroll(HEIGHT)
        self.frame()

    def jump(self) -> None:
        for part in (0.0, 0.5, 1.0):
            self.layout.jump(int(self.layout.frame().total * part))
            self.frame()

    def show_raw(self) -> None:
        if not self.conversation.answers:
            self.apply(said("# An answer\n\nin *two* parts\n"))
            self.apply(call_ended())
        for _ in range(20):
            self.conversation.answers[0].toggle_raw()
            self.frame()

    def fold_all(self) -> None:
        for _ in range(20):
            self.conversation.calls.folding.toggle_all()
            self.frame()


ACTS: dict[str, Callable[[History], None]] = {
    "stream": History.stream,
    "call a tool": History.call_tool,
    "resize": History.resize,
    "page up and back": History.page_up_and_back,
    "jump": History.jump,
    "show an answer raw": History.show_raw,
    "fold and unfold all cards": History.fold_all,
}


@pytest.fixture(scope="module")
def histories() -> Iterator[tuple[History, History]]:
    yield History(FEW), History(MANY)


def cpu_ms(work: Callable[[], None], rounds: int = 4) -> float:
    """The least of some runs: whatever is above it, others did."""
    work()
    samples = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        samples.append((time.process_time() - started) * 1000)
    return min(samples)


@pytest.mark.parametrize("act", ACTS)
def test_operations_do_not_get_slower_with_a_long_history(
    act: str, histories: tuple[History, History]
) -> None:
    few, many = (cpu_ms(lambda history=history: ACTS[act](history)) for history in histories)  # type: ignore[misc]
    assert many <= 3 * few + SLACK_MS


def test_changing_the_thinking_setting_is_fast_for_a_long_history(histories: tuple[History, History]) -> None:
    """The one act that looks at every block, by a command and by no key; it may take the time of a blink."""
    conversation = histories[1].conversation

    def change() -> None:
        conversation.show_thinking("full" if conversation.thinking == "folded" else "folded")
        histories[1].frame()

    assert cpu_ms(change) <= 100


def test_each_line_of_an_open_fence_costs_the_same() -> None:
    history = History(FEW)
    history.apply(said("```python\n"))
    hundreds = []
    for hundred in range(20):
        started = time.process_time()
        for number in range(100):
            history.apply(said(f"value_{hundred}_{number} = compute({number}, 'text')  # a comment\n"))
            if number % 10 == 0:
                history.conversation.flush()
                history.frame()
        hundreds.append(time.process_time() - started)
    assert min(hundreds[15:]) <= 2 * min(hundreds[:5])


@pytest.mark.parametrize("kind", ["answer", "reasoning"])
def test_text_received_in_many_fragments_uses_memory_proportional_to_its_length(
    kind: Literal["answer", "reasoning"],
) -> None:
    history = History(0)
    history.conversation.show_thinking("hidden")  # then nobody asks for the text while it comes
    words = 6_000

    def stream() -> None:
        for number in range(words):
            history.apply(LLMChunk(text=f"{number:04x} ", kind=kind))
            if number % 50 == 0:
                history.conversation.flush()
        history.apply(call_ended())

    stream()  # what is loaded on the first use is no matter here
    tracemalloc.start()
    try:
        stream()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Once whole, and once in the blocks that show it; a fragment by itself takes ten times its characters.
    assert held < 5 * 5 * words
