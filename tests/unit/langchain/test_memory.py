"""Conversation memory: limits, validity, conversion. The agreed scenarios' titles are in the docstrings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import process_time

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from forge_core.errors import ConfigError
from forge_core.images.image_reference import UNKNOWN_TOKENS
from forge_core.langchain.memory import ConversationMemory, SlidingWindowMemory
from forge_core.langchain.memory.conversation import CANCELLED
from forge_core.llm.models import Message, MessageRole
from tests.unit.langchain.histories import assert_strictly_valid, call, conversation


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


class ListStore(BaseChatMessageHistory):
    """The smallest of LangChain's stores."""

    def __init__(self) -> None:
        self.messages: list[BaseMessage] = []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.messages.extend(messages)

    def clear(self) -> None:
        self.messages = []


def words(text: str) -> int:
    return len(text.split())


class TestConversation:
    def test_messages_come_back_in_order(self) -> None:
        """Scenario: Add messages to memory."""
        memory = ConversationMemory()
        memory.add_message(Message.user("Hello"))
        memory.add_message(Message.assistant("Hi there!"))
        assert texts(memory.get_messages()) == ["Hello", "Hi there!"]

    def test_the_system_message_comes_first(self) -> None:
        """Scenario: Set system message."""
        memory = ConversationMemory()
        memory.add_message(Message.user("Hello"))
        memory.set_system_message(Message.system("Be helpful"))
        memory.add_message(Message.assistant("Hi"))
        assert texts(memory.get_messages()) == ["Be helpful", "Hello", "Hi"]

    def test_an_added_system_message_is_not_stored_in_the_history(self) -> None:
        """Scenario: System message not duplicated in history."""
        memory = ConversationMemory(max_messages=5)
        memory.add_message(Message.system("Be helpful"))
        assert memory.system_message is not None
        assert memory.system_message.text == "Be helpful"
        assert memory.messages == []
        memory.add_message(Message.system("Be brief"))
        assert texts(memory.get_messages()) == ["Be brief"]

    def test_only_the_last_messages_are_kept(self) -> None:
        """Scenario: Enforce max messages limit."""
        memory = ConversationMemory(max_messages=3)
        for number in range(5):
            memory.add_message(Message.user(str(number)))
        assert texts(memory.get_messages()) == ["2", "3", "4"]

    def test_an_alternating_conversation_keeps_exactly_the_limit(self) -> None:
        memory = ConversationMemory(max_messages=3)
        for number in range(3):
            memory.add_messages([Message.user(f"u{number}"), Message.assistant(f"a{number}")])
        assert texts(memory.get_messages()) == ["a1", "u2", "a2"]

    def test_trimming_drops_the_oldest_messages_until_the_budget_is_met(self) -> None:
        """Scenario: Trim by token count."""
        memory = ConversationMemory(token_counter=words)
        memory.set_system_message(Message.system("word " * 10))
        for number in range(10):
            memory.add_message(Message.user(f"{number} " + "word " * 98))
        assert memory.token_count() == 1000
        memory.trim(max_tokens=500)
        assert memory.token_count() <= 500
        assert [text.split()[0] for text in texts(memory.get_history())] == ["6", "7", "8", "9"]
        assert memory.system_message is not None

    def test_of_a_history_beyond_any_window_only_the_newest_part_is_counted(self) -> None:
        counted: list[int] = []

        def count(text: str) -> int:
            counted.append(len(text))
            return len(text) // 4

        memory = ConversationMemory(token_counter=count)
        for _ in range(100):
            memory.add_messages([Message.user("word " * 10_000), Message.assistant("word " * 10_000)])
        assert abs(memory.token_count() - 2_500_000) < 100
        assert sum(counted) <= 4_100_000
        memory.trim(max_tokens=500_000)
        assert 480_000 < memory.token_count() <= 500_000
        assert sum(tokens for _, tokens in memory.counted_history()) == memory.token_count()

    def test_mixed_messages_become_langchain_messages(self) -> None:
        """Scenario: Convert to LangChain messages."""
        memory = ConversationMemory()
        memory.set_system_message(Message.system("s"))
        memory.add_messages([Message.user("u"), Message.assistant("a", [call("c1")])])
        memory.add_message(Message.tool_result("c1", "r"))
        converted = memory.to_langchain_messages()
        assert [type(message) for message in converted] == [
            SystemMessage,
            HumanMessage,
            AIMessage,
            ToolMessage,
        ]
        assert isinstance(converted[2], AIMessage)
        assert converted[2].tool_calls[0]["args"] == {"file_path": "a.py"}

    def test_clearing_the_history_keeps_the_system_message(self) -> None:
        """Scenario: Clear conversation history."""
        memory = ConversationMemory(system_message=Message.system("s"))
        memory.add_messages([Message.user(str(number)) for number in range(10)])
        memory.clear_history()
        assert memory.get_history() == []
        assert memory.system_message == Message.system("s")

    def test_a_full_clear_drops_everything(self) -> None:
        """Scenario: Full clear."""
        memory = ConversationMemory(system_message=Message.system("s"))
        memory.add_message(Message.user("u"))
        memory.clear()
        assert memory.get_messages() == []
        assert memory.system_message is None

    def test_a_system_message_with_another_role_is_rejected(self) -> None:
        with pytest.raises(ValueError, match="'user'"):
            ConversationMemory().set_system_message(Message.user("x"))

    def test_add_message_rejects_a_langchain_message(self) -> None:
        with pytest.raises(TypeError, match="add_langchain_message"):
            ConversationMemory().add_message(HumanMessage("x"))

    @pytest.mark.parametrize("limits", [{"max_messages": 0}, {"max_tokens": -1}])
    def test_a_limit_below_one_is_refused(self, limits: dict[str, int]) -> None:
        with pytest.raises(ConfigError, match="give 1 or more"):
            ConversationMemory(**limits)

    def test_an_empty_memory_is_truthy(self) -> None:
        assert ConversationMemory()

    def test_returned_lists_are_copies(self) -> None:
        memory = ConversationMemory()
        memory.add_message(Message.user("u"))
        memory.get_messages().clear()
        memory.messages.clear()
        assert len(memory) == 1


