"""The replies about the terminal's background are told from keys and pastes, however they arrive."""

from __future__ import annotations

import random

import pytest
from textual import events
from textual.message import Message

from forge_tui.terminal.background import (
    ANSWER_S,
    QUERY,
    REPORTS_OFF,
    REPORTS_ON,
    BackgroundWatch,
    answers_in_order,
    can_ask,
)
from forge_tui.terminal.background import parse_reply as parse
from forge_tui.terminal.input import REPLY_SILENCE_S, TerminalInput, TerminalReply
from forge_tui.terminal.known_backgrounds import Background
from tests.tui.test_terminal_input import END, START, Clock, cuts, reader, settle

DARK, LIGHT = Background.DARK, Background.LIGHT
ATTRIBUTES = "\x1b[?62;22c"
COLORS = {
    "\x1b]11;rgb:0000/0000/0000\x1b\\": DARK,
    "\x1b]11;rgb:ffff/ffff/ffff\x07": LIGHT,
    "\x1b]11;rgb:1e1e/1E1E/2e2e\x9c": DARK,
    "\x1b]11;rgb:fd/f6/e3\x1b\\": LIGHT,
    "\x1b]11;rgb:f/f/f\x07": LIGHT,
    "\x1b]11;rgb:123/456/789\x07": DARK,
    "\x1b]11;rgb:0/ff/fff\x07": LIGHT,
    "\x1b]11;rgb:0000/0000/ffff\x07": DARK,
    "\x1b]11;rgba:ffff/ffff/ffff/0000\x1b\\": LIGHT,
    "\x1b]11;rgba:00/00/00/ff\x07": DARK,
}
REPORTS = {"\x1b[?997;1n": DARK, "\x1b[?997;2n": LIGHT}
REPLIES = [*COLORS, *REPORTS, ATTRIBUTES]


def values(messages: list[Message]) -> list[str]:
    """Keys by name, pastes with their text, replies by kind and background."""
    return [_value(message) for message in messages]


def _value(message: Message) -> str:
    match message:
        case events.Key():
            return message.key
        case events.Paste():
            return f"paste {message.text!r}"
        case TerminalReply():
            return f"{message.reply.kind} {message.reply.background}"
    return type(message).__name__


def read(pieces: list[bytes]) -> list[str]:
    terminal, clock = reader()
    messages: list[Message] = []
    for piece in pieces:
        messages += [*terminal.feed(piece), *terminal.tick()]
    return values(messages + settle(terminal, clock))


def shown(reply: str) -> str:
    kind = "color" if reply in COLORS else "report" if reply in REPORTS else "attributes"
    return f"{kind} {(COLORS | REPORTS).get(reply)}"


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_between_keys_is_one_message_regardless_of_read_boundaries(reply: str) -> None:
    for pieces in cuts(f"a{reply}b"):
        assert read(pieces) == ["a", shown(reply), "b"], pieces


@pytest.mark.parametrize(
    "other",
    [
        "\x1b]11;?\x1b\\",
        "\x1b]11;rgb:12345/0/0\x07",
        "\x1b]11;rgb:0/0\x07",
        "\x1b]11;white\x07",
        "\x1b]12;rgb:0/0/0\x07",
        "\x1b]11;rgb:0/0/0 and more\x07",
        "\x1b[?997;3n",
        "\x1b[>0;10;1c",
    ],
)
def test_another_reply_is_dropped(other: str) -> None:
    for pieces in cuts(f"a{other}b"):
        assert read(pieces) == ["a", "b"], pieces


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_inside_a_paste_is_text_of_the_paste(reply: str) -> None:
    for pieces in cuts(f"{START}x{reply}y{END}"):
        (only,) = read(pieces)
        assert only.startswith("paste 'x") and only.endswith("y'") and "␛" in only


@pytest.mark.parametrize("reply", REPLIES)
def test_no_rest_of_a_reply_is_typed_after_a_silence_anywhere_in_it(reply: str) -> None:
    for at in range(1, len(reply)):
        terminal, clock = reader()
        messages = terminal.feed(reply[:at].encode()) + settle(terminal, clock)
        clock.now += 10 * REPLY_SILENCE_S
        messages += terminal.feed(f"{reply[at:]}x".encode()) + settle(terminal, clock)
        begun = (
            read([reply[:at].encode()]) if at <= 2 else []
        )  # Escape, Alt+[ or Alt+], as far as anyone knows
        assert values(messages) == [*begun, shown(reply), "x"], at


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_that_is_due_may_pause_after_its_second_character(reply: str) -> None:
    clock = Clock()
    terminal = TerminalInput(clock=clock, is_reply_due=lambda: True)
    messages = terminal.feed(reply[:2].encode())
    clock.now += REPLY_SILENCE_S * 0.9
    messages += terminal.tick() + terminal.feed(reply[2:].encode())
    assert values(messages) == [shown(reply)]


def test_keys_work_between_a_stalled_reply_and_its_rest() -> None:
    terminal, clock = reader()
    terminal.feed(b"\x1b]11;rgb:ffff/ff")
    settle(terminal, clock)
    assert values(terminal.feed(b"f")) == ["f"]
    assert values(terminal.feed(b"ff/ffff\x1b\\")) == [f"color {LIGHT}"]
    assert values(terminal.feed(b"ff/ffff")) == [*"ff", "slash", *"ffff"]


@pytest.mark.property
def test_random_interleavings_of_replies_and_keys_lose_no_key_and_type_nothing() -> None:
    for seed in range(300):
        pieces, expected = interleaved(random.Random(seed))
        assert read(pieces) == expected, seed


