"""The output of a command with the colours of categories."""

from __future__ import annotations

from textual.color import Color

from forge_core.commands.result import Tint
from forge_tui.widgets.blockview.blocks import TextBlock
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.transcripts import drawn

COLOURS = {"foreground": "#ffffff", "syntax-keyword": "#ff00ff", "syntax-function": "#0000ff"}
STYLES = TranscriptStyles.from_theme(COLOURS, Color.parse("#101010"))


def coloured(block: TextBlock) -> list[tuple[str, object]]:
    """The texts that are not in the colour of text."""
    rows = block.render(60, STYLES).rows
    parts = [part for row in rows for part in row.segments if part.text.strip() and part.style]
    return [(part.text, part.style) for part in parts if part.style != STYLES.text]


def test_parts_of_a_text_have_the_colours_of_their_categories() -> None:
    block = TextBlock("one two\nthree", tints=(Tint(4, 7, 7), Tint(8, 10, 0), Tint(10, 13, None)))
    function, keyword = STYLES.syntax["function"], STYLES.syntax["keyword"]
    assert coloured(block) == [("two", function), ("th", keyword), ("ree", STYLES.muted)]
    assert drawn(block)[-2:] == ["   one two", "   three"]


def test_a_text_that_had_to_be_made_safe_has_no_colours() -> None:
    assert coloured(TextBlock("\x1b[2Jone", tints=(Tint(3, 5, 0),))) == []


def test_a_wrapped_line_keeps_its_indent() -> None:
    block = TextBlock("Problems\n  a.md: it has no description\n" + " " * 60 + "far to the right")

    rows = drawn(block, 30)

    assert rows[1:4] == ["   Problems", "     a.md: it has no", "     description"]
    assert rows[-1] == " " * 11 + "far to the right", "there is room for text whatever the indent"