class TestWindowing:
    def test_the_last_user_message_is_never_dropped(self) -> None:
        memory = ConversationMemory(max_messages=4)
        memory.add_message(Message.user("the task"))
        for number in range(20):
            memory.add_message(Message.assistant("", [call(f"c{number}")]))
            memory.add_message(Message.tool_result(f"c{number}", "r"))
        assert texts(memory.get_history())[0] == "the task"
        assert len(memory) == 3  # a whole round and the question: two rounds would be five
        assert_strictly_valid(memory.get_messages())

    def test_a_call_is_never_parted_from_its_results(self) -> None:
        memory = ConversationMemory(max_messages=2)
        memory.add_message(Message.user("q"))
        memory.add_message(Message.assistant("", [call("a"), call("b"), call("c")]))
        for call_id in "abc":
            memory.add_message(Message.tool_result(call_id, "r"))
        assert len(memory) == 5
        memory.add_message(Message.assistant("done"))
        assert texts(memory.get_history()) == ["q", "done"]

    def test_a_huge_result_the_model_has_not_seen_is_kept(self) -> None:
        memory = ConversationMemory(max_tokens=50, token_counter=words)
        memory.add_messages([Message.user("old"), Message.assistant("old answer"), Message.user("q")])
        memory.add_message(Message.assistant("", [call("a")]))
        memory.add_message(Message.tool_result("a", "word " * 500))
        assert [message.role.value for message in memory.get_history()] == ["user", "assistant", "tool"]

    def test_trimming_may_drop_the_newest_round_but_not_the_question(self) -> None:
        memory = ConversationMemory(token_counter=words)
        memory.add_messages([Message.user("q"), Message.assistant("", [call("a")])])
        memory.add_message(Message.tool_result("a", "word " * 500))
        memory.trim(100)
        assert texts(memory.get_history()) == ["q"]

    def test_a_system_message_over_the_budget_stays(self) -> None:
        memory = ConversationMemory(token_counter=words, system_message=Message.system("word " * 100))
        memory.add_messages([Message.user("one"), Message.user("two")])
        memory.trim(10)
        assert texts(memory.get_history()) == ["two"]
        assert memory.system_message is not None

    def test_max_tokens_is_enforced_on_every_add(self) -> None:
        memory = ConversationMemory(
            max_tokens=100, token_counter=words, system_message=Message.system("word " * 20)
        )
        for number in range(50):
            memory.add_message(Message.user(f"{number} " + "word " * 9))
            assert memory.token_count() <= 100
        assert len(memory) == 8

    def test_a_longer_system_message_is_counted_from_the_next_add(self) -> None:
        memory = ConversationMemory(max_tokens=100, token_counter=words)
        memory.add_messages([Message.user("word " * 10) for _ in range(10)])
        memory.set_system_message(Message.system("word " * 50))
        memory.add_message(Message.user("word " * 10))
        assert len(memory) == 5

    def test_a_result_whose_call_was_dropped_is_not_added(self) -> None:
        memory = ConversationMemory(max_messages=2)
        memory.add_messages([Message.user("q"), Message.assistant("", [call("old")])])
        memory.add_messages([Message.assistant("", [call("new")]), Message.user("never mind")])
        memory.add_messages([Message.user("x"), Message.user("y")])
        memory.add_message(Message.tool_result("old", "late"))
        memory.add_message(Message.tool_result("new", "r"))
        assert_strictly_valid(memory.get_messages())
        assert "late" not in texts(memory.get_messages())

    def test_a_result_is_placed_after_its_call_despite_messages_in_between(self) -> None:
        memory = ConversationMemory()
        memory.add_messages(
            [Message.user("q"), Message.assistant("", [call("a")]), Message.user("by the way")]
        )
        memory.add_message(Message.tool_result("a", "r"))
        assert texts(memory.get_history()) == ["q", "", "r", "by the way"]

    def test_two_calls_of_the_same_id_keep_both_results(self) -> None:
        memory = ConversationMemory(max_messages=4)
        memory.add_messages([Message.user("q"), Message.assistant("", [call("same"), call("same")])])
        memory.add_messages([Message.tool_result("same", "1"), Message.tool_result("same", "2")])
        memory.add_message(Message.assistant("done"))
        assert_strictly_valid(memory.get_messages())
        assert texts(memory.get_history()) == ["q", "done"]

    @pytest.mark.parametrize("seed", range(60))
    def test_any_window_over_a_random_history_is_strictly_valid(self, seed: int) -> None:
        rng = random.Random(seed)
        memory = ConversationMemory(
            max_messages=rng.choice([None, 1, 2, 3, 5, 9]),
            max_tokens=rng.choice([None, 1, 40, 200, 500]),
            token_counter=words,
            system_message=Message.system("be brief"),
        )
        last_user = ""
        for message in conversation(seed):
            memory.add_message(message)
            if message.role is MessageRole.USER:
                last_user = message.text
            assert_strictly_valid(memory.get_messages(), may_be_open=True)
            assert last_user in texts(memory.get_history())
            assert memory.token_count() == sum(map(memory.count_tokens, memory.get_messages()))
            assert len(memory) == len(memory.get_history())
        memory.repair()
        memory.trim(rng.randrange(1, 300))
        assert_strictly_valid(memory.get_messages())
        assert last_user in texts(memory.get_history())

    @pytest.mark.parametrize("seed", range(40))
    def test_any_truncated_history_is_valid_after_repair(self, seed: int) -> None:
        rng = random.Random(seed)
        messages = conversation(seed)
        memory = ConversationMemory(max_messages=rng.choice([None, 4, 12]))
        memory.add_message(messages[0])
        for message in messages[1 : rng.randrange(1, len(messages))]:
            if rng.random() < 0.9:  # some never arrive
                memory.add_message(message)
        memory.repair()
        assert_strictly_valid(memory.get_messages())


