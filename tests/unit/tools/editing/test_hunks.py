"""Single hunks of a change: what a hunk is, and the file without some of them."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import unified_diff
from forge_core.tools.editing.hunks import hunks, without_hunks
from forge_core.tools.editing.text import decode

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OPEN_END = "\\ No newline at end of file"
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")


def shown_hunks(before: bytes, after: bytes) -> list[list[str]]:
    """The hunks of the diff that the user sees, each with its header."""
    found: list[list[str]] = []
    diff = unified_diff("f", decode(before).text, decode(after).text).diff
    for line in diff.split("\n") if diff else []:
        if _HEADER.match(line):
            found.append([])
        found[-1].append(line)
    return found


def reversed_hunks(text: str, patch: Sequence[Sequence[str]], chosen: Collection[int]) -> str:
    """The text without the chosen hunks: from the lines of the diff, without any comparison."""
    lines = text.split("\n")
    offset = 0
    for number, hunk in enumerate(patch):
        match = _HEADER.match(hunk[0])
        assert match
        first, count = int(match[3]), int(match[4] or 1)
        at = first - (count > 0) + offset
        if number not in chosen:
            continue
        old, new = ([line[1:] for line in hunk[1:] if line[0] in f" {sign}"] for sign in "-+")
        marks = {hunk[at - 1][0] for at, line in enumerate(hunk) if line == _OPEN_END}
        is_end = at + len(new) == len(lines) - 1 and lines[-1] == ""
        assert lines[at : at + len(new)] == new
        if marks & set(" +"):  # the new side ends without a newline
            old += [] if marks & set(" -") or not old else [""]
        elif "-" in marks:
            assert is_end
            lines.pop()
        elif not old and at == 0 and is_end:
            lines = [*new, ""]
        lines[at : at + len(new)] = old
        offset += len(old) - len(new)
    return "\n".join(lines)


def random_pair(source: random.Random) -> tuple[bytes, bytes]:
    """Two versions of a text, with repeated lines, other line ends, and perhaps no newline at the end."""
    encoding, end = source.choice(ENCODINGS), source.choice(["\n", "\r\n"])
    words = ["", "a", "b", "x = 1", "größe", "  }", "@@ -1 +1 @@", "-- a", "\\ No newline", "a\rb"]
    old = [source.choice(words) + end for _ in range(source.randrange(60))]
    new = list(old)
    for _ in range(source.randrange(1, 7)):
        at = source.randrange(len(new) + 1)
        new[at : at + source.choice([0, 0, 1, 2, 5])] = [
            source.choice([*words, "new", "other"]) + source.choice([end, end, end, "\n"])
            for _ in range(source.choice([0, 1, 1, 3]))
        ]
    sides = []
    for lines in (old, new):
        text = "".join(lines)
        sides.append(text.removesuffix("\n") if source.random() < 0.2 else text)
    return sides[0].encode(encoding), sides[1].encode(encoding)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(4))
def test_any_set_of_hunks_can_be_reverted(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(500):
        before, after = random_pair(source)
        found, patch = hunks(before, after), shown_hunks(before, after)
        assert len(found) == len(patch)
        chosen = {number for number in range(len(found)) if source.random() < 0.5}
        result = without_hunks(before, after, [found[number] for number in chosen])
        expected = reversed_hunks(decode(after).text, patch, chosen)
        assert decode(result).text == expected
        if len(chosen) == len(found) > 0:
            assert result == before


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the program patch")
@pytest.mark.property
def test_the_result_is_that_of_patch(tmp_path: Path) -> None:
    source = random.Random(99)
    for _ in range(60):
        lines = [f"line {number}\n" for number in range(80)]
        changed = list(lines)
        for at in sorted(source.sample(range(0, 80, 10), 5), reverse=True):
            changed[at : at + source.randrange(3)] = ["new\n"] * source.randrange(1, 3)
        before, after = "".join(lines).encode(), "".join(changed).encode()
        found, patch = hunks(before, after), shown_hunks(before, after)
        chosen = sorted(source.sample(range(len(found)), source.randrange(1, len(found) + 1)))
        file = tmp_path / "f"
        file.write_bytes(after)
        text = "--- a/f\n+++ b/f\n" + "".join("\n".join(patch[number]) + "\n" for number in chosen)
        subprocess.run(
            ["patch", "-R", "-s", "-p1"], cwd=tmp_path, input=text.encode(), check=True, timeout=10
        )
        assert without_hunks(before, after, [found[number] for number in chosen]) == file.read_bytes()


def test_changes_near_each_other_are_one_hunk() -> None:
    lines = [f"{number}\n" for number in range(20)]
    near, far = list(lines), list(lines)
    near[3] = near[10] = far[3] = far[11] = "changed\n"
    before = "".join(lines).encode()
    assert len(hunks(before, "".join(near).encode())) == 1
    assert [(one.old_from, one.old_to) for one in hunks(before, "".join(far).encode())] == [(3, 4), (11, 12)]


def test_hunks_keep_their_keys_when_others_are_reverted() -> None:
    lines = [f"{number}\n" for number in range(60)]
    changed = list(lines)
    for at in (50, 30, 10):
        changed[at : at + 1] = ["more\n"] * 3
    before, after = "".join(lines).encode(), "".join(changed).encode()
    first, middle, last = hunks(before, after)
    assert [one.key for one in hunks(before, without_hunks(before, after, [middle]))] == [first.key, last.key]


def test_bytes_that_are_not_valid_stay_as_they_are() -> None:
    lines = [b"gr\xc3\xbc\xc3\x9fe \xff\n", *(b"line\n" for _ in range(20)), b"end \xfe\n"]
    before = b"".join(lines)
    after = b"".join([b"first\n", *lines[1:-1], b"last \xfd\n"])
    first, last = hunks(before, after)
    assert without_hunks(before, after, [first]) == b"".join([*lines[:-1], b"last \xfd\n"])
    assert without_hunks(before, after, [last]) == b"".join([b"first\n", *lines[1:]])


def test_a_file_keeps_the_encoding_that_it_was_given() -> None:
    lines = ["größe\n", *["x\n"] * 9, "end\n"]
    before = "".join(lines).encode("cp1252")
    after = "".join(["größe\n", *["x\n"] * 9, "END\n"]).encode("utf-16")
    (hunk,) = hunks(before, after)
    assert without_hunks(before, after, [hunk]) == before  # all of it: the file as it was
    two = "".join(["first\n", *["x\n"] * 9, "END\n"]).encode("utf-16")
    first, _ = hunks(before, two)
    assert without_hunks(before, two, [first]) == after


def test_a_character_that_the_new_encoding_lacks_is_refused() -> None:
    lines = ["→ größe\n", *["x\n"] * 9, "ende\n"]
    before = "".join(lines).encode()
    after = "".join(["größe\n", *["x\n"] * 9, "END\n"]).encode("cp1252")
    first, _ = hunks(before, after)
    with pytest.raises(ToolError, match="cannot represent →"):
        without_hunks(before, after, [first])


def test_a_binary_file_has_no_hunks() -> None:
    assert hunks(b"a\0b", b"a\0c") == ()
    assert hunks(b"text\n", b"a\0c") == ()


def test_a_hunk_of_another_change_is_refused() -> None:
    (hunk,) = hunks(b"a\n", b"b\n")
    with pytest.raises(ToolError, match="not the one that was shown"):
        without_hunks(b"a\n", b"c\n", [hunk])
