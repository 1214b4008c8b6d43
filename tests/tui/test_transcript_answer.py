"""A streamed answer: however it is cut, the same blocks; nothing flashes; a frame's cost stays flat."""

from __future__ import annotations

import random

import pytest
from textual.color import Color

from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.answer.answer_blocks import CodeBlock, CodeText, MarkdownBlock
from forge_tui.widgets.transcript.answer.answer_builder import AnswerBuilder
from tests.support.transcripts import drawn

ANSWER = """\
# Title

Some **bold** text, `code`,
and a second line.

1. one
2. two
   - nested `x`
   - more

   loose paragraph
3. three

```python
def f(x):
    '''doc

    string'''
    return x
```

> quoted
> twice

| a | b |
|---|--:|
| 1 | 2 |

~~~
no language ``` here
~~~

Setext
------

- [ ] open
- [x] done

***
The end.
"""


def blocks_of(pieces: list[str]) -> list[Block]:
    answer = AnswerBuilder()
    blocks: list[Block] = []
    for piece in pieces:
        answer.feed(piece)
        blocks += answer.take()[0]
    return blocks + answer.take(is_final=True)[0]


def text_of(blocks: list[Block]) -> list[str]:
    return [line for block in blocks for line in drawn(block)]


def is_text(line: str) -> bool:
    """Whether a row has characters, not only the edge of a card."""
    return bool(line.strip(" ▄▀"))


def open_text(answer: AnswerBuilder) -> list[str]:
    still_open = answer.take()[1]
    return [] if still_open is None else [line for line in drawn(still_open) if line]


@pytest.mark.parametrize("seed", range(40))
def test_any_fragmentation_renders_like_the_whole_text(seed: int) -> None:
    chance = random.Random(seed)
    pieces, at = [], 0
    while at < len(ANSWER):
        size = chance.choice((1, 1, 2, 3, 5, 8, 40))
        pieces.append(ANSWER[at : at + size])
        at += size
    assert text_of(blocks_of(pieces)) == text_of(blocks_of([ANSWER]))


def test_finished_blocks_are_never_changed() -> None:
    answer = AnswerBuilder()
    finished: list[Block] = []
    for character in ANSWER:
        answer.feed(character)
        before = [(block, block.revision) for block in finished]
        finished += answer.take()[0]
        assert [(block, block.revision) for block in finished[: len(before)]] == before


def test_an_incomplete_list_marker_does_not_flash_as_a_heading() -> None:
    answer = AnswerBuilder()
    answer.feed("Steps:\n-")
    assert open_text(answer) == ["   Steps:"]
    answer.feed(" first")
    assert open_text(answer) == ["   Steps:"] or "• first" in open_text(answer)[-1]


def test_an_incomplete_fence_shows_no_backticks() -> None:
    answer = AnswerBuilder()
    answer.feed("Look:\n\n```pyth")
    assert not any("`" in line for line in open_text(answer))


def test_bold_text_and_code_spans_are_closed_while_streaming() -> None:
    answer = AnswerBuilder()
    answer.feed("It is **very impor")
    assert open_text(answer) == ["   It is very impor"]
    answer.feed("tant** and `")
    assert open_text(answer) == ["   It is very important and"]
    answer.feed("co")
    assert open_text(answer) == ["   It is very important and co"]


def test_a_carriage_return_split_from_its_line_feed_is_one_newline() -> None:
    lines = text_of(blocks_of(["one\r", "\ntwo\r", "\n"]))
    assert [line.strip() for line in lines if line.strip()] == ["one", "two"]


def test_an_unfinished_fence_keeps_its_last_line() -> None:
    lines = text_of(blocks_of(["```python\nx = 1\ny = "]))
    assert [line.strip() for line in lines if is_text(line)] == ["x = 1".ljust(49) + "python", "y ="]


