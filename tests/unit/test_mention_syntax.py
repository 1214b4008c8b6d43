"""Mentions in messages: where one begins and ends."""

from __future__ import annotations

import pytest

from forge_core.mention_syntax import (
    MentionedPath,
    OpenMention,
    mention_before,
    mentions_in,
    written_mention,
)


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("see @a.py", MentionedPath("a.py")),
        ("@src/", MentionedPath("src/")),
        ("line\n@a.py:7", MentionedPath("a.py", 7)),
        ("@a.py:7-12", MentionedPath("a.py", 7, 12)),
        ("@a.py:12-7", MentionedPath("a.py", 12, 12)),
        ('@"a b.txt"', MentionedPath("a b.txt")),
        ('@"a b.txt":3-4 please', MentionedPath("a b.txt", 3, 4)),
        ("@a.py#L7-12", MentionedPath("a.py", 7, 12)),
        ("@a.py#L7-L12.", MentionedPath("a.py", 7, 12)),
        ('@"a b.txt"#L3', MentionedPath("a b.txt", 3)),
        ("@a.py#7", MentionedPath("a.py#7")),
        ("Look at @a.py.", MentionedPath("a.py.", shorter="a.py")),
        ("Look at @a.py:3-4, please", MentionedPath("a.py", 3, 4)),
    ],
)
def test_a_message_mentions(text: str, mentioned: MentionedPath) -> None:
    assert mentions_in(text) == [mentioned]


@pytest.mark.parametrize("text", ["ada@example.org", "@", "a @ b", '@"', "(@a.py)", ""])
def test_other_text_mentions_nothing(text: str) -> None:
    assert mentions_in(text) == []


def test_each_mention_counts_once() -> None:
    assert [one.path for one in mentions_in("@b @a @b")] == ["b", "a"]


@pytest.mark.parametrize(
    ("before", "mention"),
    [
        ("@", OpenMention(0, "")),
        ("see @sr", OpenMention(4, "sr")),
        ("@a.py:10-", OpenMention(0, "a.py", ":10-")),
        ("@a.py#L10-", OpenMention(0, "a.py", "#L10-")),
        ('@"my dir/', OpenMention(0, "my dir/")),
        ("ada@ex", None),
        ("@a.py ", None),
        ("", None),
    ],
)
def test_the_mention_before_the_cursor(before: str, mention: OpenMention | None) -> None:
    assert mention_before(before) == mention


@pytest.mark.parametrize("path", ["a.py", "a b.txt", "odd:10", "odd#L10", "tab\there"])
def test_a_written_mention_is_read_as_the_same_path(path: str) -> None:
    assert [one.path for one in mentions_in(written_mention(path))] == [path]
    assert mentions_in(written_mention(path, ":2-3")) == [MentionedPath(path, 2, 3)]
