"""A saved session, read from its journal: what is needed to continue it, and what the screen shows of it.

Journals of version 1 record a turn's messages when the turn has ended. Version 2 records each message as
soon as it is in the history, changes of the session's state (`state`: also `omitted_instructions`,
`effort`, the reasoning effort, and `plan`, the plan of plan mode, which older journals do not have) and of
its limits (`budget`), bills that replace estimates (`bill`), titles (`title`), where a fork comes from
(`parent` in `session`; with `agent`, the session is that of a sub-agent of it, and what its calls cost is
in that session's journal too, until a `resume` record makes it one of the user's), the folded parts of a
message (`folded` in `user`, see `folded_parts`), what the user rewinds (`rewind`, `unrewind`; see
`rewinds`), what the model is to be informed of with the next message (`news`), the marks of a review of
changes (`review`: a turn of the undo store, a file, and the keys of its kept hunks), and compactions
(`window`: the messages of the shorter history, with `start` where only those from that index on were
replaced; or `undo` where the one before it was restored. The records of the messages that it replaces are
still shown). Results that follow a `resume` record answer the calls that a kill left without one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forge_core.errors import JournalError
from forge_core.images.image_reference import replace_written
from forge_core.llm.models import Message, TokenUsage, ToolCall
from forge_core.redact import MASK
from forge_core.store.event_records import message_of, usage_of
from forge_core.store.folded_parts import Span, spans_of
from forge_core.store.journal import JOURNAL_VERSION
from forge_core.store.journal_records import JournalRecords
from forge_core.store.rewinds import Rewinds, find_rewinds
from forge_core.workspace.record_file import Record, read_records

TITLE_CHARS = 80
_ANSWERS = frozenset({"llm_start", "llm_chunk", "llm_end"})


@dataclass(frozen=True, slots=True)
class SavedTurn:
    """A turn of the conversation."""

    number: int
    """1 for the first one since the last reset."""
    text: str
    """The user's message."""
    started: float
    """Seconds since the epoch."""
    record: int
    """The index of its `user` record."""
    message: int | None = None
    """The index of its message in the conversation; None if a compaction has replaced it."""
    folded: tuple[Span, ...] = ()
    """The parts of the message that were folded; older journals do not have them."""


@dataclass(slots=True)
class SavedCall:
    """The usage of one model call."""

    turn: int
    """0 for calls before the last reset, and those of turns that left the conversation by a rewind."""
    model: str
    usage: TokenUsage


