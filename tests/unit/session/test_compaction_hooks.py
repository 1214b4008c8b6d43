"""Hooks before and after a compaction, by the user and by itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from forge_core.events import Notice
from tests.support.hooks import declared
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sessions import scripted_session
from tests.unit.session.test_session_hooks import own, records, seen_by, sent, turn


async def test_hooks_can_prevent_a_compaction_and_add_to_it(tmp_path: Path) -> None:
    line = "cat > PreCompact.json; [ -e allowed ] || { echo not now >&2; exit 2; }"
    own(
        tmp_path,
        declared("PreCompact", line, matcher="manual"),
        declared("SessionStart", "echo again", matcher="compact"),
        seen_by("PostCompact"),
    )
    session = scripted_session(tmp_path, [["a long answer " * 900], ["short"]])
    for text in ("hello", "and?", "more?"):
        await turn(session, text)
    for turns in (None, 3):
        compaction = session.compact("tests", turns=turns)
        texts = [event.text async for event in compaction if isinstance(event, Notice)]
        assert texts == ["The conversation was not compacted: not now"]
    assert json.loads((tmp_path / "PreCompact.json").read_text())["custom_instructions"] == "tests"

    (tmp_path / "allowed").touch()
    for number, turns in enumerate((None, 1), 1):
        async for _ in session.compact(turns=turns):
            pass
        assert [one["trigger"] for one in records(tmp_path, "PostCompact")] == ["manual"] * number
        await turn(session, "a long question " * 900)
        assert re.search(r"From a hook of SessionStart:\n<hook-output [^>]*>\nagain", sent(session)[-1])
    await session.aclose()


async def test_hooks_of_an_automatic_compaction_prevent_it_or_add_to_it(tmp_path: Path) -> None:
    line = (
        "cat >> PreCompact.jsonl; echo >> PreCompact.jsonl; [ -e allowed ] || { echo not now >&2; exit 2; }"
    )
    own(
        tmp_path,
        declared("PreCompact", line, matcher="auto"),
        declared("PostCompact", "tee -a PostCompact.jsonl; echo >> PostCompact.jsonl", matcher="auto"),
        declared("SessionStart", "echo again", matcher="compact"),
        *(declared(event, "touch wrong", matcher="manual") for event in ("PreCompact", "PostCompact")),
    )
    # The window has 1000 tokens; the answers have about 150.
    answers: list[list[Any]] = [*[["word " * 150]] * 4, ["too long"], ["the summary"], ["fine"]]
    session = scripted_session(tmp_path, answers)
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    llm.usage = False  # estimates: the scripted counts have nothing to do with the text
    for number in range(4):
        await turn(session, f"question {number}")
    blocked = [
        event.text for event in await turn(session, "now " + "word " * 300) if isinstance(event, Notice)
    ]
    assert "The conversation was not compacted: not now" in blocked
    assert records(tmp_path, "PostCompact") == []
    await turn(session, "and")
    assert len(records(tmp_path, "PreCompact")) == 1, "no hook runs before each call of the model"

    (tmp_path / "allowed").touch()
    await turn(session, "now " + "word " * 150)
    assert "the summary" in str(sent(session))
    assert re.search(r"From a hook of SessionStart:\n<hook-output [^>]*>\nagain", "\n".join(sent(session)))
    assert {one["trigger"] for one in records(tmp_path, "PreCompact")} == {"auto"}
    assert [one["trigger"] for one in records(tmp_path, "PostCompact")] == ["auto"]
    assert not (tmp_path / "wrong").exists()
    await session.aclose()
