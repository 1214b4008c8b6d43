"""Commands of files: what their front matter says, and the message that they become with arguments.

The body is expanded in one pass, so that nothing in an argument is ever expanded:

- `$ARGUMENTS` becomes all arguments as typed, `$1` … `$9` one of them, split as a shell does; one that was
  not given stays as it is. `\\$` is a dollar.
- Without any of these, the arguments follow the body.
- `` !`command` `` is run, and its output takes its place. Arguments in it are quoted for the shell.
- `@path` is attached as in any other message.

Source: https://code.claude.com/docs/en/slash-commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from forge_core.errors import ConfigError
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.claude_rules import translate_rule
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind, ExtensionScope
from forge_core.permissions.rules.rule import Rule
from forge_core.sanitize import safe_line, safe_text

MAX_HINT = 80
"""Characters of an argument hint that are displayed."""
_PLACEHOLDER = re.compile(r"\\\$|\$ARGUMENTS\b|\$[1-9](?!\d)")
_TOKEN = re.compile(rf"(?<![\w!`])!`(?P<command>[^`\n]+)`|(?P<placeholder>{_PLACEHOLDER.pattern})")
_HARMLESS = re.compile(r"[\w@%+=:,./ -]*")
"""Text that means the same to a shell wherever it stands."""
_NESTED = re.compile(r"\$[({']|<<|(?:^|\s)#")
"""What makes the quoting at a place in a command hard to determine."""


@dataclass(frozen=True, slots=True)
class MessageText:
    """A part of a message that the body and the arguments make up."""

    text: str


@dataclass(frozen=True, slots=True)
class ShellPart:
    """A command whose output is a part of a message."""

    command: str


Part: TypeAlias = MessageText | ShellPart


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """One command of a file. All text in it is untrusted."""

    definition: Definition
    allowed_tools: tuple[str, ...]
    """Rules as written; see `grants`."""
    model: str
    """As written: an id, or a name of Claude Code's; empty for the current model."""
    agent: str
    """The sub-agent that is to run it; empty for none."""

    @classmethod
    def of(cls, definition: Definition) -> Self:
        """Return the command that a definition of kind COMMAND describes."""
        file = definition.file
        return cls(
            definition,
            file.words("allowed-tools"),
            file.text("model"),
            file.text("agent"),
        )

    @property
    def name(self) -> str:
        return self.definition.name

    def grants(self) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
        """Return the rules that `allowed-tools` grants for one message, and why others grant nothing.

        Those of a project never grant anything.
        """
        if self.definition.scope is not ExtensionScope.USER:
            return (), ()
        rules: list[Rule] = []
        problems: list[str] = []
        for text in self.allowed_tools:
            try:
                rules += translate_rule(text)
            except ConfigError as error:
                problems.append(str(error))
        return tuple(rules), tuple(problems)

    def expand(self, arguments: str) -> tuple[Part, ...]:
        """Return the message, in order; adjacent parts of text are one. Characters of the body that would not
        show are made visible: the user is shown what the model reads.

        Raises:
            ConfigError: an argument cannot be quoted safely at its place in a command.
        """
        body, arguments = safe_text(self.definition.body), arguments.strip()
        values = _Arguments(arguments)
        parts: list[Part] = [*_parts(body, values)]
        if arguments and not values.has_placeholder(body):
            parts.append(MessageText(f"\n\n{arguments}" if body else arguments))
        return tuple(_joined(parts))


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A command with its arguments, as typed."""

    command: CustomCommand
    arguments: str
    request: str = ""
    """What follows the message that the command becomes."""


def argument_hint(definition: Definition) -> str:
    """Return which arguments a command expects, for menus; safe to display."""
    hint = definition.file.fields.get("argument-hint")
    # `argument-hint: [file]` is a list in YAML.
    shown = (
        f"[{', '.join(map(str, hint))}]" if isinstance(hint, list) else definition.file.text("argument-hint")
    )
    return safe_line(" ".join(shown.split()))[:MAX_HINT]


def named_commands(catalog: ExtensionCatalog, taken: Iterable[str]) -> dict[str, Definition]:
    """Return the commands, and the skills that the user can run, by the names under which they can be typed.

    `taken` are the names of built-in commands, in lower case. A command that has one of these names, or one
    that a stronger command has, is reached by its qualified name only; so is one whose name looks like a
    qualified name, so that no project takes the place of `user:review`.
    """
    scopes = tuple(f"{scope}:" for scope in ExtensionScope)
    named: dict[str, Definition] = {}
    kept: list[Definition] = []
    known = {*taken}
    for one in catalog.definitions:
        is_typed = one.kind is ExtensionKind.COMMAND or (one.kind is ExtensionKind.SKILL and one.is_for_user)
        if not is_typed:
            continue
        lower = one.name.lower()
        if lower in known or lower.startswith(scopes):
            kept.append(one)
        else:
            named[one.name] = one
            known.add(lower)
    return {**{one.qualified_name: one for one in reversed(kept)}, **named}


def grant_problems(catalog: ExtensionCatalog) -> Iterator[str]:
    """Yield a sentence for each rule of the user's own commands and skills that grants nothing."""
    for kind in (ExtensionKind.COMMAND, ExtensionKind.SKILL):
        for one in catalog.of_kind(kind):
            for problem in CustomCommand.of(one).grants()[1]:
                yield f"The {one.title} grants less than it says: {problem}"


