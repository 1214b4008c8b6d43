"""The parser of a streamed answer, without I/O: it turns bytes into chunks, and keeps the error that ended
it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from forge_core.errors import MalformedResponseError, ProviderError
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.llm.http.sse import MAX_EVENT_BYTES, SseEvent, SseReader
from forge_core.llm.http.wire import SurrogateJoiner, choice_in, error_in, parse_json, read_chunk
from forge_core.llm.models import StreamChunk

_DONE = "[DONE]"
_HEAD_BYTES = 4096
"""How much of a body without any event is kept for the error message."""
MIN_BURST = 8
"""The number of chunks of one read from which they are merged; a reader that keeps up gets single ones."""
MAX_MERGED = 16
"""The maximum number of chunks merged into one."""

_OTHERS = [
    field.name for field in fields(StreamChunk) if field.name not in ("text", "id", "model", "provider")
]


class ChunkReader:
    """Parses one answer. `feed` does not raise: it returns the chunks before an error, and sets `failure`.

    `failure.partial_text` is the text that had arrived. An answer without `[DONE]` and without a finish
    reason was cut off, which `end` reports as an error; so are a body without any event (a web page) and a
    stream without a choice.
    """

    def __init__(self, errors: ErrorMapper, generation_id: str | None = None) -> None:
        self._errors = errors
        self._generation_id = generation_id
        self._sse = SseReader()
        self._texts: list[str] = []
        self._surrogates = SurrogateJoiner()
        self._plain: bytearray | None = None
        self._is_sniffed = False
        self._head = bytearray()
        self._has_event = False
        self._is_first = True
        self._has_choice = False
        self._sample = ""
        self._has_finish = False
        self.is_done = False
        """Whether `[DONE]` was read: what follows is ignored."""
        self.has_token = False
        """Whether a part of the answer has arrived, so that the request must not be sent again."""
        self.failure: ProviderError | None = None

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason was read: the answer is complete, even if the connection breaks."""
        return self._has_finish or self.is_done

    @property
    def partial_text(self) -> str:
        return "".join(self._texts)

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Return the chunks that `data` completes; comments are chunks with `comment`."""
        if self.failure is not None or self.is_done:
            return []
        if not self._is_sniffed:
            self._sniff(data)
        if not self._has_event:
            self._head += data[: _HEAD_BYTES - len(self._head)]
        try:
            if self._plain is not None:
                return self._hold_plain(data)
            events = self._sse.feed(data)
        except MalformedResponseError as error:
            return self._fail(error)
        return self._read(events)

    def end(self) -> list[StreamChunk]:
        """Return the chunks that the end of the stream completes."""
        if self.failure is not None or self.is_done:
            return []
        if self._plain is not None:
            chunks = self._read([SseEvent(self._plain.decode("utf-8", "replace"))])
        else:
            chunks = self._read(self._sse.close())
            if not self.is_done:
                self._forgive_cut_event()
        if self.failure is None and not self.is_finished:
            is_other = not self._has_event and self._head.strip()
            self._fail(self._errors.no_answer(bytes(self._head)) if is_other else self._errors.broke_off())
        return chunks

    def fail(self, error: ProviderError) -> ProviderError:
        """Return `error` with the text and the generation id of this answer."""
        error.partial_text = self.partial_text
        error.generation_id = error.generation_id or self._generation_id
        return error

    def _forgive_cut_event(self) -> None:
        """Ignore invalid JSON that the end of the stream has cut off: the cut itself is the error."""
        if isinstance(self.failure, MalformedResponseError):
            self.failure = None

    def _sniff(self, data: bytes) -> None:
        """Detect a server that does not stream: it sends one JSON object, whatever its headers say."""
        start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start:
            self._is_sniffed = True
            self._plain = bytearray() if start.startswith(b"{") else None

    def _hold_plain(self, data: bytes) -> list[StreamChunk]:
        assert self._plain is not None
        self._plain += data
        if len(self._plain) > MAX_EVENT_BYTES:
            raise self._errors.malformed(f"an answer of more than {MAX_EVENT_BYTES:,} bytes")
        return []

    def _read(self, events: list[SseEvent]) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        self._has_event = self._has_event or bool(events)
        for event in events:
            if event.comment is not None:
                chunks.append(StreamChunk(comment=event.comment))
                continue
            for document in _documents(event.data):
                if document == _DONE:
                    self.is_done = True
                    if not self._has_choice:
                        self._fail(self._errors.without_choice(self._sample))
                    return chunks
                try:
                    chunk = self._read_document(document)
                except ProviderError as error:
                    self._fail(error)
                    return chunks
                if chunk is not None:
                    chunks.append(chunk)
        return chunks

    def _read_document(self, document: str) -> StreamChunk | None:
        try:
            payload = parse_json(document)
        except ValueError:
            if self._plain is not None:
                raise self._errors.no_answer(bytes(self._plain)) from None
            raise self._errors.malformed("an event that is not JSON", document) from None
        if not isinstance(payload, dict):
            return None
        error = error_in(payload)
        if error is not None:
            raise self._errors.from_event(error, self._generation_id)
        chunk = read_chunk(payload)
        if not self._has_choice:
            self._has_choice = bool(choice_in(payload))
            self._sample = document[:200]
        # Only an escape can produce half of a surrogate pair, so other documents skip the check.
        if "\\u" in document or self._surrogates.has_half:
            self._surrogates.mend(chunk)
        if self._is_first:
            self._is_first = False
            chunk.generation_id = self._generation_id or chunk.id
        if chunk.text:
            self._texts.append(chunk.text)
        if chunk.finish_reason:
            self._has_finish = True
        self.has_token = self.has_token or is_token(chunk)
        return chunk

    def _fail(self, error: ProviderError) -> list[StreamChunk]:
        self.failure = self.fail(error)
        return []


def is_token(chunk: StreamChunk) -> bool:
    """Return whether `chunk` carries a part of the answer itself."""
    return bool(
        chunk.text
        or chunk.reasoning
        or chunk.tool_calls
        or chunk.reasoning_details
        or chunk.refusal
        or chunk.finish_reason
    )


def _documents(data: str) -> list[str]:
    """Return the JSON documents of an event: one, or one per line where a server omits the blank lines
    between events."""
    data = data.strip()
    if not data:
        return []
    if "\n" not in data:
        return [data]
    lines = [line.strip() for line in data.split("\n") if line.strip()]
    if all(line == _DONE or (line[0] == "{" and line[-1] == "}") for line in lines):
        return lines
    return [data]


def merge_burst(chunks: list[StreamChunk]) -> list[StreamChunk]:
    """Return the chunks of one read; in a burst, those that carry only text are merged into fewer."""
    if len(chunks) < MIN_BURST:
        return chunks
    result: list[StreamChunk] = []
    run: list[StreamChunk] = []
    for chunk in chunks:
        is_plain = bool(chunk.text) and not any(getattr(chunk, name) for name in _OTHERS)
        if run and not (is_plain and len(run) < MAX_MERGED and _are_of_one_answer(run[0], chunk)):
            result.append(_joined(run))
            run = []
        if is_plain:
            run.append(chunk)
        else:
            result.append(chunk)
    if run:
        result.append(_joined(run))
    return result


def _are_of_one_answer(a: StreamChunk, b: StreamChunk) -> bool:
    return (a.id, a.model, a.provider) == (b.id, b.model, b.provider)


def _joined(run: Iterable[StreamChunk]) -> StreamChunk:
    first, *rest = run
    first.text += "".join(chunk.text for chunk in rest)
    return first
