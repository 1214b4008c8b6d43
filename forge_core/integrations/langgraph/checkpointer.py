"""A LangGraph checkpointer that keeps its checkpoints in a WINK session."""

from __future__ import annotations

import base64
import dataclasses
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from forge_core.integrations.langgraph.requirements import require_langgraph, require_wink
from forge_core.integrations.langgraph.wink_types import wink

if TYPE_CHECKING:
    from weakincentives.runtime import Session

    class BaseCheckpointSaver:
        """As the type checker sees it where LangGraph is not installed."""

        serde: Any

        def __init__(self, *, serde: Any = None) -> None: ...

else:
    try:
        from langgraph.checkpoint.base import BaseCheckpointSaver
    except ImportError:

        class BaseCheckpointSaver:
            """Placeholder where LangGraph is not installed; the constructor raises."""


@dataclasses.dataclass(frozen=True, slots=True)
class LangGraphCheckpoint:
    """One checkpoint, in the session's slice of this type; bytes as base64, so that the slice is JSON."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_id: str | None
    kind: str
    data: str
    metadata_kind: str
    metadata: str


@dataclasses.dataclass(frozen=True, slots=True)
class LangGraphWrite:
    """What one task wrote after a checkpoint, in the session's slice of this type."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    task_id: str
    task_path: str
    index: int
    channel: str
    kind: str
    data: str


P = ParamSpec("P")
R = TypeVar("R")


