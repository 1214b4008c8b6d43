"""Questions and plans of the model in the editor: as a form, or as the options of a permission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from forge_core.approval import AnswerRule, Question, QuestionOption, QuestionRequest
from forge_core.integrations.acp.question_form import form_of, message_of, reply_of
from tests.support.acp_editor import Editor, connected
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.integrations.acp.test_session_state import FORMS, choose_by_name
from tests.unit.integrations.acp.test_turns import at

ASK = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        }
    ]
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("capabilities", "form", "choice", "told"),
    [
        (FORMS, {"q0": "1"}, "", "Blue"),
        (FORMS, {"q0_own_words": "Green, please"}, "", "Green, please"),
        (FORMS, None, "", "declined"),
        (None, None, "Red", "Red"),
        (None, None, "No answer", "did not answer"),
    ],
)
async def test_a_question_is_a_form_or_a_choice(
    tmp_path: Path, capabilities: Any, form: Any, choice: str, told: str
) -> None:
    editor = Editor(form_answer=form)
    if choice:
        editor.choose = choose_by_name(choice)
    with SseServer(tool_answer(("a1", "ask_user", ASK)), answer("ok")) as server:
        async with connected(editor, flags=at(server), capabilities=capabilities) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.prompt(session_id=session, prompt=[acp.text_block("ask me")])
        result = str(server.requests[1].json["messages"][-1]["content"])
    assert told in result
    assert len(editor.forms) == (capabilities is not None)
    assert len(editor.asked) == (capabilities is None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "mode"), [("Approve (", "ask"), ("Approve, and", "accept-edits"), ("Keep", "plan")]
)
async def test_a_plan_is_approved_or_not(tmp_path: Path, choice: str, mode: str) -> None:
    editor = Editor(choose=choose_by_name(choice))
    plan = tool_answer(("p1", "exit_plan_mode", {"plan": "# Steps\n\n1. Write it"}))
    with SseServer(plan, answer("ok")) as server:
        async with connected(editor, flags=at(server)) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.set_session_mode(session_id=session, mode_id="plan")
            editor.updates.clear()
            await agent.prompt(session_id=session, prompt=[acp.text_block("plan it")])
            again = await agent.set_config_option(session_id=session, config_id="thought_level", value="low")
    assert "1. Write it" in editor.asked[0][0].content[0].content.text
    assert again.config_options[0].current_value == mode
    assert [one.current_mode_id for one in editor.take(schema.CurrentModeUpdate)] == [mode] * (mode != "plan")


def test_a_form_has_a_field_for_each_kind_of_answer() -> None:
    options = (QuestionOption("a"), QuestionOption("b"))
    request = QuestionRequest(
        "",
        (
            Question("One?", "One", options, words=None, is_required=True, default=("b",)),
            Question("Many?", "Many", options, multi_select=True, words=None, fewest=1),
            Question("How many?", "Count", (), words=AnswerRule(kind="integer", least=1, most=5)),
            Question("How much?", "Amount", (), words=AnswerRule(kind="number")),
            Question("Who?", "Mail", (), words=AnswerRule(kind="email"), is_required=True),
        ),
        server="forms",
        is_form=True,
    )
    form = form_of(request)
    fields = form.properties
    assert [one.type for one in fields.values()] == ["string", "array", "integer", "number", "string"]
    assert (fields["q0"].default, fields["q2"].maximum, fields["q4"].format) == ("1", 5, "email")
    assert form.required == ["q0", "q4"]
    assert "forms" in message_of(request)
    content = {"q0": "0", "q1": ["0", "1"], "q2": 3, "q3": 2.5, "q4": "a@b.org"}
    assert reply_of(request, content).answers == (("a",), ("a", "b"), ("3",), ("2.5",), ("a@b.org",))
    for wrong in ({**content, "q2": 9}, {**content, "q4": "nobody"}, {**content, "q0": "7"}):
        with pytest.raises(ValueError):
            reply_of(request, wrong)
    assert reply_of(request, {"q0": "1", "q4": "a@b.org"}).answers[1:4] == ((), (), ())
