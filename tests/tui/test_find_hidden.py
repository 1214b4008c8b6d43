"""Finding what a card holds beyond what it shows: every match that is counted is gone to, at the cost of a page."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.pilot import Pilot

from forge_core.events import AgentEvent
from forge_core.result import FileDiff
from forge_tui.widgets.transcript.calls.paging import MOST_PAGES, PAGE_LINES
from tests.support.transcripts import TranscriptApp, tool_ended, tool_started
from tests.tui.test_find import looked_for

pytestmark = pytest.mark.slow


LINES = 50_000
AT = [n for n in range(LINES) if n % 6_007 == 3]
"""Lines with a match, on pages of their own."""


def long_output(needle_at: Sequence[int] = AT) -> str:
    wanted = set(needle_at)
    return "\n".join(f"line {n}{' needle' if n in wanted else ''}" for n in range(LINES))


def nested(count: int, name: str = "bash") -> list[AgentEvent]:
    """A call that makes so many itself; the output of every 40th holds the needle."""
    events: list[AgentEvent] = [tool_started("task", "0", description="look", prompt="look")]
    for n in range(count):
        output = "a\n" * 9 + (f"needle {n}" if n % 40 == 7 else f"hay {n}")
        start = tool_started(name, f"n{n}", command=f"run {n}", path=f"f{n}.py")
        events.append(type(start)(call_id=f"n{n}", name=name, arguments=start.arguments, parent_id="0"))
        events.append(tool_ended(name, output, call_id=f"n{n}", parent_id="0"))
    return [*events, tool_ended("task", "The needle report.", call_id="0")]


async def visited(app: TranscriptApp, pilot: Pilot[None], steps: int) -> list[tuple[str, str]]:
    """The row of each match that is gone to, and what is said of it; every one in view, marked."""
    found = []
    for _ in range(steps):
        styles = app.transcript._current_styles()
        marked = [
            strip.text.strip()
            for strip in app.screen._compositor.render_strips()
            if any(
                segment.style is not None and segment.style.bgcolor == styles.match_current.bgcolor
                for segment in strip
            )
        ]
        assert len(marked) == 1, "the current match is in view"
        found.append((marked[0], app.transcript.find_status))
        app.transcript.finder.step(-1)
        await pilot.pause()
    return found


async def test_every_match_in_a_long_output_is_reached_and_the_card_stays_small() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(tool_started("bash", command="make"))
        app.transcript.apply(tool_ended("bash", long_output()))
        app.transcript.add_text("\n".join(f"end {n}" for n in range(30)))
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "needle")
        count = len(AT)
        rows = await visited(app, pilot, count + 1)
        order = [*reversed(range(count)), count - 1]
        assert [status for _, status in rows] == [f"{n + 1}/{count}" for n in order]
        assert [row.split("line ")[1].split()[0] for row, _ in rows] == [str(AT[n]) for n in order]
        assert len(app.transcript.model.rendered(0).rows) <= MOST_PAGES * PAGE_LINES + 5
        app.transcript.finder.step(1)
        app.transcript.finder.end(is_kept=False)
        await pilot.pause()
        assert len(app.transcript.model.rendered(0).rows) < 10, "folded again when it is left"


@pytest.mark.parametrize("name", ["bash", "read"])
async def test_every_match_in_nested_calls_is_reached(name: str) -> None:
    async with (app := TranscriptApp()).run_test(size=(80, 16)) as pilot:
        for event in nested(450, name):
            app.transcript.apply(event)
        app.transcript.add_text("\n".join(f"end {n}" for n in range(30)))
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "needle")
        wanted = [n for n in range(450) if n % 40 == 7]
        rows = await visited(app, pilot, len(wanted) + 1)
        assert [status for _, status in rows] == [
            f"{n}/{len(wanted) + 1}" for n in range(len(wanted) + 1, 0, -1)
        ]
        assert "The needle report." in rows[0][0]
        assert [row.split("needle ")[1].split()[0] for row, _ in rows[1:]] == [str(n) for n in wanted[::-1]]
        assert len(app.transcript.model.rendered(0).rows) < 400, "no other call is unfolded"


async def test_every_match_in_a_long_diff_is_reached() -> None:
    added = [f"+value_{n} = {'needle' if n % 500 == 250 else n}" for n in range(3_000)]
    patch = "\n".join(["@@ -0,0 +1,3000 @@", *added]) + "\n"
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(tool_started("write", path="x.py", content=""))
        change = FileDiff("x.py", patch, 3_000, 0)
        app.transcript.apply(tool_ended("write", "Wrote x.py", diffs=(change,)))
        app.transcript.add_text("\n".join(f"end {n}" for n in range(30)))
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "needle")
        rows = await visited(app, pilot, 6)
        assert [row.split("value_")[1].split()[0] for row, _ in rows] == [
            str(n) for n in range(2_750, 0, -500)
        ]
        assert [status for _, status in rows] == [f"{n}/6" for n in range(6, 0, -1)]


async def test_manual_folding_and_paging_are_restored_after_find() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(tool_started("bash", command="make"))
        app.transcript.apply(tool_ended("bash", long_output([40_000])))
        app.transcript.toggle_cards()
        app.transcript.scroll_to_start()
        await pilot.pause()
        app.transcript.scroll_rows(50)
        await pilot.pause()
        before = app.rows()
        assert any("line 5" in row for row in before)
        app.transcript.finder.begin()
        await looked_for(app, pilot, "needle")
        assert any("line 40000 needle" in row for row in app.rows())
        app.transcript.finder.end(is_kept=False)
        await pilot.pause()
        assert app.rows() == before


async def test_an_accepted_match_stays_unfolded_during_the_next_search() -> None:
    async with (app := TranscriptApp()).run_test(size=(60, 16)) as pilot:
        app.transcript.apply(tool_started("bash", command="make"))
        app.transcript.apply(tool_ended("bash", long_output([40_000])))
        app.transcript.add_text("\n".join(f"end {n}" for n in range(30)))
        await pilot.pause()
        app.transcript.finder.begin()
        await looked_for(app, pilot, "line 40000")
        app.transcript.finder.end(is_kept=True)
        app.transcript.finder.begin()
        await looked_for(app, pilot, "line 100 ")
        await looked_for(app, pilot, "end 7")
        app.transcript.finder.end(is_kept=False)
        await pilot.pause()
        assert any("line 40000 needle" in row for row in app.rows())
