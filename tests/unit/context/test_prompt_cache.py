"""Where two requests first differ."""

from __future__ import annotations

from dataclasses import replace

from forge_core.context.prompt_cache import CacheBreak, Segment, SentRequest
from forge_core.llm.models import Message

ASK, ANSWER, MORE, END = (
    Message.user("a"),
    Message.assistant("b"),
    Message.user("c"),
    Message.assistant("d"),
)
SYSTEM = Segment("system prompt", "Help.", 100)
READ, BASH = Segment("read", "{}", 10), Segment("bash", "{}", 20)
FIRST = SentRequest("m", SYSTEM, (READ, BASH), [(ASK, 1), (ANSWER, 2), (MORE, 4)])
NEXT = replace(FIRST, history=[*FIRST.history, (END, 8)])


def test_a_request_that_only_continues_breaks_nothing() -> None:
    assert NEXT.since(FIRST) is None and FIRST.since(FIRST) is None
    assert FIRST.since(NEXT) is None  # a message less, as after a rewind


def test_a_changed_system_prompt_is_named_and_all_of_the_earlier_request_is_sent_again() -> None:
    changed = replace(NEXT, system=replace(SYSTEM, text="Help!"))
    assert changed.since(FIRST, "/mode") == CacheBreak("system prompt", 137, 145, "/mode")


def test_changed_tools_are_named() -> None:
    tools = (Segment("read", "{1}", 10), Segment("grep", "{}", 30))
    found = replace(NEXT, tools=tools).since(FIRST)
    assert found == CacheBreak("tools: grep added, bash removed, read changed", 47, 155)
    reordered = replace(FIRST, tools=(BASH, READ)).since(FIRST)
    assert reordered is not None and reordered.segment == "tools: another order"


def test_the_messages_behind_a_changed_one_are_sent_again() -> None:
    short = Message.assistant("")
    found = replace(FIRST, history=[(ASK, 1), (short, 1), (MORE, 4)]).since(FIRST)
    assert found == CacheBreak("message 2", 4, 136)


def test_a_summary_is_named_and_is_not_itself_sent_again() -> None:
    summary = Message.user("s", compaction=True)
    found = replace(FIRST, history=[(summary, 50), (MORE, 4)]).since(FIRST)
    assert found == CacheBreak("message 1 (a summary)", 4, 184)


def test_another_conversation_sends_nothing_again_behind_the_tools() -> None:
    assert replace(FIRST, history=[(END, 9)]).since(FIRST) is None


def test_another_model_has_nothing_in_its_cache() -> None:
    assert replace(NEXT, model="n").since(FIRST) == CacheBreak("model", 137, 145)


def test_figures_are_scaled_to_the_count_of_the_provider() -> None:
    assert CacheBreak("x", 50, 200).scaled(1_000) == CacheBreak("x", 250, 1_000)
    assert CacheBreak("x", 0, 0).scaled(10) == CacheBreak("x", 0, 0)
