"""A paste is one event, a reply of the terminal none, and keys are kept, wherever a read ends."""

from __future__ import annotations

import time

import pytest
from textual import constants, events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from forge_tui.terminal import input as terminal_input
from forge_tui.terminal.input import PASTE_SILENCE_S, REPLY_SILENCE_S, TerminalInput, TerminalReply

START, END = "\x1b[200~", "\x1b[201~"
ANSWERS = {
    "primary attributes": "\x1b[?62;22c",
    "long primary attributes": "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28;29c",
    "secondary attributes": "\x1b[>0;10;1c",
    "tertiary attributes": "\x1bP!|7E565445\x1b\\",
    "background colour": "\x1b]11;rgb:0000/0000/0000\x07",
    "foreground colour": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    "palette colour": "\x1b]4;1;rgb:cccc/0000/0000\x9c",
    "clipboard": "\x1b]52;c;" + "aGVsbG8h" * 2000 + "\x07",
    "title": "\x1b]lsome title\x1b\\",
    "XTGETTCAP": "\x1bP1+r524742=382F382F38\x1b\\",
    "XTGETTCAP, unknown": "\x1bP0+r\x1b\\",
    "XTVERSION": "\x1bP>|tmux 3.3a\x1b\\",
    "DECRQSS": "\x1bP1$r0m\x1b\\",
    "kitty graphics": "\x1b_Gi=31;OK\x1b\\",
    "kitty keyboard": "\x1b[?1u",
    "status": "\x1b[0n",
    "colour scheme": "\x1b[?997;1n",
    "private cursor position": "\x1b[?5;3;1R",
    "size in characters": "\x1b[8;24;80t",
    "size in pixels": "\x1b[4;600;800t",
    "mode that nobody asked for": "\x1b[?12;2$y",
    "a key with a code that is none": "\x1b[99999999;5u",
    "X10 mouse": "\x1b[M #&",
}
KEYS = {
    "kitty": [
        "\x1b[97;5u",
        "\x1b[97;;97u",
        "\x1b[13;2u",
        "\x1b[27u",
        "\x1b[1;2A",
        "\x1b[57441;2u",
    ],
    "alt": ["\x1ba", "\x1bA", "\x1b\r", "\x1b\x7f", "\x1b.", "\x1bé", "\x1bX", "\x1b\\"],
    "alt that begins something": ["\x1b[", "\x1b]", "\x1bO", "\x1bP", "\x1b_"],
    "plain": ["a", "é", "日", "\r", "\t", "\x03", "\x7f", "\x1b"],
    "table": [key for key in ANSI_SEQUENCES_KEYS if key.startswith("\x1b") and key != "\x1b"],
}
ALL_KEYS = [key for keys in KEYS.values() for key in keys]


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def reader() -> tuple[TerminalInput, Clock]:
    clock = Clock()
    return TerminalInput(clock=clock), clock


def settle(terminal: TerminalInput, clock: Clock) -> list[Message]:
    """What silence brings out."""
    messages = []
    while (wait_s := terminal.wait_s) is not None:
        clock.now += wait_s
        messages += terminal.tick()
    return messages


def told(messages: list[Message]) -> list[tuple[str, ...]]:
    """Messages as values that compare; typed characters and keys by name. Replies have tests of their own."""
    return [_value(message) for message in messages if not isinstance(message, TerminalReply)]


def _value(message: Message) -> tuple[str, ...]:
    match message:
        case events.Key():
            return ("key", message.key, repr(message.character))
        case events.Paste():
            return ("paste", message.text)
        case events.MouseEvent():
            return (type(message).__name__, str(message.x), str(message.y), str(message.button))
        case events.CursorPosition():
            return ("cursor", str(message.x), str(message.y))
        case events.Resize():
            return ("resize", str(message.size), str(message.pixel_size))
    return (type(message).__name__,)


def cuts(text: str) -> list[list[bytes]]:
    """The text in one piece, in two at every byte, and byte by byte."""
    data = text.encode()
    halves = [[data[:at], data[at:]] for at in range(1, min(len(data), 80))]
    return [[data], *halves, [data[at : at + 1] for at in range(len(data))]]


def read(pieces: list[bytes]) -> list[tuple[str, ...]]:
    terminal, clock = reader()
    messages: list[Message] = []
    for piece in pieces:
        messages += terminal.feed(piece)
        messages += terminal.tick()
    return told(messages + settle(terminal, clock))


def by_textual(text: str) -> list[tuple[str, ...]]:
    """What Textual's parser makes of it, when nothing follows."""
    parser = XTermParser()
    return told([*parser.feed(text), *parser.feed("")])


def typed(text: str) -> list[tuple[str, ...]]:
    return by_textual(text)


