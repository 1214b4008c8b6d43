"""Skills in a built session: what the model is sent, what it may read, and what outlives a compaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from forge_core.approval import Answer, Approver
from forge_core.commands.prompt_commands import command_use
from forge_core.events import AgentEnd, AgentEvent, Compaction, ToolEnd
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession
from tests.support.scripted_llm import Call, Piece, ScriptedLLM
from tests.support.sessions import Answering

BODY = "Fill in the form with scripts/fill.py.\nWork on: $ARGUMENTS"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "work").mkdir()
    return home


def add(place: Path, name: str, head: str = "description: Fills in PDF forms", body: str = BODY) -> Path:
    folder = place / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n{body}")
    return folder


def session_in(
    folder: Path,
    replies: Sequence[Sequence[Piece]],
    *,
    approver: Approver | None = None,
    resume: str | None = None,
    trust: bool = False,
    **flags: object,
) -> tuple[ForgeSession, ScriptedLLM]:
    config = load_session_config(folder, flags={"model": "offline", "sandbox": "off", **flags}, trust=trust)
    config = dataclasses.replace(config, context_window=20_000)
    session = build_session(config, approver or Answering(Answer.NO), resume=resume)
    llm = ScriptedLLM(replies=[list(reply) for reply in replies], usage=False)
    session._agent.set_llm(llm)
    return session, llm


async def turn(session: ForgeSession, text: str = "go on") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


def results(events: Sequence[AgentEvent]) -> list[str]:
    return [event.result for event in events if isinstance(event, ToolEnd)]


def tool_names(llm: ScriptedLLM) -> set[str]:
    return {tool["function"]["name"] for tool in llm.bound}


async def test_the_tool_and_the_list_are_there_only_with_skills(home: Path, tmp_path: Path) -> None:
    session, llm = session_in(tmp_path / "work", [["done"]])
    await turn(session)
    first, names = str(llm.seen[-1][0].content), tool_names(llm)
    folder = add(home / ".claude", "pdf")
    await session.extensions.reload()
    await turn(session)
    with_skill, with_tool = str(llm.seen[-1][0].content), tool_names(llm)
    await session.extensions.reload()
    await turn(session)
    again = str(llm.seen[-1][0].content)
    (folder / "SKILL.md").unlink()
    await session.extensions.reload()
    await turn(session)
    await session.aclose()

    assert "Skills" not in first
    assert "skill" not in names
    assert "- pdf: Fills in PDF forms\n" in with_skill
    assert with_tool == names | {"skill"}
    assert again == with_skill
    assert str(llm.seen[-1][0].content) == first
    assert tool_names(llm) == names


async def test_a_loaded_skill_outlives_compaction_and_resume(home: Path, tmp_path: Path) -> None:
    folder = add(home / ".claude", "pdf")
    call = Call("skill", {"name": "pdf", "arguments": "a.pdf"})
    calls = [dataclasses.replace(call, id=f"c{number}") for number in range(4)]
    session, llm = session_in(
        tmp_path / "work", [[calls[0]], ["loaded " + "word " * 600], [calls[1]], ["done"], ["a summary"]]
    )
    first = await turn(session, "Fill in a.pdf")
    second = await turn(session)
    compacted = [event async for event in session.compact()]
    saved_id = session.id
    await session.aclose()
    resumed, again = session_in(
        tmp_path / "work", [[calls[2]], ["done"], [calls[3]], ["end"]], resume=saved_id
    )
    after = await turn(resumed)
    with_other_arguments = dataclasses.replace(call, id="c9", arguments={"name": "pdf", "arguments": "b.pdf"})
    again.replies[2] = [with_other_arguments]
    other = await turn(resumed)
    await resumed.reset()
    again.replies += [[dataclasses.replace(call, id="c10")], ["end"]]
    forgotten = await turn(resumed)
    await resumed.aclose()

    assert results(first) == ["The skill 'pdf' is loaded. Its instructions follow this result."]
    message = langchain_to_forge(llm.seen[1][-1]).text
    assert "Fill in the form with scripts/fill.py.\nWork on: a.pdf" in message
    assert f'dir="{folder}"' in message
    already = ["The skill 'pdf' is already loaded: follow its instructions above."]
    assert results(second) == already
    (report,) = [event for event in compacted if isinstance(event, Compaction)]
    assert "1 skill" in report.pinned
    texts = "\n".join(str(one.content) for one in again.seen[0])
    assert "a summary" in texts
    assert texts.count("Work on: a.pdf") == 1
    assert results(after) == already
    assert results(other) == results(forgotten) == results(first)
    assert "Work on: b.pdf" in str(again.seen[3][-1].content)


async def test_the_folder_of_a_skill_is_read_unasked_but_not_written(home: Path, tmp_path: Path) -> None:
    folder = add(home / ".claude", "pdf")
    (folder / "notes.md").write_text("Use black ink.")
    (home / ".claude/other.md").write_text("private")
    approver = Answering(Answer.NO)
    calls: list[Piece] = [
        Call("read", {"file_path": str(folder / "notes.md")}),
        Call("grep", {"pattern": "ink", "path": str(folder)}),
        Call("glob", {"pattern": "*.md", "path": str(folder)}),
        Call("ls", {"path": str(folder)}),
        Call("read", {"file_path": str(home / ".claude/other.md")}),
        Call("write", {"file_path": str(folder / "new.md"), "content": "x"}),
    ]
    session, _ = session_in(
        tmp_path / "work",
        [calls, ["done"]],
        approver=approver,
        permission_mode="accept-edits",
    )
    events = await turn(session)
    await session.aclose()

    assert sorted(event.name for event in events if isinstance(event, ToolEnd) and event.success) == [
        "glob",
        "grep",
        "ls",
        "read",
    ]
    assert [request.tool for request in approver.asked] == ["read", "write"]
    assert not (folder / "new.md").exists()


async def test_allowed_tools_of_an_own_skill_hold_until_the_turn_ends(home: Path, tmp_path: Path) -> None:
    head = "description: d\nallowed-tools: Bash(touch *)"
    add(home / ".claude", "mine", head)
    add(tmp_path / "work/.claude", "theirs", head)
    approver = Answering(Answer.NO)

    def touching(name: str) -> list[list[Piece]]:
        return [[Call("skill", {"name": name})], [Call("bash", {"command": f"touch {name}.txt"})], ["done"]]

    untouched: list[list[Piece]] = [[Call("bash", {"command": "touch later.txt"})], ["done"]]
    session, _ = session_in(
        tmp_path / "work",
        [*touching("theirs"), *touching("mine"), *untouched],
        approver=approver,
        trust=True,
    )
    for _ in range(3):
        await turn(session)
    await session.aclose()

    assert [request.target for request in approver.asked] == ["touch theirs.txt", "touch later.txt"]
    assert (tmp_path / "work/mine.txt").exists()


async def test_a_skill_that_the_user_runs_is_loaded_and_may_run_commands(home: Path, tmp_path: Path) -> None:
    add(home / ".claude", "pdf", "description: d\nallowed-tools: Bash(echo *)", "!`echo now` $ARGUMENTS")
    add(home / ".claude", "quiet", "description: d\nuser-invocable: false")
    call = Call("skill", {"name": "pdf", "arguments": "a.pdf"})
    session, llm = session_in(tmp_path / "work", [["done"], [call], ["done"]])
    await session.extensions.ready()
    use = command_use("PDF", "a.pdf", session)
    assert use is not None
    async for _ in session.send("/pdf a.pdf", command=use):
        pass
    _, first = llm.seen[0]
    events = await turn(session)
    nothing = command_use("quiet", "", session)
    saved = await session.recorded()
    await session.aclose()

    assert str(first.content).startswith("Use the skill pdf now: a.pdf\n\n[Forge adds the instructions")
    assert "\nnow\n</tool-output" in str(first.content)
    assert " a.pdf\n\n[The folder of this skill holds no other files.]\n</skill" in str(first.content)
    assert results(events) == ["The skill 'pdf' is already loaded: follow its instructions above."]
    assert nothing is None
    assert [one["text"] in str(first.content) for one in saved.skills] == [True]


async def test_a_deny_rule_names_a_skill(home: Path, tmp_path: Path) -> None:
    for name in ("pdf", "csv"):
        add(home / ".claude", name)
    calls: list[Piece] = [Call("skill", {"name": name}) for name in ("pdf", "csv")]
    session, _ = session_in(tmp_path / "work", [calls, ["done"]], deny=("skill(pdf)",))
    events = await turn(session)
    await session.aclose()

    assert {event.result[:24] for event in events if isinstance(event, ToolEnd) and event.success} == {
        "The skill 'csv' is loade"
    }


async def test_skills_that_are_hidden_or_unknown_are_not_loaded(home: Path, tmp_path: Path) -> None:
    add(home / ".claude", "pdf")
    add(home / ".claude", "manual", "description: d\ndisable-model-invocation: true")
    session, _ = session_in(
        tmp_path / "work",
        [[Call("skill", {"name": "manual"}), Call("skill", {"name": "fill forms"})], ["done"]],
    )
    events = await turn(session)
    last = events[-1]
    await session.aclose()

    assert results(events) == [
        "Error: there is no skill 'manual'. Use one that the system message lists.",
        "Error: there is no skill 'fill forms'. Similar: pdf.",
    ]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "complete"
