"""An answer in whatever fragments: the same rows; and no part of it may cost more the longer it grows."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_tui.widgets.transcript.answer import answer_builder as cutting
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerBlock, CodeBlock, MarkdownBlock
from forge_tui.widgets.transcript.answer.answer_builder import AnswerBuilder
from tests.support.transcripts import STYLES, drawn, row_text

pytestmark = pytest.mark.property


EXAMPLES = 1_000 if os.environ.get("FORGE_FULL") else 20

PARTS = [
    "# Heading\n",
    "Setext\n===\n",
    "A paragraph with **bold**, *emphasis*, `code` and https://a.example/x.\nSecond line.\n",
    "- one\n- two\n  - nested\n    - deeper\n\n  loose\n- three\n",
    "1. first\n\n   ```python\n   def f():\n\n       return 1\n   ```\n\n2. second\n   > quoted\n   > - in it\n",
    "10. ten\n11. eleven\n    text\n",
    "- [ ] open\n- [x] done\n- [ ]\n",
    "> quote\nlazy\n>\n> > deeper\n> ```\n> code\n> ```\n\n> another\n",
    "| a | b |\n|---|:-:|\n| 1 | 2 |\n| **x** | `y|z` |\n",
    "text\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n",
    "```python\n'''doc\n\n'''\nx = 1\n```\n",
    "~~~ text`info\nfence ``` in it\n~~~\n",
    "  ```\n    indented fence\n  ```\n",
    "    indented\n\n    code\n",
    "***\n",
    "<div>\n<b>html</b>\n</div>\n",
    "$$\nx_1 \\le\n- y\n$$\n",
    "\\[ a \\]\n",
    "Prices: $5 and $x_1$.\n",
    "[^1]: a note\n[ref]: https://x.example\n",
    "\tcode by tab\n-\ttab item\n\n\tits text\n",
    "日本語の段落。混ぜる\u3000文章 👩\u200d💻 e\u0301 עברית العربية\n",
    "* a\n+ b\n1) c\n2) d\n",
    "-\n-\n  x\n",
    "- - - nested\n- > 1. mixed\n",
    "long words in one line and " * 400 + "\n",
    "- " + "an item of one line. " * 400 + "\n  its second line\n",
    "```\nnever closed\n",
]


def rows_of(blocks: Iterable[AnswerBlock]) -> list[str]:
    return [row for block in blocks for row in drawn(block, 50)]


def streamed(pieces: Iterable[str], look: Callable[[AnswerBlock], object] | None = None) -> list[AnswerBlock]:
    answer = AnswerBuilder()
    blocks: list[AnswerBlock] = []
    for piece in pieces:
        answer.feed(piece)
        finished, still_open = answer.take()
        blocks += finished
        if look is not None and still_open is not None:
            look(still_open)
    return blocks + answer.take(is_final=True)[0]


def chopped(source: str, seed: int, sizes: tuple[int, ...] = (1, 2, 3, 7, 20, 90, 400)) -> list[str]:
    chance = random.Random(seed)
    pieces, at = [], 0
    while at < len(source):
        size = chance.choice(sizes)
        pieces.append(source[at : at + size])
        at += size
    return pieces


def raw_of(blocks: Iterable[AnswerBlock]) -> str:
    """The source put together again from the blocks' parts."""
    return "".join(block.answer.source[block.start : block.end] for block in blocks)


document = st.lists(
    st.one_of(
        st.sampled_from(PARTS),
        st.tuples(st.sampled_from(PARTS), st.sampled_from(["  ", "> ", "   ", "\t"])).map(
            lambda pair: "".join(f"{pair[1]}{line}\n" for line in pair[0].splitlines())
        ),
        st.text(alphabet="#-*`>|~ \n\t1.)[](x日_$\\", max_size=40),
        st.tuples(st.sampled_from(PARTS), st.integers(10, 60)).map(lambda pair: pair[0] * pair[1]),
    ),
    max_size=8,
).map(lambda parts: "".join(part + "\n" * (len(part) % 3) for part in parts))


@settings(max_examples=EXAMPLES, deadline=None)
@given(document, st.integers(0, 10_000))
def test_any_fragments_give_the_rows_of_the_whole(source: str, seed: int) -> None:
    at_once = streamed([source])
    bit_by_bit = streamed(chopped(source, seed), look=lambda block: drawn(block, 50))
    assert rows_of(bit_by_bit) == rows_of(at_once)
    assert raw_of(bit_by_bit).rstrip() == source.rstrip()


