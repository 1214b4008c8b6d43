"""Commands of files in a session: what the model is sent, what runs before, and what is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply
from forge_core.events import AgentEnd, AgentEvent, Notice, ToolEnd, ToolStart
from forge_core.extensions.custom_commands import CommandUse, CustomCommand
from forge_core.extensions.definitions import Definition
from forge_core.extensions.front_matter import parse_markdown_file
from forge_core.extensions.locations import ExtensionKind, ExtensionScope
from forge_core.permissions.rules.rule import Rule
from forge_core.session.session import ForgeSession
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.task import TaskTool
from tests.support.scripted_llm import Call, Piece, ScriptedLLM
from tests.support.sessions import Answering, scripted_session

PROJECT = ExtensionScope.PROJECT


class Turn:
    """One turn of a command in a folder, with the answers that the user gives."""

    def __init__(self, root: Path, *answers: Answer | ApprovalReply, **options: Any) -> None:
        self.approver = Answering(*(answers or (Answer.NO,)))
        replies: Sequence[Sequence[Piece]] = options.pop("replies", [["Done."]])
        self.session: ForgeSession = scripted_session(root, replies, approver=self.approver, **options)
        llm = self.session._agent.llm
        assert isinstance(llm, ScriptedLLM)
        self.llm = llm
        self.events: list[AgentEvent] = []

    async def run(self, text: str, arguments: str = "", scope: ExtensionScope = ExtensionScope.USER) -> str:
        """Send the command, and return what the model was sent, without the marks of frames."""
        file = parse_markdown_file(text.encode())
        one = CustomCommand.of(Definition(ExtensionKind.COMMAND, "x", scope, Path("x.md"), file, ""))
        try:
            events = self.session.send("/x …", command=CommandUse(one, arguments))
            self.events = [event async for event in events]
        finally:
            await self.session.aclose()
        seen = self.llm.seen[0][-1].content if self.llm.seen else ""
        return re.sub(r' mark="\w+"', "", str(seen))

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    @property
    def asked(self) -> list[str]:
        return [request.target for request in self.approver.asked]


def framed(output: str) -> str:
    return f'<tool-output tool="bash">\n{output}\n</tool-output>'


async def test_output_takes_the_place_of_a_command_and_a_failure_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("@b.txt !`id` $1\n")
    (tmp_path / "b.txt").write_text("never attached")
    turn = Turn(tmp_path, Answer.ONCE)

    sent = await turn.run("A: !`cat a.txt`\nB: !`cat $1`", "missing.txt")

    assert sent == (
        f"A: {framed('@b.txt !`id` $1')}\nB: "
        + framed("[exit 1: cat: missing.txt: No such file or directory]")
    )
    assert turn.asked == []
    cards = [(event.title, event.target) for event in turn.events if isinstance(event, ToolStart)]
    assert cards == [
        ("Run", "cat a.txt"),
        ("Run", "cat missing.txt"),
        ("Sent", "6 lines from your own command"),
    ]
    shown = [event.result for event in turn.events if isinstance(event, ToolEnd)][-1]
    assert re.sub(r' mark="\w+"', "", shown) == sent


async def test_what_the_file_and_the_arguments_mention_is_attached_under_the_policy(tmp_path: Path) -> None:
    for name in ("own.txt", "given.txt", ".env"):
        (tmp_path / name).write_text(f"content of {name}")
    turn = Turn(tmp_path, Answer.NO)

    sent = await turn.run("Read @own.txt and @.env.", "@given.txt")

    assert sent.startswith("Read @own.txt and @.env.\n\n@given.txt\n\n<forge-note>")
    assert "content of own.txt" in sent and "content of given.txt" in sent
    assert "content of .env" not in sent
    assert len(turn.approver.asked) == 1


async def test_several_commands_are_asked_for_as_one_list(tmp_path: Path) -> None:
    turn = Turn(tmp_path, Answer.ONCE)

    await turn.run("!`touch one` !`ls` !`touch two` !`echo hello`")

    assert turn.asked == ["touch one\ntouch two"]
    assert turn.approver.asked[0].action == "run 2 commands for /x"
    assert (tmp_path / "one").exists() and (tmp_path / "two").exists()


async def test_a_single_command_is_asked_for_like_any_call(tmp_path: Path) -> None:
    turn = Turn(tmp_path, Answer.ONCE)

    await turn.run("!`touch one`")

    assert turn.asked == ["touch one"]
    assert turn.approver.asked[0].session_rule


@pytest.mark.parametrize("body", ["!`touch one`", "!`touch one` !`touch two`"])
async def test_nothing_is_sent_if_the_user_refuses(body: str, tmp_path: Path) -> None:
    turn = Turn(tmp_path, ApprovalReply(Answer.NO, "not now"))

    assert await turn.run(body) == ""

    assert len(turn.asked) == 1
    assert turn.notices == ["Not sent: you denied the commands of /x (not now)."]
    end = turn.events[-1]
    assert isinstance(end, AgentEnd) and end.result.stopped_reason == "denied"
    assert not (tmp_path / "one").exists()
    assert turn.session._agent.memory.get_history()[-1].content == "/x …"


async def test_a_run_without_a_user_sends_why_a_command_did_not_run(tmp_path: Path) -> None:
    turn = Turn(tmp_path, ApprovalReply(Answer.NO, "no user is available", is_unattended=True))

    sent = await turn.run("A !`touch one` !`touch two`")

    assert sent.count("[not run: ") == 2
    assert not (tmp_path / "one").exists()


async def test_long_output_is_cut(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 19 + "\n")
    turn = Turn(tmp_path)

    sent = await turn.run("!`seq 1 100000`")

    assert 9_000 < len(sent) < 11_000
    assert "characters left out" in sent


async def test_own_commands_pre_approve_for_their_message_only(tmp_path: Path) -> None:
    replies: list[list[Piece]] = [[Call("bash", {"command": "touch two"})], ["Done."]]
    turn = Turn(tmp_path, Answer.NO, replies=replies, tools=[BashTool()])

    await turn.run("---\nallowed-tools: Bash(touch:*), Bash(a * b)\n---\n!`touch one`")

    assert turn.asked == []
    assert (tmp_path / "one").exists() and (tmp_path / "two").exists()
    assert turn.notices[0].startswith("/x grants less than it says: Rule 'Bash(a * b)'")
    assert str(Rule("bash", "touch:*")) not in str(turn.session.policy.rules())


async def test_what_an_agent_in_the_background_was_granted_does_not_count_in_the_next_turn(
    tmp_path: Path,
) -> None:
    replies = [[Call("bash", {"command": "touch one"})], ["Done."]]
    turn = Turn(tmp_path, replies=replies, tools=[BashTool()])
    turn.session.policy.allow_for_turn(Rule("bash", "touch:*"))  # by a skill of the user's own

    async for _ in turn.session.send("Do it."):
        pass
    await turn.session.aclose()

    assert turn.asked == ["touch one"]
    assert not (tmp_path / "one").exists()


async def test_commands_of_a_project_pre_approve_nothing(tmp_path: Path) -> None:
    turn = Turn(tmp_path, Answer.NO)

    await turn.run("---\nallowed-tools: Bash(touch:*)\n---\n!`touch one`", scope=PROJECT)

    assert turn.asked == ["touch one"]
    assert not (tmp_path / "one").exists()


async def test_an_argument_cannot_add_a_command(tmp_path: Path) -> None:
    hostile = "x; touch pwned $(touch pwned) `touch pwned` !`touch pwned` $1 @.env"
    (tmp_path / ".env").write_text("KEY=1")
    turn = Turn(tmp_path, Answer.ONCE)

    await turn.run("!`echo $ARGUMENTS` !`echo \"$1\" '$2'`", hostile)

    assert not (tmp_path / "pwned").exists()
    assert "$(touch pwned)" not in str(turn.asked)


async def test_an_argument_that_cannot_be_quoted_ends_the_turn_unsent(tmp_path: Path) -> None:
    turn = Turn(tmp_path, Answer.ONCE)

    assert await turn.run('!`echo "$(echo $1)"`', "'; touch pwned'") == ""

    assert turn.notices[0].startswith("Not sent: The argument '; touch pwned' cannot be quoted safely")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("name", "model", "notice"),
    [
        ("other/two", "other/two", ""),
        ("haiku", "scripted/model", "/x: No model is set for 'haiku'"),
        ("nobody/knows", "scripted/model", "/x: There is no model 'nobody/knows' at this endpoint"),
    ],
)
async def test_a_model_counts_for_the_turn_only(name: str, model: str, notice: str, tmp_path: Path) -> None:
    turn = Turn(tmp_path)

    await turn.run(f"---\nmodel: {name}\n---\nHello")

    end = turn.events[-1]
    assert isinstance(end, AgentEnd)
    assert end.result.output == ("Done." if model == "scripted/model" else f"from {model}")
    assert "".join(turn.notices).startswith(notice)
    assert turn.session.models.current == "scripted/model"


@pytest.mark.parametrize(("agent", "is_known"), [("explore", True), ("nobody", False)])
async def test_a_command_is_given_to_its_agent_if_there_is_one(
    agent: str, is_known: bool, tmp_path: Path
) -> None:
    turn = Turn(tmp_path, tools=[TaskTool()])

    sent = await turn.run(f"---\nagent: {agent}\n---\nLook around.")

    head = f"Give this to the agent {agent!r} with the tool task, word for word:\n\n"
    assert sent == f"{head if is_known else ''}Look around."
    warning = f"There is no agent {agent!r}, so /x runs without one."
    assert turn.notices == ([] if is_known else [warning])