def message_text(parts: Sequence[Part], outputs: Sequence[str]) -> str:
    """Return the message, with one of the outputs in place of each command."""
    waiting = iter(outputs)
    return "".join(part.text if isinstance(part, MessageText) else next(waiting) for part in parts)


def written_text(parts: Sequence[Part]) -> str:
    """Return what the file and the user wrote, without the commands: mentions are looked for in it, and not
    in output."""
    return " ".join(part.text for part in parts if isinstance(part, MessageText))


class _Arguments:
    """The arguments of one use of a command."""

    def __init__(self, text: str) -> None:
        self._all = text
        try:
            self._words = shlex.split(text)
        except ValueError:  # a quotation mark that is not closed, as in "don't"
            self._words = text.split()

    @staticmethod
    def has_placeholder(body: str) -> bool:
        return any(found[0] != r"\$" for found in _PLACEHOLDER.finditer(body))

    def value(self, placeholder: str) -> str | None:
        """Return what takes the place of a placeholder; None for an argument that was not given."""
        if placeholder == "$ARGUMENTS":
            return self._all
        number = int(placeholder[1:])
        return self._words[number - 1] if number <= len(self._words) else None

    def quoted(self, placeholder: str, quote: str) -> str | None:
        """Return the same for a command line, inside the quotation mark `quote`, which may be empty."""
        value = self.value(placeholder)
        if value is None:
            return None
        if quote == "'":
            return value.replace("'", "'\\''")
        if quote == '"':
            return re.sub(r'([\\"$`])', r"\\\1", value)
        return shlex.join(self._words) if placeholder == "$ARGUMENTS" else shlex.quote(value)


def _parts(body: str, values: _Arguments) -> Iterator[Part]:
    end = 0
    for found in _TOKEN.finditer(body):
        yield MessageText(body[end : found.start()])
        end = found.end()
        if found["command"] is not None:
            yield ShellPart(_command(found["command"], values))
        elif found[0] == r"\$":
            yield MessageText("$")
        else:
            value = values.value(found[0])
            yield MessageText(found[0] if value is None else value)
    yield MessageText(body[end:])


def _command(command: str, values: _Arguments) -> str:
    """Return a command line with the arguments in it, each quoted as its place requires."""
    written, end = "", 0
    for found in _PLACEHOLDER.finditer(command):
        before = command[end : found.start()]
        written += before
        end = found.end()
        if found[0] == r"\$":
            written += "$"
            continue
        value = values.value(found[0])
        if value and _NESTED.search(command) and not _HARMLESS.fullmatch(value):
            raise ConfigError(
                f"The argument {safe_line(value[:60])!r} cannot be quoted safely in the command "
                f"{safe_line(command[:200])!r}. Use only letters, digits and .,:/@%+=_- in it."
            )
        quoted = values.quoted(found[0], _open_quote(command[: found.start()]))
        written += found[0] if quoted is None else quoted
    return written + command[end:]


def _open_quote(text: str) -> str:
    """Return the quotation mark that is open at the end of the beginning of a command; empty for none."""
    quote, is_escaped = "", False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif character in "'\"" and quote in ("", character):
            quote = "" if quote else character
    return quote


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    text = ""
    for part in parts:
        if isinstance(part, MessageText):
            text += part.text
            continue
        if text:
            yield MessageText(text)
            text = ""
        yield part
    if text:
        yield MessageText(text)
