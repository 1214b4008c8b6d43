"""How prompts, questions and the list of tasks look: one picture per state.

The pictures are written by Python 3.11; `pytest tests/snapshots --snapshot-update` renews them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.approval import PlanRequest, Question, QuestionOption, QuestionRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import LLMStart, ToolEnd
from forge_core.result import FileDiff
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from forge_core.workspace.trust import TrustQuestion
from forge_tui.app import trust_notice
from forge_tui.screens.prompts.prompt import Prompt
from tests.snapshots.test_snapshots import Before, Compare, after, tool
from tests.support.chat_app import (
    DIFF,
    ChatApp,
    command_request,
    edit_request,
    make_app,
    make_config,
    ready,
    say,
    until,
)
from tests.support.scripted_session import Gate, Step, answer
from tests.support.tool_events import tool_start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

COMMAND = command_request("pytest -q tests/unit && git status --short", always_rule="bash(pytest:*)")
LONG = command_request(
    "cat > notes.txt <<'EOF'\n" + "\n".join(f"{n}. 日本語 and a line" for n in range(1, 60)) + "\nEOF",
    always_rule="bash(cat:*)",
    reason="it writes to a file",
)
QUESTIONS = QuestionRequest(
    "q1",
    (
        Question(
            "Which web framework should the new service use? The old one runs on Flask 1.1, which gets no "
            "fixes any more.",
            "Framework",
            (
                QuestionOption("FastAPI", "Typed, async; most of the code moves over as it is"),
                QuestionOption("Flask 3", "The smallest change"),
                QuestionOption(
                    "Starlette",
                    "Leaner, and more to write: routing, validation, OpenAPI. It would need about two days "
                    "more, and the team has not used it before.",
                ),
            ),
        ),
        Question(
            "Which checks should run on each commit?",
            "Checks",
            (
                QuestionOption("Lint", "ruff, a second"),
                QuestionOption("Types", "mypy, twenty seconds"),
                QuestionOption("Tests", "pytest, four minutes"),
            ),
            multi_select=True,
        ),
    ),
)
TODOS = tuple(
    TodoItem(text, status, active)
    for text, status, active in (
        ("Find where the greeting is made", TodoStatus.COMPLETED, ""),
        ("Turn it into an f-string", TodoStatus.IN_PROGRESS, "Turning it into an f-string"),
        ("Add a test for empty names", TodoStatus.PENDING, ""),
        ("Run the tests", TodoStatus.PENDING, ""),
    )
)
FILES = (FileDiff("src/greet.py", DIFF, 1, 1), FileDiff("src/farewell.py", DIFF, 1, 1))


def asked(*keys: str) -> Before:
    """Send a message, wait for the prompt it leads to, and press keys."""

    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        await say(pilot, "go on")
        await until(pilot, lambda: isinstance(app.focused, Prompt))
        app.clock.pass_(1)
        await pilot.press(*keys)
        await standing(pilot)

    return run


async def standing(pilot: Pilot[None]) -> None:
    """Wait until nothing on the screen changes any more: hints come after the layout that they speak of."""
    same, last = 0, ""
    while same < 5:
        await pilot.pause(0.02)
        now = pilot.app.export_screenshot()
        same, last = (same + 1 if now == last else 0), now


def test_permission_with_a_rule_for_good(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[COMMAND]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("down", "down"))


def test_permission_before_all_was_shown(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[LONG]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("1", "enter"))


def test_permission_with_blank_lines_folded(snap_compare: Compare, tmp_path: Path) -> None:
    command = command_request("echo harmless" + "\n" * 41 + "echo ok" + " " * 300 + "; python3 evil.py")
    app = make_app(make_config(tmp_path, theme="forge-light"), [[command]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked())


def test_permission_rule_being_changed(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="forge-light"), [[COMMAND]])
    keys = ("down", "down", "tab", "backspace", "enter")
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked(*keys))


def test_permission_refused_in_own_words(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="forge-light"), [[COMMAND]])
    assert snap_compare(
        app, terminal_size=(80, 24), run_before=asked(*"no,", "space", *"use", "space", *"tox")
    )


def test_permission_for_a_long_command(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[LONG]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked())


def test_permission_in_full_view(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[LONG]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("ctrl+e", "end"))


def test_permission_for_several_files(snap_compare: Compare, config: ForgeConfig) -> None:
    request = edit_request(tool="apply_patch", target="2 files", diffs=FILES, always_rule="edit(src/**)")
    app = make_app(config, [[request]])
    assert snap_compare(app, terminal_size=(120, 36), run_before=asked())


def test_question(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[QUESTIONS]])
    assert snap_compare(app, terminal_size=(120, 36), run_before=asked("down", "down"))


def test_question_with_several_answers(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="forge-light"), [[QUESTIONS]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("1", "down"))


def test_question_in_own_words(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[QUESTIONS]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked(*"Litestar"))


async def reviewed(pilot: Pilot[None]) -> None:
    """Answer both questions."""
    app = pilot.app
    await asked("1", "enter")(pilot)
    assert isinstance(app, ChatApp)
    app.clock.pass_(1)  # a new question takes no key at once
    await pilot.press("1", "3", "enter")
    await standing(pilot)


def test_questions_review(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[QUESTIONS]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=reviewed)


def test_question_60x15(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[QUESTIONS]])
    assert snap_compare(app, terminal_size=(60, 15), run_before=asked())


PLAN = PlanRequest(
    "p1",
    """\
