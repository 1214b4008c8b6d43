"""The list of tasks: live, short, away when there is nothing to do, and no burden on the conversation."""

from __future__ import annotations

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMStart, ToolEnd
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.todo_panel import summary, window
from tests.support.chat_app import command_request, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, Plan, Step, answer
from tests.support.tool_events import tool_start

pytestmark = pytest.mark.slow


DONE, NOW = TodoStatus.COMPLETED, TodoStatus.IN_PROGRESS


def plan(count: int, at: int) -> Plan:
    """So many tasks, those before `at` done and that one being done."""
    return tuple(
        TodoItem(
            f"Do step {n}", DONE if n < at else NOW if n == at else TodoStatus.PENDING, f"Doing step {n}"
        )
        for n in range(count)
    )


def planned(items: Plan, call_id: str = "t") -> list[Step]:
    arguments = {"items": [{"content": item.content, "status": str(item.status)} for item in items]}
    return [
        tool_start(call_id, "todo", arguments),
        items,
        ToolEnd(
            call_id=call_id, name="todo", result="saved", success=True, duration_s=0.0, summary="1 of 3 done"
        ),
    ]


async def test_tasks_show_during_a_turn_and_the_current_one_shows_beside_the_spinner(
    config: ForgeConfig,
) -> None:
    gate, second = Gate(), Gate()
    steps = [LLMStart(iteration=1, model="m"), *planned(plan(3, 1)), gate, *planned(plan(3, 3), "u"), second]
    app = make_app(config, [[*steps, *answer("done")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert not app.chat.todos.display
        await say(pilot, "go")
        await until(pilot, lambda: "● Do step 1" in shown(app))
        assert "✓ Do step 0" in shown(app) and "○ Do step 2" in shown(app)
        assert "Doing step 1 · " in app.chat.activity.text
        gate.open()
        await until(pilot, lambda: "✓ Do step 2" in shown(app))
        assert "Working" in app.chat.activity.text
        second.open()
        await until(pilot, lambda: not app.chat.has_turn)
        await until(pilot, lambda: not app.chat.todos.display)


async def test_an_unfinished_task_list_stays_between_turns_and_a_key_hides_it(config: ForgeConfig) -> None:
    app = make_app(config, [[*planned(plan(12, 4)), *answer("half")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "There is no list of tasks" in shown(app))
        await say(pilot, "go")
        await until(pilot, lambda: not app.chat.has_turn and "+6 more" in shown(app))
        rows = [row.strip() for row in shown(app).splitlines() if "Do step" in row and "Plan" not in row]
        assert rows == ["✓ Do step 3", "● Do step 4", *(f"○ Do step {n}" for n in range(5, 9))]
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "+6 more" not in shown(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "+6 more" in shown(app))


async def test_a_task_list_unchanged_during_a_turn_folds_at_its_end(config: ForgeConfig) -> None:
    gate, second = Gate(), Gate()
    app = make_app(
        config,
        [
            [*planned(plan(5, 1)), *answer("half")],
            [gate, *answer("It rains.")],
            [second, *answer("It is noon.")],
            [*planned(plan(5, 2), "u"), *answer("more")],
        ],
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "○ Do step 4" in shown(app) and not app.chat.has_turn)
        await say(pilot, "does it rain?")
        await until(pilot, gate.reached.is_set)
        assert "○ Do step 4" in shown(app), "the turn before has worked on it"
        assert "Doing step 1" not in app.chat.activity.text, "this one may be about something else"
        gate.open()
        await until(pilot, lambda: "It rains." in shown(app) and not app.chat.has_turn)
        await until(pilot, lambda: " ● Do step 1 · 1 of 5 done · Ctrl+T" in shown(app))
        assert "○ Do step 4" not in shown(app)
        await say(pilot, "what time is it?")
        await until(pilot, second.reached.is_set)
        assert " ● Do step 1 · 1 of 5 done · Ctrl+T" in shown(app)
        second.open()
        await until(pilot, lambda: not app.chat.has_turn)
        await say(pilot, "now go on")
        await until(pilot, lambda: "○ Do step 4" in shown(app) and not app.chat.has_turn)
        assert "✓ Do step 1" in shown(app)


async def test_a_list_of_one_task_is_drawn_again_when_it_folds(config: ForgeConfig) -> None:
    app = make_app(config, [[*planned(plan(1, 0)), *answer("half")], answer("It rains.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "half" in shown(app) and not app.chat.has_turn)
        await say(pilot, "does it rain?")
        await until(pilot, lambda: "It rains." in shown(app) and not app.chat.has_turn)
        assert "● Do step 0 · 0 of 1 done · Ctrl+T" in shown(app)


async def test_a_folded_task_list_unfolded_by_key_stays_unfolded(config: ForgeConfig) -> None:
    others = [answer(f"answer {number}") for number in range(4)]
    app = make_app(config, [[*planned(plan(5, 1)), *answer("half")], *others])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for number, text in enumerate(["half", "answer 0", "answer 1"]):
            await say(pilot, f"message {number}")
            await until(pilot, lambda text=text: text in shown(app) and not app.chat.has_turn)
        assert "1 of 5 done" in shown(app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "○ Do step 4" in shown(app))
        await say(pilot, "message 3")
        await until(pilot, lambda: "answer 2" in shown(app) and not app.chat.has_turn)
        assert "○ Do step 4" in shown(app), "the person wants to see it"
        await pilot.press("ctrl+t")
        await until(pilot, lambda: not app.chat.todos.display)
        await say(pilot, "message 4")
        await until(pilot, lambda: "answer 3" in shown(app) and not app.chat.has_turn)
        assert not app.chat.todos.display
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "○ Do step 4" in shown(app))


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (60, "○ 日本語の長い仕事の名前 · 1 of 3 done · Ctrl+T"),
        (40, "○ 日本語の長い仕… · 1 of 3 done · Ctrl+T"),
        (24, "○  · 1 of 3 done · Ctrl…"),
        (1, "…"),
        (0, ""),
    ],
)
def test_a_folded_task_list_shows_its_count_at_any_width(width: int, line: str) -> None:
    todos = [TodoItem("a", TodoStatus.COMPLETED), TodoItem("日本語の長い仕事の名前"), TodoItem("b")]
    assert summary(todos, width) == line


async def test_an_open_prompt_hides_the_task_list(config: ForgeConfig) -> None:
    app = make_app(config, [[*planned(plan(6, 1)), command_request(), *answer("half")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "5 No, and tell it why" in shown(app))
        assert "○ Do step 3" not in shown(app)
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: "○ Do step 3" in shown(app))


async def test_the_task_list_never_causes_the_transcript_to_re_render(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    app = make_app(config, [answer("word " * 400), [gate, *planned(plan(3, 0)), *planned(plan(9, 4), "u")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "talk")
        await until(pilot, lambda: not app.chat.has_turn)
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        old = set(map(id, app.chat.transcript.model.blocks))
        drawn: list[int] = []
        rendered = Layout.rendered

        def count(self: Layout, index: int) -> object:
            block = self.blocks[index]
            before = block.render

            def render(*arguments: object) -> object:
                drawn.append(id(block))
                return before(*arguments)  # type: ignore[arg-type]

            with monkeypatch.context() as patch:
                patch.setattr(block, "render", render)
                return rendered(self, index)

        monkeypatch.setattr(Layout, "rendered", count)
        gate.open()
        await until(pilot, lambda: not app.chat.has_turn and "+3 more" in shown(app))
        await pilot.press("ctrl+t")
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "+3 more" in shown(app))
        assert drawn and not old & set(drawn)


async def test_untrusted_text_in_a_task_is_shown_literally(config: ForgeConfig) -> None:
    hostile = TodoItem(
        "[red]x[/] [@click=app.quit]\x1b[2J\u202e\n" + "日本" * 90, NOW, "[/]\x1b]0;t\x07 doing"
    )
    app = make_app(config, [[*planned((hostile, TodoItem("b"))), *answer("half")]])
    async with app.run_test(size=(60, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "● [red]x[/] [@click=app.quit]␛[2J" in shown(app))
        assert not {"\x1b", "\u202e", "\x07"} & set(shown(app))


@pytest.mark.parametrize(("count", "at"), [(3, 0), (6, 5), (7, 0), (7, 6), (20, 10), (20, 19), (20, 20)])
def test_the_current_task_is_always_visible(count: int, at: int) -> None:
    todos = [
        TodoItem(str(n), TodoStatus("completed" if n < at else "in_progress" if n == at else "pending"))
        for n in range(count)
    ]
    first, end = window(todos)
    assert end - first == min(count, 6) and first >= 0 and end <= count
    assert first <= min(at, count - 1) < end