LONG = {
    "paragraph": "Some words, then `code`. And **more** of them " * 1_800,
    "words without spaces": "日本語" * 12_000,
    "one long word": "x" * 60_000,
    "lines of a paragraph": "a line of text without an end\n" * 2_500,
    "table": "| a | b |\n|---|---|\n" + "| a row | of text |\n" * 5_000,
    "list": "- an item with words\n" * 3_000,
    "loose list": "1. an item\n\n" * 2_000,
    "nested list": "".join("  " * (n % 9) + f"- item {n}\n" for n in range(2_500)),
    "one long item": "- start\n" + "\n  one more paragraph\n" * 1_500,
    "list of one-word levels": "".join("  " * n + "- x\n" for n in range(200)),
    "quote": "> a line in a quote\n" * 2_500,
    "quote of paragraphs": "> a paragraph\n>\n" * 1_500,
    "fence": "```python\n" + "x = f(1)  # why\n" * 2_000,
    "fence in a list": "1. do:\n\n   ```python\n" + "   x = f(1)  # why\n" * 2_000 + "   ```\n2. then\n",
    "fence in a quote": "> ```python\n" + "> x = f(1)  # why\n" * 2_000,
    "fence in all of them": "- > 1. ```python\n" + "  >    x = f(1)  # why\n" * 2_000,
    "fence of one line": "```json\n" + '{"key": 1},' * 4_000,
    "indented code": "    x = f(1)\n" * 2_500,
    "formula": "$$\n" + "x + y\n" * 2_500,
    "empty lines in a list": "- a\n" + "\n" * 2_000 + "- b\n",
    "row": "| a | b |\n|---|---|\n| " + "word " * 8_000,
}
"""Each is one block to Markdown, however long."""


@pytest.mark.parametrize("kind", LONG)
def test_the_cost_of_an_open_block_does_not_grow_with_its_length(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []

    def counted(source: str) -> list[object]:
        parsed.append(len(source))
        return original(source)

    original = cutting.outline
    monkeypatch.setattr(cutting, "outline", counted)
    source = LONG[kind]
    frames: list[int] = []
    answer = AnswerBuilder()
    blocks: list[AnswerBlock] = []
    for at in range(0, len(source), 600):
        answer.feed(source[at : at + 600])
        finished, still_open = answer.take()
        blocks += finished
        if isinstance(still_open, MarkdownBlock):
            parsed.append(len(still_open.source))
        elif isinstance(still_open, CodeBlock):
            parsed.append(sum(map(len, still_open.lines)))
        frames.append(sum(parsed))
        parsed.clear()
    blocks += answer.take(is_final=True)[0]
    assert max(frames) <= 40_000
    quarter = len(frames) // 4
    assert sum(frames[-quarter:]) <= 1.5 * sum(frames[quarter : 2 * quarter]) + 20_000
    assert max(len(block.raw_lines()) for block in blocks) <= 70 or kind == "empty lines in a list"
    assert raw_of(blocks).rstrip() == source.rstrip()


@pytest.mark.parametrize("kind", LONG)
def test_splitting_a_long_block_loses_nothing(kind: str) -> None:
    source = LONG[kind][:30_000]
    whole = "".join(rows_of(streamed([source])))
    words = [word.strip("*`|>-$") for word in source.split()]
    for word in {word for word in words if word.isalpha() and len(word) < 20}:
        assert whole.count(word) == sum(part.count(word) for part in source.split("\n")), word


def test_a_split_list_continues_its_numbers_and_indent() -> None:
    source = "".join(f"1. item {n}\n\n   more on {n}\n" for n in range(1, 61))
    rows = [row for row in rows_of(streamed(chopped(source, 1))) if row]
    assert rows[0::2] == [f"   {f'{n}.':3} item {n}" for n in range(1, 61)] or [
        row.split()[0] for row in rows[0::2]
    ] == [f"{n}." for n in range(1, 61)]
    assert all(row.strip().startswith("more on") for row in rows[1::2])


def test_a_split_list_item_shows_its_marker_once() -> None:
    source = "- first\n" + "".join(f"\n  part {n}\n" for n in range(100)) + "- second\n"
    rows = [row for row in rows_of(streamed(chopped(source, 2))) if row]
    assert [row for row in rows if "•" in row] == ["   • first", "   • second"]
    assert [row for row in rows if "part" in row] == [f"     part {n}" for n in range(100)]


def test_a_list_continues_after_a_code_fence() -> None:
    code = "".join(f"   x{n} = 1\n" for n in range(200))
    source = f"1. do\n\n   ```python\n{code}   ```\n\n   after\n2. next\n"
    rows = [row for row in rows_of(streamed(chopped(source, 3))) if row]
    assert rows[0] == "   1. do"
    lines = [row.removesuffix("python").rstrip() for row in rows[2:202]]
    assert lines == [f"      x{n} = 1" for n in range(200)]
    assert [rows[1].strip(" ▄"), rows[202].strip(" ▀")] == ["", ""]
    assert rows[203:] == ["      after", "   2. next"]


def test_a_split_table_keeps_its_columns() -> None:
    source = "| name | n |\n|---|--:|\n" + "".join(f"| row {n} | {n} |\n" for n in range(500, 900))
    rows = rows_of(streamed(chopped(source, 4)))
    numbers = [row for row in rows if row.strip().startswith("row ")]
    assert len(numbers) == 400 and {len(row) for row in numbers} == {16}
    assert sum("name" in row for row in rows) == 1
    assert sum("───" in row for row in rows) == 1


def test_a_split_table_keeps_the_order_of_its_backgrounds() -> None:
    source = "| name | n |\n|---|--:|\n" + "".join(f"| row {n} | {n} |\n" for n in range(100))
    rows = [row for block in streamed(chopped(source, 4)) for row in block.render(60, STYLES).rows]
    filled = [
        any(part.style is not None and part.style.bgcolor is not None for part in row.segments)
        for row in rows
        if "row " in row_text(row)
    ]
    assert filled == [False, True] * 50
