"""The state of a session: recorded in its journal when it changes, restored when it is continued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ForgeError
from forge_core.events import as_json
from forge_core.langchain.memory.conversation import ConversationMemory
from forge_core.llm.models import Message
from forge_core.session.compacting import SessionCompactor
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.store.journal import Journal
from forge_core.store.saved_session import SavedSession
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from forge_core.workspace.worktrees import project_of

_OMITTED = "omitted_instructions"
_FOLDERS = "folders"


def folder_record(folder: Path, state_dir: Path) -> dict[str, str]:
    """Return what a journal says of the folder of a session; of a worktree that Forge has made also the
    folder that it stands for, which is the one that its usage counts for."""
    project = project_of(folder, state_dir)
    return {"working_dir": str(folder), **({} if project == folder else {"project": str(project)})}


def model_record(config: ForgeConfig, model: str) -> dict[str, str]:
    """Return a model with the endpoint that it belongs to."""
    return {"model": model, "provider": config.endpoint.kind, "endpoint": config.endpoint.shown}


class StateRecorder:
    """Records what of a session's state differs from the last record."""

    def __init__(self, journal: Journal, environment: ToolEnvironment) -> None:
        self._journal = journal
        self._environment = environment
        self._recorded: dict[str, Any] = {
            "todos": [],
            "plan": {},
            "skills": [],
            "rules": [],
            "draft": "",
            "queue": [],
            "effort": "default",
            "stash": [],
            _OMITTED: [],
            _FOLDERS: [],
        }
        self._reads: dict[str, str] = {}

    def assume_recorded(self, **values: Any) -> None:
        """Take `values` for recorded; without any, what the environment holds: the session was restored, or
        reset. Added folders are not taken for recorded: options may have added others at the start."""
        if not values:
            self._reads = dict(self._environment.files)
            values = {name: value for name, value in self._present().items() if name != _FOLDERS}
        self._recorded |= values

    def record(self, **values: Any) -> None:
        """Record what has changed; `values` are those that the environment does not hold: model, mode, draft,
        queue."""
        present = {**self._present(), **values}
        changed = {name: value for name, value in present.items() if self._recorded.get(name) != value}
        self._recorded |= changed
        if (reads := self._environment.files) != self._reads:
            changed["reads"] = {
                path: reads.get(path)
                for path in {**self._reads, **reads}
                if reads.get(path) != self._reads.get(path)
            }
            self._reads = dict(reads)
        if changed:
            self._journal.record("state", changed)

    def _present(self) -> dict[str, Any]:
        policy = self._environment.policy
        return {
            "todos": as_json(self._environment.todos.items),
            "plan": self._environment.plan.state(),
            "skills": self._environment.skills.state(),
            "rules": [entry.rule for entry in policy.rules() if entry.origin == "session"],
            _OMITTED: sorted(self._environment.omitted_instructions),
            _FOLDERS: [str(folder) for folder in policy.folders.added],
        }


def restore_history(
    memory: ConversationMemory, compaction: SessionCompactor, saved: SavedSession
) -> list[Message]:
    """Restore the conversation, and what undoes its last compaction; return the answers that were added to
    calls without a result.
    """
    memory.add_messages(saved.messages)
    memory.repair()
    memory.token_count()  # here, where it may block: each message is counted once
    history, known = memory.get_history(), {id(message) for message in saved.messages}
    before = zip(saved.messages[: saved.compacted], history, strict=False)
    if all(one is other for one, other in before):
        compaction.restore(saved.uncompacted, saved.compacted)
    else:  # damaged: the shorter history is longer now
        compaction.restore([], 0)
    return [message for message in history if id(message) not in known]


class PendingNews:
    """What the model is informed of with the next message: lines about what has happened outside the
    conversation."""

    def __init__(self, journal: Journal, environment: ToolEnvironment) -> None:
        self._journal = journal
        self._environment = environment
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Add a line; it is recorded once the session is."""
        self.lines.append(line)
        if self._journal.is_begun:
            self._journal.record("news", {"line": line})

    def restore(self, saved: SavedSession) -> None:
        """Add what a saved session has not sent."""
        self.lines += saved.news

    def attached(self, text: str) -> str:
        """Return a message with the lines and those about ended jobs, which are not sent again."""
        lines, self.lines = [*self.lines, *self._environment.jobs.news()], []
        return with_note(text, lines)


def with_note(text: str, lines: Sequence[str]) -> str:
    """Return a message with lines of Forge's own; without any, the message."""
    news = "\n".join(lines)
    return f"{text}\n\n<forge-note>\n{news}\n</forge-note>" if lines else text


def restore_environment(environment: ToolEnvironment, saved: SavedSession) -> None:
    """Restore the task list, the plan, the loaded skills, what the model has read, which instruction files
    are left out, and what the user has allowed for the session.

    Permissions are restored only in the same real folder.
    """
    replace_conversation(environment, saved)
    environment.omitted_instructions.update(saved.omitted_instructions)
    if saved.working_dir != str(environment.working_dir):
        return
    for rule in saved.rules:
        try:
            environment.policy.allow_for_session(rule)
        except ForgeError:  # a later version allows less: the call asks again
            continue


def replace_conversation(environment: ToolEnvironment, saved: SavedSession) -> None:
    """Replace the task list, the plan, the loaded skills, and what the model has read."""
    environment.todos.replace(saved_todos(saved.todos))
    environment.plan.restore(saved.plan)
    environment.skills.restore(saved.skills, saved.messages)
    environment.files.clear()
    environment.files.update(saved.reads)
    if environment.offered is not None:
        environment.offered.tell_again()
    if environment.folder_instructions is not None:  # the message that held them may be gone
        environment.folder_instructions.forget()


def restored_mode(saved: str, sandbox: str) -> PermissionMode:
    """Return the mode in which a saved session continues: never yolo, and auto only in a full sandbox."""
    try:
        mode = PermissionMode(saved)
    except ValueError:
        return PermissionMode.ASK
    is_unsafe = mode is PermissionMode.YOLO or (mode is PermissionMode.AUTO and sandbox != "full")
    return PermissionMode.ASK if is_unsafe else mode


def saved_todos(items: Iterable[object]) -> list[TodoItem]:
    """Return a recorded task list; items that are unusable are left out."""
    return [_todo(item) for item in items if isinstance(item, dict) and item.get("content")]


def _todo(item: dict[str, Any]) -> TodoItem:
    status = item.get("status")
    return TodoItem(
        str(item["content"]),
        next((one for one in TodoStatus if one == status), TodoStatus.PENDING),
        str(item.get("active_form") or ""),
    )
