"""Modes, models, commands, plan, usage and title in the editor."""

from __future__ import annotations

import json
from pathlib import Path

import acp
import pytest
from acp import schema

from tests.support.acp_editor import Editor, connected
from tests.support.repositories import git, make_repository, write_files
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.integrations.acp.test_turns import at

pytestmark = pytest.mark.slow
FORMS = schema.ClientCapabilities(
    elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
)


def choose_by_name(*names: str):  # type: ignore[no-untyped-def]
    """Choose the options that begin so, one request after the other."""
    left = list(names)

    def choose(call: schema.ToolCallUpdate, options: list[schema.PermissionOption]) -> str:
        name = left.pop(0)
        return next(one.option_id for one in options if one.name.startswith(name))

    return choose


async def test_the_mode_the_model_and_the_effort_can_be_chosen(tmp_path: Path) -> None:
    editor = Editor()
    with SseServer(answer("one"), answer("two")) as server:
        async with connected(editor, flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            session = opened.session_id
            assert opened.modes.current_mode_id == "ask"
            modes = [one.id for one in opened.modes.available_modes]
            assert modes == ["ask", "accept-edits", "plan", "auto"]
            assert [one.id for one in opened.config_options] == ["mode", "model", "thought_level"]
            await agent.set_session_mode(session_id=session, mode_id="accept-edits")
            await agent.set_config_option(session_id=session, config_id="model", value="other/model")
            changed = await agent.set_config_option(
                session_id=session, config_id="thought_level", value="high"
            )
            values = {one.id: one.current_value for one in changed.config_options}
            assert values == {"mode": "accept-edits", "model": "other/model", "thought_level": "high"}
            assert [one.current_mode_id for one in editor.take(schema.CurrentModeUpdate)] == ["accept-edits"]
            for option, value in (("mode", "yolo"), ("model", "a b"), ("thought_level", "x"), ("x", "y")):
                with pytest.raises(acp.RequestError) as failed:
                    await agent.set_config_option(session_id=session, config_id=option, value=value)
                assert failed.value.code == -32602
            editor.take(schema.ConfigOptionUpdate)
            await agent.prompt(session_id=session, prompt=[acp.text_block("/mode plan")])
            assert [one.current_mode_id for one in editor.take(schema.CurrentModeUpdate)] == ["plan"]
            (update,) = editor.take(schema.ConfigOptionUpdate)
            assert update.config_options[0].current_value == "plan"
            await agent.prompt(session_id=session, prompt=[acp.text_block("hello")])
        assert server.requests[-1].json["model"] == "other/model"


async def test_commands_run_and_what_fails_is_said(tmp_path: Path) -> None:
    commands = tmp_path / ".forge" / "commands"
    commands.mkdir(parents=True)
    (commands / "shout.md").write_text("---\ndescription: Say it loud\n---\nSay $ARGUMENTS loudly.")
    editor = Editor()
    with SseServer(answer("LOUD")) as server:
        async with connected(editor, flags=at(server), trust=True) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id

            async def run(text: str) -> str:
                editor.updates.clear()
                done = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
                assert done.stop_reason == "end_turn"
                return editor.said

            assert await run("/shout it") == "LOUD"
            assert "Say it loudly." in str(server.requests[0].json["messages"][-1]["content"])
            assert "input" in await run("/cost")
            assert "read" in await run("/tools")
            assert "There is no command /nosuch" in await run("/nosuch")
            assert "is a command of forge chat" in await run("/theme")
            assert "takes no argument" in await run("/sandbox now")
            assert "My title" in await run("/rename My title")
            assert [one.title for one in editor.take(schema.SessionInfoUpdate)] == ["My title"]
        assert len(server.requests) == 1


async def test_the_client_is_told_commands_plan_usage_and_title(tmp_path: Path) -> None:
    editor = Editor()
    steps = [
        {"content": "Look", "status": "completed"},
        {"content": "Fix", "status": "in_progress"},
        {"content": "Test", "status": "pending"},
    ]
    with SseServer(tool_answer(("c1", "todo", {"items": steps})), answer("ok")) as server:
        flags = {**at(server), "model": "openai/gpt-4.1"}
        async with connected(editor, flags=flags) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.prompt(session_id=session, prompt=[acp.text_block("Fix the parser")])
            (plan,) = editor.take(schema.AgentPlanUpdate)
            assert [(one.content, one.status) for one in plan.entries] == [
                (one["content"], one["status"]) for one in steps
            ]
            offered = {
                one.name: one for one in editor.take(schema.AvailableCommandsUpdate)[0].available_commands
            }
            assert "theme" not in offered
            assert offered["undo"].input.root.hint
            assert [one.title for one in editor.take(schema.SessionInfoUpdate)] == ["Fix the parser"]
            await agent.close_session(session_id=session)
            await agent.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
            await agent.prompt(session_id=session, prompt=[acp.text_block("/todo")])
            assert len(editor.take(schema.AgentPlanUpdate)) == 1


async def test_usage_is_sent_where_the_window_is_known(tmp_path: Path) -> None:
    editor = Editor()
    async with connected(editor) as agent:
        session = (await agent.new_session(cwd=str(tmp_path))).session_id
        await agent.prompt(session_id=session, prompt=[acp.text_block("hi")])
    used = editor.take(schema.UsageUpdate)[-1]
    assert 0 < used.used < used.size


async def test_trust_is_asked_once_where_something_would_act(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in rhymes.")
    editor = Editor(choose=choose_by_name("Not now", "Trust this folder"))
    with SseServer(answer("one"), answer("two"), answer("three")) as server:
        async with connected(editor, flags=at(server)) as agent:
            for text in ("first", "again"):
                session = (await agent.new_session(cwd=str(tmp_path))).session_id
                await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
            await agent.prompt(session_id=session, prompt=[acp.text_block("more")])
        prompts = ["rhymes" in str(one.json["messages"][0]) for one in server.requests]
    assert prompts == [False, True, True]
    assert "AGENTS.md" in editor.asked[0][0].content[0].content.text
    assert len(editor.asked) == 2


async def test_programs_of_the_folder_are_approved_by_their_command_line(tmp_path: Path) -> None:
    hook = tmp_path / ".forge" / "hooks.json"
    hook.parent.mkdir()
    entry = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch stopped"}]}]}}
    hook.write_text(json.dumps(entry))
    editor = Editor(choose=choose_by_name("Trust", "Approve"))
    with SseServer(answer("one")) as server:
        async with connected(editor, flags=at(server)) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.prompt(session_id=session, prompt=[acp.text_block("hello")])
    call, _ = editor.asked[1]
    assert "touch stopped" in call.content[0].content.text
    assert (tmp_path / "stopped").exists()


@pytest.mark.parametrize("capabilities", [FORMS, None])
async def test_the_result_of_work_that_asks_follows_its_events(
    tmp_path: Path, capabilities: schema.ClientCapabilities | None
) -> None:
    make_repository(tmp_path, "Add the parser")
    write_files(tmp_path, parser="x = 1")
    git(tmp_path, "add", "parser.py")
    editor = Editor(form_answer={"q0": "0", "q0_own_words": "Parse numbers"})
    with SseServer(answer("Parse numbers")) as server:
        async with connected(editor, flags=at(server), capabilities=capabilities) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            done = await agent.prompt(session_id=session, prompt=[acp.text_block("/commit")])
    assert done.stop_reason == "end_turn"
    ((_, asked),) = editor.forms if capabilities else [(0, editor.asked[0][0].content[0].content.text)]
    assert "Parse numbers" in str(asked)
    assert git(tmp_path, "log", "-1", "--format=%s").strip() == "Parse numbers"
    assert "Parse numbers" in editor.said
