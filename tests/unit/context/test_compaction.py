"""Compaction: what is left out, what must stay, and what happens when the model fails."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.context.compaction import (
    Budget,
    SummaryRequest,
    compact,
    elide,
    fitted_facts,
    split,
    threshold,
)
from forge_core.context.elision import KEPT_CHARS, elided
from forge_core.context.instructions import Instructions
from forge_core.context.output_style import DEFAULT, EXPLAINING
from forge_core.context.pinned_facts import (
    FactKind,
    PinnedFacts,
    conversation_facts,
    is_summary,
    labels,
    summary_message,
)
from forge_core.errors import AuthenticationError, ContextLengthError, ForgeError, ProviderTimeoutError
from forge_core.llm.models import Message, MessageRole
from forge_core.llm.tokens import estimate_tokens
from forge_core.tools import ExecutionContext, ToolExecutor, WriteTool
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from forge_core.tools.output import elision_note, has_elision_note
from tests.unit.langchain.histories import assert_strictly_valid, call, conversation

LONG = "x = 1\n" * 400
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def count(message: Message) -> int:
    tokens = estimate_tokens(message.text) + sum(
        estimate_tokens(one.arguments) for one in message.tool_calls or ()
    )
    if isinstance(message.content, list):
        tokens += 1000 * sum(part["type"] != "text" for part in message.content)
    return tokens


class Writer:
    """A summariser that answers from a script, the last answer again; `requests` holds what it was given."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = answers
        self.requests: list[SummaryRequest] = []

    async def __call__(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def facts_of(history: Sequence[Message], **more: object) -> PinnedFacts:
    goal, requests, last = conversation_facts(history)
    return replace(PinnedFacts(goal, requests, last), **more)  # type: ignore[arg-type]


def long_turns(count_: int = 6, result: str = LONG) -> list[Message]:
    history = []
    for turn in range(count_):
        history += [
            Message.user(f"question {turn}: " + "why " * 20),
            Message.assistant("let me look", [call(f"c{turn}")], reasoning="I think " * 50),
            Message.tool_result(f"c{turn}", result),
            Message.assistant(f"answer {turn}: " + "because " * 20),
        ]
    return history


def words(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages)


# Without a model


def test_old_output_is_left_out_and_the_newest_kept() -> None:
    history = long_turns()
    short = elide(history, PinnedFacts(), Budget(10_000, count, kept=2_500))
    assert short is not None
    assert short.method == "elided"
    assert words(short.messages).count(LONG) < 3
    assert short.messages[-2].text == LONG
    assert "It was the result of: read_file a.py" in short.messages[2].text
    assert "reasoning" not in short.messages[1].extra
    assert short.messages[1].text == "let me look"
    assert_strictly_valid(short.messages)


def test_what_is_short_is_not_copied() -> None:
    history = long_turns(2, result="ok")
    history[1].extra.clear()
    assert elided(history)[0] is history[0]
    assert elided(history)[1] is history[1]
    assert elided(history)[2] is history[2]


def test_long_arguments_keep_their_names_and_stay_json() -> None:
    arguments = '{"file_path": "a.py", "content": "' + "y" * (KEPT_CHARS + 1) + '"}'
    message = Message.assistant("", [call("c0", "write")])
    message.tool_calls[0].function["arguments"] = arguments  # type: ignore[index]
    [short] = elided([message])
    assert short.tool_calls is not None
    assert short.tool_calls[0].arguments == (
        '{"file_path": "a.py", "content": "' + elision_note(KEPT_CHARS + 1) + '"}'
    )
    message.tool_calls[0].function["arguments"] = '{"torn": "' + "z" * 1000  # type: ignore[index]
    [short] = elided([message])
    assert short.tool_calls is not None
    assert has_elision_note(short.tool_calls[0].arguments)


def test_pictures_become_a_note() -> None:
    shown = Message.user([{"type": "text", "text": "look"}, PICTURE])
    result = Message.tool_result("c", [PICTURE])
    first, second = elided([shown, result])
    assert first.text == "look[a picture or file was left out to save context]"
    assert isinstance(second.content, str)


def test_nothing_to_leave_out_is_none() -> None:
    assert elide(long_turns(3, result="ok")[:1], PinnedFacts(), Budget(1000, count)) is None


# With a model


async def test_the_older_messages_become_a_summary() -> None:
    history = long_turns(result="ok " * 100)
    writer = Writer("They asked five questions.")
    result = await compact(history, facts_of(history), Budget(1500, count), writer, may_elide=False)
    assert result is not None
    assert result.method == "summarised"
    assert is_summary(result.messages[0])
    assert "They asked five questions." in result.messages[0].text
    assert result.messages[-1] is history[-1]
    assert history[-4] in result.messages
    assert writer.requests[0].messages[0] is history[0]
    assert_strictly_valid(result.messages)


async def test_no_model_is_asked_where_leaving_out_output_is_enough() -> None:
    writer = Writer(ForgeError("not to be asked"))
    history = long_turns()
    result = await compact(history, facts_of(history), Budget(8000, count, kept=900), writer)
    assert result is not None
    assert result.method == "elided"
    assert writer.requests == []


async def test_the_focus_and_the_earlier_summary_reach_the_model() -> None:
    history = long_turns(result="ok " * 100)
    writer = Writer("first", "second")
    budget = Budget(1500, count)
    once = await compact(history, facts_of(history), budget, writer, may_elide=False)
    assert once is not None
    more = [*once.messages, *long_turns(result="ok " * 100)]
    await compact(more, facts_of(more), budget, writer, focus="the tests", may_elide=False)
    request = writer.requests[1]
    assert (request.previous, request.focus) == ("first", "the tests")
    assert not any(is_summary(message) for message in request.messages)


async def test_a_rule_that_the_summary_drops_is_put_back() -> None:
    """A scripted summariser that forgets everything: the check must catch it."""
    history = [
        Message.user("Make the parser faster. Never touch the tests."),
        *long_turns(result="ok " * 130),
    ]
    facts = facts_of(
        history,
        plan="# Faster\n\n1. Measure\n2. Cache",
        todos=(
            TodoItem("Measure the lexer"),
            TodoItem("Read the code", TodoStatus.COMPLETED),
            TodoItem("Write the cache", TodoStatus.IN_PROGRESS),
        ),
        files={"/w/parser.py": "ab12" * 16},
        instructions=(Instructions("AGENTS.md", "Use tabs."),),
        skills=("[Forge adds the skill pdf]",),
        tools={"mcp__git__log": "mcp__git__log: Show commits."},
        style=EXPLAINING.reminder,
        system_text="You are Forge. Use tabs.",
    )
    result = await compact(
        history, facts, Budget(1500, count), Writer("Some work was done."), may_elide=False
    )
    assert result is not None
    text = result.messages[0].text
    assert EXPLAINING.reminder in text and not DEFAULT.reminder
    assert "Make the parser faster. Never touch the tests." in text
    assert "# Faster\n\n1. Measure\n2. Cache" in text
    assert "Measure the lexer" in text
    assert "Write the cache" in text
    assert "Read the code" not in text
    assert "/w/parser.py ab12ab12ab12" in text
    assert "Skills that are loaded:\n[Forge adds the skill pdf]" in text
    assert '<tool-output mark="' in text and "mcp__git__log: Show commits." in text
    assert "Use tabs." not in text, "the system message holds it"
    assert {fact.kind for fact in result.added} >= {FactKind.GOAL, FactKind.TODO, FactKind.FILE}
    assert {fact.kind for fact in result.pinned} == set(FactKind)


async def test_instructions_that_the_system_message_lacks_are_put_back() -> None:
    history = long_turns(result="ok " * 100)
    facts = facts_of(history, instructions=(Instructions("AGENTS.md", "Use tabs."),), system_text="Forge.")
    result = await compact(history, facts, Budget(1500, count), Writer("done"), may_elide=False)
    assert result is not None
    assert "Use tabs." in result.messages[0].text


async def test_facts_that_the_summary_holds_are_not_repeated() -> None:
    history = long_turns(result="ok " * 100)
    facts = facts_of(history, todos=(TodoItem("Write the cache"),))
    result = await compact(
        history, facts, Budget(1500, count), Writer("Next: Write the\n cache."), may_elide=False
    )
    assert result is not None
    assert FactKind.TODO not in {fact.kind for fact in result.added}


async def test_the_plan_survives_where_only_output_is_left_out() -> None:
    history = long_turns()
    facts = facts_of(history, todos=(TodoItem("Write the cache"),), files={"/w/a.py": "0" * 64})
    result = await compact(history, facts, Budget(8000, count, kept=900), Writer("unused"))
    assert result is not None
    assert result.method == "elided"
    assert not facts.missing(result.messages)
    again = await compact(
        [*result.messages, *long_turns()], facts, Budget(8000, count, kept=900), Writer("s")
    )
    assert again is not None
    assert words(again.messages).count("Write the cache") == 1


async def test_the_goal_survives_three_summaries() -> None:
    history = [Message.user("The password file is called ORCHID.txt"), *long_turns(result="ok " * 100)]
    budget = Budget(1500, count)
    for number in range(3):
        result = await compact(
            history, facts_of(history), budget, Writer(f"summary {number}"), may_elide=False
        )
        assert result is not None
        history = [*result.messages, *long_turns(result="ok " * 100)]
    assert "ORCHID.txt" in words(history)
    assert conversation_facts(history)[0] == "The password file is called ORCHID.txt"


async def test_the_last_message_stays_in_a_long_turn() -> None:
    history = [Message.user("do it all")]
    for step in range(30):
        history += [Message.assistant("", [call(f"c{step}")]), Message.tool_result(f"c{step}", "word " * 100)]
    result = await compact(history, facts_of(history), Budget(1200, count), Writer("steps"), may_elide=False)
    assert result is not None
    assert result.messages[1] is history[0]
    assert count(result.messages[0]) < 400
    assert_strictly_valid(result.messages)


# When the model fails


async def test_a_second_try_gives_the_model_less() -> None:
    history = long_turns(result="ok " * 100)
    writer = Writer(ContextLengthError("too long"), "short")
    result = await compact(history, facts_of(history), Budget(1500, count), writer, may_elide=False)
    assert result is not None
    assert result.summary == "short"
    assert writer.requests[1].entry_chars < writer.requests[0].entry_chars


@pytest.mark.parametrize(
    ("failure", "tries"),
    [(AuthenticationError("the key is wrong"), 1), (ProviderTimeoutError("no answer"), 2), ("", 2)],
)
async def test_without_a_summary_the_oldest_turns_are_removed(failure: str | Exception, tries: int) -> None:
    history = long_turns(10, result="ok " * 130)
    writer = Writer(failure)
    budget = Budget(1500, count)
    result = await compact(history, facts_of(history), budget, writer)
    assert result is not None
    assert result.method == "removed"
    assert len(writer.requests) == tries
    assert result.failure
    assert budget.fits(result.messages)
    assert "question 0" in words(result.messages), "the goal"
    assert history[-4] in result.messages
    assert_strictly_valid(result.messages)


async def test_a_failure_changes_nothing_where_the_history_fits() -> None:
    history = long_turns(result="ok " * 100)
    result = await compact(
        history, facts_of(history), Budget(9000, count, kept=300), Writer(AuthenticationError("no"))
    )
    assert result is not None
    assert (result.replaced, result.failure) == (0, "no")
    assert [one for one in result.messages if one.role is not MessageRole.USER] == [
        one for one in history if one.role is not MessageRole.USER
    ]


async def test_a_short_history_is_left_alone() -> None:
    writer = Writer("unused")
    for history in ([], long_turns(1, result="ok")):
        assert await compact(history, facts_of(history), Budget(1000, count), writer) is None
    assert writer.requests == []


async def test_a_huge_newest_result_is_left_out_too() -> None:
    history = [*long_turns(2), Message.user("now this"), Message.assistant("", [call("z")])]
    history.append(Message.tool_result("z", LONG * 8))
    budget = Budget(2000, count)
    result = await compact(history, facts_of(history), budget, Writer("summary"))
    assert result is not None
    assert budget.fits(result.messages)
    assert_strictly_valid(result.messages)


# For any history


def random_history(rng: random.Random) -> list[Message]:
    """Return a conversation with tools, images and reasoning; some of it was compacted before."""
    history = conversation(rng.randrange(10**9), turns=rng.randint(1, 25))
    for at, message in enumerate(history):
        if message.role is MessageRole.ASSISTANT and rng.random() < 0.5:
            message.extra["reasoning"] = "thought " * rng.randrange(300)
        if message.role is MessageRole.TOOL and rng.random() < 0.3:
            message.content = LONG * rng.randrange(1, 6)
        if message.role is not MessageRole.ASSISTANT and rng.random() < 0.1:
            message.content = [{"type": "text", "text": message.text or "see"}, PICTURE]
        if message.role is MessageRole.USER and at and rng.random() < 0.1:
            message.extra["within_turn"] = True
    return history


def random_facts(history: Sequence[Message], rng: random.Random) -> PinnedFacts:
    todos = tuple(TodoItem(f"step {n} of {rng.random()}") for n in range(rng.randrange(8)))
    files = {f"/w/{n}/{rng.random()}.py": f"{rng.getrandbits(256):064x}" for n in range(rng.randrange(12))}
    rules = (Instructions("AGENTS.md", f"rule {rng.random()}"),)
    system = "Forge. " + rules[0].text if rng.random() < 0.8 else "Forge."
    return facts_of(history, todos=todos, files=files, instructions=rules, system_text=system)


def random_writer(rng: random.Random) -> Writer:
    answers: list[Callable[[], str | Exception]] = [
        lambda: "summary " * rng.randrange(1, 3000),
        lambda: ContextLengthError("too long"),
        lambda: AuthenticationError("no key"),
        lambda: "",
    ]
    return Writer(*(rng.choice(answers)() for _ in range(2)))


@pytest.mark.property
@pytest.mark.parametrize("block", range(10 if os.environ.get("FORGE_FULL") else 1))
async def test_random_histories_stay_valid_and_keep_their_facts(block: int) -> None:
    """500 histories with FORGE_FULL, else 50."""
    for seed in range(block * 50, block * 50 + 50):
        rng = random.Random(seed)
        history = random_history(rng)
        limit = rng.choice([4_000, 6_000, 12_000, 40_000])
        for _ in range(3):
            facts, budget = random_facts(history, rng), Budget(limit, count, kept=rng.choice([500, 20_000]))
            may_elide = rng.random() < 0.5
            result = await compact(history, facts, budget, random_writer(rng), may_elide=may_elide)
            if result is None:
                assert budget.fits(history), seed
            else:
                assert_strictly_valid(result.messages)
                if result.replaced:
                    missing = facts.missing(result.messages)
                    assert {fact.kind for fact in missing} <= {FactKind.REQUEST}, (seed, labels(missing))
                    assert not fitted_facts(facts, budget).missing(result.messages), seed
                else:
                    assert result.messages == history
                assert budget.fits(result.messages), (seed, limit, budget.of(result.messages), result.method)
                history = result.messages
            history = [*history, *random_history(rng)]


def test_units_are_not_split() -> None:
    history = [Message.assistant("", [call("a"), call("b")])]
    history += [Message.tool_result("a", LONG), Message.tool_result("b", LONG)]
    old, kept = split([Message.user("q"), *history], Budget(100, count))
    assert (len(old), len(kept)) == (1, 3)


@pytest.mark.parametrize(
    ("window", "reserved", "expected"),
    [(200_000, 0, 170_000), (200_000, 64_000, 136_000), (32_000, 30_000, 16_000), (8_000, 1_000, 6_800)],
)
def test_the_threshold(window: int, reserved: int, expected: int) -> None:
    assert threshold(window, reserved) == expected


async def test_the_note_is_never_written_to_a_file(tmp_path: Path) -> None:
    """A model may copy it from a shortened call of its own."""
    path = tmp_path / "a.py"
    for content, is_written in ((f"x\n{elision_note(12_345)}\n", False), ("def elision_note(): ...\n", True)):
        arguments = {"file_path": str(path), "content": content}
        result = await ToolExecutor().execute(WriteTool(), arguments, ExecutionContext(tmp_path))
        assert result.success is is_written
        assert is_written or "Read the file again" in str(result.error)
        assert path.exists() is is_written


async def test_two_summaries_both_survive_when_messages_are_removed() -> None:
    """One of the beginning, and one of a later part (`compact_from`)."""
    first = summary_message("FIRST PART", PinnedFacts(), [])[0]
    second = summary_message("SECOND PART", PinnedFacts(), [])[0]
    history = [first, *long_turns(3), second, *long_turns(2)]
    budget = Budget(400, count)
    done = await compact(history, facts_of(history), budget, Writer(AuthenticationError("no")))
    assert done is not None and done.method == "removed"
    assert "FIRST PART" in words(done.messages) and "SECOND PART" in words(done.messages)
    assert budget.fits(done.messages)
    assert_strictly_valid(done.messages)
