"""Whatever the file and whatever is sent: the right bytes, or a refusal."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from forge_core.errors import ToolError
from forge_core.tools.editing.line_views import folded
from forge_core.tools.editing.replace import Replacement, replace
from forge_core.tools.editing.text import decode, with_newlines
from tests.unit.tools.editing import strategies as given_by
from tests.unit.tools.editing.strategies import Edit, stable

pytestmark = pytest.mark.property


def attempt(data: bytes, old: str, new: str, *, replace_all: bool = False) -> Replacement | None:
    try:
        return replace(data, old, new, replace_all=replace_all)
    except ToolError:
        return None


@stable
@given(given_by.files)
def test_decoding_and_encoding_gives_the_same_bytes(data: bytes) -> None:
    try:
        file = decode(data)
    except ToolError:
        assert b"\0" in data
        return
    assert file.bom + file.encode(file.text) == data


@stable
@given(given_by.files, st.data(), st.booleans())
def test_bytes_outside_the_replaced_text_are_kept(data: bytes, draw: st.DataObject, every: bool) -> None:
    try:
        text = decode(data).text
    except ToolError:
        return
    start = draw.draw(st.integers(0, len(text)))
    piece = text[start : draw.draw(st.integers(start, len(text)))]
    old = draw.draw(st.one_of(st.just(piece), given_by.texts))
    done = attempt(data, old, draw.draw(given_by.texts), replace_all=every)
    if done is None:
        return
    file, at, now = done.before, len(done.before.bom), len(done.before.bom)
    done_text = 0
    for one in done.pieces:
        kept = file.encode(text[done_text : one.start])
        assert data[at : at + len(kept)] == kept == done.data[now : now + len(kept)]
        at += len(kept) + len(file.encode(text[one.start : one.end]))
        now += len(kept) + len(file.encode(one.text))
        done_text = one.end
    assert data[at:] == done.data[now:]
    assert decode(done.data).text == done.after or not file.bom


@stable
@given(st.text("ab \n\u201c", max_size=25), st.data(), st.text("xy\n", max_size=4))
def test_a_text_that_occurs_exactly_once_is_replaced_literally(
    text: str, draw: st.DataObject, new: str
) -> None:
    start = draw.draw(st.integers(0, max(len(text) - 1, 0)))
    old = text[start : draw.draw(st.integers(start + 1, len(text) + 1))]
    assume(old and old != new)
    hits = sum(text.startswith(old, at) for at in range(len(text)))
    done = attempt(text.encode(), old, new)
    assert done is None or hits == 1
    before = text[: text.find(old)].rpartition("\n")[2] if hits else ""
    may_join = (old.startswith("\n") and not new.startswith("\n")) or (
        old.endswith("\n") and not new.endswith("\n")
    )
    assert done is not None or hits != 1 or may_join or (before and not before.strip(" "))
    if done is not None and (done.tier == "exact" or not may_join):
        assert done.data == text.replace(old, new).encode()
        assert done.tier == "exact"


@stable
@given(st.text("ab \n", max_size=25), st.data(), st.text("x \n", max_size=4))
def test_lines_beside_the_replaced_text_are_never_joined_by_a_missing_line_end(
    text: str, draw: st.DataObject, new: str
) -> None:
    start = draw.draw(st.integers(0, max(len(text) - 1, 0)))
    old = text[start : draw.draw(st.integers(start + 1, len(text) + 1))]
    done = attempt(text.encode(), old, new)
    assume(done is not None and text.count(old) == 1 and old.strip())
    head, tail = text[: text.index(old)], text[text.index(old) + len(old) :]
    after = done.data.decode() if done is not None else ""
    is_whole = old.endswith("\n") or not tail or tail.startswith("\n") or new
    is_line_before = bool(head) and not head.endswith("\n")  # an empty line joins nothing
    if old.startswith("\n") and is_line_before and is_whole and not new.startswith(" "):
        assert after == head or after.startswith(head + "\n"), "joined to the line before"
    if old.endswith("\n") and tail and not new.endswith(" "):
        assert after == tail or after.endswith("\n" + tail) or tail[0] == "\n", "joined to the line after"


@stable
@given(given_by.edits())
def test_the_inverse_of_an_edit_gives_the_bytes_back(edit: Edit) -> None:
    done = attempt(edit.data, edit.old, edit.new)
    assume(done is not None and edit.new.strip())
    back = attempt(done.data, edit.new, edit.old) if done is not None else None
    assert back is None or back.data == edit.data


PERTURBED = {
    "blanks added at line ends": (given_by.with_trailing, True),
    "blanks lost at line ends": (given_by.without_trailing, True),
    "plain quotes": (given_by.with_plain_quotes, True),
    "dedented": (given_by.without_first_indent, False),
    "tabs for spaces": (given_by.with_tabs_for_spaces, False),
    "spaces for tabs": (given_by.with_spaces_for_tabs, False),
    "line numbers": (lambda text: given_by.numbered(text, 7), True),
    "blank edges": (given_by.with_blank_edges, False),
}


@pytest.mark.parametrize("name", PERTURBED)
def test_a_perturbed_edit_gives_the_correct_bytes_or_is_rejected(name: str) -> None:
    """The oracle is the same edit sent exactly. A perturbation of the old text alone stands for a model that
    copies badly and writes well, one of both texts for a model that works in a frame of its own."""
    perturb, is_old_alone = PERTURBED[name]
    counts = {"recovered": 0, "refused": 0}

    @stable
    @given(given_by.edits())
    def check(edit: Edit) -> None:
        right = attempt(edit.data, edit.old, edit.new)
        assume(right is not None and right.tier in ("exact", "line ends"))
        old, new = perturb(edit.old), edit.new if is_old_alone else perturb(edit.new)
        text = with_newlines(decode(edit.data).text)
        assume(old != edit.old and old != new and "\n" + old.lstrip("\n") not in "\n" + text)
        assume(name != "blanks lost at line ends" or old not in text)
        done = attempt(edit.data, old, new)
        counts["refused" if done is None else "recovered"] += 1
        if done is not None and right is not None:
            assert done.data == right.data, (edit, old, new, done.tier)

    check()
    assert counts["recovered"] > counts["refused"] / 4, counts


@stable
@given(given_by.indented_lines(), st.data())
def test_a_looser_tier_never_decides_between_two_places(lines: list[str], draw: st.DataObject) -> None:
    """By an oracle of its own: blocks that are the same but for all blanks and look-alikes."""
    first = draw.draw(st.integers(0, len(lines) - 1))
    block = lines[first : first + draw.draw(st.integers(1, 3))]
    perturb = draw.draw(st.sampled_from([given_by.with_trailing, given_by.with_plain_quotes]))
    done = attempt(("\n".join([*lines, *lines]) + "\n").encode(), perturb("\n".join(block)) + "\n", "new\n")
    assert done is None or done.tier in ("exact", "line ends")
    done = attempt(("\n".join(lines) + "\n").encode(), perturb("\n".join(block)) + "\n", "new\n")
    if done is not None and done.tier == "look-alike characters":
        wanted = [folded(line).rstrip() for line in block]
        there = [folded(line).rstrip() for line in lines]
        assert sum(there[at : at + len(wanted)] == wanted for at in range(len(there))) == 1
