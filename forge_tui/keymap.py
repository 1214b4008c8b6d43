"""Every key of the app in one table: it feeds the bindings, `/help` and the documentation.

To add a key, add a row here and write its action.

Relies on Textual 8.2.8's table of what terminals send, `textual._ansi_sequences`, to which it adds a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding


class _Unnamed(Enum):
    """Keys that are missing in Textual 8.2.8's table of sequences."""

    ALT_ENTER = "alt+enter"


cast("dict[str, tuple[Enum, ...]]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (_Unnamed.ALT_ENTER,)
"""Most terminals send this for Alt+Enter; otherwise it would be Enter, and send half a message."""


class KeyContext(StrEnum):
    """The part of the screen that a key belongs to."""

    COMPOSER = "Writing a message"
    CHAT = "Conversation"
    WELCOME = "Start screen, while nothing is typed"
    FIND = "Find in the conversation"
    DIFF = "Changes (/diff)"
    MODELS = "Models (/model)"
    ENDPOINTS = "Endpoints (/connect)"
    SETTINGS = "Settings (/config)"
    SESSIONS = "Saved sessions (/resume)"
    JOBS = "Background commands (/jobs)"
    SERVERS = "MCP servers (/mcp)"
    HISTORY = "What was sent (Ctrl+R)"
    QUEUE = "Queued messages (Alt+Q)"
    PROMPT = "When Forge asks for permission"
    QUESTIONS = "When Forge has questions"
    PLAN = "When Forge presents a plan"
    REPLAY = "Replay of a session (forge replay)"
    PROGRAMS = "When hooks and MCP servers wait for approval"
    NOTE = "When a line is for an instruction file (# and a text)"


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table: a binding, a line of the help, or both."""

    id: str
    """Stable: the context in lower case, a dot, and what the key does."""
    keys: str
    """Textual's names, separated by commas; empty for a row of the help alone."""
    action: str
    """The action of the widget or screen that has the bindings of this context."""
    label: str = ""
    """The name of the key in the help; empty for a row that the help omits."""
    summary: str = ""
    is_first: bool = False
    """Whether the binding has priority over the widget with the focus."""
    command: str = ""
    """The slash command that does the same or a part of it; menus show the key beside it."""

    @property
    def context(self) -> KeyContext:
        """The part of the screen that the key belongs to."""
        return KeyContext[self.id.partition(".")[0].upper()]


KEYS: tuple[Key, ...] = (
    Key(
        "composer.submit",
        "enter",
        "submit",
        "Enter",
        "Send; while Forge works queue it, or if nothing is typed, send a queued one now",
    ),
    Key(
        "composer.newline",
        "shift+enter,alt+enter,ctrl+enter,ctrl+j",
        "newline",
        "Shift+Enter, Alt+Enter, Ctrl+Enter, Ctrl+J",
        "New line",
    ),
    Key("composer.newline_by_backslash", "", "", "\\ then Enter", "New line, in any terminal"),
    Key("composer.shell", "", "", "! and a command", "Run it in your own shell; !! runs the last one again"),
    Key("composer.up", "up", "cursor_up", "Up", "On the first line: previous messages, or the queue"),
    Key("composer.down", "down", "cursor_down", "Down", "On the last line: next messages"),
    Key("composer.complete", "tab", "complete", "Tab", "Complete a command"),
    Key("composer.left", "left", "cursor_left", "←, →", "Move by a character"),
    Key("composer.right", "right", "cursor_right"),
    Key("composer.word_left", "ctrl+left", "cursor_word_left", "Ctrl+←, Ctrl+→", "Move by a word"),
    Key("composer.word_right", "ctrl+right", "cursor_word_right"),
    Key("composer.line_start", "ctrl+a,home", "cursor_line_start", "Ctrl+A, Ctrl+E", "To the line's ends"),
    Key("composer.line_end", "ctrl+e,end", "cursor_line_end"),
    Key(
        "composer.delete_word_left",
        "ctrl+w,ctrl+backspace,alt+backspace",
        "delete_word_left",
        "Ctrl+W, Alt+Delete",
        "Delete the word before, after the cursor",
    ),
    Key("composer.delete_word_right", "alt+delete", "delete_word_right"),
    Key(
        "composer.delete_to_line_start",
        "ctrl+u,super+backspace",
        "delete_to_start_of_line",
        "Ctrl+U, Ctrl+K",
        "Delete to the beginning, to the end of the line",
    ),
    Key("composer.delete_to_line_end", "ctrl+k", "delete_to_end_of_line_or_delete_line"),
    Key(
        "composer.undo",
        "ctrl+underscore,ctrl+shift+underscore,ctrl+shift+minus,ctrl+slash",
        "undo",
        "Ctrl+_, Ctrl+/",
        "Undo",
    ),
    Key("composer.redo", "ctrl+y,alt+underscore,alt+shift+minus", "redo", "Ctrl+Y, Alt+_", "Redo"),
    Key("chat.interrupt", "escape", "escape", "Esc", "Close what is open or selected, else interrupt"),
    Key(
        "chat.rewind",
        "",
        "",
        "Esc Esc",
        "Clear the message; if nothing is typed, go back to an earlier one",
        command="rewind",
    ),
    Key(
        "chat.copy_or_interrupt",
        "ctrl+c,super+c",
        "copy_or_stop",
        "Ctrl+C",
        "Copy the selection, else interrupt, else clear; twice: leave Forge",
    ),
    Key(
        "chat.leave", "ctrl+d", "leave_if_empty", "Ctrl+D", "Leave Forge, if nothing is typed", command="exit"
    ),
    Key(
        "chat.cycle_mode",
        "shift+tab",
        "cycle_mode",
        "Shift+Tab",
        "Change the permission mode",
        command="mode",
    ),
    Key(
        "chat.toggle_cards",
        "ctrl+o",
        "toggle_cards",
        "Ctrl+O",
        "Expand the paste at the cursor, else the card under the mouse, else all cards and reasoning",
    ),
    Key(
        "chat.toggle_raw",
        "alt+r",
        "toggle_raw",
        "Alt+R",
        "Toggle an answer's Markdown source",
        is_first=True,
        command="raw",
    ),
    Key("chat.background", "ctrl+b", "background", "Ctrl+B", "Move the running command to the background"),
    Key("chat.jobs", "f3", "jobs", "F3", "Show the commands running in the background", command="jobs"),
    Key(
        "chat.toggle_todos",
        "ctrl+t",
        "toggle_todos",
        "Ctrl+T",
        "Show or hide the list of tasks",
        command="todo",
    ),
    Key(
        "chat.paste",
        "ctrl+v",
        "paste",
        "Ctrl+V",
        "Paste the clipboard's image, else what was copied in Forge",
    ),
    Key(
        "chat.paste_image",
        "alt+v",
        "paste(True)",
        "Alt+V",
        "Paste the clipboard's image, where the terminal takes Ctrl+V or there is text as well",
    ),
    Key(
        "chat.editor", "ctrl+g", "edit_message", "Ctrl+G", "Edit the message in your editor", command="editor"
    ),
    Key(
        "chat.stash", "ctrl+s", "stash", "Ctrl+S", "Put the message aside; if nothing is typed, take it back"
    ),
    Key("chat.history", "ctrl+r", "search_history", "Ctrl+R", "Search what you have sent, in all sessions"),
    Key("chat.queue", "alt+q", "queue", "Alt+Q", "List the queued messages", is_first=True, command="queue"),
    Key("chat.palette", "ctrl+p", "palette", "Ctrl+P", "Find a command"),
    Key("chat.models", "alt+p", "choose_model", "Alt+P", "Choose the model", command="model"),
    Key("chat.next_model", "f2", "next_model", "F2", "Switch to the model used before"),
    Key("chat.help", "f1", "help", "F1", "Help", command="help"),
    Key("chat.page_up", "pageup", "page(-1)", "PageUp, PageDown", "Scroll by a page"),
    Key("chat.page_down", "pagedown", "page(1)"),
    Key("chat.scroll_top", "ctrl+home", "end(-1)", "Ctrl+Home, Ctrl+End", "To the beginning, to the end"),
    Key("chat.scroll_bottom", "ctrl+end", "end(1)"),
    Key("chat.scroll_top_when_empty", "home", "end(-1)", "Home, End", "The same, if nothing is typed"),
    Key("chat.scroll_bottom_when_empty", "end", "end(1)"),
    Key("chat.previous_message", "alt+up,ctrl+up", "prompt(-1)", "Alt+Up, Ctrl+Up", "Your previous message"),
    Key("chat.next_message", "alt+down,ctrl+down", "prompt(1)", "Alt+Down, Ctrl+Down", "Your next message"),
    Key("chat.find", "ctrl+f", "find", "Ctrl+F", "Find text, also in collapsed output", is_first=True),
    Key("chat.toggle_mouse", "f9", "app.toggle_mouse", "F9", "Toggle mouse capture"),
    Key("chat.suspend", "ctrl+z", "app.suspend_process", "Ctrl+Z", "Back to the shell; fg continues"),
    Key("chat.redraw", "ctrl+l", "app.redraw", "Ctrl+L", "Draw the screen again"),
    Key("welcome.next", "tab,down", "move_offer(1)", "Tab, Down, Up", "Select what it offers", is_first=True),
    Key("welcome.previous", "up", "move_offer(-1)", is_first=True),
    Key("welcome.take", "enter", "take_offer", "Enter", "Send it, or run it", is_first=True),
    Key("find.previous_match", "enter,up", "older", "Enter, Up", "Previous match"),
    Key("find.next_match", "down", "newer", "Down", "Next match"),
    Key("find.close", "escape", "close", "Esc", "Close, and stay at the match"),
    Key("find.cancel", "ctrl+c", "go_back", "Ctrl+C", "Close, and return to where you were"),
    Key("models.next", "down,ctrl+n", "move(1)", "Up, Down", "Select a model", is_first=True),
    Key("models.previous", "up,ctrl+p", "move(-1)", is_first=True),
    Key("models.favourite", "ctrl+f", "toggle_favourite", "Ctrl+F", "Mark it as a favourite", is_first=True),
    Key(
        "models.more_effort",
        "right",
        "effort(1)",
        "←, →",
        "Reason less, more; if nothing is typed",
        is_first=True,
    ),
    Key("models.less_effort", "left", "effort(-1)", is_first=True),
    Key("endpoints.next", "down,ctrl+n", "move(1)", "Up, Down", "Select an endpoint", is_first=True),
    Key("endpoints.previous", "up,ctrl+p", "move(-1)", is_first=True),
    Key("endpoints.other_key", "ctrl+k", "other_key", "Ctrl+K", "Enter another key for it", is_first=True),
    Key("settings.next", "down,ctrl+n", "move(1)", "Up, Down", "Select a setting", is_first=True),
    Key("settings.previous", "up,ctrl+p", "move(-1)", is_first=True),
    Key("settings.page_down", "pagedown", "page(1)", "PageUp, PageDown", "Go on by a page", is_first=True),
    Key("settings.page_up", "pageup", "page(-1)", is_first=True),
    Key("settings.change", "", "", "Enter", "Change it: switch it, choose a value, or type one"),
    Key("settings.next_value", "right", "cycle(1)", "←, →", "Previous, next value", is_first=True),
    Key("settings.previous_value", "left", "cycle(-1)", is_first=True),
    Key("settings.unset", "delete,ctrl+x", "unset", "Delete, Ctrl+X", "Back to the default", is_first=True),
    Key("sessions.next", "down,ctrl+n", "move(1)", "Up, Down", "Select a session", is_first=True),
    Key("sessions.previous", "up,ctrl+p", "move(-1)", is_first=True),
    Key("sessions.folders", "tab", "toggle_folders", "Tab", "Those of this folder, or of all", is_first=True),
    Key("sessions.rename", "ctrl+r", "rename", "Ctrl+R", "Give it another title", is_first=True),
    Key("sessions.fork", "ctrl+f", "fork", "Ctrl+F", "Continue in a copy", is_first=True),
    Key("sessions.delete", "ctrl+x", "delete", "Ctrl+X", "Delete it, at the second press", is_first=True),
    Key("jobs.next", "down,ctrl+n,j", "move(1)", "Up, Down", "Select a command"),
    Key("jobs.previous", "up,ctrl+p,k", "move(-1)"),
    Key("jobs.read", "enter", "read", "Enter", "Show all of its output"),
    Key("jobs.stop", "x,ctrl+x", "stop", "X", "Stop it, at the second press"),
    Key("jobs.close", "q,f3", "leave", "Q, Esc", "Close"),
    Key("servers.next", "down,ctrl+n,j", "move(1)", "Up, Down", "Select a server, an action or a tool"),
    Key("servers.previous", "up,ctrl+p,k", "move(-1)"),
    Key("servers.take", "enter,space", "take", "Enter", "Show the server, do the action, switch the tool"),
    Key("servers.page_down", "pagedown", "page(1)", "PageUp, PageDown", "Scroll by a page"),
    Key("servers.page_up", "pageup", "page(-1)"),
    Key("servers.close", "q", "leave", "Q, Esc", "Close, or go back"),
    Key("history.next", "down,ctrl+n,ctrl+r", "move(1)", "Up, Down, Ctrl+R", "Select a text", is_first=True),
    Key("history.previous", "up,ctrl+p", "move(-1)", is_first=True),
    Key("history.folders", "tab", "toggle_folders", "Tab", "Of this folder, or of all", is_first=True),
    Key("queue.next", "down,j,ctrl+n", "move(1)", "Up, Down", "Select a message"),
    Key("queue.previous", "up,k,ctrl+p", "move(-1)"),
    Key("queue.edit", "enter", "edit", "Enter", "Take it into the composer"),
    Key("queue.delete", "delete,backspace,ctrl+x,d", "delete", "Delete, D", "Delete it; Up brings it back"),
    Key("queue.earlier", "alt+up,shift+up", "shift(-1)", "Alt+Up, Alt+Down", "Send it earlier, later"),
    Key("queue.later", "alt+down,shift+down", "shift(1)"),
    Key("queue.steer", "s", "steer", "S", "Let the model read it at the next step of this turn"),
    Key("prompt.previous_answer", "up", "choose(-1)", "Up, Down", "Select an answer"),
    Key("prompt.next_answer", "down", "choose(1)"),
    Key("prompt.answer", "enter", "answer", "Enter", "Give the selected answer"),
    Key("prompt.answer_1", "1", "digit(1)", "1 … 5", "Answer, after half a second or with Enter"),
    *(Key(f"prompt.answer_{digit}", str(digit), f"digit({digit})") for digit in range(2, 6)),
    Key(
        "prompt.refuse_with_reason",
        "",
        "",
        "Any text",
        "No, with a reason; Enter sends, Esc keeps the text",
    ),
    Key("prompt.answer_left", "left", "step(-1)", "←, →", "Select an answer, where all are in one row"),
    Key("prompt.answer_right", "right", "step(1)"),
    Key("prompt.edit_rule", "tab", "edit_rule", "Tab", "Edit the rule before you grant it"),
    Key("prompt.read_all", "ctrl+e", "read_all", "Ctrl+E", "Show the whole request, full screen"),
    Key("prompt.deny", "escape", "deny", "Esc", "No"),
    Key("prompt.page_up", "pageup", "scroll(-1)", "PageUp, PageDown", "Scroll the request"),
    Key("prompt.page_down", "pagedown", "scroll(1)"),
    Key("questions.previous_option", "up", "choose(-1)", "Up, Down", "Select an option"),
    Key("questions.next_option", "down", "choose(1)"),
    Key("questions.option_1", "1", "digit(1)", "1 … 9", "Take or mark an option; Enter does so at once"),
    *(Key(f"questions.option_{digit}", str(digit), f"digit({digit})") for digit in range(2, 10)),
    Key("questions.own_answer", "", "", "Any text", "Your own answer; Enter gives it, Esc keeps the text"),
    Key("questions.mark_option", "space", "mark", "Space", "Mark an option, if several are allowed"),
    Key("questions.take_option", "enter", "take", "Enter", "Take the selected option and continue"),
    Key("questions.next_question", "tab,right", "turn(1)", "Tab, Shift+Tab", "Next, previous question"),
    Key("questions.previous_question", "shift+tab,left", "turn(-1)"),
    Key("questions.decline", "escape", "decline", "Esc", "Decline to answer"),
    Key("questions.edit", "ctrl+g", "edit", "Ctrl+G", "Write your own answer in your editor"),
    Key("questions.page_up", "pageup", "scroll(-1)"),
    Key("questions.page_down", "pagedown", "scroll(1)"),
    Key("plan.previous_answer", "up", "choose(-1)", "Up, Down", "Select an answer"),
    Key("plan.next_answer", "down", "choose(1)"),
    Key("plan.answer", "enter", "answer", "Enter", "Give the selected answer"),
    Key("plan.answer_1", "1", "digit(1)", "1 … 3", "Answer, after half a second or with Enter"),
    *(Key(f"plan.answer_{digit}", str(digit), f"digit({digit})") for digit in range(2, 4)),
    Key("plan.change", "", "", "Any text", "Keep planning, and say what to change; Enter sends it"),
    Key("plan.keep_planning", "escape", "keep_planning", "Esc", "Keep planning; your next message says how"),
    Key("plan.edit", "ctrl+g", "edit_plan", "Ctrl+G", "Edit the plan in your editor"),
    Key("plan.page_up", "pageup", "scroll(-1)", "PageUp, PageDown", "Scroll the plan"),
    Key("plan.page_down", "pagedown", "scroll(1)"),
    Key("programs.previous", "up", "choose(-1)", "Up, Down", "Select a program, or the decision"),
    Key("programs.next", "down", "choose(1)"),
    Key("programs.tick", "space", "tick", "Space", "Tick the program: it may run"),
    Key("programs.take", "enter", "take", "Enter", "Tick the program; on the last row, decide"),
    Key("programs.later", "escape", "decline", "Esc", "Decide later"),
    Key("programs.page_up", "pageup", "scroll(-1)"),
    Key("programs.page_down", "pagedown", "scroll(1)"),
    Key("note.previous_file", "up", "choose(-1)", "Up, Down", "Select the file, which shows the change"),
    Key("note.next_file", "down", "choose(1)"),
    Key("note.file_1", "1", "digit(1)", "1 … 9", "Take a file, after half a second or with Enter"),
    *(Key(f"note.file_{digit}", str(digit), f"digit({digit})") for digit in range(2, 10)),
    Key("note.write", "enter", "take", "Enter", "Write the selected file"),
    Key("note.send", "escape", "decline", "Esc", "Write nothing: send the line as a message"),
    Key("note.page_up", "pageup", "scroll(-1)"),
    Key("note.page_down", "pagedown", "scroll(1)"),
    Key("diff.next_hunk", "right_square_bracket", "hunk(1)", "], [", "Next, previous hunk, across files"),
    Key("diff.previous_hunk", "left_square_bracket", "hunk(-1)"),
    Key("diff.next_file", "n", "file(1)", "N, P", "Next, previous file"),
    Key("diff.previous_file", "p", "file(-1)"),
    Key("diff.keep", "a", "keep", "A, Shift+A", "Mark the hunk, or the file, as kept, or unmark it"),
    Key("diff.keep_file", "A", "keep_file"),
    Key("diff.revert", "x", "revert", "X, Shift+X", "Revert the hunk, or all of the file that is not kept"),
    Key("diff.revert_file", "X", "revert_file"),
    Key("diff.restore", "u", "restore", "U", "Undo the last revert"),
    Key("diff.toggle_files", "b", "list", "B", "Show or hide the list of files"),
    Key("diff.toggle_split", "v", "split", "V", "Side by side, or unified"),
    Key("diff.toggle_whole_file", "E", "whole", "Shift+E", "The whole file, or only its hunks"),
    Key("diff.toggle_patch", "s", "raw", "S", "The file as a raw patch, or rendered"),
    Key("diff.switch_source", "d", "source", "D", "The last turn, or the working tree"),
    Key("diff.reload", "r", "reload", "R", "Reload"),
    Key("diff.help", "question_mark,f1", "keys", "?", "Show these keys"),
    Key("diff.line_down", "down,j", "scroll(1)", "Up, Down, J, K", "Scroll by a line"),
    Key("diff.line_up", "up,k", "scroll(-1)"),
    Key("diff.page_down", "pagedown,space", "page(1)", "PageUp, PageDown", "Scroll by a page"),
    Key("diff.page_up", "pageup", "page(-1)"),
    Key("diff.scroll_top", "home,g,ctrl+home", "end(-1)", "Home, End", "To the beginning, to the end"),
    Key("diff.scroll_bottom", "end,G,ctrl+end", "end(1)"),
    Key("diff.copy", "ctrl+c,super+c", "copy", "Ctrl+C", "Copy the selection, else close"),
    Key("diff.close", "q,escape", "leave", "Q, Esc", "Close"),
    Key("replay.pause", "space", "toggle_pause", "Space", "Pause, or go on"),
    Key("replay.next_event", "right", "next_event", "→", "Show the next event, and pause"),
    Key("replay.leave", "q", "leave", "Q, Esc, Ctrl+C", "Leave"),
    Key("replay.read", "", "", "PageUp, Ctrl+F, Ctrl+O, …", "Scroll, find, expand: as in a conversation"),
)


WITHOUT_TEXT = frozenset(
    {KeyContext.DIFF, KeyContext.JOBS, KeyContext.SERVERS, KeyContext.QUEUE, KeyContext.REPLAY}
)
"""The parts of the screen where nothing is typed: letters are keys there."""


def with_both_cases(keys: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the keys of one part of the screen by id, each letter also in its other case unless that has a
    meaning of its own."""
    used = {key for names in keys.values() for key in names}

    def both(names: tuple[str, ...]) -> tuple[str, ...]:
        other = (key.swapcase() for key in names if len(key) == 1 and key.isalpha())
        return (*names, *(key for key in other if key not in used))

    return {key_id: both(names) for key_id, names in keys.items()}


def keys_of(key_id: str) -> str:
    """Return the keys of a row, for a panel that they close. Raise StopIteration if there is none."""
    return next(key.keys for key in KEYS if key.id == key_id)


def bindings(context: KeyContext) -> list[Binding]:
    """Return the Textual bindings for one part of the screen."""
    rows = [key for key in KEYS if key.context is context and key.keys]
    names = {key.id: tuple(key.keys.split(",")) for key in rows}
    if context in WITHOUT_TEXT:
        names = with_both_cases(names)
    return [
        Binding(
            ",".join(names[key.id]),
            key.action,
            key.summary,
            show=False,
            priority=key.is_first,
            id=key.id,
        )
        for key in rows
    ]


def help_rows(context: KeyContext) -> list[tuple[str, str]]:
    """Return (key, what it does) for the help and the documentation."""
    return [(key.label, key.summary) for key in KEYS if key.context is context and key.label]