@dataclass(slots=True)
class SavedSession:
    """What a journal says about its session."""

    path: Path
    id: str = ""
    working_dir: str = ""
    """Where it was last used."""
    provider: str = ""
    endpoint: str = ""
    """Its base URL without credentials, or `provider` where it has none; empty in older journals."""
    title: str = ""
    """The user's own, else the beginning of the first message."""
    parent: str = ""
    """The id of the session that this one was forked from, or whose sub-agent it is of; empty if there is
    none."""
    agent: str = ""
    """The name of the sub-agent whose session it is; empty for one of the user's."""
    is_new_fork: bool = False
    """Whether it was forked from another session, and has not been continued since."""
    started: float = 0.0
    updated: float = 0.0
    """When it was last used."""
    model: str = ""
    mode: str = ""
    effort: str = ""
    """The reasoning effort, "default" for the model's own; empty where none was ever chosen."""
    records: Sequence[Record] = ()
    """All records, in order; those of a journal are read when they are asked for."""
    first_shown: int = 0
    """The index of the first record of the conversation: those before it were cleared by `/reset`."""
    messages: list[Message] = field(default_factory=list)
    """The conversation, as the model is sent it."""
    uncompacted: list[Message] = field(default_factory=list)
    """The same before the last compaction; empty if there was none."""
    compacted: int = 0
    """The number of messages that the last compaction left."""
    turns: list[SavedTurn] = field(default_factory=list)
    calls: list[SavedCall] = field(default_factory=list)
    todos: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    """The plan that was presented last, `text`, and whether it `is_approved`; empty without one."""
    skills: list[dict[str, Any]] = field(default_factory=list)
    """The skills that the model was given: `name`, `digest`, `arguments` and `text` of each."""
    reads: dict[str, str] = field(default_factory=dict)
    """Real path → hash of what the model last read."""
    rules: list[str] = field(default_factory=list)
    """The session's own permissions."""
    omitted_instructions: list[str] = field(default_factory=list)
    """The real paths of the instruction files that the user has left out of the system prompt."""
    folders: list[str] = field(default_factory=list)
    """The real paths of the folders that were added to the working folder."""
    budget: dict[str, Any] = field(default_factory=dict)
    """The limits that were changed in the session, and the seconds that its turns took."""
    messages_sent: int = 0
    """The user's messages, with those that were cleared or rewound."""
    last_text: str = ""
    """The last of them."""
    draft: str = ""
    draft_recorded: float = 0.0
    """When the draft was recorded last, or a message sent; 0 for never."""
    stash: list[str] = field(default_factory=list)
    """Texts that were put aside, the newest last."""
    queue: list[str] = field(default_factory=list)
    news: list[str] = field(default_factory=list)
    """What the model is still to be informed of, with the next message."""
    reviewed_turn: int = 0
    """The turn in the undo store whose changes were reviewed last."""
    kept: dict[str, list[str]] = field(default_factory=dict)
    """The parts of its changes that the user has marked as kept, by file."""
    damaged: int = 0
    """Lines that could not be read."""
    is_redacted: bool = False
    """Whether a key was removed from the conversation since it was last continued."""
    rewinds: Rewinds = field(default_factory=Rewinds)

    @property
    def damage(self) -> str:
        """What could not be read, for the user; empty if all could."""
        if not self.damaged:
            return ""
        lines = "1 damaged line was" if self.damaged == 1 else f"{self.damaged} damaged lines were"
        return f"{lines} left out of the session's record {str(self.path)!r}."

    def records_between(self, start: int, end: int) -> Iterator[Record]:
        """Yield the records from an index on, before another one, without what was rewound."""
        shown = (index for index in range(start, end) if index not in self.rewinds.hidden)
        return (self.records[index] for index in shown)


def load_session(path: Path) -> SavedSession:
    """Read a journal. Its records are not kept in memory.

    Raises:
        JournalError: it cannot be read, holds no session, or was written by a later version of Forge.
    """
    records = JournalRecords(path)
    saved = SavedSession(path, id=path.stem, records=records)
    reader, marks = _Reader(saved), list[Record]()
    is_session = is_rewound = False
    for index, record in enumerate(records.scan()):
        kind, version = record["type"], _version(record)
        if version > JOURNAL_VERSION:
            raise JournalError(
                f"Session {path.stem} was written by a later version of Forge (format {version}; this one "
                f"reads up to {JOURNAL_VERSION}). Update Forge to open it; the file is unchanged."
            )
        is_session = is_session or (version > 0 and kind in ("session", "user"))
        is_rewound = is_rewound or kind == "rewind"
        marks.append(record if kind == "rewind" else {"type": records.types[-1]})
        if not is_rewound:
            reader.add(index, record)
    if not is_session:
        raise JournalError(f"{str(path)!r} holds no session of Forge.")
    if is_rewound:  # what is hidden is known only now
        return _read_again(path, records, records.damaged, find_rewinds(marks))
    reader.end()
    saved.damaged = records.damaged
    return saved


def begins_as_session(path: Path) -> bool:
    """Return whether the first line of a journal is one that `load_session` accepts; the rest is not read."""
    with contextlib.suppress(OSError), contextlib.closing(read_records(path)) as records:
        first = next(records, None) or {}
        is_known = first.get("type") in ("session", "user") and isinstance(first.get("data"), dict)
        return is_known and 0 < _version(first) <= JOURNAL_VERSION
    return False