class TestRepair:
    def test_an_unanswered_call_is_answered_as_cancelled(self) -> None:
        memory = ConversationMemory()
        memory.add_messages([Message.user("q"), Message.assistant("", [call("a"), call("b")])])
        memory.add_message(Message.tool_result("a", "r"))
        memory.add_message(Message.user("next"))
        assert memory.repair() == 1
        result = memory.get_history()[3]
        assert (result.tool_call_id, result.text, result.extra["status"]) == ("b", CANCELLED, "error")
        assert memory.repair() == 0
        assert_strictly_valid(memory.get_messages())

    def test_an_unanswered_call_with_a_duplicate_id_is_answered_by_repair(self) -> None:
        memory = ConversationMemory()
        memory.add_messages([Message.user("q"), Message.assistant("", [call("a"), call("a")])])
        memory.add_message(Message.tool_result("a", "r"))
        memory.add_messages([Message.assistant("", [call("a")]), Message.tool_result("a", "r2")])
        assert memory.repair() == 1
        assert texts(memory.get_history()) == ["q", "", "r", CANCELLED, "", "r2"]
        assert_strictly_valid(memory.get_messages())

    def test_results_without_a_call_are_dropped(self) -> None:
        memory = ConversationMemory()
        memory.add_messages([Message.tool_result("ghost", "boo"), Message.user("q")])
        assert memory.repair() == 1
        assert texts(memory.get_history()) == ["q"]


