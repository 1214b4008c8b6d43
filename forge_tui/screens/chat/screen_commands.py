"""The slash commands that act on the screen; their rows are in `forge_core.commands.specs`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from forge_core.commands.command_spec import ArgumentValue, argument_values
from forge_core.config.settings import ThinkingSetting, check_value, choices
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui.keymap import KeyContext

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.widgets.transcript.answer.answer_blocks import AnswerText

_ARGUMENT = re.compile(r"(?P<answer>\d+)?\s*(?P<code>code\s*(?P<block>\d+)?)?", re.IGNORECASE)
_TITLE_CELLS = 40
_USAGE = "/copy 2 takes the answer before the last one, /copy code 1 the first block of code of the last one"


def show_help(argument: str, screen: ChatScreen) -> None:
    """Show the commands and keys."""
    from forge_tui.screens.panels.help import HelpScreen, help_content

    screen.app.push_screen(HelpScreen(partial(help_content, commands=screen.sending.commands.table)))


def show_keys(argument: str, screen: ChatScreen) -> None:
    """Open the list of keys, or of those with a text."""
    from forge_tui.screens.panels.help import HelpScreen
    from forge_tui.screens.panels.key_list import key_list

    now = (KeyContext.COMPOSER, KeyContext.CHAT, *([KeyContext.FIND] if screen.find.is_open else []))
    title = f"Keys: {clip(safe_line(argument), _TITLE_CELLS)}" if argument else "Keys"
    screen.app.push_screen(HelpScreen(partial(key_list, now, argument), title=title))


def leave(argument: str, screen: ChatScreen) -> None:
    """End the app."""
    screen.leave()


def continue_plain(argument: str, screen: ChatScreen) -> None:
    """End the app; `run_chat` then continues the session as plain text."""
    screen.wants_plain = True
    screen.leave()


def edit_message(argument: str, screen: ChatScreen) -> None:
    """Open the message in the user's editor."""
    screen.drafting.edit()


def list_queue(argument: str, screen: ChatScreen) -> None:
    """Show the list of queued messages."""
    screen.sending.open_queue()


def new_session(argument: str, screen: ChatScreen) -> None:
    """Start a new session."""
    screen.sessions.start(None)


def resume(argument: str, screen: ChatScreen) -> None:
    """Continue the session with this id or title; without an argument open the picker."""
    if argument:
        screen.sessions.start_named(argument)
        return
    from forge_tui.screens.panels.session_picker import SessionPicker

    def use(chosen: tuple[str, bool] | None) -> None:
        if chosen is not None:
            session_id, is_fork = chosen
            screen.sessions.start(session_id, is_fork=is_fork)

    picker = SessionPicker(screen.sessions.saved(), screen.sessions.folder, screen.session)
    screen.app.push_screen(picker, use)


def raw(argument: str, screen: ChatScreen) -> None:
    """Show the last answer as Markdown source, or rendered again."""
    answers = screen.transcript.answers
    if not answers or not screen.transcript.toggle_raw(answers[-1]):
        screen.complain("There is no answer yet.")


def copy(argument: str, screen: ChatScreen) -> None:
    """Copy an answer, or a block of its code."""
    try:
        screen.app.copy_to_clipboard(pick(screen.transcript.answers, argument))
    except CannotCopyError as error:
        screen.complain(str(error))


def thinking(argument: str, screen: ChatScreen) -> None:
    """Show this much of the reasoning; without an argument switch to the next setting."""
    values = choices("thinking")
    following = values.index(screen.transcript.thinking) + 1
    chosen: ThinkingSetting = check_value("thinking", argument or values[following % len(values)])
    screen.transcript.show_thinking(chosen)
    screen.activity.note(f"Reasoning: {chosen}")
    _save("thinking", chosen, screen)


def thinking_values(screen: ChatScreen) -> Sequence[ArgumentValue]:
    """Return how much of the reasoning can show."""
    return argument_values(choices("thinking"), screen.transcript.thinking)


def vim(argument: str, screen: ChatScreen) -> None:
    """Turn the keys of Vim on or off; without an argument the other one."""
    chosen = argument or ("off" if screen.composer.key_mode else "on")
    screen.use_vim(chosen == "on")
    screen.activity.note("Vim keys: on; Esc leaves insert mode" if chosen == "on" else "Vim keys: off")
    _save("vim", chosen, screen)


def theme(argument: str, screen: ChatScreen) -> None:
    """Switch to a theme; without an argument open the picker."""
    if argument:
        _use_theme(argument, screen)
        return
    from forge_tui.screens.panels.theme_picker import ThemePicker

    def use(name: str | None) -> None:
        if name is not None:
            _use_theme(name, screen)

    themes = screen.themes
    screen.app.push_screen(ThemePicker(themes.names(), themes.chosen, themes.show), use)


def theme_values(screen: ChatScreen) -> Sequence[ArgumentValue]:
    """Return the names of the themes."""
    return argument_values(screen.themes.names(), screen.themes.chosen)


def _use_theme(name: str, screen: ChatScreen) -> None:
    names = screen.themes.names()
    if name not in names:
        screen.complain(f"There is no theme {safe_line(name)!r}. The themes are: {', '.join(names)}.")
        return
    screen.themes.choose(name)
    _save("theme", name, screen)


def _save(setting: str, value: str, screen: ChatScreen) -> None:
    """Save a setting that has been applied; say so if that fails."""
    if screen.save_setting is not None:
        try:
            screen.save_setting(setting, value)
        except (ConfigError, OSError) as error:
            reason = safe_line(str(error)).removesuffix(".")
            screen.complain(f"The {setting} is {value} now, but could not be kept: {reason}.")


class CannotCopyError(Exception):
    """There is nothing to copy; the text says why."""


def pick(answers: Sequence[AnswerText], argument: str) -> str:
    """Return what `/copy` copies. Answers are numbered from the last one, blocks of code from the first.

    Raises:
        CannotCopyError: with what there is instead.
    """
    asked = _ARGUMENT.fullmatch(argument.strip())
    if asked is None:
        raise CannotCopyError(f"/copy does not know {safe_line(argument[:60])!r}: {_USAGE}.")
    written = [answer for answer in answers if answer.source.strip()]
    if not written:
        raise CannotCopyError("There is no answer yet that could be copied.")
    number = int(asked["answer"] or 1)
    if not 1 <= number <= len(written):
        there = _count(len(written), "answer")
        raise CannotCopyError(f"There is no answer {number} among {there}; the last one is 1.")
    if asked["code"] and not asked["answer"]:  # the last answer that has code
        number = next((back for back, one in enumerate(reversed(written), 1) if one.code_blocks), 1)
    answer = written[-number]
    if asked["code"] is None:
        return answer.source.strip("\n")
    blocks = answer.code_blocks
    block = int(asked["block"] or len(blocks))
    if not blocks:
        raise CannotCopyError(f"Answer {number} has no block of code. /copy {number} takes all of it.")
    if not 1 <= block <= len(blocks):
        there = _count(len(blocks), "block")
        raise CannotCopyError(f"There is no block {block}: answer {number} has {there} of code.")
    return blocks[block - 1].text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s'[: number != 1]}"