# Read dates with time zones

1. `src/parser.py`: accept **offsets** such as `+02:00`
2. Tests for each form of 日付, also for *wrong* ones

| file | change |
| --- | --- |
| `src/parser.py` | one function |

```python
def offset(text: str) -> int: ...
```
""",
    PermissionMode.ASK,
)


def test_plan_80x24(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [[PLAN]])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("down"))


def test_plan_light(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="forge-light"), [[PLAN]])
    assert snap_compare(app, terminal_size=(120, 36), run_before=asked())


def todo_steps() -> list[Step]:
    arguments = {"items": [{"content": item.content, "status": item.status.value} for item in TODOS]}
    start, end = tool("t", "todo", arguments, "saved", summary="1 of 4 done", duration_s=0.0)
    return [LLMStart(iteration=1, model="m"), start, TODOS, end]


def working(config: ForgeConfig) -> tuple[ChatApp, Before]:
    gate = Gate()
    app = make_app(config, [[*todo_steps(), gate]])

    async def run(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "use an f-string")
        await until(pilot, gate.reached.is_set)
        app.clock.pass_(7)
        await until(pilot, lambda: "7 s" in app.chat.activity.text)
        app.chat.activity.refresh()

    return app, run


def test_todo_list(snap_compare: Compare, config: ForgeConfig) -> None:
    app, run = working(config)
    assert snap_compare(app, terminal_size=(120, 36), run_before=run)


def test_todo_list_80x24(snap_compare: Compare, tmp_path: Path) -> None:
    app, run = working(make_config(tmp_path, theme="forge-light"))
    assert snap_compare(app, terminal_size=(80, 24), run_before=run)


CARDS: list[Step] = [
    *tool("1", "todo", {"items": [{"content": "Rename greet", "status": "in_progress"}]}, "saved", summary="0 of 3 done", duration_s=0.0),
    *tool("2", "apply_patch", {"patch": "*** Update File: a\n*** Update File: b\n"}, "ok", summary="2 files", diffs=FILES),
    *tool("3", "bash", {"command": "npm run dev"}, "(no output yet)", summary="job 2", duration_s=0.5, outcome="background"),
    *tool("4", "job_output", {"job_id": 2}, "ready on port 3000", summary="job 2: running", duration_s=0.1),
    *tool("5", "job_stop", {"job_id": 2}, "", summary="job 2: stopped", duration_s=0.1),
    *tool("6", "ask_user", {"questions": [{"question": "Keep the old name as well?"}]}, "The user answered:\nKeep the old name as well?\n  → No, nobody uses it", summary="No, nobody uses it", duration_s=0.0, aside="The user answered:", is_in_header=True),
    *tool("7", "edit", {}, "Error: this call of edit has unreadable arguments", success=False, duration_s=0.0, outcome="unreadable"),
    *answer("Renamed."),
]  # fmt: skip


def test_cards_of_several_files_jobs_and_questions(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(config, [CARDS])
    assert snap_compare(app, terminal_size=(100, 46), run_before=after("rename greet"))


OFF = "sandbox: OFF - bwrap not found (apt install bubblewrap). Commands that may write will ask."


def careless(config: ForgeConfig, **changes: Any) -> ChatApp:
    app = make_app(config, [answer("Hello.")])
    app.scripted.sandbox = OFF
    for name, value in changes.items():
        setattr(app.scripted, name, value)
    return app


def test_status_with_the_sandbox_off(snap_compare: Compare, config: ForgeConfig) -> None:
    assert snap_compare(careless(config), terminal_size=(80, 24), run_before=after("hello"))


def test_status_in_yolo_and_away(snap_compare: Compare, tmp_path: Path) -> None:
    config = make_config(tmp_path, permission_mode=PermissionMode.YOLO)
    app = careless(config, is_away=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=after("hello"))


def test_trust_notice(snap_compare: Compare, config: ForgeConfig) -> None:
    findings = (".forge/config.toml sets allow: bash(make *)", "AGENTS.md instructs the model (1,204 bytes)")

    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        notice = trust_notice(TrustQuestion(Path("/home/ada/src/engine"), findings))
        app.chat.transcript.add_notice(notice, "warning")
        await pilot.pause()

    assert snap_compare(make_app(config), terminal_size=(100, 30), run_before=run)


def calls() -> list[Step]:
    """A group with a failure in it, and a call that made calls itself."""
    inner = {"parent_id": "t"}
    return [
        *tool("1", "read", {"path": "src/greet.py"}, "x", summary="12 lines"),
        *tool("2", "grep", {"pattern": "def greet"}, "x", summary="2 matches in 2 files"),
        *tool("3", "read", {"path": "gone.py"}, "Error: gone.py does not exist", success=False),
        *tool("4", "bash", {"command": "rm -rf build"}, "Error: no", success=False, outcome="denied"),
        *tool("5", "bash", {"command": "make"}, "Error: interrupted", success=False, outcome="interrupted"),
        tool_start("t", "task", {"prompt": "find the tests"}),
        tool_start("6", "bash", {"command": "ls tests"}, **inner),  # type: ignore[arg-type]
        ToolEnd(call_id="6", name="bash", result="x", success=True, duration_s=0.1, **inner),  # type: ignore[arg-type]
        tool_start("7", "read", {"path": "tests/a.py"}, **inner),  # type: ignore[arg-type]
        tool_start("8", "read", {"path": "tests/b.py"}, **inner),  # type: ignore[arg-type]
        ToolEnd(call_id="t", name="task", result="All found.", success=True, duration_s=4.0),
    ]


@pytest.mark.parametrize("width", [120, 80])
@pytest.mark.parametrize("state", ["done", "open"])
def test_groups_and_nested_calls(snap_compare: Compare, config: ForgeConfig, state: str, width: int) -> None:
    gate = Gate()
    app = make_app(config, [[LLMStart(iteration=1, model="m"), *calls(), gate]])

    async def run(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "look around")
        await until(pilot, gate.reached.is_set)
        if state == "open":
            await pilot.press("ctrl+o")
        app.clock.pass_(7)
        await until(pilot, lambda: "7 s" in app.chat.activity.text)
        app.chat.activity.refresh()
        await standing(pilot)

    assert snap_compare(app, terminal_size=(width, 36), run_before=run)
