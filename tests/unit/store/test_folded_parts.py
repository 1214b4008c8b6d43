"""The folded parts of a message in the journal: recorded without keys, and read with care."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.redact import MASK, Redactor
from forge_core.store.folded_parts import recorded_spans, spans_of
from forge_core.store.journal import Journal
from forge_core.store.saved_session import load_session

KEY = "sk-test-0123456789"
REDACT = Redactor((KEY,))


def test_spans_are_those_of_the_redacted_text() -> None:
    text = f"see {KEY} in {KEY}\n{'x' * 20} and {'y' * 10}"
    first = (text.index(" in ") + 4, text.index(" and "))
    second = (text.index("yyy"), len(text))
    recorded = recorded_spans(text, [first, second], REDACT)
    redacted = REDACT(text)
    folded = [redacted[start:end] for start, end in recorded["folded"]]
    assert folded == [f"{MASK}\n{'x' * 20}", "y" * 10]


def test_a_key_across_an_end_leaves_nothing_folded() -> None:
    assert recorded_spans(f"see {KEY}", [(6, 4 + len(KEY))], REDACT) == {}
    assert recorded_spans("see", [], REDACT) == {}


@pytest.mark.parametrize(
    "folded", [None, "x", [[0]], [[0, 99]], [[-1, 2]], [[3, 2]], [[0, 3], [2, 4]], [["0", 1]], [[0, 1.5]]]
)
def test_spans_that_do_not_fit_are_ignored(folded: object) -> None:
    assert spans_of({"text": "abcdef", "folded": folded}) == ()


def test_a_journal_keeps_them_and_an_older_one_has_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one.jsonl", Redactor())
    journal.record("session", {"id": "one"})
    journal.record("user", {"text": "see abc", **recorded_spans("see abc", [(4, 7)], Redactor())})
    journal.record("user", {"text": "see abc"})
    journal.close()
    turns = load_session(tmp_path / "one.jsonl").turns
    assert [turn.folded for turn in turns] == [((4, 7),), ()]
