"""Prices in exact decimals, and the bundled catalogue."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from forge_core.llm.account.catalog import bundled, bundled_date, lookup, read_model
from forge_core.llm.account.pricing import ModelPrices, price
from forge_core.llm.endpoints import DEFAULT_MODEL
from forge_core.llm.models import TokenUsage

PRICES = ModelPrices(
    prompt=Decimal("0.000003"),
    completion=Decimal("0.000015"),
    cache_read=Decimal("0.0000003"),
    cache_write=Decimal("0.00000375"),
)


def test_the_cost_reported_by_the_provider_has_priority() -> None:
    assert price(TokenUsage(1000, 1000, cost_usd=Decimal("0.5")), PRICES) == Decimal("0.5")
    assert price(TokenUsage(1000, 1000, cost_usd=Decimal(0)), PRICES) == 0


def test_cached_written_and_plain_tokens_are_priced_separately() -> None:
    usage = TokenUsage(1000, 100, cached_tokens=600, cache_write_tokens=300)
    assert price(usage, PRICES) == Decimal("0.0003") + Decimal("0.00018") + Decimal("0.001125") + Decimal(
        "0.0015"
    )


def test_an_unknown_price_is_not_zero() -> None:
    assert price(TokenUsage(10, 10), None) is None
    assert price(TokenUsage(10, 10), ModelPrices(prompt=Decimal(1))) is None
    assert price(TokenUsage(10, 0), ModelPrices(prompt=Decimal(1))) == 10


def test_missing_special_prices_fall_back_to_the_plain_ones() -> None:
    prices = ModelPrices(prompt=Decimal(1), completion=Decimal(2))
    assert price(TokenUsage(10, 10, 5, 2, 5), prices) == 30


def test_reasoning_and_request_prices_are_added() -> None:
    prices = ModelPrices(prompt=Decimal(1), completion=Decimal(2), reasoning=Decimal(5), request=Decimal(100))
    assert price(TokenUsage(1, 3, reasoning_tokens=2), prices) == 100 + 1 + 2 + 10


def test_contradicting_counts_never_give_a_negative_price() -> None:
    assert price(TokenUsage(10, 1, cached_tokens=50, cache_write_tokens=50, reasoning_tokens=9), PRICES) == (
        10 * Decimal("0.0000003") + Decimal("0.000015")
    )


def test_the_bundled_catalogue_has_a_date_and_contains_the_default_model() -> None:
    datetime.date.fromisoformat(bundled_date())
    found = lookup(DEFAULT_MODEL)
    assert found is not None
    assert found.context_length and found.context_length >= 200_000
    assert found.takes_tools


def test_every_bundled_model_has_a_window_and_sane_prices() -> None:
    assert len(bundled()) >= 20
    for model in bundled().values():
        assert model.context_length and model.context_length >= 32_000
        for figure in (model.prices.prompt, model.prices.completion):
            assert figure is None or Decimal("0.00000001") <= figure <= Decimal("0.001")


def test_a_variant_finds_its_base_model_but_not_its_prices() -> None:
    base, nitro, free = (lookup(DEFAULT_MODEL + end) for end in ("", ":nitro", ":free"))
    assert base and nitro and free
    assert nitro.context_length == base.context_length
    assert nitro.prices.prompt is None
    assert free.prices.prompt == 0
    assert lookup("nobody/nothing") is None
    assert lookup("nobody/nothing:free") is None


@pytest.mark.parametrize("entry", [None, 5, [], {}, {"id": None}, {"id": 3}])
def test_a_catalogue_entry_without_an_id_is_skipped(entry: object) -> None:
    assert read_model(entry) is None


def test_invalid_fields_of_a_catalogue_entry_are_unknown() -> None:
    found = read_model({"id": "a/b", "context_length": "x", "pricing": {"prompt": "-1"}, "architecture": 5})
    assert found is not None
    assert (found.name, found.context_length, found.prices.prompt) == ("a/b", None, None)
    assert found.input_modalities == ("text",)


def test_context_windows_of_other_servers_are_read() -> None:
    vllm = read_model({"id": "x", "max_model_len": 32768})
    assert vllm is not None
    assert vllm.context_length == 32768