class TestCounting:
    def test_each_message_is_counted_once(self) -> None:
        counted: list[str] = []

        def counter(text: str) -> int:
            counted.append(text)
            return 10

        memory = ConversationMemory(max_tokens=100, token_counter=counter)
        memory.set_system_message(Message.system("s"))
        for number in range(30):
            memory.add_message(Message.user(str(number)))
        memory.trim(50)
        assert sorted(counted) == sorted(["s", *map(str, range(30))])

    def test_nothing_is_counted_without_a_budget(self) -> None:
        def counter(text: str) -> int:
            raise AssertionError("counted")

        memory = ConversationMemory(max_messages=2, token_counter=counter)
        memory.add_messages([Message.user(str(number)) for number in range(10)])
        assert len(memory) == 2

    def test_tool_calls_and_images_are_counted(self) -> None:
        memory = ConversationMemory(token_counter=words)
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        assert (
            memory.count_tokens(Message.user([{"type": "text", "text": "a b"}, picture]))
            == 2 + UNKNOWN_TOKENS
        )
        assert memory.count_tokens(Message.assistant(None, [call("a", "read")])) == 3


class TestConversion:
    def test_a_conversation_survives_the_round_trip(self) -> None:
        source = ConversationMemory(system_message=Message.system("s"))
        source.add_messages(conversation(3))
        target = ConversationMemory()
        target.from_langchain_messages(source.to_langchain_messages())
        assert texts(target.get_messages()) == texts(source.get_messages())
        assert_strictly_valid(target.get_messages())

    def test_loading_replaces_the_history_and_keeps_the_system_message(self) -> None:
        memory = ConversationMemory(system_message=Message.system("s"))
        memory.add_message(Message.user("old"))
        memory.from_langchain_messages([HumanMessage("new"), AIMessage("answer")])
        assert texts(memory.get_messages()) == ["s", "new", "answer"]

    def test_loading_invalid_data_changes_nothing(self) -> None:
        memory = ConversationMemory()
        memory.add_message(Message.user("old"))
        with pytest.raises(ValueError):
            memory.from_langchain_messages([HumanMessage("new"), ChatMessage(role="x", content="y")])
        assert texts(memory.get_messages()) == ["old"]

    def test_a_langchain_message_can_be_added(self) -> None:
        memory = ConversationMemory()
        memory.add_langchain_message(HumanMessage("hi"))
        assert memory.get_history()[0].role is MessageRole.USER

    def test_each_message_is_converted_once(self) -> None:
        memory = ConversationMemory()
        memory.add_messages([Message.user("u"), Message.assistant("a")])
        first, second = memory.to_langchain_messages(), memory.to_langchain_messages()
        assert first is not second
        assert all(one is other for one, other in zip(first, second, strict=True))


