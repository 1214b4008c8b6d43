"""`/context`: the bar, its legend, the turns and the largest items."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.commands.context_command import BAR_CELLS, MAX_ITEMS, bar, context
from forge_core.commands.figures import dollars
from forge_core.commands.result import CommandNotice, Failure, Text
from forge_core.config.permission_mode import PermissionMode
from forge_core.context.instructions import Instructions
from forge_core.context.ledger import Composition, Item, Kind, reserved_output
from forge_core.context.system_prompt import SystemPrompt
from forge_core.llm.account.pricing import ModelPrices, price
from forge_core.session.session import ForgeSession
from forge_core.store.saved_session import load_session
from forge_core.text_width import cell_len
from forge_core.tools import ReadTool
from tests.support.agent_tools import Echo
from tests.support.figures import assert_adds_up, command_text
from tests.support.scripted_llm import Call
from tests.support.sessions import scripted_session

WIDTH = 74


def composed(window: int | None, longest: int | None = None) -> Composition:
    items = (
        Item(Kind.SYSTEM, 2_000),
        Item(Kind.TOOLS, 4_000),
        Item(Kind.USER, 1_000, turn=1),
        Item(Kind.ANSWER, 3_000, turn=1),
        Item(Kind.RESULT, 6_000, turn=1),
    )
    return Composition("m", items, window, reserved_output(window, longest))


def test_the_context_bar_is_proportional_to_the_window() -> None:
    assert bar(composed(64_000, 16_000)) == "S█T▒▒▒YA██R▓▓▓▓▓" + "░" * 32 + "╱" * 16


def test_the_context_bar_shows_only_usage_when_the_window_is_unknown() -> None:
    assert bar(composed(None)) == "S███████T▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒Y▒▒▒A███████████R▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓"


def test_every_part_of_a_nearly_empty_window_shows_in_the_bar() -> None:
    assert bar(composed(1_000_000, 20_000)) == "STYAR" + "░" * 58 + "╱"
    few = Composition("m", (Item(Kind.SYSTEM, 900_000), Item(Kind.USER, 1, turn=1)), 900_002)
    assert bar(few) == "S" + "█" * 61 + "Y░"


@pytest.mark.parametrize("window", [1, 100, 15_999, 16_000, 16_001, 200_000, 1_000_000, None])
@pytest.mark.parametrize("longest", [None, 1, 128_000])
def test_the_context_bar_has_a_constant_width(window: int | None, longest: int | None) -> None:
    whole = composed(window, longest)
    room = max((window or 0) - whole.used, 0)
    fitting = Composition("m", whole.items, window, min(whole.reserved, room))
    assert len(bar(fitting)) == BAR_CELLS


async def test_context_is_listed_by_kind_turn_and_item(tmp_path: Path) -> None:
    long = "a long text that comes back " * 60
    script = [[Call("echo", {"text": long})], ["Echoed."]]
    session = scripted_session(tmp_path, script, tools=[Echo()])
    session._agent.llm.prompt_tokens = 800  # type: ignore[attr-defined]
    async for _ in session.send("echo it"):
        pass
    text = await command_text("/context", session)
    blocks = text.split("\n\n")
    assert blocks[0] == "scripted/model: 801 of 1k tokens (80%)"
    assert blocks[2].splitlines()[0].startswith("S  System prompt")
    assert [line.split()[0] for line in blocks[2].splitlines()] == ["S", "T", "Y", "A", "R", "░"]
    assert blocks[3].splitlines()[1].startswith("1 echo it")
    assert "echo a long text" in blocks[4] and "turn 1" in blocks[4]
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    await assert_adds_up(session)
    await session.aclose()


async def test_each_part_of_the_bar_has_the_colour_of_its_legend(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["Hello."]])
    session._agent.llm.prompt_tokens = 500  # type: ignore[attr-defined]
    async for _ in session.send("hi"):
        pass
    result = await context("", session)
    assert isinstance(result, Text)
    drawn = bar(await session.context.composition())
    parts = [(result.body[one.start : one.end], one.category) for one in result.tints]
    in_bar = [(text, category) for text, category in parts if text in drawn and len(text) > 1]
    legend = {text: category for text, category in parts if len(text) == 1}
    assert "".join(text for text, _ in parts[: len(parts) - len(legend)]).startswith(drawn[:8])
    assert in_bar and all(legend[text[0]] == category for text, category in in_bar)
    assert legend["░"] is None and len({*legend.values()} - {None}) == len(legend) - 1
    await session.aclose()


async def test_context_output_of_a_long_session_is_bounded(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["answer"]])
    session._agent.llm.prompt_tokens = 900  # type: ignore[attr-defined]
    for number in range(1, 41):
        async for _ in session.send(f"question {number} " + "and more " * 9):
            pass
    text = await command_text("/context", session)
    assert "1-30 total" in text and "31 question 31" in text and "40 question 40" in text
    assert "30 question 30" not in text.split("Largest")[0]
    assert len(text.split("Largest")[1].splitlines()) == MAX_ITEMS + 1
    await assert_adds_up(session)
    await session.aclose()


async def test_before_the_first_turn_context_shows_the_fixed_parts_of_every_request(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]], tools=[Echo()])
    text = await command_text("/context", session)
    assert text.startswith("scripted/model: ~") and "~ is an estimate" in text
    assert "Turn" not in text and "Largest" not in text
    await assert_adds_up(session)
    await session.aclose()


async def test_untrusted_names_are_sanitized_in_the_context_output(tmp_path: Path) -> None:
    session = scripted_session(
        tmp_path, [[Call("echo", {"text": "\x1b[2J[red]x\u202e"})], ["ok"]], tools=[Echo()]
    )
    session._agent.llm.prompt_tokens = 900  # type: ignore[attr-defined]
    async for _ in session.send("\x1b]0;title\x07 hi"):
        pass
    text = await command_text("/context", session)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[red]" in text
    await session.aclose()


async def priced_session(tmp_path: Path) -> ForgeSession:
    """Return a session that has read two long files, and whose model has prices."""
    for name in "ab":
        (tmp_path / name).write_text(name * 500)
    script = [[Call("read", {"file_path": name})] for name in "ab"]
    session = scripted_session(tmp_path, [*script, ["Read."]], tools=[ReadTool()])
    session._agent.llm.prompt_tokens = 800  # type: ignore[attr-defined]
    prices = ModelPrices(prompt=Decimal("0.00001"), cache_read=Decimal("0.000001"))
    provider = replace(session._provider, price=lambda model, usage: price(usage, prices))
    session._provider = session.context._provider = provider
    async for _ in session.send("read them"):
        pass
    return session


async def test_context_shows_what_its_input_costs(tmp_path: Path) -> None:
    session = await priced_session(tmp_path)
    used = session.status.context_used
    text = await command_text("/context", session)
    whole, cached = dollars(used * Decimal("0.00001")), dollars(used * Decimal("0.000001"))
    assert f"Its input costs {whole} per request, {cached} if it is cached" in text.split("\n\n")[0]
    items = text.split("Largest")[1].split("\n\n")[0].splitlines()[1:]
    assert items and all("$0.0" in item for item in items)
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    await session.aclose()


async def test_dropped_items_leave_the_conversation_until_undo(tmp_path: Path) -> None:
    session = await priced_session(tmp_path)
    before = session._agent.memory.get_history()
    text = await command_text("/context", session)
    (first,) = [line for line in text.splitlines() if line.startswith(" 1 ")]
    result = await context("drop 1", session)
    assert isinstance(result, CommandNotice) and result.text.startswith("Left out: ")
    history = session._agent.memory.get_history()
    left = [message for message in before if not any(message is one for one in history)]
    assert [len(message.text) > 400 for message in left] == [True] and "turn 1" in first
    assert [one.tool_call_id for one in history if one.tool_call_id] == [
        one.tool_call_id for one in before if one.tool_call_id
    ]
    session._journal.flush()
    assert load_session(session._journal.path).messages == history
    session.compaction.undo()
    assert session._agent.memory.get_history() == before
    await session.aclose()


async def test_all_results_of_tools_can_be_dropped(tmp_path: Path) -> None:
    session = await priced_session(tmp_path)
    await context("drop results", session)
    results = [one for one in session._agent.memory.get_history() if one.tool_call_id]
    assert len(results) == 2 and all(len(one.text) < 300 for one in results)
    assert isinstance(await context("drop 9", session), Failure)
    assert isinstance(await context(f"drop {'9' * 5_000}", session), Failure)
    await session.aclose()


async def test_numbers_mean_what_was_listed(tmp_path: Path) -> None:
    session = await priced_session(tmp_path)
    early = await context("drop 1", session)
    assert isinstance(early, Failure) and "Nothing was listed yet" in early.text
    await command_text("/context", session)
    assert session.context.listed is not None
    second = session.context.listed[1].message
    await context("drop 1", session)
    gone = await context("drop 1", session)
    assert isinstance(gone, Failure) and "no longer there" in gone.text
    assert isinstance(await context("drop 2", session), CommandNotice)  # the number has not moved
    assert not any(second is one for one in session._agent.memory.get_history())
    await session.aclose()


def instructed_session(root: Path) -> ForgeSession:
    """Return a session that is sent the AGENTS.md of its folder."""
    session = scripted_session(root, [["Done."]])
    file = root / "AGENTS.md"

    def prompt(mode: PermissionMode) -> SystemPrompt:
        files = (Instructions("AGENTS.md", file.read_text(), file=file),)
        sent = tuple(one for one in files if str(one.file) not in session.context.left_out)
        return SystemPrompt("You help. " + "".join(one.text for one in sent), sent)

    session._system_prompt = prompt
    session.reload_instructions()
    return session


async def test_instruction_files_are_left_out_until_they_are_restored(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs. " * 50)
    session = instructed_session(tmp_path)
    async for _ in session.send("hello"):
        pass
    listed = (await command_text("/context", session)).splitlines()
    assert any(line.startswith(" 1 ") and line.endswith("AGENTS.md  instructions") for line in listed)
    result = await context("drop 1", session)
    assert isinstance(result, CommandNotice)
    assert "/context restore" in result.text and "/compact undo" not in result.text
    system = session._agent.memory.system_message
    assert system is not None and "Use tabs" not in system.text
    assert "1 instruction file is left out" in await command_text("/context", session)
    assert isinstance(await context("drop 1", session), Failure)

    session._journal.flush()
    saved = load_session(session._journal.path)
    assert saved.omitted_instructions == [str(tmp_path / "AGENTS.md")]
    again = instructed_session(tmp_path)
    again.restore(saved)
    system = again._agent.memory.system_message
    assert system is not None and "Use tabs" not in system.text

    assert isinstance(await context("restore", again), CommandNotice)
    system = again._agent.memory.system_message
    assert system is not None and "Use tabs" in system.text
    assert isinstance(await context("restore", again), Failure)
    await again.aclose()
    await session.aclose()
