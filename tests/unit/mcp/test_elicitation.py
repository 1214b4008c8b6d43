"""Questions of servers as the user is asked them, and the answers as servers get them."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import AnswerRule, QuestionReply
from forge_core.mcp.elicitation import DO_NOT_OPEN, OPEN, Form, UnaskableError, page_request
from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, Transport
from forge_core.mcp.server_questions import ServerQuestion, ServerQuestions

SCHEMA = {
    "type": "object",
    "properties": {
        "branch": {"type": "string", "title": "Branch", "default": "main", "minLength": 2, "maxLength": 9},
        "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
        "share": {"type": "number"},
        "force": {"type": "boolean", "default": False},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"},
        "size": {
            "type": "string",
            "oneOf": [{"const": "s", "title": "Same"}, {"const": "m", "title": "Same"}],
        },
        "tags": {
            "type": "array",
            "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            "minItems": 1,
            "default": ["b"],
        },
        "mail": {"type": "string", "format": "email"},
        "map": {"type": "object"},
    },
    "required": ["branch", "count", "tags"],
}


def asked(**params: Any) -> ServerQuestion:
    source = ServerSource(Path("/own/mcp.json"), ServerScope.USER, Path("/own"), "mcp.json")
    server = ServerEntry(
        name="bench", source=source, transport=Transport.STDIO, entry={}, environment={}, headers={}
    )
    return ServerQuestion(server, "elicit", params, "c1")


def form(schema: Any = SCHEMA, message: str = "Release it?") -> Form:
    return Form.read(asked(message=message, requestedSchema=schema))


def test_each_field_is_a_question_with_its_default() -> None:
    request = form().request
    assert (request.server, request.is_form, request.call_id) == ("bench", True, "c1")
    shown = [(one.header, [option.label for option in one.options], one.default) for one in request.questions]
    assert shown == [
        ("Branch", [], ("main",)),
        ("count", [], ("3",)),
        ("share", [], ()),
        ("force", ["Yes", "No"], ("No",)),
        ("colour", ["Red", "Green"], ("Green",)),
        ("size", ["Same", "Same (2)"], ()),
        ("tags", ["A", "B"], ("B",)),
        ("mail", [], ()),
    ]
    assert request.questions[0].text == "Release it?\n\nBranch\nWanted: a text of 2 to 9 characters."
    assert request.questions[3].text.endswith("force\nIt can be left out.")
    assert [one.words is None for one in request.questions] == [False] * 3 + [True] * 4 + [False]


def test_the_answers_are_sent_with_their_types() -> None:
    answers = (("dev",), ("4",), ("0.5",), ("Yes",), ("Red",), ("Same (2)",), ("A", "B"), ())
    assert form().result(QuestionReply(answers)) == {
        "action": "accept",
        "content": {
            "branch": "dev",
            "count": 4,
            "share": 0.5,
            "force": True,
            "colour": "r",
            "size": "m",
            "tags": ["a", "b"],
        },
    }


@pytest.mark.parametrize(
    ("field", "answer", "problem"),
    [
        (0, ["x"], "'x' is not a text of 2 to 9 characters."),
        (0, [], "Branch needs an answer."),
        (1, ["7"], "'7' is not a whole number from 1 to 5."),
        (1, ["1.5"], "'1.5' is not a whole number from 1 to 5."),
        (1, ["٣"], "'٣' is not a whole number from 1 to 5."),
        (2, ["nan"], "'nan' is not a number."),
        (2, ["-1e3"], ""),
        (3, ["maybe"], "'maybe' is none of the answers. Choose one of them."),
        (5, [], ""),
        (6, [], "tags needs an answer."),
        (7, ["ada"], "'ada' is not an e-mail address."),
        (7, ["ada@example.org"], ""),
    ],
)
def test_an_answer_is_checked_as_the_form_says(field: int, answer: list[str], problem: str) -> None:
    assert form().request.questions[field].problem(answer) == problem


def test_the_bounds_of_an_answer_are_named() -> None:
    rules = {
        AnswerRule(kind="integer", least=1): "a whole number, at least 1",
        AnswerRule(most=20): "a text, at most 20 characters",
        AnswerRule(kind="number", least=0, most=10_000_000): "a number from 0 to 10000000",
        AnswerRule(kind="date"): "a date such as 2026-01-31",
    }
    assert [rule.wanted for rule in rules] == [*rules.values()]
    times = AnswerRule(kind="date-time")
    assert [times.accepts(text) for text in ("2026-01-31T09:30:00Z", "2026-01-31", "soon")] == [
        True,
        False,
        False,
    ]
    dates = AnswerRule(kind="date")
    assert [dates.accepts(text) for text in ("2026-01-31", "20260131", "2026-02-31")] == [True, False, False]


def test_declining_and_cancelling_differ_and_without_a_user_it_is_cancelled() -> None:
    one = form()
    assert one.result(QuestionReply(declined=True)) == {"action": "decline"}
    assert one.result(one.request.unanswered("no user")) == {"action": "cancel"}


def test_a_form_without_fields_is_a_confirmation() -> None:
    one = form({})
    assert one.request.questions[0].text == "Release it?"
    assert one.result(QuestionReply((("Yes",),))) == {"action": "accept", "content": {}}
    assert one.result(QuestionReply((("No",),))) == {"action": "decline"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"map": {"type": "object"}}, "required": ["map"]},
        {"properties": {f"field{number}": {"type": "string"} for number in range(41)}},
    ],
    ids=["type", "fields"],
)
def test_a_form_that_cannot_be_filled_in_is_not_shown(schema: Any) -> None:
    with pytest.raises(UnaskableError):
        form(schema)


@pytest.mark.parametrize("schema", [7, [], {"properties": [1]}, {"properties": {"a": 3, "b": {"enum": 3}}}])
def test_broken_schemas_ask_nothing_odd(schema: Any) -> None:
    assert not form(schema).fields


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "oneOf": [{"const": str(n), "title": "t" * 30_000} for n in range(500)]},
        {"type": "string", "enum": ["e" * 2_000] * 8_000},
        {"type": "string", "title": "\x1b" * 5_000_000, "default": "d" * 5_000_000},
        {"type": "integer", "minimum": 10**400, "maximum": 10**401, "default": 10**400},
        {"type": "number", "minimum": math.inf, "maximum": math.nan, "default": math.inf},
        {"type": "string", "minLength": 10**400},
        {"type": "array", "items": {"enum": [{"a": 1}, None]}, "minItems": 10**400, "default": [[{}]]},
        {"type": "string", "format": ["email"], "enumNames": 5},
    ],
    ids=["titles", "options", "long", "huge", "infinite", "length", "items", "form"],
)
def test_a_field_that_is_odd_or_huge_is_shown_short(field: dict[str, Any]) -> None:
    [question] = form({"properties": {"n" * 5_000_000: field}}).request.questions
    shown = (question.text, question.header, *question.default, *(one.label for one in question.options))
    assert max(map(len, shown)) < 1_000 and len(question.options) <= 500
    assert question.words is None or question.words.wanted


async def test_a_server_has_an_answer_if_asking_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[tuple[int, Any]] = []

    async def fail(question: ServerQuestion) -> Any:
        raise ZeroDivisionError

    questions = ServerQuestions(fail, lambda number, value: answers.append((number, value)))
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
    questions.take(7, asked().server, "elicit", {})
    while not answers:
        await asyncio.sleep(0)
    assert answers == [(7, None)]


def test_a_page_is_shown_with_its_host_and_not_opened_at_first() -> None:
    request, url = page_request(asked(message="Sign in", url="https://example.org:8443/a?b=c"))
    [question] = request.questions
    assert url == "https://example.org:8443/a?b=c"
    assert question.text == f"Sign in\n\nIt wants you to open a page of example.org:8443\n{url}"
    assert [one.label for one in question.options] == [DO_NOT_OPEN, OPEN]
    assert "not encrypted" in page_request(asked(url="http://example.org"))[0].questions[0].text


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://github.com@evil.example/",
        "https://exаmple.org/",
        "https://example.org/\x1b]0;x\x07",
        "https://",
        "https://[::1",
        "",
        pytest.param("https://example.org/" + "a" * 5_000, id="long"),
    ],
)
def test_a_url_that_deceives_is_not_offered(url: str) -> None:
    with pytest.raises(UnaskableError):
        page_request(asked(url=url))
