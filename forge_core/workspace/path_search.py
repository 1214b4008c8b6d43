"""Searches of an index in a thread: the event loop waits for none, and only the newest query is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forge_core.workspace.file_index import FileIndex, Match, Preferred


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """The answer to a query."""

    query: str
    matches: Sequence[Match] = ()
    """The best first."""


class PathSearch:
    """Answers one query at a time. A newer one ends the search of an older one, which is never answered."""

    def __init__(self, index: FileIndex, on_answer: Callable[[], None]) -> None:
        """`on_answer` is called in another thread when `answer` has changed."""
        self.answer: FoundPaths | None = None
        """The last answer, which may be for an older query."""
        self._index = index
        self._on_answer = on_answer
        self._changed = threading.Condition()
        self._wanted: tuple[str, Preferred] | None = None
        """The query that is not answered yet."""
        self._last: tuple[str, Preferred] | None = None
        self._is_running = False

    def ask(self, query: str, preferred: Preferred) -> None:
        """Search for `query` next."""
        with self._changed:
            self._last = (query, preferred)
            self._wanted = (query, preferred)  # another object: a search is outdated if it is not the same
            if not self._is_running:
                self._is_running = True
                # A daemon: leaving the program must not wait for it. It ends when all is answered.
                threading.Thread(target=self._run, name="forge-path-search", daemon=True).start()

    def ask_again(self) -> None:
        """Search for the last query once more: the index has changed. Any thread may call it."""
        with self._changed:
            if self._last is not None:  # also while it is being searched for, in what the index was
                self.ask(*self._last)

    def wait(self, timeout_s: float) -> bool:
        """Wait until the newest query is answered; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._wanted is None, timeout_s)

    def close(self) -> None:
        """Answer no more."""
        with self._changed:
            self._wanted = self._last = None
            self._changed.notify_all()

    def _run(self) -> None:
        while (wanted := self._next()) is not None:
            query, preferred = wanted
            found = self._index.search(query, preferred=preferred, stop=lambda: self._is_outdated(wanted))
            with self._changed:
                if self._wanted is not wanted:
                    continue
                self.answer, self._wanted = FoundPaths(query, found), None
                self._changed.notify_all()
            self._on_answer()

    def _next(self) -> tuple[str, Preferred] | None:
        with self._changed:
            self._is_running = self._wanted is not None
            return self._wanted

    def _is_outdated(self, wanted: object) -> bool:
        time.sleep(0)  # a thread that handles a key takes the interpreter here, and not after 5 ms
        return self._wanted is not wanted