class TestBackend:
    def test_added_messages_are_stored_and_reloaded(self) -> None:
        store = ListStore()
        memory = ConversationMemory(backend=store, max_messages=2, system_message=Message.system("s"))
        memory.add_messages([Message.user("1"), Message.assistant("2"), Message.user("3")])
        memory.add_message(Message.assistant("4"))
        assert [message.content for message in store.messages] == ["1", "2", "3", "4"]
        again = ConversationMemory(backend=store)
        assert texts(again.get_messages()) == ["1", "2", "3", "4"]
        assert len(store.messages) == 4

    def test_clearing_clears_the_store(self) -> None:
        store = ListStore()
        memory = ConversationMemory(backend=store)
        memory.add_message(Message.user("1"))
        memory.clear_history()
        assert store.messages == []

    def test_a_repair_is_stored_and_placed_after_its_call_when_loaded(self) -> None:
        store = ListStore()
        memory = ConversationMemory(backend=store)
        memory.add_messages([Message.user("q"), Message.assistant("", [call("a")]), Message.user("next")])
        memory.repair()
        assert_strictly_valid(ConversationMemory(backend=store).get_messages())


class TestSlidingWindow:
    def test_only_the_last_exchanges_are_kept(self) -> None:
        """Scenario: Keep only recent exchanges."""
        memory = SlidingWindowMemory(window_size=2)
        for number in range(10):
            memory.add_message(Message.user(f"u{number}"))
            memory.add_message(Message.assistant(f"a{number}"))
            assert len(memory) == min(4, 2 * (number + 1))
        assert texts(memory.get_history()) == ["u8", "a8", "u9", "a9"]

    def test_the_system_message_always_remains(self) -> None:
        """Scenario: System message preserved in window."""
        memory = SlidingWindowMemory(window_size=1, system_message=Message.system("s"))
        for number in range(5):
            memory.add_messages([Message.user(f"u{number}"), Message.assistant(f"a{number}")])
        assert texts(memory.get_messages()) == ["s", "u4", "a4"]

    @pytest.mark.parametrize("seed", range(20))
    def test_exchanges_with_tools_are_never_split(self, seed: int) -> None:
        messages = conversation(seed)
        memory = SlidingWindowMemory(window_size=3)
        memory.add_messages(messages)
        starts = [index for index, message in enumerate(messages) if message.role is MessageRole.USER]
        assert memory.get_history() == messages[starts[-3] :]

    def test_a_greeting_is_dropped_with_the_first_exchange(self) -> None:
        memory = SlidingWindowMemory(window_size=1)
        memory.add_messages([Message.assistant("welcome"), Message.user("u0"), Message.assistant("a0")])
        assert len(memory) == 3
        memory.add_message(Message.user("u1"))
        assert texts(memory.get_history()) == ["u1"]

    def test_max_messages_is_enforced_with_the_sliding_window(self) -> None:
        memory = SlidingWindowMemory(window_size=3, max_messages=2)
        for number in range(5):
            memory.add_messages([Message.user(f"u{number}"), Message.assistant(f"a{number}")])
        assert texts(memory.get_history()) == ["u4", "a4"]

    def test_a_window_size_of_zero_is_rejected(self) -> None:
        with pytest.raises(ConfigError, match="window_size is 0"):
            SlidingWindowMemory(window_size=0)


class TestCost:
    def test_the_cost_of_adding_is_independent_of_history_length(self) -> None:
        """The pricey way (a recount, a list that loses its head) grows a hundredfold from 100 to 10,000."""

        def seconds(kept: int) -> float:
            memory = ConversationMemory(max_messages=kept, max_tokens=10**9, token_counter=len)
            memory.add_messages([Message.user("x") for _ in range(kept)])
            more = [Message.user("y") for _ in range(2000)]
            started = process_time()
            for message in more:
                memory.add_message(message)
            return process_time() - started

        small, large = min(seconds(100) for _ in range(5)), min(seconds(10_000) for _ in range(5))
        assert large < 30 * small
