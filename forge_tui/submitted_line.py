"""Parses a submitted line: a message for the model, a slash command, or an invalid command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from forge_core.commands.command_spec import CommandSpec, Scope
from forge_core.commands.command_table import CommandTable, split_command
from forge_tui.pastes.folded_text import BEGIN, plain_text


@dataclass(frozen=True, slots=True)
class UserText:
    text: str
    typed: str = ""
    """The text with folded parts (`folded_text`), if it has any."""


@dataclass(frozen=True, slots=True)
class Command:
    spec: CommandSpec
    argument: str
    line: str
    """As typed."""
    typed: str = ""
    """The line with folded parts (`folded_text`), if it has any."""


@dataclass(frozen=True, slots=True)
class InvalidCommand:
    """A line that looks like a command but names none, or has an invalid argument. It is not sent."""

    complaint: str


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A line for the user's own shell."""

    command: str
    """Without the `!`; "!" for the last one again."""
    has_paste: bool
    """Whether any part of it may have been pasted."""

    @property
    def line(self) -> str:
        """As typed."""
        return f"!{self.command}"


SentLine: TypeAlias = "UserText | Command | ShellLine"
"""A line that may have to wait."""

Line: TypeAlias = "UserText | Command | InvalidCommand | ShellLine | None"


NOTE = "# "
"""Begins a line for an instruction file."""


def parse_line(typed: str, commands: CommandTable, *, has_paste: bool = True) -> Line:
    """Parse a submitted text; return None if it is blank. A leading space makes any line a message.

    A single line that begins with `NOTE` is `/memory add`, unless it `has_paste`, that is, any part of it was
    not typed: pasted Markdown is a message. So is what begins with a folded paste, whatever is in it.
    A single `?` asks for help.
    """
    text = plain_text(typed).strip()
    if not text:
        return None
    if typed.startswith(NOTE) and text != NOTE.strip() and "\n" not in text and not has_paste:
        spec = commands.find("memory")
        assert spec is not None
        return Command(spec, f"add {text.removeprefix(NOTE).strip()}", text)
    if typed.strip() == "?" and (spec := commands.find(typed.strip())) is not None:
        return Command(spec, "", "/?")
    if typed.startswith("!"):
        return ShellLine(text[1:].strip(), has_paste)
    if not typed.startswith("/"):
        return UserText(text, typed.strip() if BEGIN in typed else "")
    name, argument = split_command(text)
    spec = commands.expect(name)
    if spec is None:
        return InvalidCommand(commands.complaint(name))
    problem = spec.problem(argument)
    if problem is not None:
        return InvalidCommand(problem)
    return Command(spec, argument.strip(), text, typed.strip() if BEGIN in typed else "")


def sent_line(text: str, commands: CommandTable) -> str:
    """Return the line that sends again what was recorded as this message: a command of a file is recorded as
    it was typed."""
    spec = commands.expect(split_command(text)[0])
    return text if spec is not None and spec.scope is Scope.PROMPT else message_line(text)


def message_line(text: str) -> str:
    """Return the line that is parsed as this message: a space before what would be a command makes it one."""
    return f" {text}" if text.startswith(("/", "!")) else text
