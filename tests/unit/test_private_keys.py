"""Private keys are found by their content, whole and in part, in whatever form a listing gives them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.private_keys import HEAD_BYTES, LEFT_OUT, NO_LINE, hide_private_keys, is_key_file
from forge_core.redact import MASK, Redactor
from tests.support.private_keys import KEYS, RSA, fragments

EACH = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
LISTINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "indented": lambda text: text.replace("\n", "\n    "),
    "numbered": lambda text: "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(text.split("\n"), 1)),
    "grep -n": lambda text: "\n".join(f"{n}:{line}" for n, line in enumerate(text.split("\n"), 1)),
    "grep -Hn": lambda text: "\n".join(f"src/notes.txt:{n}:{x}" for n, x in enumerate(text.split("\n"), 1)),
    "rg -C": lambda text: "\n".join(f"src/notes.txt-{n}-{x}" for n, x in enumerate(text.split("\n"), 1)),
    "diff": lambda text: "+" + text.replace("\n", "\n+"),
    "comment": lambda text: "# " + text.replace("\n", "\n# "),
    "quoted": lambda text: "\n".join(f'    "{line}\\n"' for line in text.split("\n")),
    "json": lambda text: json.dumps({"key": text + "\n"}),
    "cat -A": lambda text: text.replace("\n", "$\n"),
    "git blame": lambda text: "\n".join(
        f"1a2b3c4d (Some Name 2026-01-02 03:04:05 +0100 {n:>3}) {x}"
        for n, x in enumerate(text.split("\n"), 1)
    ),
    "rg --json": lambda text: "\n".join(
        json.dumps(
            {"type": "match", "data": {"path": {"text": "src/notes.txt"}, "lines": {"text": x + "\n"}}}
        )
        for x in text.split("\n")
    ),
    "tac": lambda text: "\n".join(reversed(text.split("\n"))),
    "crlf": lambda text: text.replace("\n", "\r\n"),
}


@EACH
def test_a_key_is_left_out_in_every_listing_and_what_is_around_it_stays(key: str) -> None:
    for name, listed in LISTINGS.items():
        shown = hide_private_keys(listed(f"the first\n{key}\nthe last one"))
        assert [one for one in fragments(key) if one in shown] == [], name
        assert shown.count(LEFT_OUT) == 1, name
        assert "the first" in shown and "the last one" in shown, name


@EACH
def test_a_part_of_a_key_is_left_out_too(key: str) -> None:
    lines = key.split("\n")
    for cut in range(2, len(lines) - 2):
        for part in (lines[:cut], lines[cut:]):
            text = "\n".join(["the first", *part, "the last"])
            shown = hide_private_keys(text)
            assert [one for one in fragments(key) if one in shown] == [], cut
            assert shown.startswith("the first\n")
            assert shown.endswith("\nthe last")


@EACH
def test_a_key_that_is_cut_within_a_line_is_left_out(key: str) -> None:
    for size in range(len(key) // 2, len(key) - 60 if len(key) > 200 else 60, 7):
        shown = hide_private_keys(f"the first\n{key[:size]}")
        assert not any(one[:8] in shown for one in fragments(key)), size


@EACH
def test_the_other_lines_can_keep_their_numbers(key: str) -> None:
    text = f"a\n{key}\nb\n{key}\nc"
    kept = hide_private_keys(text, keeps_lines=True).split("\n")
    assert len(kept) == text.count("\n") + 1
    size = key.count("\n") + 1
    assert [kept[0], kept[size + 1], kept[-1]] == ["a", "b", "c"]
    assert set(kept[2 : size + 1]) <= {NO_LINE}


@pytest.mark.parametrize(
    "text",
    [
        "Copy everything from -----BEGIN RSA PRIVATE KEY----- to -----END RSA PRIVATE KEY-----.\n",
        "-----BEGIN PRIVATE KEY-----\nfake\n-----END PRIVATE KEY-----\n",
        'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    return load(text)\n'
        + "    value = compute_the_value(of_something)\n" * 40
        + 'END = "-----END PRIVATE KEY-----"\n',
        RSA.replace("RSA PRIVATE KEY", "CERTIFICATE"),
        RSA.replace("PRIVATE", "PUBLIC"),
        "The PRIVATE KEY has Private-Lines: and a Private-MAC: as PuTTY writes them.\n",
    ],
)
def test_text_that_is_no_private_key_stays_as_it_is(text: str) -> None:
    assert hide_private_keys(text) == text


def test_the_sources_of_this_stay_readable() -> None:
    root = Path(__file__).parent.parent.parent
    for path in ("forge_core/redact.py", "forge_core/private_keys.py", "tests/support/private_keys.py"):
        text = (root / path).read_text()
        assert hide_private_keys(text) == text
        assert LEFT_OUT not in text


@EACH
def test_a_file_that_begins_with_a_key_is_a_key_file(tmp_path: Path, key: str) -> None:
    path = tmp_path / "notes.txt"
    for text, expected in (
        (f"{key}\n", True),
        (f'{{\n  "type": "service_account",\n  "private_key": {json.dumps(key)}\n}}\n', True),
        (f"Bag Attributes\n    localKeyID: 01 02\n{key}\n", True),
        ("x = 1\n" * HEAD_BYTES + key, False),
        ("-----BEGIN PRIVATE KEY-----\n", False),
        ("", False),
    ):
        path.write_text(text)
        assert is_key_file(path) is expected, text[:40]


def test_no_special_file_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "key").write_text(RSA)
    (tmp_path / "link").symlink_to("key")
    found = [is_key_file(tmp_path / name) for name in ("pipe", "link", "missing", ".", "nul\0", "key")]
    assert found == [False, False, False, False, False, True]


@EACH
def test_blocks_are_redacted_in_records(key: str) -> None:
    if not key.startswith(("AGE", "---- ")):
        assert Redactor()(f"a {key} z") == f"a {MASK} z"