def session_of(path: Path, records: Sequence[Record], *, damaged: int = 0) -> SavedSession:
    """Return what the records of a journal say; there is at least one."""
    return _read_again(path, records, damaged, find_rewinds(records))


def _read_again(path: Path, records: Sequence[Record], damaged: int, rewinds: Rewinds) -> SavedSession:
    saved = SavedSession(path, id=path.stem, records=records, damaged=damaged, rewinds=rewinds)
    reader = _Reader(saved)
    for index, record in enumerate(records):
        reader.add(index, record)
    reader.end()
    return saved


def title_of(text: str) -> str:
    """Return a session's title from its first message: one line, at most 80 characters."""
    line = " ".join(replace_written(text[: 8 * TITLE_CHARS], lambda _: "[Image]").split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


class _Reader:
    """Applies the records, in order."""

    def __init__(self, saved: SavedSession) -> None:
        self._saved = saved
        self._turn_records: list[Record] = []
        """The records of the newest turn."""
        self._ends: dict[float, SavedCall] = {}
        """The model calls, by the time of their LLM_END."""
        self._own_title = ""
        self._starts: list[int | None] = []
        """For each turn, the index of its message."""
        self._former: list[int | None] = []
        """The same before the last compaction."""

    def add(self, index: int, record: Record) -> None:
        """Apply the next record."""
        saved, data, kind, at = self._saved, record["data"], record["type"], _time(record)
        if not index:
            saved.started = at
        if kind != "title":  # a new title is no use
            saved.updated = max(saved.updated, at)
        if kind in ("user", "steered"):
            saved.messages_sent, saved.last_text = saved.messages_sent + 1, str(data.get("text", ""))
        if kind == "user" or (kind == "state" and not {"draft", "queue", "stash"}.isdisjoint(data)):
            saved.draft_recorded = max(saved.draft_recorded, at)
        if index in saved.rewinds.hidden:
            self._apply_hidden(index, record, data)
        else:
            self._apply(index, record, data)

    def end(self) -> None:
        """Complete what was read, after the last record."""
        saved = self._saved
        self._end_turn()
        starts = zip(saved.turns, self._starts, strict=True)
        saved.turns = [replace(turn, message=start) for turn, start in starts]
        saved.title = self._own_title or saved.title

    def _apply(self, index: int, record: Record, data: dict[str, Any]) -> None:
        saved = self._saved
        match record["type"]:
            case "session" | "resume":
                self._end_turn()  # what follows answers what a kill has left open
                saved.is_redacted = False  # whoever continued it was informed
                saved.working_dir = str(data.get("working_dir", saved.working_dir))
                self._settings(data)
                saved.parent = str(data.get("parent", saved.parent))
                saved.agent = str(data.get("agent", ""))
                # What a fork copies names the parent; what it adds does not.
                saved.is_new_fork = "parent" in data and not saved.agent
            case "title":
                self._own_title = title_of(str(data.get("title", "")))
            case "user":
                self._end_turn()
                self._begin_turn(index, record, data)
            case "retry":
                self._end_turn()
                saved.model, saved.mode = str(data.get("model", "")), str(data.get("mode", ""))
            case "reset":
                self._end_turn()
                self._reset(index)
            case "message":
                self._message(data)
            case "window":
                self._window(data)
            case "llm_end":
                self._call(record, data, len(saved.turns))
            case "bill":
                if (found := self._ends.get(_number(data.get("of")))) is not None:
                    found.usage = usage_of(data.get("usage"))
            case "state":
                self._state(data)
            case "budget":
                saved.budget = data
            case "news":
                saved.news.append(str(data.get("line", "")))
            case "review":
                self._review(data)
        self._turn_records.append(record)

    def _apply_hidden(self, index: int, record: Record, data: dict[str, Any]) -> None:
        """Apply a record of a turn that left the conversation: what was spent counts, and the session's
        settings stay."""
        match record["type"]:
            case "session" | "resume" | "title" | "bill":
                self._apply(index, record, data)
            case "user" | "retry":
                self._saved.title = self._saved.title or title_of(str(data.get("text", "")))
                self._settings(data)
            case "llm_end":
                self._call(record, data, 0)
            case "state":
                gone = ("todos", "reads", "plan", "skills")
                kept = {name: value for name, value in data.items() if name not in gone}
                self._state(kept)

    def _call(self, record: Record, data: dict[str, Any], turn: int) -> None:
        call = SavedCall(turn, str(data.get("model", "")), usage_of(data.get("usage")))
        self._saved.calls.append(call)
        self._ends[_time(record)] = call

    def _begin_turn(self, index: int, record: Record, data: dict[str, Any]) -> None:
        saved, text = self._saved, str(data.get("text", ""))
        saved.title = saved.title or title_of(text)
        self._settings(data)
        saved.news = []  # the message has them
        turn = SavedTurn(len(saved.turns) + 1, text, _time(record), index, folded=spans_of(data))
        saved.turns.append(turn)
        self._starts.append(len(saved.messages))

    def _reset(self, index: int) -> None:
        saved = self._saved
        saved.first_shown = index + 1
        saved.messages.clear()
        saved.uncompacted, saved.compacted = [], 0
        saved.turns.clear()
        self._starts, self._former = [], []
        saved.todos, saved.plan, saved.reads, saved.is_redacted = [], {}, {}, False
        saved.skills = []
        for call in saved.calls:
            call.turn = 0

    def _review(self, data: dict[str, Any]) -> None:
        saved, turn = self._saved, data.get("turn")
        if not isinstance(turn, int):
            return
        if turn != saved.reviewed_turn:
            saved.reviewed_turn, saved.kept = turn, {}
        saved.kept[str(data.get("path", ""))] = [str(key) for key in _list(data.get("kept"))]

    def _message(self, data: dict[str, Any]) -> None:
        if (message := message_of(data)) is not None:
            self._saved.messages.append(message)
            if (queued := message.extra.get("queued")) in self._saved.queue:  # a steered one has left it
                self._saved.queue.remove(queued)
            self._saved.is_redacted |= MASK in json.dumps(data, ensure_ascii=False)

    def _window(self, data: dict[str, Any]) -> None:
        saved = self._saved
        if data.get("undo"):
            if saved.uncompacted:
                saved.messages[: saved.compacted] = saved.uncompacted
                more, since = len(saved.uncompacted) - saved.compacted, self._starts[len(self._former) :]
                self._starts = [*self._former, *(None if at is None else at + more for at in since)]
            saved.uncompacted, saved.compacted = [], 0
        elif isinstance(records := data.get("messages"), list):
            found = [message_of(one) for one in records if isinstance(one, dict)]
            messages = [message for message in found if message is not None]
            saved.uncompacted, saved.messages, saved.compacted = saved.messages, messages, len(messages)
            self._former, kept = self._starts, data.get("start")
            self._starts = [self._moved(at, kept) for at in self._starts]
        # The part of the answer before it that was cut off is among the messages.
        self._turn_records = [one for one in self._turn_records if one["type"] not in _ANSWERS]

    def _moved(self, at: int | None, kept: object) -> int | None:
        """Return the index that a message has after a compaction; None if it was replaced.

        The first `kept` messages stay in their places; without that number the newest ones do, counted from
        the end.
        """
        before, after = self._saved.uncompacted, self._saved.messages
        if at is None or at >= len(before):
            return None
        if isinstance(kept, int):
            return at if at < min(kept, len(after)) else None
        moved = at + len(after) - len(before)
        is_same = moved >= 0 and (after[moved].role, after[moved].text) == (before[at].role, before[at].text)
        return moved if is_same else None

    def _end_turn(self) -> None:
        """Keep what a turn that was never ended had brought: a kill leaves no more than its events."""
        records, self._turn_records = self._turn_records, []
        kinds = {record["type"] for record in records}
        if "agent_end" in kinds:
            return
        messages = self._saved.messages
        if "user" in kinds and "message" not in kinds:
            messages.extend(_messages_of(records))
        elif text := _open_answer(records):
            messages.append(Message.assistant(text, partial=True))

    def _settings(self, data: dict[str, Any]) -> None:
        saved = self._saved
        saved.model, saved.mode = str(data.get("model", saved.model)), str(data.get("mode", saved.mode))
        saved.provider = str(data.get("provider", saved.provider))
        saved.endpoint = str(data.get("endpoint", saved.endpoint))

    def _state(self, data: dict[str, Any]) -> None:
        saved = self._saved
        self._settings(data)
        saved.effort = str(data.get("effort", saved.effort))
        saved.draft = str(data.get("draft", saved.draft))
        saved.stash = [str(text) for text in _list(data.get("stash", saved.stash))]
        saved.queue = [str(line) for line in _list(data.get("queue", saved.queue))]
        saved.rules = [str(rule) for rule in _list(data.get("rules", saved.rules))]
        omitted = _list(data.get("omitted_instructions", saved.omitted_instructions))
        saved.omitted_instructions = [str(path) for path in omitted]
        saved.folders = [str(path) for path in _list(data.get("folders", saved.folders))]
        saved.todos = [item for item in _list(data.get("todos", saved.todos)) if isinstance(item, dict)]
        plan = data.get("plan", saved.plan)
        saved.plan = plan if isinstance(plan, dict) else {}
        saved.skills = [one for one in _list(data.get("skills", saved.skills)) if isinstance(one, dict)]
        reads = data.get("reads")
        for path, digest in (reads if isinstance(reads, dict) else {}).items():
            if digest is None:
                saved.reads.pop(path, None)
            else:
                saved.reads[path] = str(digest)


def _messages_of(records: Iterable[Record]) -> list[Message]:
    """Return the messages of a turn of version 1 that did not end, from its events."""
    messages: list[Message] = []
    answer, calls = "", list[ToolCall]()

    def answered() -> None:
        nonlocal answer, calls
        if answer.strip() or calls:
            messages.append(Message.assistant(answer, calls))
        answer, calls = "", []

    results: list[Message] = []
    open_ids = set[str]()
    for record in records:
        data = record["data"]
        call_id, name = str(data.get("call_id") or ""), str(data.get("name") or "")
        match record["type"]:
            case "user" if (text := str(data.get("text", ""))).strip():
                messages.append(Message.user(text))
            case "llm_start":
                answered()
                messages.extend(results)
                results = []
            case "llm_chunk" if data.get("kind") == "answer":
                answer += str(data.get("text", ""))
            case "tool_start" if call_id and name:
                arguments = json.dumps(data.get("arguments") or {}, ensure_ascii=False)
                calls.append(ToolCall(call_id, {"name": name, "arguments": arguments}))
                open_ids.add(call_id)
            case "tool_end" if call_id in open_ids:
                results.append(Message.tool_result(call_id, str(data.get("result", ""))))
                open_ids.remove(call_id)
    answered()
    return [*messages, *results]


def _open_answer(records: Sequence[Record]) -> str:
    """Return the text of an answer that was still streaming when the journal ended."""
    text = ""
    for record in records:
        match record["type"]:
            case "llm_start" | "llm_end" if not record["data"].get("parent_id"):
                text = ""
            case "llm_chunk" if record["data"].get("kind") == "answer":
                text += str(record["data"].get("text", ""))
    return text if text.strip() else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _version(record: Record) -> int:
    version = record.get("v")
    return version if isinstance(version, int) else 0


def _time(record: Record) -> float:
    """Return the time of a record in seconds since the epoch; 0 where it was unusable."""
    return float(record["timestamp"])


def _number(value: Any) -> float:
    return value if isinstance(value, float) else 0.0