def _in_coroutine(method: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the asynchronous twin of a method that does not block."""

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return method(*args, **kwargs)

    return call


class SessionCheckpointer(BaseCheckpointSaver):
    """A full BaseCheckpointSaver over `session`. Threads live as long as the session, and in its snapshots
    where those include logs (`session.snapshot(include_all=True)`). Every checkpoint holds the whole state:
    for long threads LangGraph's own savers are the better choice.

    The slices are logs: rolling back a failed tool leaves them alone.

    Raises:
        RuntimeError: langgraph or weakincentives is not installed.
    """

    def __init__(self, session: Session, *, serde: Any = None) -> None:
        require_langgraph("SessionCheckpointer")
        require_wink("SessionCheckpointer")
        super().__init__(serde=serde)
        self._session = session
        self._lock = threading.RLock()
        state = wink("runtime.session")
        # By key, so that a second checkpointer over the same session stores nothing twice.
        for slice_type, key in ((LangGraphCheckpoint, _key), (LangGraphWrite, _write_key)):
            session[slice_type].register(
                slice_type, state.replace_latest_by(key), policy=state.SlicePolicy.LOG
            )

    def get_tuple(self, config: Mapping[str, Any]) -> Any:
        return next(map(self._tuple, self._checkpoints(*_place(config))), None)

    def list(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[Any]:
        """Yield the checkpoints, newest first."""
        thread_id, namespace, checkpoint_id = (None, None, None) if config is None else _place(config)
        if config is not None and "checkpoint_ns" not in config["configurable"]:
            namespace = None
        limit_id = None if before is None else _place(before)[2]
        found = (
            entry
            for entry in self._checkpoints(thread_id, namespace, checkpoint_id)
            if (limit_id is None or entry.checkpoint_id < limit_id) and self._fits(entry, filter)
        )
        yield from map(self._tuple, islice(found, limit))

    def put(
        self, config: Mapping[str, Any], checkpoint: Mapping[str, Any], metadata: Any, new_versions: Any
    ) -> dict[str, Any]:
        thread_id, namespace, parent_id = _place(config)
        base = import_module("langgraph.checkpoint.base")
        dumped = self._dump(dict(checkpoint))
        dumped_metadata = self._dump(base.get_checkpoint_metadata(config, metadata))
        entry = LangGraphCheckpoint(
            thread_id, namespace, checkpoint["id"], parent_id, *dumped, *dumped_metadata
        )
        with self._lock:
            self._session[LangGraphCheckpoint].append(entry)
        return _config(thread_id, namespace, checkpoint["id"])

    def put_writes(
        self,
        config: Mapping[str, Any],
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task. Special channels (interrupts, errors) replace earlier writes, others
        keep them."""
        thread_id, namespace, checkpoint_id = _place(config)
        special = import_module("langgraph.checkpoint.base").WRITES_IDX_MAP
        with self._lock:
            for position, (channel, value) in enumerate(writes):
                index = special.get(channel, position)
                place = (thread_id, namespace, checkpoint_id, task_id, index)
                known = self._session[LangGraphWrite].where(lambda e, p=place: _write_key(e) == p)
                if known and index >= 0:
                    continue
                entry = LangGraphWrite(
                    thread_id,
                    namespace,
                    checkpoint_id or "",
                    task_id,
                    task_path,
                    index,
                    channel,
                    *self._dump(value),
                )
                self._session[LangGraphWrite].append(entry)

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            for slice_type in (LangGraphCheckpoint, LangGraphWrite):
                self._session[slice_type].clear(lambda entry: entry.thread_id == thread_id)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the whole thread, with all ancestors."""
        with self._lock:
            for slice_type in (LangGraphCheckpoint, LangGraphWrite):
                for entry in self._session[slice_type].where(lambda e: e.thread_id == source_thread_id):
                    self._session[slice_type].append(dataclasses.replace(entry, thread_id=target_thread_id))

    aget_tuple = _in_coroutine(get_tuple)
    aput = _in_coroutine(put)
    aput_writes = _in_coroutine(put_writes)
    adelete_thread = _in_coroutine(delete_thread)
    acopy_thread = _in_coroutine(copy_thread)

    async def alist(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Any]:
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    def _checkpoints(self, *place: str | None) -> Sequence[LangGraphCheckpoint]:
        """Return the checkpoints of a thread, namespace and id, newest first; None matches any."""
        found = self._session[LangGraphCheckpoint].where(
            lambda entry: all(wanted in (None, own) for wanted, own in zip(place, _key(entry), strict=True))
        )
        return sorted(found, key=lambda entry: entry.checkpoint_id, reverse=True)

    def _fits(self, entry: LangGraphCheckpoint, metadata: Mapping[str, Any] | None) -> bool:
        """Return whether a checkpoint has all of this metadata."""
        own = self._load(entry.metadata_kind, entry.metadata) if metadata else {}
        return all(own.get(key) == value for key, value in (metadata or {}).items())

    def _tuple(self, entry: LangGraphCheckpoint) -> Any:
        writes = self._session[LangGraphWrite].where(lambda e: _key(e) == _key(entry))
        ordered = sorted(writes, key=lambda e: (e.task_path, e.task_id, e.index))
        return import_module("langgraph.checkpoint.base").CheckpointTuple(
            config=_config(*_key(entry)),
            checkpoint=self._load(entry.kind, entry.data),
            metadata=self._load(entry.metadata_kind, entry.metadata),
            parent_config=None
            if entry.parent_id is None
            else _config(entry.thread_id, entry.checkpoint_ns, entry.parent_id),
            pending_writes=[(e.task_id, e.channel, self._load(e.kind, e.data)) for e in ordered],
        )

    def _dump(self, value: Any) -> tuple[str, str]:
        kind, data = self.serde.dumps_typed(value)
        return kind, base64.b64encode(data).decode("ascii")

    def _load(self, kind: str, data: str) -> Any:
        return self.serde.loads_typed((kind, base64.b64decode(data)))


def _place(config: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Return the thread, namespace and checkpoint that a config names."""
    configurable = config["configurable"]
    checkpoint_id = configurable.get("checkpoint_id") or configurable.get("thread_ts")
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns") or "", checkpoint_id


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> dict[str, Any]:
    configurable = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": configurable}


def _key(entry: LangGraphCheckpoint | LangGraphWrite) -> tuple[str, str, str]:
    return entry.thread_id, entry.checkpoint_ns, entry.checkpoint_id


def _write_key(entry: LangGraphWrite) -> tuple[str, str, str | None, str, int]:
    return (*_key(entry), entry.task_id, entry.index)