def test_the_lower_edge_of_code_appears_when_the_fence_is_closed() -> None:
    answer = AnswerBuilder()
    answer.feed("```python\nx = 1\n")
    assert [line[2] for line in open_text(answer)] == ["▄", " "]
    answer.feed("```\n")
    assert [line[2] for line in text_of(list(answer.take()[0])) if line] == ["▄", " ", "▀"]


def test_a_long_fence_is_split_into_pieces_without_a_gap() -> None:
    source = "```python\n" + "".join(f"x_{n} = {n}\n" for n in range(500)) + "```\n"
    blocks = blocks_of([source[at : at + 37] for at in range(0, len(source), 37)])
    assert all(isinstance(block, CodeBlock) and len(block.lines) <= 64 for block in blocks)
    assert len(blocks) == 8
    lines = text_of(blocks)[1:]  # the gap
    assert [is_text(line) for line in lines] == [False, *[True] * 500, False]
    assert [line.strip().removesuffix("python").strip() for line in lines[1:-1]] == [
        f"x_{n} = {n}" for n in range(500)
    ]


def test_a_docstring_across_pieces_is_highlighted_as_a_string() -> None:
    source = '```python\n"""start\n' + "words\n" * 100 + '"""\nx = 1\n```\n'
    blocks = blocks_of([source])
    second = blocks[1]
    assert isinstance(second, CodeBlock)
    kinds = {kind for line in second._tokens() for kind, text in line if text.strip() == "words"}
    assert kinds == {"string"}


def test_a_long_list_is_finished_item_by_item_and_keeps_its_numbers() -> None:
    answer = AnswerBuilder()
    finished: list[Block] = []
    for number in range(1, 201):
        answer.feed(f"{number}. item {number}\n")
        finished += answer.take()[0]
    assert len(answer._tail) < 2_000
    blocks = finished + answer.take(is_final=True)[0]
    assert all(isinstance(block, MarkdownBlock) for block in blocks)
    lines = [line.split() for line in text_of(blocks) if line.strip()]
    assert lines == [[f"{number}.", "item", str(number)] for number in range(1, 201)]


def test_an_open_fence_highlights_each_line_once() -> None:
    answer = AnswerBuilder()
    answer.feed("```python\n")
    for number in range(40):
        answer.feed(f"x = {number}\n")
        still_open = answer.take()[1]
        assert isinstance(still_open, CodeBlock)
        before = list(still_open._lexed)
        drawn(still_open)
        assert all(a is b for a, b in zip(before, still_open._lexed, strict=False))
        assert len(still_open._lexed) == number + 1


def test_a_diff_fence_colours_removed_and_added_lines() -> None:
    colours = {"foreground": "#eeeeee", "forge-muted": "#999999", "diff-added": "#00cc00"}
    styles = TranscriptStyles.from_theme({**colours, "diff-removed": "#cc0000"}, Color.parse("#101010"))
    answer = AnswerBuilder()
    answer.feed("```diff\n@@ -1 +1 @@\n-x = 30\n+x = LIMIT\n y = 1\n```\n")
    (block,) = answer.take(is_final=True)[0]
    shown = {
        segment.text.strip(): segment.style.color.name
        for row in block.render(60, styles).rows
        for segment in row.segments
        if is_text(segment.text) and segment.style is not None and segment.style.color is not None
    }
    assert shown == {
        "diff": "#999999",
        "@@ -1 +1 @@": "#999999",
        "-x = 30": "#cc0000",
        "+x = LIMIT": "#00cc00",
    }


def test_an_answer_keeps_its_source_and_its_code() -> None:
    answer = AnswerBuilder()
    source = "See:\r\n\n- step\n\n  ```py title\n  x = 1\n\n  y = 2\n  ```\n\n```\nplain\n"
    for character in source:
        answer.feed(character)
    answer.take(is_final=True)
    assert answer.text.source == source.replace("\r\n", "\n")
    assert answer.text.code_blocks == [CodeText("py", "x = 1\n\ny = 2"), CodeText("", "plain")]
