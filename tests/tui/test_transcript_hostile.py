"""Text that means harm, through every kind of block: shown, never obeyed, never the end of the app."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from forge_core.events import AgentEvent, Error, LLMChunk, Notice, ToolProgress
from forge_core.result import FileDiff
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block, NoticeBlock, TextBlock, UserBlock
from tests.support.tool_events import tool_start
from tests.support.transcripts import (
    STYLES,
    TranscriptApp,
    call_ended,
    layout_of,
    said,
    tool_ended,
    tool_started,
)

pytestmark = pytest.mark.property


TRICKS = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b[?1049l\x1b[?2004h",
    "\x9b31m\x9d0;x\x9c",
    "a\rb\bc\x00d\x7fe",
    "\u202egnp.exe\u2066x\u2069",
    "\U000e0041\U000e0042",
    "\ud800 lone \udfff",
    "[red]x[/] [/] [@click=app.quit]y[/] [link=http://x]z",
    "[bold][/nope][[[]]]\\[x",
    "\u2028\u2029\u0085",
    "\r\n\r\r\n\n",
    "é" * 3 + "\u0301" * 200,
    "👩\u200d" * 40,
    "&#27;[31m &#x9b;31m &NewLine;",
    "```\x1b[31m\n\x1b[0m\n```",
    "| \x1b | [x](javascript:1) |\n|---|---|\n| \x07 | \x1b]0;x\x07 |",
    "> " * 200 + "deep",
    "- " * 150 + "deep",
    "*_" * 300,
    "[" * 400 + "](" * 400,
    "`" * 500,
    "x" * 20_000,
]

KINDS: dict[str, Callable[[str], list[AgentEvent | Block]]] = {
    "answer": lambda text: [said(text), call_ended()],
    "fence": lambda text: [said(f"```{text}\n{text}\n"), call_ended()],
    "reasoning": lambda text: [LLMChunk(text=text, kind="reasoning"), call_ended()],
    "target": lambda text: [tool_started("read", path=text)],
    "tool name": lambda text: [tool_started(text, argument=text)],
    "progress": lambda text: [tool_started("bash", command=text), ToolProgress(call_id="1", text=text)],
    "output": lambda text: [tool_started("bash", command="x"), tool_ended("bash", text, summary=text)],
    "failure": lambda text: [tool_started("edit", path="x"), tool_ended("edit", text, success=False)],
    "diff": lambda text: [
        tool_start("1", "edit", {}),
        tool_ended("edit", "x", diffs=(FileDiff(text, f"@@ -1 +1 @@\n-{text}\n+{text}!", 1, 1),) * 2),
    ],
    "notice": lambda text: [Notice(level="info", text=text)],
    "error": lambda text: [Error(error=text, kind="x", recoverable=True)],
    "person": lambda text: [UserBlock(text)],
    "title": lambda text: [TextBlock(text, text)],
    "complaint": lambda text: [NoticeBlock(text, "error")],
}


def layout_from(parts: list[AgentEvent | Block]) -> Layout:
    layout = layout_of(*(part for part in parts if not isinstance(part, Block)))
    for part in parts:
        if isinstance(part, Block):
            layout.append(part)
    for block in layout.blocks:
        block.toggle(0)
    return layout


def controls_in(layout: Layout, width: int) -> set[str]:
    """Every character that a terminal would obey, in text and in links."""
    found: set[str] = set()
    for block in layout.blocks:
        for row in block.render(width, STYLES).rows:
            for segment in row.segments:
                link = segment.style.link if segment.style is not None else None
                for character in segment.text + (link or ""):
                    code = ord(character)
                    if (
                        code < 0x20
                        or 0x7F <= code < 0xA0
                        or 0xD800 <= code < 0xE000
                        or code in (0x2028, 0x2029)
                    ):
                        found.add(hex(code))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_control_character_reaches_the_terminal(kind: str) -> None:
    for trick in TRICKS:
        assert controls_in(layout_from(KINDS[kind](trick)), 40) == set(), ascii(trick)


@pytest.mark.parametrize("kind", KINDS)
def test_random_bytes_reach_the_terminal_as_text(kind: str) -> None:
    chance = random.Random(kind)
    for _ in range(10_000 // len(KINDS) + 1):
        raw = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 60)))
        text = raw.decode(chance.choice(("utf-8", "latin-1")), errors="surrogateescape")
        assert controls_in(layout_from(KINDS[kind](text)), chance.choice((12, 40, 90))) == set()


async def test_a_screen_full_of_hostile_text_is_painted_without_control_characters() -> None:
    async with (app := TranscriptApp()).run_test(size=(50, 40)) as pilot:
        for trick in TRICKS:
            for make in KINDS.values():
                for part in make(trick):
                    if isinstance(part, Block):
                        app.transcript.add_user(trick)
                    else:
                        app.transcript.apply(part)
            app.transcript.toggle_cards()
            await pilot.pause()
            for row in app.rows():
                assert all(ord(character) >= 0x20 for character in row)
                assert "\x1b" not in row
