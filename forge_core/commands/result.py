"""What a slash command of the session returns: the core decides, a screen or printer shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from forge_core.commands.findings import Finding
    from forge_core.extensions.approvals import WaitingProgram
    from forge_core.langchain.agent.event_queue import EventSink
    from forge_core.session.changes import Source
    from forge_core.session.instruction_notes import InstructionChange
    from forge_core.session.rewinder import RewindPoint, Rewound


@dataclass(frozen=True, slots=True)
class Tint:
    """A part of a text that has the colour of a category. The text says the same without colours."""

    start: int
    end: int
    category: int | None
    """Categories of one number have one colour; None for what is empty."""


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text in fixed columns."""

    body: str
    title: str = ""
    tints: tuple[Tint, ...] = ()
    """In order, within lines, without overlaps."""


@dataclass(frozen=True, slots=True)
class Document:
    """Markdown by the model."""

    body: str
    title: str


@dataclass(frozen=True, slots=True)
class CommandNotice:
    """A confirmation of one line."""

    text: str


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A confirmation of what the status bar shows from now on: it need not stay in the conversation."""

    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why the command did nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class ShowDiagnosis:
    """What `/doctor` found."""

    findings: tuple[Finding, ...]
    body: str
    """The same in plain text."""


@dataclass(frozen=True, slots=True)
class ShowDiff:
    """A request to open the diff viewer."""

    source: Source


@dataclass(frozen=True, slots=True)
class Cleared:
    """The conversation was cleared: clear what shows it."""


@dataclass(frozen=True, slots=True)
class ResumeTurn:
    """A request to read `session.retry()`: the turn that failed resumes."""


@dataclass(frozen=True, slots=True)
class CompactConversation:
    """A request to read `session.compact(…)`: it runs like a turn, so that it can be interrupted."""

    focus: str = ""
    """What the summary must keep above all."""
    is_fast: bool = False
    """Whether no model is asked."""
    turns: int | None = None
    """Of how many of the last turns only; None for as many as it takes."""


@dataclass(frozen=True, slots=True)
class CopyText:
    """A request to show a text, and to copy it to the clipboard where there is one."""

    text: str
    what: str
    """What it is, at the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class RunWork:
    """A request to read `session.work.run(…)`: work that takes time and may ask. It runs like a turn, so that
    it can be interrupted."""

    job: Callable[[EventSink, ShowResult], Awaitable[None]]
    """Emits events, and shows results."""
    verb: str
    """What it does, for an activity line: "Reviewing"."""


@dataclass(frozen=True, slots=True)
class ChooseRewind:
    """A request to ask which message to go back to, and with what."""

    points: tuple[RewindPoint, ...]
    """At least one; the oldest first."""


@dataclass(frozen=True, slots=True)
class ShowRewound:
    """The session was rewound: show its conversation as it is now."""

    rewound: Rewound
    body: str
    """What has happened, in plain text."""
    prompt: str
    """The message that comes back into the input, to be edited; empty for none."""


@dataclass(frozen=True, slots=True)
class ForkSession:
    """A request to continue in a copy of the session's first `records` records."""

    records: int
    prompt: str
    """What the input holds then."""


@dataclass(frozen=True, slots=True)
class ShowAgents:
    """A request to show the sub-agents while they run."""

    running: str
    """Those of the session, in plain text, for a screen without a panel."""
    defined: str
    """The agents that there are."""


@dataclass(frozen=True, slots=True)
class ShowJobs:
    """A request to show the background commands while they run."""

    body: str
    """The same in plain text, for a screen without a panel."""


@dataclass(frozen=True, slots=True)
class ShowServers:
    """A request to show the MCP servers, or one of them."""

    body: str
    """The same in plain text, for a screen without a panel."""
    title: str
    server: str = ""
    """The one to show; empty: the list."""
    signs_in: bool = False
    """Whether the user signs in to it: `session.servers.sign_in` returns the attempt."""


@dataclass(frozen=True, slots=True)
class ChooseModel:
    """A request to ask which model to use; `/model NAME` changes it."""

    body: str
    """The models in plain text, for a screen without a picker."""


@dataclass(frozen=True, slots=True)
class ChooseEndpoint:
    """A request to ask which endpoint to use, and for its key or its model; `/connect NAME [MODEL]` changes
    it."""

    base_url: str = ""
    """That of the endpoint if it is chosen already."""


@dataclass(frozen=True, slots=True)
class ChooseInstructionFile:
    """A request to ask which of these changes is made, if any: `write_change` writes the file."""

    changes: tuple[InstructionChange, ...]
    """At least one."""
    heading: str = "Add this line to your instructions"


@dataclass(frozen=True, slots=True)
class ApprovePrograms:
    """A request to ask which programs of files may run: `session.programs.decide` stores the decision."""

    programs: tuple[WaitingProgram, ...]
    """At least one, of `session.programs.waiting`."""
    body: str = ""
    """Plain text to show before."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A request to send a message as if the user had typed it."""

    text: str


@dataclass(frozen=True, slots=True)
class EditInstructionFile:
    """A request to open a file in the user's editor, and to read the instruction files again afterwards."""

    path: Path
    """Absolute; it need not exist."""
    name: str
    """As it is displayed."""


CommandResult: TypeAlias = (
    Text
    | Document
    | CommandNotice
    | StatusChange
    | Failure
    | ShowDiagnosis
    | ShowDiff
    | Cleared
    | ResumeTurn
    | CompactConversation
    | RunWork
    | CopyText
    | ChooseRewind
    | ChooseModel
    | ChooseEndpoint
    | ShowAgents
    | ShowJobs
    | ShowServers
    | ShowRewound
    | ForkSession
    | ChooseInstructionFile
    | ApprovePrograms
    | SendMessage
    | EditInstructionFile
)

ShowResult: TypeAlias = "Callable[[CommandResult], None]"
"""Shows a result while work runs, or after it."""
