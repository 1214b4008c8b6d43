"""Sentences of a first hour in a real project, each judged by the substance of its answer."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.offline import first_hour_project
from tests.unit.offline.driver import Talk
from tests.unit.offline.first_hour import DEVELOPMENT, FRESH, HELD_OUT, Sentence
from tests.unit.offline.first_hour_others import FIRST_LIST, SECOND_LIST

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


_LISTED = re.compile(r"^\s*(\d+)\. `([^`:]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first-hour") / "httpx"
    root.mkdir()
    first_hour_project.build(root)
    return root


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "httpx"))


async def judge(sentence: Sentence, project: Path) -> list[str]:
    """Return what is wrong with the answer to `sentence`; nothing when it works."""
    talk = Talk(project)
    known = dict(first_hour_project.facts(project))
    for earlier in sentence.before:
        listed = dict(_LISTED.findall(await talk(earlier)))
        known |= {"first": listed.get("1", "no list"), "second": listed.get("2", "no list")}
    position = len(talk.messages)
    await talk(sentence.text)
    said = [message["content"] for message in talk.messages[position:] if message["role"] == "assistant"]
    answer = "\n\n".join(filter(None, said))
    calls = [f"{name} {json.dumps(arguments)}" for name, arguments in talk.calls]
    faults = [f"no {want!r}" for want in sentence.says if not re.search(_filled(want, known), answer)]
    wanted, never = _filled(sentence.calls, known), _filled(sentence.never, known)
    if wanted and not any(re.search(wanted, call) for call in calls):
        faults.append(f"no call {wanted!r}")
    if never and any(re.search(never, call) for call in calls):
        faults.append(f"a call {never!r}")
    if sentence.max_lines and len(answer.splitlines()) > sentence.max_lines:
        faults.append(f"{len(answer.splitlines())} lines")
    return [*faults, *calls, answer] if faults else []


def _filled(pattern: str, known: Mapping[str, str]) -> str:
    """The pattern with its facts filled in; a thousand may be written with a comma."""

    def fact(name: re.Match[str]) -> str:
        return re.sub(r"^(\d)(\d{3})$", r"\1,?\2", re.escape(known[name[1]]))

    return re.sub(r"<(\w+)>", fact, pattern)


@pytest.mark.parametrize("sentence", DEVELOPMENT, ids=lambda sentence: sentence.text)
async def test_a_sentence_of_the_development_list_is_handled(sentence: Sentence, project: Path) -> None:
    assert await judge(sentence, project) == []


@pytest.mark.parametrize("sentence", HELD_OUT, ids=lambda sentence: sentence.text)
async def test_a_sentence_without_a_dedicated_rule_is_handled(sentence: Sentence, project: Path) -> None:
    assert await judge(sentence, project) == []


@pytest.mark.parametrize("sentence", FRESH, ids=lambda sentence: sentence.text)
async def test_a_sentence_written_after_the_rules_is_handled(sentence: Sentence, project: Path) -> None:
    assert await judge(sentence, project) == []


@pytest.mark.parametrize("sentence", (*FIRST_LIST, *SECOND_LIST), ids=lambda sentence: sentence.text)
async def test_a_sentence_by_another_author_is_handled(sentence: Sentence, project: Path) -> None:
    assert await judge(sentence, project) == []
