"""The model picker and the keys that choose a model."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.model_lists import ModelLists
from forge_core.errors import ServerError
from forge_core.session.status import ModelChoice
from forge_core.text_width import cell_len
from forge_tui.screens.panels.model_picker import ModelPicker, facts, matching
from forge_tui.widgets.choices import ChoiceList
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, type_text, until

PRICED = ModelChoice(
    "acme/large",
    name="Acme Large",
    window=200_000,
    input_price_usd=Decimal("0.000003"),
    output_price_usd=Decimal("0.000015"),
    abilities=frozenset({"tools", "reasoning"}),
)
FREE = ModelChoice("acme/small:free", input_price_usd=Decimal(0), output_price_usd=Decimal(0))
UNKNOWN = ModelChoice("other/thing")
MODELS = (PRICED, FREE, UNKNOWN)


def ids(models: Sequence[ModelChoice]) -> list[str]:
    return [one.id for one in models]


def test_favourites_come_first_then_those_used_before() -> None:
    lists = ModelLists(favourites=("other/thing",), recent=("acme/small:free",))
    assert ids(matching(MODELS, "", lists)) == ["other/thing", "acme/small:free", "acme/large"]
    assert ids(matching(MODELS, "ACME lar", lists)) == ["acme/large"]
    assert ids(matching(MODELS, "othg", lists)) == ["other/thing"]
    assert matching(MODELS, "zzz", lists) == []


def test_the_columns_of_all_models_have_one_width() -> None:
    assert facts(PRICED).split() == ["$3", "$15", "200k", "tools", "reason"]
    assert facts(FREE).split() == ["free", "free", "?", "?"]
    assert facts(UNKNOWN).split() == ["?", "?", "?", "?"]
    assert len({cell_len(facts(one)) for one in MODELS}) == 1


async def opened(pilot: Pilot[None], *, models: Sequence[ModelChoice] = MODELS) -> ChatApp:
    app = await ready(pilot)
    app.scripted.models.known = lambda: [ModelChoice("test/model"), *models]  # type: ignore[method-assign]
    await say(pilot, "/model")
    await until(pilot, lambda: isinstance(app.screen, ModelPicker))
    await pilot.pause()
    return app


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_table_is_aligned_and_enter_switches(config: ForgeConfig, size: tuple[int, int]) -> None:
    async with make_app(config).run_test(size=size) as pilot:
        app = await opened(pilot)
        rows = shown(app).splitlines()
        header = next(row for row in rows if "In/M" in row)
        priced = next(row for row in rows if "acme/large" in row)
        assert priced.index("$15") + 3 == header.index("Out/M") + 5
        assert priced.index("200k") + 4 == header.index("Window") + 6
        await type_text(pilot, "large")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.status.model == "acme/large")
        assert app.scripted.models.lists.read().recent == ("acme/large", "test/model")


async def test_f2_goes_through_the_models_used_before(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("f2")
        await until(pilot, lambda: "No other model has been used here" in shown(app))
        for name in ("b/b", "c/c"):
            await say(pilot, f"/model {name}")
            await until(pilot, lambda name=name: app.scripted.status.model == name)
        for name in ("b/b", "test/model", "c/c"):
            await pilot.press("f2")
            await until(pilot, lambda name=name: app.scripted.status.model == name)


async def test_the_keys_of_the_picker(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.scripted.models.known = lambda: MODELS  # type: ignore[method-assign]
        await pilot.press("alt+p")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))
        await pilot.pause()
        await pilot.press("down", "ctrl+f")
        await until(pilot, lambda: "★ acme/small:free" in shown(app))
        assert app.scripted.models.lists.read().favourites == ("acme/small:free",)
        await pilot.press("left")
        await until(pilot, lambda: "effort max" in shown(app))
        await pilot.press("right", "right")
        await until(pilot, lambda: "effort none" in shown(app))
        await pilot.press("ctrl+f", "up", "escape")
        await until(pilot, lambda: not isinstance(app.screen, ModelPicker))
        assert app.scripted.models.lists.read().favourites == ()
        assert app.scripted.status.model == "test/model"


async def test_what_the_endpoint_offers_is_added_and_shown_as_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)

        async def offered() -> Sequence[ModelChoice]:
            return [ModelChoice("local\x1b[31m[red]"), ModelChoice("qwen3:8b")]

        app.scripted.models.offered = offered  # type: ignore[method-assign]
        await say(pilot, "/model")
        await until(pilot, lambda: "qwen3:8b" in shown(app))
        assert "[31m[red]" in shown(app)
        assert "\x1b" not in shown(app)
        await type_text(pilot, "qwen3")
        await until(pilot, lambda: app.screen.query_one(ChoiceList).rows[0].label.startswith("qwen3"))
        app.screen.query_one(ChoiceList).post_message(ChoiceList.Clicked(app.screen.query_one(ChoiceList), 0))
        await until(pilot, lambda: app.scripted.status.model == "qwen3:8b")


async def test_an_endpoint_that_does_not_answer_costs_a_line(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)

        async def offered() -> Sequence[ModelChoice]:
            raise ServerError("It is [down]\x1b[2J.")

        app.scripted.models.offered = offered  # type: ignore[method-assign]
        await say(pilot, "/model")
        await until(pilot, lambda: "did not list its models. It is [down]" in shown(app))
        await type_text(pilot, "any/name")
        await until(pilot, lambda: "Nothing found" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.status.model == "any/name")
