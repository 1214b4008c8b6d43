"""Plain English becomes intents with arguments."""

from __future__ import annotations

import pytest

from forge_core.offline.intents import IT, TABLE, Intent
from forge_core.offline.parse import parse
from tests.unit.offline.phrasings import PHRASINGS


def test_the_phrasings_are_understood() -> None:
    understood = {
        text: tuple((str(request.intent), dict(request.args)) for request in parse(text))
        for text, _ in PHRASINGS
    }
    assert understood == dict(PHRASINGS)


def test_the_table_of_phrasings_covers_every_intent() -> None:
    seen = {intent for _, expected in PHRASINGS for intent, _ in expected}
    assert {str(intent) for intent in Intent} - seen == set()
    assert len(PHRASINGS) >= 150


@pytest.mark.parametrize("row", [row for row in TABLE if row.example], ids=lambda row: row.example)
def test_an_example_of_the_help_text_has_the_intent_of_its_row(row: object) -> None:
    requests = parse(row.example)  # type: ignore[attr-defined]
    assert [request.intent for request in requests] == [row.intent]  # type: ignore[attr-defined]


def test_a_fenced_block_is_the_content_and_is_not_split_into_steps() -> None:
    (request,) = parse("create a.py with:\n```python\nfind = 1\n\nrun(the, tests)\n```")
    assert request.args == {"file": "a.py", "content": "find = 1\n\nrun(the, tests)\n"}


def test_lines_after_a_colon_are_the_content() -> None:
    (request,) = parse("create notes.md with the following content:\nread me\nthen run the tests\n")
    assert request.args == {"file": "notes.md", "content": "read me\nthen run the tests\n"}


def test_a_replacement_may_span_fenced_blocks() -> None:
    (request,) = parse("replace\n```\nold\nlines\n```\nwith\n```\nnew\n```\nin a.py")
    assert (request.get("old"), request.get("new"), request.get("file")) == ("old\nlines\n", "new\n", "a.py")


def test_lines_numbers_and_bullets_are_steps() -> None:
    for text in (
        "list the files\nrun the tests",
        "1. list the files\n2. run the tests",
        "- list the files\n- run the tests",
    ):
        assert [request.intent for request in parse(text)] == [Intent.LIST, Intent.TESTS], text


def test_a_step_that_is_not_understood_stays_in_the_list() -> None:
    requests = parse("list the files then wobble the gizmo")
    assert [request.intent for request in requests] == [Intent.LIST, Intent.UNKNOWN]
    assert requests[1].text == "wobble the gizmo"


def test_quotes_inside_a_command_survive() -> None:
    assert parse('run grep -n "it\'s then" a.py')[0].get("command") == 'grep -n "it\'s then" a.py'
    assert parse("$ echo 'a' && echo \"b\"")[0].get("command") == "echo 'a' && echo \"b\""


def test_a_pronoun_is_marked_for_later_resolution() -> None:
    assert parse("replace 'a' by 'b' in it")[0].get("file") == IT
    assert parse("run the tests in that file")[0].get("path") == IT


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "?", "...", "'", "```", "\ue000\ue001", "\ue0005\ue001"])
def test_parsing_always_gives_a_request(text: str) -> None:
    assert len(parse(text)) >= 1


def test_a_very_long_paste_is_parsed_quickly() -> None:
    assert parse("word " * 40_000)[0].intent is Intent.UNKNOWN
    assert parse("and then " * 2_000)
    assert parse("find " + "a" * 15_000)
    assert parse("'" * 5_000)
