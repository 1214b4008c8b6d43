"""Letters beyond U+FFFF whose JSON escapes were torn apart, made whole again."""

from __future__ import annotations

from forge_core.llm.models import StreamChunk


class SurrogateJoiner:
    """Joins the two halves of a letter beyond U+FFFF that a provider sent as JSON escapes in two chunks; a
    half that stays alone becomes U+FFFD, because no encoder takes it."""

    def __init__(self) -> None:
        self._halves: dict[str, str] = {}

    @property
    def has_half(self) -> bool:
        return bool(self._halves)

    def mend(self, chunk: StreamChunk) -> None:
        """Mends the text fields of `chunk` in place."""
        chunk.text = self._mend("text", chunk.text)
        chunk.reasoning = self._mend("reasoning", chunk.reasoning)
        chunk.refusal = self._mend("refusal", chunk.refusal)
        for call in chunk.tool_calls:
            call.arguments = self._mend(f"call {call.index}", call.arguments)
            call.name = whole_text(call.name) if call.name else call.name

    def _mend(self, lane: str, text: str) -> str:
        if not text:
            return text
        text = self._halves.pop(lane, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[lane] = text[-1]
            text = text[:-1]
        return whole_text(text)


def whole_text(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
