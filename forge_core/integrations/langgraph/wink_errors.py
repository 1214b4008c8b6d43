"""Failures of a graph as WINK's errors. Throttles are recognised by type and status, never by the message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from forge_core.errors import PaymentRequiredError, ProviderTimeoutError, RateLimitError
from forge_core.integrations.langgraph.runner import GraphPausedError, shown
from forge_core.integrations.langgraph.wink_types import wink
from forge_core.llm.http.retry import requested_wait_s

_QUOTA_WORDS = frozenset(
    {"insufficient_quota", "payment_required", "quota_exceeded", "billing_hard_limit_reached"}
)
_MAX_WAIT_S = 10.0**9
_TIMEOUT_STATUSES = frozenset({408, 504, 524})


def detect_throttle(error: BaseException, *, prompt_name: str = "", retry_safe: bool = True) -> Any:
    """Return WINK's ThrottleError for a failure that a provider's limit caused; None for any other.

    Looks through causes and contexts at any depth, and into exception groups.
    """
    for link in chain(error):
        kind = _kind(link)
        if kind is not None:
            throttle = wink("adapters.throttle")
            made = throttle.ThrottleError(
                shown(link),
                prompt_name=prompt_name,
                phase="request",
                details=throttle.throttle_details(
                    kind=kind,
                    retry_after=_retry_after(link),
                    retry_safe=retry_safe,
                    provider_payload=_payload(link),
                ),
            )
            made.__cause__ = error
            return made
    return None


def normalized(error: BaseException, *, prompt_name: str, recursion_limit: int, retry_safe: bool) -> Any:
    """Return WINK's error for a failed or paused graph, with the original error as its cause."""
    errors = wink("errors")
    if isinstance(error, errors.PromptEvaluationError):
        return error
    name = type(error).__name__
    phase, payload = "request", None
    if isinstance(error, GraphPausedError):
        message = str(error)
        payload = {"thread_id": error.thread_id, "interrupts": list(error.interrupts)}
    elif name == "GraphRecursionError":
        message = f"The graph passed its recursion limit of {recursion_limit} steps. Raise recursion_limit."
    elif name == "InvalidUpdateError":
        phase, message = "tool", f"Invalid state update in the graph: {error}"
    else:
        throttle = detect_throttle(error, prompt_name=prompt_name, retry_safe=retry_safe)
        if throttle is not None:
            return throttle
        message = shown(error)
    made = errors.PromptEvaluationError(
        message, prompt_name=prompt_name, phase=phase, provider_payload=payload
    )
    made.__cause__ = error
    return made


def chain(error: BaseException) -> Iterator[BaseException]:
    """Return the error, what it came from, and so on; each once."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting.extend(link.exceptions)
        if link.__cause__ is not None:
            waiting.append(link.__cause__)
        elif link.__context__ is not None and not link.__suppress_context__:
            waiting.append(link.__context__)


def _kind(error: BaseException) -> str | None:
    status = _status(error)
    if status == 402 or (status in (None, 403, 429) and _code(error) in _QUOTA_WORDS):
        return "quota_exhausted"
    if status is None and isinstance(error, PaymentRequiredError):  # an error event within a stream
        return "quota_exhausted"
    if status == 429 or (status is None and isinstance(error, RateLimitError)):
        return "rate_limit"
    if status in _TIMEOUT_STATUSES or _is_timeout(error):
        return "timeout"
    return None


def _status(error: BaseException) -> int | None:
    """Return where clients keep it: on the error (Forge, OpenAI) or on its response (httpx, requests)."""
    response = getattr(error, "response", None)
    for holder, names in ((error, ("status", "status_code")), (response, ("status_code", "status"))):
        for name in names:
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _code(error: BaseException) -> str:
    for name in ("error_type", "code", "type"):
        value = getattr(error, name, None)
        if isinstance(value, str) and value:
            return value
    return ""


def _is_timeout(error: BaseException) -> bool:
    import httpx
    from langchain_core.exceptions import ModelTimeoutError

    if isinstance(error, TimeoutError | ProviderTimeoutError | ModelTimeoutError | httpx.TimeoutException):
        return True
    # LangGraph's own and other clients' timeouts share no base; their classes' names are all there is.
    return any(base.__name__ in ("NodeTimeoutError", "APITimeoutError") for base in type(error).__mro__)


def _retry_after(error: BaseException) -> timedelta | None:
    """Return the wait that the provider asked for: on the error, in its headers or its response's, or on what
    it was made from."""
    for link in chain(error):
        for seconds in _waits(link):
            if seconds is not None and 0 <= seconds < _MAX_WAIT_S:
                return timedelta(seconds=seconds)
    return None


def _waits(error: BaseException) -> Iterator[float | None]:
    """Return where clients keep it: Forge, Anthropic and others as an attribute; aiohttp and OpenRouter's SDK
    as headers of the error; OpenAI, httpx and requests as those of `response`, OpenRouter's SDK of
    `raw_response`."""
    for name in ("retry_after_s", "retry_after"):
        yield _seconds(getattr(error, name, None))
    for holder in (error, getattr(error, "response", None), getattr(error, "raw_response", None)):
        headers = holder.get("headers") if isinstance(holder, Mapping) else getattr(holder, "headers", None)
        items = getattr(headers, "items", None)
        yield requested_wait_s(_lower(items() if callable(items) else headers))


def _seconds(value: Any) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        return requested_wait_s({"retry-after": value.strip()})
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _lower(headers: Any) -> dict[str, str]:
    """Return headers by their names in lower case, without entries that are no pair."""
    if not isinstance(headers, Iterable) or isinstance(headers, str | bytes):
        return {}
    pairs = [pair for pair in headers if isinstance(pair, tuple | list) and len(pair) == 2]
    return {_text(name).lower(): _text(value) for name, value in pairs}


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _payload(error: BaseException) -> dict[str, Any]:
    found = {"status": _status(error), "error_type": _code(error) or None}
    return {key: value for key, value in found.items() if value is not None}
