"""What fills the window: items, turns, names, and sums that are exact."""

from __future__ import annotations

import random

import pytest

from forge_core.context.ledger import Composition, Item, Kind, fitted, history_items, reserved_output
from forge_core.llm.models import Message, ToolCall


def called(name: str, arguments: str, id_: str = "c1") -> ToolCall:
    return ToolCall(id_, {"name": name, "arguments": arguments})


HISTORY = [
    (Message.user("fix\n the parser"), 4),
    (Message.assistant("I look.", [called("read", '{"file_path": "src/parser.py", "limit": 9}')]), 30),
    (Message.tool_result("c1", "def parse(): ...", name="read"), 500),
    (Message.user("go on, but keep it short", within_turn=True), 6),
    (Message.assistant("Done."), 5),
    (Message.user("thanks"), 2),
]


def test_messages_belong_to_the_turn_started_by_the_user() -> None:
    items = history_items(HISTORY, 2)
    assert [(item.kind, item.turn, item.tokens) for item in items] == [
        (Kind.USER, 1, 4),
        (Kind.ANSWER, 1, 30),
        (Kind.RESULT, 1, 500),
        (Kind.USER, 1, 6),
        (Kind.ANSWER, 1, 5),
        (Kind.USER, 2, 2),
    ]


def test_turn_numbers_count_back_from_the_newest_turn() -> None:
    assert [item.turn for item in history_items(HISTORY, 9)] == [8, 8, 8, 8, 8, 9]


def test_context_items_are_named_by_their_content() -> None:
    names = [item.name for item in history_items(HISTORY, 2)]
    assert names[:3] == ["fix the parser", "I look.", "read src/parser.py"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ('{"command": "pytest -q\\n| tail"}', "bash pytest -q | tail"),
        ('{"text": "x"}', "bash x"),
        ('{"n": [1, 2]}', "bash [1, 2]"),
        ("{half", "bash"),
        ("[1]", "bash"),
        ("", "bash"),
    ],
)
def test_a_tool_result_is_named_for_any_form_of_its_call(arguments: str, name: str) -> None:
    history = [
        (Message.assistant(None, [called("bash", arguments)]), 1),
        (Message.tool_result("c1", "out"), 1),
        (Message.tool_result("gone", "out", name="read"), 1),
        (Message.tool_result("gone", "out"), 1),
    ]
    items = history_items(history, 0)
    assert [item.name for item in items] == ["calls bash", name, "read", "a result"]


def test_items_are_scaled_to_the_exact_sum_in_proportion() -> None:
    chance = random.Random(3)
    for _ in range(200):
        items = [Item(Kind.USER, chance.randrange(5000)) for _ in range(chance.randrange(1, 40))]
        used, total = chance.randrange(900_000), sum(item.tokens for item in items)
        shown = fitted(items, used)
        if not total:
            continue
        assert sum(item.tokens for item in shown) == used
        assert all(
            abs(new.tokens - old.tokens * used / total) < 1 for new, old in zip(shown, items, strict=True)
        )


def test_the_parts_of_a_composition_add_up() -> None:
    items = (Item(Kind.SYSTEM, 300), Item(Kind.TOOLS, 200), *history_items(HISTORY, 2))
    whole = Composition("m", items, 2000, reserved=400)
    assert whole.used == sum(whole.by_kind().values()) == 1047
    assert whole.free == 2000 - 1047 - 400
    assert {turn: sum(kinds.values()) for turn, kinds in whole.by_turn().items()} == {1: 545, 2: 2}
    assert [item.tokens for item in whole.largest(2)] == [500, 30]
    assert Composition("m", items, None).free is None
    assert Composition("m", items, 900).free == 0


@pytest.mark.parametrize(
    ("window", "longest", "kept"), [(1000, 300, 300), (1000, 900, 500), (None, 300, 0), (1000, None, 0)]
)
def test_at_most_half_of_the_window_is_reserved_for_the_answer(
    window: int | None, longest: int | None, kept: int
) -> None:
    assert reserved_output(window, longest) == kept
