"""Searches in a thread: which queries are answered, and when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.workspace.file_index import FileIndex, Match, Preferred
from forge_core.workspace.path_search import PathSearch

WAIT_S = 10.0
_NONE = Preferred()


class _HeldIndex(FileIndex):
    """An index whose searches wait until they are let go, or are to stop."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.begun: list[str] = []
        self.has_begun = threading.Semaphore(0)
        self.may_end = threading.Event()

    def search(
        self,
        query: str,
        *,
        limit: int = 50,
        preferred: Preferred = _NONE,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Match]:
        self.begun.append(query)
        self.has_begun.release()
        while not stop() and not self.may_end.wait(0.001):
            pass
        return [Match(query, ())]


@pytest.fixture
def index(tmp_path: Path) -> _HeldIndex:
    return _HeldIndex(tmp_path)


def test_the_newest_query_wins_and_older_ones_are_never_answered(index: _HeldIndex) -> None:
    answers: list[str] = []
    search = PathSearch(index, lambda: answers.append(search.answer.query if search.answer else ""))
    search.ask("a", Preferred())
    assert index.has_begun.acquire(timeout=WAIT_S)
    search.ask("ab", Preferred())
    assert index.has_begun.acquire(timeout=WAIT_S)  # the first one has been stopped
    for query in ("abc", "abcd"):
        search.ask(query, Preferred())
    assert not search.wait(0)
    index.may_end.set()
    assert search.wait(WAIT_S)
    assert search.answer is not None and search.answer.query == "abcd"
    assert set(answers) <= {"abcd"}


def test_a_changed_index_is_searched_again_also_during_a_search(index: _HeldIndex) -> None:
    search = PathSearch(index, lambda: None)
    search.ask_again()
    assert search.wait(0)  # nothing has been asked
    search.ask("a", Preferred())
    assert index.has_begun.acquire(timeout=WAIT_S)
    search.ask_again()
    assert index.has_begun.acquire(timeout=WAIT_S)
    index.may_end.set()
    assert search.wait(WAIT_S)
    search.ask_again()
    assert search.wait(WAIT_S)
    assert index.begun == ["a", "a", "a"]


def test_a_closed_search_stops_and_answers_nothing(index: _HeldIndex) -> None:
    answers: list[None] = []
    search = PathSearch(index, lambda: answers.append(None))
    search.ask("a", Preferred())
    assert index.has_begun.acquire(timeout=WAIT_S)
    thread = next(one for one in threading.enumerate() if one.name == "forge-path-search")
    search.close()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert answers == [] and search.answer is None
