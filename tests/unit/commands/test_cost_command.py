"""`/cost`: rows that add up, a bounded length, and what it says of what is not known."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from forge_core.commands.cost_command import MAX_TURNS, WIDTH, cost
from forge_core.commands.result import Text
from forge_core.llm.models import TokenUsage
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len
from tests.support.figures import assert_adds_up, command_text
from tests.support.scripted_llm import Piece
from tests.support.sessions import scripted_session


async def played(root: Path, turns: list[str], reply: list[Piece] | None = None) -> ForgeSession:
    session = scripted_session(root, [reply or ["answer"]])
    for text in turns:
        async for _ in session.send(text):
            pass
    return session


TABLE = """\
By model                In  Cached  Out  Reasoning     Cost  Share
scripted/model          20       -    2          -  $0.0020   100%

By turn
1 fix the parser, ple…  10       -    1          -  $0.0010    50%  ▇▇▇▇▇▇
2 日本語で説明してく…   10       -    1          -  $0.0010    50%  ▇▇▇▇▇▇

Total                   20       -    2          -  $0.0020   100%"""


async def test_the_cost_table_shows_two_turns(tmp_path: Path) -> None:
    texts = ["fix the parser, please, and then tell me", "日本語で説明してください、お願い"]
    session = await played(tmp_path, texts)
    assert await command_text("/cost", session) == TABLE
    await assert_adds_up(session)
    await session.aclose()


async def test_the_bars_of_the_cost_table_have_a_colour(tmp_path: Path) -> None:
    session = await played(tmp_path, ["one", "▇▇ two"])
    result = await cost("", session)
    assert isinstance(result, Text)
    assert [result.body[one.start : one.end] for one in result.tints] == ["▇" * 6, "▇" * 6]
    await session.aclose()


async def test_the_cost_table_shows_the_last_turns_and_sums_up_older_ones(tmp_path: Path) -> None:
    session = await played(tmp_path, [f"turn {number}" for number in range(1, 31)])
    lines = (await command_text("/cost", session)).splitlines()
    rows = [line for line in lines if "turn" in line and "By" not in line]
    assert len(rows) == MAX_TURNS
    assert rows[0].startswith("11 turn 11") and rows[-1].startswith("30 turn 30")
    together = next(line for line in lines if line.startswith("1-10 total"))
    assert together.split()[-3:] == ["$0.0100", "33%", "▇" * 6]
    assert rows[0].endswith("  ▇")
    assert len(lines) < 35 and max(map(cell_len, lines)) <= WIDTH
    await assert_adds_up(session)
    await session.aclose()


async def test_bars_leave_the_room_that_the_names_of_models_need(tmp_path: Path) -> None:
    for name, bars in (
        ("someone/claude-4.5", 6),
        ("someone/claude-haiku-3", 3),
        ("someone/claude-sonnet-4.5", 0),
    ):
        session = await played(tmp_path / str(bars), ["fix it"])
        session._tracker.reset()
        session._tracker.begin_turn(1)
        usage = TokenUsage(12_400, 400, 12_800, 9_000, 300, cost_usd=Decimal("0.0412"))
        session._tracker.add_usage(usage, name)
        text = await command_text("/cost", session)
        assert f"\n{name} " in text and text.count("▇") == bars, text
        assert max(map(cell_len, text.splitlines())) <= WIDTH
        await session.aclose()


async def test_the_widest_figures_still_fit_into_80_columns(tmp_path: Path) -> None:
    session = await played(tmp_path, ["x" * 300])
    session._tracker.reset()
    huge = TokenUsage(
        999_900_000, 999_900, 999_900_000, 0, 999_900, cost_usd=Decimal("9999.99"), estimated=True
    )
    session._tracker.begin_turn(1)
    session._tracker.add_usage(huge, "someone/with-a-very-long-name-of-a-model-20261120")
    text = await command_text("/cost", session)
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    assert "~$9999.99" in text and "\nsomeon…" in text and "-20261120 " in text
    await session.aclose()


async def test_untrusted_text_is_sanitized_in_the_cost_table(tmp_path: Path) -> None:
    session = await played(tmp_path, ["red \x1b[31m [bold]now"])
    session._tracker.begin_turn(1)
    text = await command_text("/cost", session)
    assert "\x1b" not in text and "[bold]" in text
    await session.aclose()


async def test_cost_is_zero_before_the_first_turn(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]])
    assert await command_text("/cost", session) == "No tokens used yet."
    await assert_adds_up(session)
    await session.aclose()
