"""Invisible characters in the conversation: marked on the screen, copied as they were received."""

from __future__ import annotations

import pytest

from forge_core.events import AgentEvent, LLMChunk, Notice
from forge_tui.widgets.blockview.block_layout import Layout, TextPosition
from forge_tui.widgets.blockview.selection import TextSelection, end_of, selected_text
from tests.support.transcripts import call_ended, layout_of, said, shown, tool_ended, tool_started

HIDDEN = "pass\u200bwd a\u2060b"
MARKED = "pass\u25ccwd a\u25ccb"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648"
PLACES: dict[str, list[AgentEvent]] = {
    "answer": [said(HIDDEN), call_ended()],
    "answer in fragments": [*map(said, HIDDEN), call_ended()],
    "bold": [said(f"**{HIDDEN[:7]}**{HIDDEN[7:]}"), call_ended()],
    "fence": [said(f"```\n{HIDDEN}\n```\n"), call_ended()],
    "table": [said(f"| a |\n|---|\n| {HIDDEN} |\n"), call_ended()],
    "reasoning": [LLMChunk(text=HIDDEN, kind="reasoning"), call_ended()],
    "output": [tool_started("bash"), tool_ended("bash", f"first\n{HIDDEN}")],
    "notice": [Notice(level="warning", text=HIDDEN)],
}


def unfolded(events: list[AgentEvent]) -> Layout:
    layout = layout_of(*events)
    for block in layout.blocks:
        block.toggle(0)
    return layout


@pytest.mark.parametrize("place", PLACES)
def test_invisible_characters_are_marked_and_copied_unchanged(place: str) -> None:
    layout = unfolded(PLACES[place])
    assert MARKED in "\n".join(shown(layout))
    end = end_of(layout, len(layout.blocks) - 1)
    text = selected_text(layout, TextSelection(TextPosition(0, 0, 0), end))
    assert HIDDEN in text and "\u25cc" not in text


def test_a_marked_character_is_copied_as_a_part_of_a_line() -> None:
    layout = unfolded([said(HIDDEN), call_ended()])
    part = TextSelection(TextPosition(0, 0, 3), TextPosition(0, 0, 6))
    assert selected_text(layout, part) == "s\u200bw"


@pytest.mark.parametrize("text", [FAMILY, PERSIAN])
def test_joiners_that_arrive_in_fragments_of_one_character_stay(text: str) -> None:
    assert text in "\n".join(shown(unfolded([*map(said, text), call_ended()])))
