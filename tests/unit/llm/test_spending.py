"""The book of what calls have cost: every part adds up to the whole, whatever order things come in."""

from __future__ import annotations

import random
from decimal import Decimal

from forge_core.llm.account.spending import Spending, SpendingBook
from forge_core.llm.models import TokenUsage


def call(tokens: int, usd: str | None = None, *, estimated: bool = False) -> TokenUsage:
    cost = None if usd is None else Decimal(usd)
    return TokenUsage(tokens, 1, cost_usd=cost, estimated=estimated)


def test_an_unknown_price_does_not_hide_the_known_cost() -> None:
    whole = Spending.of(call(5, "0.1")) + Spending.of(call(6)) + Spending.of(call(7, "0.2"))
    assert (whole.usage.cost_usd, whole.known_usd) == (None, Decimal("0.3"))
    assert Spending.of(call(5)).known_usd is None


def test_a_late_count_is_added_to_the_interrupted_turn() -> None:
    book, cut = SpendingBook(), call(100, estimated=True)
    book.turn = 1
    book.add_estimate(cut, "m")
    book.turn = 2
    book.add(call(10, "0.5"), "m")
    assert book.replace_estimate(cut, call(90, "0.25"), "m")
    assert {turn: part.known_usd for turn, part in book.by_turn().items()} == {
        1: Decimal("0.25"),
        2: Decimal("0.5"),
    }
    assert not book.total().usage.estimated
    assert not book.replace_estimate(cut, call(90, "0.25"), "m")
    assert book.total().usage.cost_usd == Decimal("0.75")


def test_forgotten_turns_and_their_late_counts_stay_in_the_total() -> None:
    book, cut = SpendingBook(), call(100, estimated=True)
    book.turn = 3
    book.add(call(1, "1"), "a")
    book.add_estimate(cut, "b")
    book.forget_turns()
    book.turn = 1
    book.add(call(1, "2"), "a")
    assert book.replace_estimate(cut, call(90, "4"), "b")
    assert {turn: part.known_usd for turn, part in book.by_turn().items()} == {0: Decimal(5), 1: Decimal(2)}
    assert book.total().known_usd == Decimal(7)


def test_spending_by_model_and_by_turn_adds_up_to_the_total() -> None:
    chance = random.Random(7)
    for _ in range(50):
        book, cuts = SpendingBook(), []
        for _ in range(chance.randrange(60)):
            match chance.randrange(6):
                case 0:
                    book.turn += 1
                case 1:
                    cuts.append(call(chance.randrange(900), estimated=True))
                    book.add_estimate(cuts[-1], chance.choice("abc"))
                case 2 if cuts:
                    book.replace_estimate(chance.choice(cuts), call(7, "0.125"), "a")
                case 3 if chance.random() < 0.2:
                    book.forget_turns()
                case _:
                    usd = chance.choice([None, "0.5", "0.000001"])
                    book.add(call(chance.randrange(900), usd), chance.choice("abc"))
        for parts in (book.by_model().values(), book.by_turn().values()):
            assert sum(parts, Spending()) == book.total()
