"""Secrets are found in every spelling that a record or a listing gives them, also in pieces."""

from __future__ import annotations

import json
import textwrap
from urllib.parse import quote

import pytest

from forge_core.redact import MASK, Redactor
from forge_core.tools.builtin.read import CONTINUED

KEYS = ("Zq7+wV/2mN9xKp4tRb8yLc3d", "hunter42", 'pa"ss\\word=1%', "sk-or-v1-0123456789abcdef")
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 40 + "-----END RSA PRIVATE KEY-----"


def forms(key: str) -> list[str]:
    """Return the spellings in which one key may occur in a text."""
    once = json.dumps(key)[1:-1]
    half = len(key) // 2
    return [
        key,
        once,
        json.dumps(once)[1:-1],
        json.dumps(key, ensure_ascii=False)[1:-1],
        once.replace("/", "\\/"),
        "".join(f"\\u{ord(char):04X}" if not char.isalnum() else char for char in key),
        quote(key, safe=""),
        f"{key[:half]}\n{key[half:]}",
        f"{key[:half]}\r\n    {key[half:]}",
        f"{key[:half]}\\\n{key[half:]}",
        f'{key[:half]}"\n"{key[half:]}',
        f"{key[:half]}'\"{key[half:]}",
        f"{key[:half]}''{key[half:]}",
        f"{key[:half]}'$'{key[half:]}",
        json.dumps(f"{key[:half]}'\"{key[half:]}")[1:-1],
        json.dumps(json.dumps(f'{key[:half]}"{key[half:]}')[1:-1])[1:-1],
        f"{key[:half]}\n     8\t{key[half:]}",
        f"{key[:half]}\n     {CONTINUED}\t{key[half:]}",
        f"{key[:half]}\n+{key[half:]}",
        json.dumps(f"{key[:half]}\n{key[half:]}", ensure_ascii=False)[1:-1],
        "\n".join(textwrap.wrap(key, 3, break_on_hyphens=False)),
    ]


@pytest.mark.parametrize("key", KEYS)
def test_every_spelling_of_a_key_is_redacted(key: str) -> None:
    redact = Redactor((key,))
    left = [form for form in forms(key) if redact(f"a = {form};") != f"a = {MASK};"]
    assert left == []


@pytest.mark.parametrize("key", KEYS)
def test_a_stream_is_redacted_wherever_it_is_cut(key: str) -> None:
    redact = Redactor((key,))
    for form in forms(key):
        text = f"a = {form}; b = {form}"
        for cut in range(1, len(text)):
            first, rest = redact.split(text[:cut])
            second, last = redact.split(rest + text[cut:])
            assert first + second + redact(last) == f"a = {MASK}; b = {MASK}", (form, cut)


SHAPES = (
    PEM,
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1_" * 9,
    "glpat-" + "a1-" * 6,
    "xoxb-123456789012-abc",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2ln_bmF0-dXJl",
    "sk-or-v1-12345678",
    "sk-" + "a_1-" * 5,
)


@pytest.mark.parametrize("secret", SHAPES)
def test_a_well_known_shape_is_redacted_wherever_the_stream_is_cut(secret: str) -> None:
    redact = Redactor()
    text = f"see {secret} there"
    for cut in range(1, len(text)):
        first, rest = redact.split(text[:cut])
        second, last = redact.split(rest + text[cut:])
        assert first + second + redact(last) == f"see {MASK} there", cut


@pytest.mark.parametrize("secrets", [("Zq7+wV/2mN", "Zq7+wV/2mN9xKp"), ("Zq7+wV/2mN9xKp", "Zq7+wV/2mN")])
def test_nothing_is_left_of_a_key_that_begins_with_another_one(secrets: tuple[str, ...]) -> None:
    assert Redactor(secrets)("a = Zq7+wV/2mN9xKp;") == f"a = {MASK};"


def test_a_stream_keeps_back_the_longest_beginning_of_any_key() -> None:
    redact = Redactor(("abcdefX9Z8W7", "8W7qqqq"))
    assert redact.split("key: abcdefX9Z8") == ("key: ", "abcdefX9Z8")


def test_a_private_key_without_an_end_is_not_kept_back_for_ever() -> None:
    begun = PEM.partition("-----END")[0]
    assert Redactor().split(begun) == ("", begun)
    assert Redactor().split(begun * 30) == (MASK, "")


def test_a_stream_without_a_secret_is_not_held_back() -> None:
    text = "def main() -> None:\n    print('no key here')\n"
    assert Redactor(KEYS).split(text) == (text, "")


def test_strings_anywhere_in_a_record_are_redacted_also_as_names() -> None:
    key = KEYS[0]
    record = {
        "a": [key, {"b": f"x{key}"}],
        "pair": (key, 1),
        key: 1,
        "n": 2.5,
        "none": None,
        "arguments": json.dumps({"k": key}),
    }
    assert Redactor((key,)).values(record) == {
        "a": [MASK, {"b": f"x{MASK}"}],
        "pair": [MASK, 1],
        MASK: 1,
        "n": 2.5,
        "none": None,
        "arguments": f'{{"k": "{MASK}"}}',
    }


def test_a_value_too_short_for_a_key_is_left_alone() -> None:
    assert Redactor(("none", "")).values("none of them") == "none of them"


def test_a_value_that_is_learnt_is_redacted_also_by_what_was_made_before() -> None:
    redact = Redactor(("first-secret",))
    known_only = redact.known_only()
    redact.learn("second-secret", "short")
    for one in (redact, known_only):
        assert one("first-secret second-secret short") == f"{MASK} {MASK} short"
        assert one.split("x second-se") == ("x ", "second-se")


def test_repr_shows_no_secret() -> None:
    assert KEYS[0] not in repr(Redactor(KEYS))


@pytest.mark.parametrize("secret", [*KEYS, *SHAPES])
def test_a_text_is_cut_beside_a_secret_and_elsewhere_where_it_is_asked_for(secret: str) -> None:
    redact = Redactor(KEYS)
    text = f"see {secret} there"
    first, last = 4, 4 + len(secret)
    for at in range(len(text) + 1):
        is_across = first < at < last
        assert redact.end_outside(text, at) == (first if is_across else at), at
        assert redact.start_outside(text, at) == (last if is_across else at), at


def test_a_text_that_only_mentions_the_first_line_of_a_key_is_cut_where_it_is_asked_for() -> None:
    text = "-----BEGIN RSA PRIVATE " + "KEY----- is how it begins\n" + "word " * 8_000
    assert Redactor().end_outside(text, 2_000) == Redactor().start_outside(text, 2_000) == 2_000