@pytest.mark.parametrize(
    ("pasted", "shown"),
    [
        ("two words", "two words"),
        ("a\r\nb\rc\nd\te", "a\nb\nc\nd\te"),
        ("\x1b[1mbold\x1b[0m", "␛[1mbold␛[0m"),
        ("\x1b", "␛"),
        ("\x1b\x1b[201", "␛␛[201"),
        ("1\x1b[31mred\rsecond\r\x03\x04", "1␛[31mred\nsecond\n␃␄"),
        ("\x1b]52;c;eA==\x07\x1bP1+r\x1b\\ \x9b31m", "␛]52;c;eA==␇␛P1+r␛\\ \\x9b31m"),
        ("\x1b[200~again", "␛[200~again"),
        ("\x1b[<0;1;1M\x1b[13u", "␛[<0;1;1M␛[13u"),
        ("nu\x00l", "nul"),
        ("日本 é 👩‍💻", "日本 é 👩‍💻"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_a_paste_is_one_event_regardless_of_content_and_read_boundaries(pasted: str, shown: str) -> None:
    for pieces in cuts(f"a{START}{pasted}{END}\r"):
        assert read(pieces) == [*typed("a"), ("paste", shown), *typed("\r")], pieces


def test_two_pastes_in_one_read_are_two_events() -> None:
    text = f"{START}one{END}{START}two{END}"
    for pieces in cuts(text):
        assert read(pieces) == [("paste", "one"), ("paste", "two")]


def test_an_empty_paste_is_ignored() -> None:
    assert read([f"{START}{END}x".encode()]) == typed("x")


def test_a_paste_without_an_end_is_delivered_after_a_silence_and_keys_work_again() -> None:
    terminal, clock = reader()
    assert terminal.feed(f"{START}half \x1b[20".encode()) == []
    clock.now += PASTE_SILENCE_S / 2
    assert terminal.feed(b"1") == []
    clock.now += PASTE_SILENCE_S * 0.9
    assert terminal.tick() == []
    clock.now += PASTE_SILENCE_S * 0.2
    assert told(terminal.tick()) == [("paste", "half ␛[201")]
    assert told(terminal.feed(b"y")) == typed("y")
    assert told(terminal.feed(b"\x1b[A")) == typed("\x1b[A")
    assert terminal.wait_s is None


@pytest.mark.parametrize("rest", ["r\x1b[201~", "of what was pasted\rsecond line\r"])
def test_the_rest_of_a_stalled_paste_is_also_pasted(rest: str) -> None:
    terminal, clock = reader()
    terminal.feed(f"{START}first ".encode())
    assert told(settle(terminal, clock)) == [("paste", "first ")]
    shown = rest.removesuffix(END).replace("\r", "\n")
    assert told(terminal.feed(rest.encode()) + settle(terminal, clock)) == [("paste", shown)]


def test_a_paste_over_the_limit_is_delivered_in_parts_and_never_as_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal_input, "PASTE_LIMIT", 100)
    pieces = [START.encode(), *[b"x" * 40] * 5, END.encode(), b"y"]
    assert read(pieces) == [("paste", "x" * 120), ("paste", "x" * 80), *typed("y")]


def test_a_paste_of_five_megabytes_is_read_quickly() -> None:
    terminal, _ = reader()
    data = (START + "\x1b[31mred\x1b[0m and so on\r\n" * 200_000 + END).encode()
    messages: list[Message] = []
    began = time.process_time()
    for at in range(0, len(data), 4096):  # what a tty hands over at once
        messages += terminal.feed(data[at : at + 4096])
    spent_s = time.process_time() - began
    assert [type(message) for message in messages] == [events.Paste]
    assert spent_s < 2.0


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_terminal_replies_are_dropped_regardless_of_read_boundaries(answer: str) -> None:
    for pieces in cuts(f"a{answer}b"):
        assert read(pieces) == typed("ab"), pieces


@pytest.mark.parametrize("answer", ["\x1b]11;rgb:00", "\x1bP1+r52", "\x1b_Gi=1", "\x1b[?62;2"])
def test_a_delayed_terminal_reply_is_still_dropped(answer: str) -> None:
    end = "c" if answer.startswith("\x1b[") else "\x1b\\"
    terminal, clock = reader()
    terminal.feed(answer.encode())
    clock.now += REPLY_SILENCE_S * 0.9
    assert terminal.tick() == []
    assert told(terminal.feed(f"{end}x".encode())) == typed("x")


@pytest.mark.parametrize("answer", ["\x1b]11;rgb:00", "\x1bP1+r52", "\x1b_Gi=1", "\x1b[?62;2", "\x1b[M "])
def test_an_unterminated_terminal_reply_is_dropped_and_keys_work_again(answer: str) -> None:
    terminal, clock = reader()
    terminal.feed(answer.encode())
    assert settle(terminal, clock) == []
    assert told(terminal.feed(b"x\r")) == typed("x\r")


@pytest.mark.parametrize("key", ["\r", "\x03", "\x1b[A", "\x1bx", "\x1b[13u"])
@pytest.mark.parametrize("answer", ["\x1b]11;rgb:00", "\x1bP1+r52", "\x1b_Gi=1", "\x1b[?62;2"])
def test_a_malformed_terminal_reply_ends_at_the_next_key(answer: str, key: str) -> None:
    for pieces in cuts(answer + key):
        assert read(pieces) == typed(key)


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[27;2;9~", "shift+tab"),
        ("\x1b[27;5;44~", "ctrl+comma"),
        ("\x1b[27;6;90~", "ctrl+shift+z"),
        ("\x1b[90;6u", "ctrl+shift+z"),
        ("\x1b[122;6u", "ctrl+shift+z"),
    ],
)
def test_a_key_with_modifiers_has_one_name_in_each_form(sent: str, key: str) -> None:
    assert read([sent.encode()]) == [("key", key, "None")]


def test_keys_are_parsed_as_in_textual() -> None:
    for key in ALL_KEYS:
        for pieces in cuts(key):
            assert read(pieces) == by_textual(key), pieces
        assert read([f"a{key}".encode()]) == typed("a") + by_textual(key), ascii(key)


@pytest.mark.parametrize("key", ["\x1ba", "\x1b]", "\x1bP", "\x1b[", "\x1bO", "\x1b_"])
def test_alt_keys_in_one_burst_are_parsed_separately(key: str) -> None:
    assert read([(key * 2).encode()]) == by_textual(key) * 2
    assert read([f"{key}\rx".encode()]) == by_textual(key) + typed("\rx")


def test_letters_right_after_alt_bracket_are_typed() -> None:
    assert read([b"\x1b]hello\rx"]) == by_textual("\x1b]") + typed("hello\rx")
    assert read([b"\x1b]hello"]) == by_textual("\x1b]") + typed("hello")


def test_the_escape_delay_equals_that_of_textual() -> None:
    terminal, clock = reader()
    assert terminal.feed(b"\x1b") == []
    assert terminal.wait_s == pytest.approx(constants.ESCAPE_DELAY)
    clock.now += constants.ESCAPE_DELAY * 0.9
    assert terminal.tick() == []
    clock.now += constants.ESCAPE_DELAY * 0.2
    assert told(terminal.tick()) == by_textual("\x1b")
    assert told(terminal.feed(b"[A")) == typed("[A")


def test_escape_pressed_twice_is_two_keys() -> None:
    assert read([b"\x1b\x1b"]) == by_textual("\x1b") * 2
    assert read([b"\x1b\x1b[A"]) == by_textual("\x1b") + by_textual("\x1b[A")


@pytest.mark.parametrize(
    "report",
    [
        "\x1b[I",
        "\x1b[O",
        "\x1b[<0;10;5M",
        "\x1b[<35;10;5M",
        "\x1b[<64;1;1M",
        "\x1b[<0;-1;5M",
        "\x1b[5;3R",
        "\x1b[?2026;2$y",
        "\x1b[?2048;1$y",
        "\x1b[48;24;80;480;800t",
    ],
)
def test_reports_that_textual_uses_are_passed_on(report: str) -> None:
    for pieces in cuts(f"a{report}b"):
        assert read(pieces) == typed("a") + by_textual(report) + typed("b"), pieces


def test_the_synchronized_output_report_is_a_message() -> None:
    terminal, _ = reader()
    assert [type(m) for m in terminal.feed(b"\x1b[?2026;2$y")] == [TerminalSupportsSynchronizedOutput]


def test_mouse_deltas_are_computed_across_other_reports() -> None:
    terminal, _ = reader()
    messages = terminal.feed(b"\x1b[<35;10;5M\x1b[?62c\x1b[<35;12;6M")
    assert [(m.delta_x, m.delta_y) for m in messages if isinstance(m, events.MouseMove)] == [(9, 4), (2, 1)]


def test_a_screen_that_reports_no_pixels_breaks_nothing() -> None:
    assert read([b"\x1b[48;24;80;0;0t\x1b[<0;1;1Mx"])[-1:] == typed("x")


def test_invalid_utf_8_input_is_harmless() -> None:
    assert read([b"caf\xe9 ", START.encode(), b"\xff\xfe", END.encode()]) == [
        *typed("caf� "),
        ("paste", "��"),
    ]
