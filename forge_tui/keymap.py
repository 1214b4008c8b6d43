"""Every key of the app in one table: it feeds the bindings, `/help` and the README.

Relies on Textual 8.2.8's table of what terminals send, `textual._ansi_sequences`, to which it adds a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding


class _Unnamed(Enum):
    """Keys that Textual 8.2.8's table of sequences lacks."""

    ALT_ENTER = "alt+enter"


cast("dict[str, tuple[Enum, ...]]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (_Unnamed.ALT_ENTER,)
"""What most terminals send for Alt+Enter; without this line it would be Enter, and send half a message."""


class Where(StrEnum):
    """Which part of the screen a key belongs to."""

    COMPOSER = "Writing"
    CHAT = "Conversation"
    FIND = "Finding"
    DIFF = "Looking at changes (/diff)"
    PROMPT = "When Forge asks"
    QUESTIONS = "When Forge has questions"


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table."""

    keys: str
    """Textual's names, separated by commas; empty for what is no binding."""
    action: str
    label: str
    """As a person calls it."""
    summary: str
    where: Where
    is_first: bool = False
    """Taken before the keys after it reach what has the focus now."""


KEYS: tuple[Key, ...] = (
    Key("enter", "submit", "Enter", "Send; while Forge works: put it in the queue", Where.COMPOSER),
    Key(
        "shift+enter,alt+enter,ctrl+enter,ctrl+j",
        "newline",
        "Shift+Enter, Alt+Enter, Ctrl+Enter, Ctrl+J",
        "New line",
        Where.COMPOSER,
    ),
    Key("", "", "\\ then Enter", "New line, in any terminal", Where.COMPOSER),
    Key("up", "cursor_up", "Up", "On the first line: earlier messages, or what is queued", Where.COMPOSER),
    Key("down", "cursor_down", "Down", "On the last line: later messages", Where.COMPOSER),
    Key("tab", "complete", "Tab", "Complete a command", Where.COMPOSER),
    Key("escape", "escape", "Esc", "End what is open or selected, else interrupt", Where.CHAT),
    Key(
        "ctrl+c,super+c",
        "copy_or_stop",
        "Ctrl+C",
        "Copy a selection, else interrupt, else clear; twice: leave Forge",
        Where.CHAT,
    ),
    Key("ctrl+d", "leave_if_empty", "Ctrl+D", "Leave, when nothing is typed", Where.CHAT),
    Key("shift+tab", "cycle_mode", "Shift+Tab", "Change how much runs without asking", Where.CHAT),
    Key(
        "ctrl+o",
        "toggle_cards",
        "Ctrl+O",
        "Open or fold what is under the mouse, else all cards and thoughts",
        Where.CHAT,
    ),
    Key(
        "alt+r",
        "toggle_raw",
        "Alt+R",
        "Show an answer as it was written, and back",
        Where.CHAT,
        is_first=True,
    ),
    Key("ctrl+b", "background", "Ctrl+B", "Let the running command go on in the background", Where.CHAT),
    Key("ctrl+t", "toggle_todos", "Ctrl+T", "Show or hide the list of tasks", Where.CHAT),
    Key("ctrl+p", "palette", "Ctrl+P", "Find a command", Where.CHAT),
    Key("f1", "help", "F1", "Help", Where.CHAT),
    Key("pageup", "page_up", "PageUp", "Scroll back", Where.CHAT),
    Key("pagedown", "page_down", "PageDown", "Scroll on", Where.CHAT),
    Key("ctrl+home", "scroll_top", "Ctrl+Home, Ctrl+End", "To the beginning, to the end", Where.CHAT),
    Key("ctrl+end", "scroll_bottom", "", "", Where.CHAT),
    Key("home", "scroll_top", "Home, End", "The same, when nothing is typed", Where.CHAT),
    Key("end", "scroll_bottom", "", "", Where.CHAT),
    Key(
        "alt+up,ctrl+up",
        "prompt(-1)",
        "Alt+Up, Alt+Down",
        "To what you sent before, after (also with Ctrl)",
        Where.CHAT,
    ),
    Key("alt+down,ctrl+down", "prompt(1)", "", "", Where.CHAT),
    Key("ctrl+f", "find", "Ctrl+F", "Find in the conversation, folded output too", Where.CHAT, is_first=True),
    Key("f9", "lend_mouse", "F9", "Toggle mouse capture", Where.CHAT),
    Key("enter,up", "older", "Enter, Up", "An earlier match", Where.FIND),
    Key("down", "newer", "Down", "A later match", Where.FIND),
    Key("escape", "close", "Esc", "Close, and stay at the match", Where.FIND),
    Key("ctrl+c", "go_back", "Ctrl+C", "Close, and back to where you were", Where.FIND),
    Key("up", "choose(-1)", "Up, Down", "Choose an answer", Where.PROMPT),
    Key("down", "choose(1)", "", "", Where.PROMPT),
    Key("enter", "answer", "Enter", "Give the chosen answer", Where.PROMPT),
    Key(
        "1",
        "digit(1)",
        "1 … 5",
        "Answer, after half a second or with Enter",
        Where.PROMPT,
    ),
    *(Key(str(digit), f"digit({digit})", "", "", Where.PROMPT) for digit in range(2, 6)),
    Key("", "", "Any text", "No, and why; Enter sends it, Esc moves it to your message", Where.PROMPT),
    Key("tab,right", "edit_rule", "Tab, →", "Change the rule before it is granted", Where.PROMPT),
    Key("ctrl+e", "read_all", "Ctrl+E", "Read all of it, full screen", Where.PROMPT),
    Key("escape", "deny", "Esc", "No", Where.PROMPT),
    Key("pageup", "scroll_body(-1)", "PageUp, PageDown", "Scroll what is asked about", Where.PROMPT),
    Key("pagedown", "scroll_body(1)", "", "", Where.PROMPT),
    Key("up", "choose(-1)", "Up, Down", "Choose an option", Where.QUESTIONS),
    Key("down", "choose(1)", "", "", Where.QUESTIONS),
    Key(
        "1", "digit(1)", "1 … 9", "Take or mark an option, after half a second or with Enter", Where.QUESTIONS
    ),
    *(Key(str(digit), f"digit({digit})", "", "", Where.QUESTIONS) for digit in range(2, 10)),
    Key(
        "",
        "",
        "Any text",
        "Your own answer; Enter keeps it, Esc moves it to your message",
        Where.QUESTIONS,
    ),
    Key("space", "mark", "Space", "Mark an option, where several may be taken", Where.QUESTIONS),
    Key("enter", "take", "Enter", "Take what is chosen and go on", Where.QUESTIONS),
    Key("tab,right", "turn(1)", "Tab, Shift+Tab", "Next, previous question", Where.QUESTIONS),
    Key("shift+tab,left", "turn(-1)", "", "", Where.QUESTIONS),
    Key("escape", "decline", "Esc", "Decline to answer", Where.QUESTIONS),
    Key("pageup", "scroll_text(-1)", "", "", Where.QUESTIONS),
    Key("pagedown", "scroll_text(1)", "", "", Where.QUESTIONS),
    Key("right_square_bracket", "hunk(1)", "], [", "Next, previous hunk, through all files", Where.DIFF),
    Key("left_square_bracket", "hunk(-1)", "", "", Where.DIFF),
    Key("n", "file(1)", "N, P", "Next, previous file", Where.DIFF),
    Key("p", "file(-1)", "", "", Where.DIFF),
    Key("b", "list", "B", "Show or hide the list of files", Where.DIFF),
    Key("v", "split", "V", "Side by side, or stacked", Where.DIFF),
    Key("E", "whole", "Shift+E", "The whole file, or its hunks alone", Where.DIFF),
    Key("s", "raw", "S", "The file as a patch, or drawn", Where.DIFF),
    Key("d", "source", "D", "The last turn, or the working tree", Where.DIFF),
    Key("r", "again", "R", "Read it again", Where.DIFF),
    Key("question_mark,f1", "keys", "?", "These keys", Where.DIFF),
    Key("down,j", "scroll(1)", "Up, Down, J, K", "Scroll by a line", Where.DIFF),
    Key("up,k", "scroll(-1)", "", "", Where.DIFF),
    Key("pagedown,space", "page(1)", "PageUp, PageDown", "Scroll by a page", Where.DIFF),
    Key("pageup", "page(-1)", "", "", Where.DIFF),
    Key("home,g,ctrl+home", "end(-1)", "Home, End", "To the beginning, to the end", Where.DIFF),
    Key("end,G,ctrl+end", "end(1)", "", "", Where.DIFF),
    Key("ctrl+c,super+c", "copy", "Ctrl+C", "Copy a selection, else close", Where.DIFF),
    Key("q,escape", "leave", "Q, Esc", "Close", Where.DIFF),
)


def bindings(where: Where) -> list[Binding]:
    """Textual bindings for one part of the screen."""
    return [
        Binding(
            key.keys,
            key.action,
            key.summary,
            show=False,
            priority=key.is_first,
            id=f"{where.name.lower()}.{index}",
        )
        for index, key in enumerate(KEYS)
        if key.where is where and key.keys
    ]


def help_rows(where: Where) -> list[tuple[str, str]]:
    """(key, what it does) for the help and the README."""
    return [(key.label, key.summary) for key in KEYS if key.where is where and key.label]