def interleaved(chance: random.Random) -> tuple[list[bytes], list[str]]:
    """Return keys and replies in pieces, and what is read of them."""
    keys = {"a": "a", "é": "é", "7": "7", "\r": "enter", "\x03": "ctrl+c", "\x7f": "backspace", "f": "f"}
    keys |= {"\x1b[A": "up", "\x1b[13;2u": "shift+enter", "\x1bx": "alt+x", "日": "日", "c": "c", "n": "n"}
    keys |= {"\x1bOP": "f1", "/": "slash", ";": "semicolon", "\x1b[I": "AppFocus"}
    pasted = "".join(chance.choice(REPLIES) for _ in range(2))
    sent = [chance.choice([*keys, *REPLIES, START]) for _ in range(chance.randint(1, 40))]
    expected = [
        read([f"{START}{pasted}{END}".encode()])[0] if one == START else keys.get(one) or shown(one)
        for one in sent
    ]
    data = "".join(f"{START}{pasted}{END}" if one == START else one for one in sent).encode()
    ends = sorted(chance.sample(range(len(data)), chance.randint(0, len(data) - 1)))
    pieces = [data[one:other] for one, other in zip([0, *ends], [*ends, len(data)], strict=True)]
    return pieces, expected


@pytest.mark.property
def test_keys_and_replies_survive_random_delays_between_them() -> None:
    for seed in range(200):
        found, expected = delayed(random.Random(seed))
        assert found == expected, seed


def delayed(chance: random.Random) -> tuple[list[str], list[str]]:
    """Feed keys and replies with pauses; return what was read, and what was sent."""
    terminal, clock = reader()
    messages: list[Message] = []
    expected: list[str] = []
    for _ in range(chance.randint(1, 30)):
        if chance.random() < 0.5:
            key = chance.choice("abcdef0189/;rgn")
            expected.append({"/": "slash", ";": "semicolon"}.get(key, key))
            messages += terminal.feed(key.encode())
        else:
            reply = chance.choice(REPLIES).encode()
            expected.append(shown(reply.decode()))
            at = chance.randint(3, len(reply))
            messages += terminal.feed(reply[:at])
            clock.now += chance.choice((0.0, 0.05, 0.9, 1.1, 30.0))
            messages += terminal.tick()
            messages += terminal.feed(reply[at:])
        clock.now += chance.choice((0.0, 0.05, 5.0))
        messages += terminal.tick()
    return values(messages + settle(terminal, clock)), expected


# The watch


def told(watch: BackgroundWatch, *replies: str) -> list[Background]:
    """The backgrounds that replies bring."""
    parsed = (parse(reply) for reply in replies)
    return [found for reply in parsed if reply is not None and (found := watch.take(reply)) is not None]


BLACK, WHITE = "\x1b]11;rgb:0/0/0\x07", "\x1b]11;rgb:f/f/f\x07"
TO_DARK, TO_LIGHT = REPORTS


def watching() -> tuple[BackgroundWatch, Clock]:
    clock = Clock()
    watch = BackgroundWatch(clock)
    assert watch.begin() == REPORTS_ON + QUERY
    return watch, clock


def test_an_answer_counts_also_when_it_is_late() -> None:
    watch, clock = watching()
    assert watch.wait_s > 0
    clock.now += 60.0
    assert watch.wait_s == 0
    assert told(watch, WHITE, ATTRIBUTES) == [LIGHT]


def test_the_attributes_end_the_wait_for_a_terminal_without_a_colour() -> None:
    watch, _ = watching()
    assert told(watch, ATTRIBUTES) == []
    assert watch.wait_s == 0 and not watch.is_to_ask


def test_in_gnu_screen_the_colour_is_due_after_the_attributes() -> None:
    clock = Clock()
    watch = BackgroundWatch(clock, is_ordered=False)
    watch.begin()
    assert told(watch, ATTRIBUTES) == [] and watch.wait_s > 0
    assert told(watch, WHITE) == [LIGHT] and watch.wait_s == 0
    watch.ask()
    clock.now += ANSWER_S
    assert watch.wait_s == 0
    assert not answers_in_order({"STY": "1.pts-0.host"})
    assert answers_in_order({"STY": "1.pts-0.host", "TMUX": "/tmp/tmux"}) and answers_in_order({})


def test_a_report_asks_for_the_colour_which_decides() -> None:
    watch, _ = watching()
    told(watch, BLACK, ATTRIBUTES)
    assert told(watch, TO_LIGHT) == [] and watch.is_to_ask
    assert watch.ask() == QUERY and not watch.is_to_ask
    assert told(watch, BLACK, ATTRIBUTES) == [DARK]


def test_a_report_decides_where_there_is_no_colour() -> None:
    watch, _ = watching()
    told(watch, ATTRIBUTES, TO_LIGHT)
    watch.ask()
    assert told(watch, ATTRIBUTES) == [LIGHT]
    watch.ask()
    assert told(watch, ATTRIBUTES) == []


def test_a_report_that_overtakes_an_answer_asks_again_after_it() -> None:
    watch, _ = watching()
    assert told(watch, TO_LIGHT) == [] and not watch.is_to_ask
    assert told(watch, BLACK, ATTRIBUTES) == [DARK] and watch.is_to_ask
    watch.ask()
    assert told(watch, WHITE, ATTRIBUTES) == [LIGHT] and not watch.is_to_ask


def test_nothing_counts_after_the_end() -> None:
    watch, _ = watching()
    assert watch.end() == REPORTS_OFF
    assert told(watch, WHITE, TO_LIGHT, ATTRIBUTES) == []
    assert watch.end() == ""


@pytest.mark.parametrize(
    ("environ", "is_asked"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "screen", "STY": "1.x"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "0"}, False),
    ],
)
def test_only_terminals_with_colours_are_asked(environ: dict[str, str], is_asked: bool) -> None:
    assert can_ask(environ) is is_asked
