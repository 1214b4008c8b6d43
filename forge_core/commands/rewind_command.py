"""`/rewind`: conversation and files as they were before an earlier message."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.commands.result import (
    ChooseRewind,
    CommandResult,
    CompactConversation,
    Failure,
    ForkSession,
    ShowRewound,
)
from forge_core.commands.undo_commands import changed_files, section, short_text
from forge_core.session.rewinder import NOTHING_TO_REWIND, Rewound
from forge_core.session.session import ForgeSession
from forge_core.undo import UndoReport

_HOW_WHOLE = "/compact undo restores what it was made of."
_HOW_BACK = "/rewind undo brings everything back, until the next message is sent."


async def rewind(argument: str, session: ForgeSession) -> CommandResult:
    """Go back to before a message: `N` conversation and files, `N chat` or `N files` one of them, `N fork` in
    a copy of the session. `N summary` undoes nothing: a summary replaces message `N` and all that followed it
    in what the model is sent; the words after it name what the summary must keep above all. `undo` undoes
    the last rewind. Without an argument, ask."""
    rewinder, words = session.rewinder, argument.lower().split()
    match words:
        case []:
            points = await rewinder.points()
            return ChooseRewind(tuple(points)) if points else Failure(NOTHING_TO_REWIND)
        case ["undo"]:
            undone = await rewinder.undo()
            return ShowRewound(undone, _undone_text(undone), prompt="")
        case [number, "fork"]:
            point = await rewinder.point(int(number))
            return ForkSession(point.record, point.text)
        case [number, "summary", *_]:
            point = await rewinder.point(int(number))
            if point.turns_since is None:
                return Failure(f"Message {number} is part of a summary already. {_HOW_WHOLE}")
            return CompactConversation(" ".join(argument.split()[2:]), turns=point.turns_since)
    is_chat, is_files = "files" not in words, "chat" not in words
    rewound = await rewinder.rewind(int(words[0]), conversation=is_chat, files=is_files)
    text = _rewound_text(rewound, is_files=is_files)
    return ShowRewound(rewound, text, prompt=rewound.text if is_chat else "")


def _rewound_text(rewound: Rewound, *, is_files: bool) -> str:
    what = "conversation" if rewound.is_conversation else "files"
    if rewound.is_conversation and rewound.files is not None:
        what = "conversation and the files"
    lines = [f"Rewound the {what} to before “{short_text(rewound.text)}”."]
    if rewound.files is not None:
        lines += _files(rewound.files, restored="Restored")
    elif is_files:
        lines += ["", "There were no changes of files to undo."]
    if rewound.is_conversation or rewound.files is not None:
        lines += ["", _HOW_BACK]
    return "\n".join(lines)


def _undone_text(undone: Rewound) -> str:
    what = "The conversation is" if undone.is_conversation else "The files are"
    if undone.is_conversation and undone.files is not None:
        what = "Conversation and files are"
    head = f"{what} as before the rewind"
    if undone.files is not None and not undone.files.touched and undone.files.conflicts:
        is_chat = "The conversation is as before the rewind. " if undone.is_conversation else ""
        head = f"{is_chat}No file could be restored"
    elif undone.files is not None and undone.files.conflicts:
        head += ", except for files that were left alone"
    lines = [f"{head}."]
    return "\n".join(lines + (_files(undone.files, restored="Written") if undone.files else []))


def _files(report: UndoReport, *, restored: str) -> list[str]:
    """List what happened to files, and what was left alone."""
    doubtful: Sequence[tuple[str, str]] = report.doubtful if report.kind == "undo" else ()
    return [
        *changed_files(report, restored),
        *section("Left alone", [one.name for one in report.conflicts], [one.why for one in report.conflicts]),
        *section(
            "Left alone, since they may be yours: changed while a command ran",
            [name for name, _ in doubtful],
            [command for _, command in doubtful],
        ),
        *section("Not covered by undo", report.not_undoable),
    ]
