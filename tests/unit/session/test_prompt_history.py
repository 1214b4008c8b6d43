"""The file of sent prompts: what it keeps, for how long, and several processes that write it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.session import prompt_history
from forge_core.session.prompt_history import MAX_CHARACTERS, PromptHistory, SentPrompt

FOLDER = Path("/home/ada/src/engine")


def opened(state: Path, *secrets: str) -> PromptHistory:
    return PromptHistory(state, Redactor(secrets), clock=lambda: 7.5)


def test_texts_come_back_in_order_with_their_folder_and_time(tmp_path: Path) -> None:
    assert opened(tmp_path).read() == []
    for text in ("one", "two\nlines\ufdd0and a paste\ufdd1", "日本語 \udcff"):
        assert opened(tmp_path).add(text, FOLDER)
    found = opened(tmp_path).read()
    assert [one.text for one in found] == ["one", "two\nlines\ufdd0and a paste\ufdd1", "日本語 \udcff"]
    assert found[0] == SentPrompt("one", str(FOLDER), 7.5)


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    opened(state).add("one", FOLDER)
    assert {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()} == {
        "history.jsonl": 0o600,
        "history.lock": 0o600,
    }
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "text",
    [
        "use sk-or-v1-0123456789abcdef",
        "the password is hunter2hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nabc",
        "  \n",
        "x" * (MAX_CHARACTERS + 1),
    ],
)
def test_a_text_with_a_secret_a_blank_and_a_huge_one_are_not_kept(tmp_path: Path, text: str) -> None:
    assert not opened(tmp_path, "hunter2hunter2").add(text, FOLDER)
    assert [*tmp_path.iterdir()] == []


def test_damaged_and_foreign_lines_are_skipped(tmp_path: Path) -> None:
    opened(tmp_path).add("one", FOLDER)
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(b'[1]\n{"text":3,"folder":"/","at":1}\n{"text":"x","folder":"/","at":"now"}\n{"text":"to')
    opened(tmp_path).add("two", FOLDER)
    assert [one.text for one in opened(tmp_path).read()] == ["one", "two"]


def test_a_long_file_loses_its_oldest_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "MAX_BYTES", 4_000)
    monkeypatch.setattr(prompt_history, "_KEPT_BYTES", 2_000)
    for number in range(200):
        assert opened(tmp_path).add(f"message {number}", FOLDER)
        assert (tmp_path / "history.jsonl").stat().st_size <= 4_000
    found = [one.text for one in opened(tmp_path).read()]
    assert 10 < len(found) < 60
    assert found == [f"message {number}" for number in range(200 - len(found), 200)]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    monkeypatch.setattr(prompt_history, "MAX_BYTES", 0)  # each line makes a new file
    barrier = threading.Barrier(4)

    def write(writer: int) -> None:
        barrier.wait()
        for number in range(10):
            kept.append(opened(tmp_path).add(f"{writer}.{number}", FOLDER))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(kept)
    expected = {f"{writer}.{number}" for writer in range(4) for number in range(10)}
    assert {one.text for one in opened(tmp_path).read()} == expected


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert not opened(blocked).add("one", FOLDER)
    assert opened(blocked).read() == []
