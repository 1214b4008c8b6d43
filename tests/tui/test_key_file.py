"""The user's file of keys: what it changes, and what is wrong with it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forge_tui.keymap import KEYS
from forge_tui.keys.assignment import FIXED_CONTEXTS, assign
from forge_tui.keys.effective import EffectiveKeys, default_keys
from forge_tui.keys.names import KeyNameError, needs_extended_protocol, parse_keys, show, types_text
from forge_tui.keys.user_file import PRESETS, keys_from, read_keys


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ctrl+k", "ctrl+k"),
        ("Ctrl+K", "ctrl+k"),
        ("Control+X  ctrl+s", "ctrl+x ctrl+s"),
        ("shift+a", "A"),
        ("A", "A"),
        ("alt+shift+a", "alt+shift+a"),
        ("shift+alt+ctrl+Up", "alt+ctrl+shift+up"),
        ("cmd+k", "super+k"),
        ("Return", "enter"),
        ("PgUp", "pageup"),
        ("Page-Down", "pagedown"),
        ("?", "question_mark"),
        ("ctrl++", "ctrl+plus"),
        ("+", "plus"),
        ("ctrl+_", "ctrl+underscore"),
        ("ctrl+space", "ctrl+@"),
        ("F12", "f12"),
        (",", "comma"),
        ("ä", "ä"),
    ],
)
def test_names_of_keys_are_read_as_users_write_them(text: str, name: str) -> None:
    assert parse_keys(text) == name
    if not name.islower() or len(name) > 1:
        assert parse_keys(show(name)) == name, "what the screen shows can be written"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        ("ctrl+", "is no key"),
        ("entr", "did you mean enter?"),
        ("hyper+k", "the modifiers are Ctrl, Alt, Shift and Super"),
        ("ctrl+i", "terminals send Tab for Ctrl+I"),
        ("Ctrl+M", "terminals send Enter for Ctrl+M"),
        ("ctrl+[", "terminals send Esc for Ctrl+["),
        ("\x1b[31m", "is no key"),
    ],
)
def test_a_name_that_is_no_key_is_explained(text: str, reason: str) -> None:
    with pytest.raises(
        KeyNameError, match=reason.replace("?", r"\?").replace("+", r"\+").replace("[", r"\[")
    ):
        parse_keys(text)


def test_names_of_the_table_are_those_that_are_parsed() -> None:
    for key in KEYS:
        for name in filter(None, key.keys.split(",")):
            if name not in ("ctrl+j",) and not name.startswith("super"):
                assert (
                    parse_keys(
                        name.replace("right_square_bracket", "]")
                        .replace("left_square_bracket", "[")
                        .replace("question_mark", "?")
                    )
                    == name
                )


def test_keys_that_few_terminals_send_are_known() -> None:
    assert all(
        map(
            needs_extended_protocol,
            ("ctrl+1", "shift+enter", "ctrl+tab", "super+k", "ctrl+shift+k", "alt+comma"),
        )
    )
    assert not any(
        map(
            needs_extended_protocol,
            ("ctrl+k", "alt+enter", "shift+tab", "ctrl+@", "ctrl+underscore", "alt+k", "f5", "shift+up"),
        )
    )


def test_keys_that_type_text_are_known() -> None:
    assert all(map(types_text, ("a", "A", "1", "space", "comma", "question_mark", "ä")))
    assert not any(map(types_text, ("ctrl+a", "alt+comma", "f1", "enter", "tab", "up", "shift+up")))


def keys_of(text: str) -> EffectiveKeys:
    keys, problems = keys_from(text)
    assert problems == []
    return keys


def problems_of(text: str) -> list[str]:
    return keys_from(text)[1]


def test_without_a_file_the_keys_are_those_of_the_table(tmp_path: Path) -> None:
    keys, problems = read_keys(tmp_path / "keys.toml")
    assert (dict(keys.keys), keys.changed, problems) == (default_keys(), frozenset(), [])


def test_a_line_gives_an_id_other_keys() -> None:
    keys = keys_of('"chat.help" = "F11"\n"chat.find" = ["ctrl+f", "ctrl+x f"]\n"chat.toggle_todos" = false')
    assert keys.keys["chat.help"] == ("f11",)
    assert keys.keys["chat.find"] == ("ctrl+f", "ctrl+x f")
    assert keys.keys["chat.toggle_todos"] == ()
    assert keys.changed == {"chat.help", "chat.find", "chat.toggle_todos"}
    assert keys.prefixes == {"ctrl+x"}


@pytest.mark.parametrize(
    "text", ['chat.help = "f11"', '[chat]\nhelp = "f11"', '"chat.help"="f11"', "chat.help=['f11']"]
)
def test_ids_may_be_written_as_toml_allows(text: str) -> None:
    assert keys_of(text).keys["chat.help"] == ("f11",)


def test_an_assigned_key_is_taken_from_the_id_that_had_it() -> None:
    keys, problems = keys_from('"chat.palette" = "ctrl+k"\n"chat.help" = "ctrl+t"')
    assert keys.keys["composer.delete_to_line_end"] == ()
    assert keys.keys["chat.toggle_todos"] == ()
    assert problems == [
        "line 1: chat.palette: Ctrl+K was composer.delete_to_line_end, which has no key now",
        "line 2: chat.help: Ctrl+T was chat.toggle_todos, which has no key now",
    ]


def test_two_ids_may_swap_their_keys() -> None:
    keys = keys_of('"chat.palette" = "ctrl+t"\n"chat.toggle_todos" = "ctrl+p"')
    assert (keys.keys["chat.palette"], keys.keys["chat.toggle_todos"]) == (("ctrl+t",), ("ctrl+p",))


def test_the_same_key_may_do_other_things_elsewhere() -> None:
    keys = keys_of('"diff.reload" = "ctrl+t"')
    assert keys.keys["chat.toggle_todos"] == ("ctrl+t",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '"chat.palette" = "f11"\n"chat.help" = "f11"',
            "line 2: chat.help: F11 clashes with F11 of chat.palette (line 1)",
        ),
        (
            '"chat.palette" = "f11 f3"\n"chat.help" = "f11"',
            "line 2: chat.help: F11 clashes with F11 F3 of chat.palette (line 1)",
        ),
        ('"chat.palete" = "f11"', "line 1: there is no key 'chat.palete'; did you mean chat.palette?"),
        (
            '"chat.palette" = "x"',
            "line 1: chat.palette: X types a character here; use Ctrl, Alt or a function key",
        ),
        (
            '"find.close" = "? ctrl+x"',
            "line 1: find.close: ? types a character here; use Ctrl, Alt or a function key",
        ),
        (
            '"chat.palette" = "ctrl+c"',
            "line 1: chat.palette: Ctrl+C keeps its meaning and cannot be assigned",
        ),
        (
            '"prompt.answer_1" = "f11"',
            "line 1: prompt.answer_1 cannot be changed: the keys of prompts are fixed",
        ),
        ('\n"chat.help" = 5', "line 2: chat.help needs a text, a list of texts or false"),
        ('"composer.submit" = ""', "line 1: composer.submit must have a key"),
        (
            '"chat.help" = "enter"',
            "line 1: chat.help: Enter sends a message; give composer.submit another key first",
        ),
        ('preset = "nano"', "line 1: there is no preset 'nano'; there are default, emacs, vi"),
        ('"chat.help" = "f11 f3 f4 f5"', "line 1: chat.help: a chord has at most 3 keys"),
        (
            '"chat.help" = "ctrl+1"',
            "line 1: chat.help: not all terminals send Ctrl+1; forge doctor keys shows what yours sends",
        ),
        ('"chat.help" = "\\u001b[31m"', "line 1: chat.help: '␛[31m' is no key"),
    ],
)
def test_what_is_wrong_is_reported_and_the_rest_applies(text: str, problem: str) -> None:
    keys, problems = keys_from(text + '\n"chat.toggle_mouse" = "f8"')
    assert problems == [problem]
    assert keys.keys["chat.toggle_mouse"] == ("f8",)


def test_a_line_that_toml_does_not_allow_is_left_out() -> None:
    keys, problems = keys_from(
        '"chat.help" = "f11"\nnonsense\n"chat.toggle_mouse" = "f8"\n"chat.find" = f7\n'
    )
    assert (keys.keys["chat.help"], keys.keys["chat.toggle_mouse"]) == (("f11",), ("f8",))
    assert [problem.partition(":")[0] for problem in problems] == ["line 2", "line 4"]


def test_problems_are_in_the_order_of_the_lines() -> None:
    problems = problems_of('"chat.help" = "ctrl+t"\n"chat.palete" = "f8"\nnonsense')
    assert [problem.partition(":")[0] for problem in problems] == ["line 1", "line 2", "line 3"]


def test_escape_and_ctrl_c_stay_with_the_ids_that_have_them() -> None:
    keys = keys_of('"diff.close" = "f11"\n"chat.interrupt" = "f12"\n"find.cancel" = ""')
    assert keys.keys["diff.close"] == ("f11", "escape")
    assert keys.keys["chat.interrupt"] == ("f12", "escape")
    assert keys.keys["find.cancel"] == ("ctrl+c",)


def test_letters_stay_keys_in_both_cases() -> None:
    keys = keys_of('"diff.next_file" = "m"\n"diff.reload" = "N"')
    assert keys.bound["diff.next_file"] == ("m", "M")
    assert keys.bound["diff.reload"] == ("N", "n")


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"\0" * 10, b'"chat.help" = "f11"' * 10_000, b"[" * 5000])
def test_a_hostile_file_leaves_the_keys_as_they_are(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys.toml"
    path.write_bytes(content)
    keys, problems = read_keys(path)
    assert not keys.changed and problems


def test_a_folder_in_place_of_the_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").mkdir()
    assert read_keys(tmp_path / "keys.toml")[1]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_and_clash_with_nothing(name: str) -> None:
    _, problems = assign(PRESETS[name])
    assert [problem for problem in problems if "has no key now" not in problem] == []


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_leaves_no_id_without_a_key(name: str) -> None:
    keys, _ = keys_from(f'preset = "{name}"')
    assert [key_id for key_id, names in keys.keys.items() if not names] == []


def test_a_line_counts_more_than_the_preset() -> None:
    keys = keys_of('preset = "emacs"\n"chat.palette" = "f5"')
    assert keys.keys["chat.palette"] == ("f5",) and keys.preset == "emacs"


@pytest.mark.property
def test_no_random_file_takes_a_way_out_or_an_answer() -> None:
    """Esc, Ctrl+C and the keys of prompts are as in the table, and no letter is bound where text is typed."""
    random.seed(0)
    usual = default_keys()
    names = [*{name for keys in usual.values() for name in keys}, "x", "Q", "ctrl+x ctrl+s", "ctrl+x 1", "f5"]
    for _ in range(200):
        chosen = random.sample(sorted(usual), 12)
        text = "\n".join(f'"{key_id}" = "{show(random.choice(names))}"' for key_id in chosen)
        keys, _ = keys_from(text)
        for key in KEYS:
            if not key.keys:
                continue
            fixed = {"escape", "ctrl+c", "super+c"} & set(usual[key.id])
            assert fixed <= set(keys.keys[key.id])
            if key.context in FIXED_CONTEXTS:
                assert keys.keys[key.id] == usual[key.id]
        assert keys.keys["composer.submit"]


@pytest.mark.parametrize("text", ["x = " + "9" * 5000, f"{'a.' * 3000}b = 'c'"], ids=["number", "depth"])
def test_values_that_python_refuses_are_problems_and_no_crash(text: str) -> None:
    effective, problems = keys_from(text)
    assert effective.keys == default_keys() and len(problems) == 1
