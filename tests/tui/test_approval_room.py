"""The permission prompt on small terminals: all answers show, or no answer is accepted."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.result import FileDiff
from forge_core.tools.base import ExecutionContext
from forge_core.tools.builtin.bash import BashTool
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.request_text import (
    all_facts,
    facts_of,
    is_only_the_command,
    options_of,
    title_of,
)
from tests.support.asking import ask, asking
from tests.support.chat_app import (
    command_request,
    edit_request,
    press_until,
    shown,
    type_text,
    until,
)

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


SIZES = [(60, 12), (80, 24), (200, 15), (60, 15), (120, 36)]
"""The usual run tries the first three."""
ANSWERS = ("1 Yes, once", "2 Yes, for this session:", "4 No", "5 No, and tell it why")
IN_ROW = ("1 once", "2 session", "4 no", "5 no, because…")
"""The answers from 100 columns on."""
LONG = "echo " + "a" * 2500 + "; touch pwned; echo " + "b" * 2500
WORKSPACE = Path("/home/ada/src/engine")


def crowded(**changes: object) -> ApprovalRequest:
    """A question in which everything that a model can make long is long."""
    details = {
        "Timeout": "600 s",
        "Folder": "/" + "deep/" * 100,
        "Purpose, as the model says": "words " * 800,
    }
    request = command_request(
        LONG + "\u202e\u200b\u2066 \u0430\u0431\u0432\u0433\u0434", details=details, reason="because " * 300
    )
    return replace(request, session_rule="bash(python " + "x y " * 700 + ":*)", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES if os.environ.get("FORGE_FULL") else SIZES[:3])
@pytest.mark.parametrize(
    "request_",
    [
        crowded(),
        crowded(is_destructive=True),
        command_request(LONG),
        command_request("touch x", details={"Purpose, as the model says": "lorem ipsum " * 400}),
        command_request("touch x", session_rule=f"bash({LONG}:*)"),
        edit_request(target="a/" * 900 + "b.py", tool="t" * 4000, reason="r" * 4000),
    ],
)
async def test_the_answers_are_visible_however_long_the_model_text_is(
    config: ForgeConfig, size: tuple[int, int], request_: ApprovalRequest
) -> None:
    app = asking(config, request_)
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        answers = IN_ROW if size[0] >= 100 else ANSWERS
        await until(pilot, lambda: all(text in shown(app) for text in answers), "the answers")
        assert "❯ " in shown(app) and "Forge wants to" in shown(app)
        await pilot.press("5", "enter")
        await type_text(pilot, "no")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, "no")])


async def test_no_answer_is_accepted_while_some_answers_are_hidden(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(60, 7)) as pilot:
        await ask(pilot)
        for key in ("1", "enter", "2", "enter", "down", "enter", "5", "enter"):
            await pilot.press(key)
        await pilot.pause()
        assert app.scripted.replies == []
        assert not app.chat.query_one(PermissionPrompt).is_writing
        await pilot.resize_terminal(60, 15)
        prompt = app.chat.query_one(PermissionPrompt)
        await until(pilot, lambda: all(text in shown(app) for text in ANSWERS) and prompt.is_answerable)
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


async def test_escape_denies_even_while_the_answers_are_hidden(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(60, 7)) as pilot:
        await ask(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])
        assert app.scripted.replies == [ApprovalReply(Answer.NO)]


async def test_a_long_rule_can_be_scrolled_to_its_end(config: ForgeConfig) -> None:
    app = asking(config, command_request(session_rule="bash(python " + "x y " * 700 + "the end:*)"))
    async with app.run_test(size=(60, 15)) as pilot:
        await ask(pilot)
        await press_until(pilot, "pagedown", lambda: "the end:*)" in shown(app))
        assert "the end:*)" in shown(app)


async def test_a_rule_that_fits_after_a_resize_is_not_shown_twice(config: ForgeConfig) -> None:
    rule = "bash(make some-target-with-a-long-name:*)"
    app = asking(config, command_request(session_rule=rule))
    async with app.run_test(size=(60, 15)) as pilot:
        await ask(pilot)
        assert "Answer 2 would allow:" in shown(app) and shown(app).count(rule) == 1
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: f"2 allows {rule}" in shown(app))
        assert "would allow" not in shown(app) and shown(app).count(rule) == 1


async def test_a_rule_that_is_the_command_is_not_repeated(config: ForgeConfig) -> None:
    command = "make a | tee b && " + "c" * 100
    app = asking(config, command_request(command, session_rule=f"bash({command})"))
    async with app.run_test(size=(60, 15)) as pilot:
        await ask(pilot)
        assert "2 Yes, for this session: exactly this command" in shown(app)
        assert "would allow" not in shown(app)


@pytest.mark.parametrize(
    ("command", "rule", "wanted"),
    [
        ("make a", "bash(make a)", True),
        (" make a\n", "bash(make a)", True),
        ("=a", "bash(==a)", True),
        ("make a:*", "bash(=make a:*)", True),
        ("make a:*", "bash(make a:*)", False),
        ("make", "bash(make:*)", False),
        ("*", "bash(*)", False),
        ("=a", "bash(=a)", False),
    ],
)
def test_only_a_rule_for_exactly_this_command_is_called_exact(command: str, rule: str, wanted: bool) -> None:
    assert is_only_the_command(command_request(command), rule) is wanted


# The facts are news


def test_a_reason_that_only_repeats_the_call_is_not_shown() -> None:
    request = command_request(reason="each command asks", is_usual_reason=True, details={})
    assert facts_of(request, WORKSPACE, room=200) == ""
    assert facts_of(replace(request, is_usual_reason=False), WORKSPACE, room=200) == "each command asks"


def test_a_reason_does_not_repeat_the_path_it_is_about() -> None:
    path = "/tmp/" + "deep/" * 60 + "x.txt"
    outside = edit_request(target=path, reason=f"{path} is outside the folder /w", diffs=())
    assert facts_of(outside, WORKSPACE, room=60).startswith("It is outside the folder /w")
    link = edit_request(target="x", reason="x (really /etc/passwd) is outside the folder /w", diffs=())
    assert facts_of(link, WORKSPACE, room=100).startswith("It (really /etc/passwd) is outside")
    another = edit_request(target="x", reason="xy may contain keys", diffs=())
    assert facts_of(another, WORKSPACE, room=100).startswith("xy may contain keys")


def test_the_default_timeout_and_the_workspace_folder_are_not_shown(tmp_path: Path) -> None:
    context = ExecutionContext(working_dir=tmp_path)
    usual = BashTool().describe_use({"command": "ls"}, context)
    assert facts_of(command_request(reason="", details=usual.details), tmp_path, room=200) == ""
    longer = BashTool().describe_use({"command": "ls", "timeout_s": 300}, context)
    request = command_request(reason="", details=longer.details)
    assert facts_of(request, WORKSPACE, room=200) == f"Timeout: 300 s · Folder: {tmp_path}"


def test_the_purpose_is_attributed_to_the_model_and_truncated() -> None:
    request = command_request(reason="", details={"Purpose, as the model says": "Run the tests"})
    assert facts_of(request, WORKSPACE, room=200) == "The model says: Run the tests"
    long = command_request(reason="", details={"Purpose, as the model says": "Run \x1b[2K" * 600})
    text = facts_of(long, WORKSPACE, room=1000)
    assert len(text) <= 220 and text.endswith("…") and "\x1b" not in text


def test_the_size_of_a_command_is_shown_when_it_is_truncated() -> None:
    request = command_request("a\nbc", reason="", details={})
    assert facts_of(request, WORKSPACE, room=200, is_whole=False) == "2 lines, 4 characters"
    assert facts_of(edit_request(reason=""), WORKSPACE, room=200) == ""
    assert all_facts(edit_request(reason=""), WORKSPACE)[0].text == "+1 −1"


def test_network_access_is_mentioned_once() -> None:
    request = command_request(
        "curl x", reason="it uses the network", details={}, session_rule="network(curl x)"
    )
    online = replace(request, needs_network=True, is_usual_reason=True)
    assert title_of(online) == "Forge wants to run a command with network access"
    assert facts_of(online, WORKSPACE, room=200) == ""
    assert [option.hint for option in options_of(online)][1] == "exactly this command"
    assert is_only_the_command(online, "network(curl x)")
    assert not is_only_the_command(online, "bash(curl x)")
    assert not is_only_the_command(request, "network(curl x)")


@pytest.mark.parametrize("size", [(60, 20), (60, 18), (80, 24), (120, 36)])
@pytest.mark.parametrize("tool", ["edit", "apply_patch"])
async def test_an_edit_shows_two_of_its_changed_lines(
    config: ForgeConfig, size: tuple[int, int], tool: str
) -> None:
    diff = "@@ -1,7 +1,7 @@\n one\n two\n three\n-old line\n+new line\n four\n five\n six\n"
    request = edit_request(tool=tool, diffs=(FileDiff("src/greet.py", diff, 1, 1),), always_rule="edit(./**)")
    app = asking(config, request)
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        await until(pilot, lambda: "old line" in shown(app) and "new line" in shown(app), "the change")
        assert "edit a file · +1 −1" in shown(app)
        assert shown(app).count("+1 −1") == 1
        answers = IN_ROW if size[0] >= 100 else ANSWERS
        assert all(text in shown(app) for text in ("src/greet.py", *answers))
        app.chat.query_one(PermissionPrompt).show_waiting(2)
        await until(pilot, lambda: "edit a file (2 more waiting) · +1 −1" in shown(app))


@pytest.mark.parametrize(
    ("size", "target", "first"),
    [((80, 24), "a/" * 300, "a/a/"), ((60, 15), "", "old 1")],
    ids=["deep", "low"],
)
async def test_a_change_leaves_the_status_bar_on_a_small_terminal(
    config: ForgeConfig, size: tuple[int, int], target: str, first: str
) -> None:
    diff = "@@ -1,7 +1,4 @@\n one\n two\n three\n-old 1\n-old 2\n-old 3\n-old 4\n+new\n"
    changed = FileDiff("src/greet.py", diff, 1, 4)
    request = edit_request(target=f"{target}src/greet.py", diffs=(changed,), always_rule="edit(./**)")
    app = asking(config, request)
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        await until(pilot, lambda: first in shown(app), "the change")
        assert app.chat.max_scroll_y == 0
        assert "ask · sandbox: on" in shown(app)


async def test_a_long_path_does_not_hide_the_answers(config: ForgeConfig) -> None:
    request = edit_request(target="a/" * 300 + "b.py")
    app = asking(config, request)
    async with app.run_test(size=(60, 20)) as pilot:
        await ask(pilot)
        await until(pilot, lambda: all(text in shown(app) for text in ANSWERS))


async def test_a_prompt_with_default_details_has_no_facts_line(config: ForgeConfig) -> None:
    details = {"Timeout": "120 s", "Folder": str(config.working_dir)}
    app = asking(config, command_request(reason="", details=details))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        assert "Timeout" not in shown(app) and "character" not in shown(app)


# The hint


async def test_the_hint_matches_what_the_keys_do(config: ForgeConfig) -> None:
    app = asking(config, command_request("\n".join(f"echo {n}" for n in range(60))))
    async with app.run_test(size=(60, 15)) as pilot:
        await ask(pilot)
        await until(pilot, lambda: "more rows: PageDown, Ctrl+E" in shown(app))
        await pilot.press("5", "enter")
        await until(pilot, lambda: "Enter no, for this reason" in shown(app))
        await pilot.resize_terminal(62, 16)
        await pilot.pause()
        await pilot.pause()
        assert "Enter no, for this reason" in shown(app) and "PageDown" not in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: "more rows: PageDown, Ctrl+E" in shown(app))
