"""Mapping failures to `ProviderError`s: HTTP answers, error events in a stream, and network errors.

Shapes and the list of `metadata.error_type` follow OpenRouter
(https://openrouter.ai/docs/api/reference/errors-and-debugging); those of OpenAI and local servers are
accepted too. A message contains the provider's own text, truncated and with every known secret masked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from forge_core.errors import (
    AuthenticationError,
    ConnectionFailedError,
    ContextLengthError,
    InvalidRequestError,
    MalformedResponseError,
    ModelNotFoundError,
    PaymentRequiredError,
    PermissionDeniedError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)
from forge_core.llm.endpoints import NAMED_KEY_VARIABLE, Provider, missing_key, shown_url
from forge_core.llm.http.retry import MAX_WAIT_S, RETRY_STATUSES, format_wait, requested_wait_s
from forge_core.llm.http.wire import as_dict
from forge_core.redact import Redactor

MAX_WORDS = 2_000
"""The limit of a provider's message, in characters."""

_BY_STATUS: Mapping[int, type[ProviderError]] = {
    401: AuthenticationError,
    402: PaymentRequiredError,
    403: PermissionDeniedError,
    404: ModelNotFoundError,
    408: ProviderTimeoutError,
    429: RateLimitError,
}
_BY_TYPE: Mapping[str, type[ProviderError]] = {
    "context_length_exceeded": ContextLengthError,
    "token_limit_exceeded": ContextLengthError,
    "exceed_context_size_error": ContextLengthError,
    "authentication": AuthenticationError,
    "invalid_api_key": AuthenticationError,
    "permission_denied": PermissionDeniedError,
    "content_policy_violation": PermissionDeniedError,
    "refusal": PermissionDeniedError,
    "payment_required": PaymentRequiredError,
    "insufficient_quota": PaymentRequiredError,
    "rate_limit_exceeded": RateLimitError,
    "not_found": ModelNotFoundError,
    "model_not_found": ModelNotFoundError,
    "provider_overloaded": ServerError,
    "provider_unavailable": ServerError,
    "server": ServerError,
    "timeout": ProviderTimeoutError,
    "max_tokens_exceeded": InvalidRequestError,
    "string_too_long": InvalidRequestError,
    "invalid_request": InvalidRequestError,
    "invalid_prompt": InvalidRequestError,
    "payload_too_large": InvalidRequestError,
    "unprocessable": InvalidRequestError,
}
_OVERFLOW = re.compile(
    r"maximum context length|context[ _]length[ _]exceeded|prompt is too long|input is too long"
    r"|exceeds? (?:the )?(?:available |model'?s? )?(?:maximum )?context|context window"
    r"|too many (?:input )?tokens"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ErrorMapper:
    """Makes the errors of one client, with its provider's name and without its secrets."""

    provider: Provider
    base_url: str
    redact: Redactor = field(default_factory=Redactor, repr=False)
    sends_key: bool = False
    key_variable: str | None = None
    """The environment variable of the key that is sent; None where it was given in code."""

    def from_response(
        self, status: int, headers: Mapping[str, str], body: bytes, payload: Any
    ) -> ProviderError:
        """Return the error for an HTTP status of 400 or more, or a redirect; `payload` is the parsed body or
        None."""
        if 300 <= status < 400:
            return self._redirected(status, headers)
        error = payload.get("error", payload) if isinstance(payload, dict) else None
        words = _words(error) or _plain_words(body, headers)
        return self._error(error, status, words, headers)

    def from_event(self, error: Any, generation_id: str | None = None) -> ProviderError:
        """Return the error for one inside a successful answer; its code counts as the status."""
        made = self._error(error, _status_in(error), _words(error), {})
        made.generation_id = generation_id
        return made

    def from_network(self, error: httpx.HTTPError | OSError, during: str = "") -> ProviderError:
        """Return the error for a connection that failed, broke or timed out."""
        where = f"{self.provider.label} ({shown_url(self.base_url)})"
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return ProviderTimeoutError(
                f"No connection to {where} in time. {_CHECK_NETWORK}", error_type="connect_timeout"
            )
        if isinstance(error, httpx.TimeoutException):
            return ProviderTimeoutError(
                f"{where} stopped responding{during}. Try again.", error_type="read_timeout"
            )
        detail = self.redact(str(error).strip()) or type(error).__name__
        if isinstance(error, httpx.ConnectError):
            hint = "Is the server running?" if self.provider.is_local else _CHECK_NETWORK
            return ConnectionFailedError(
                f"Cannot reach {where}: {detail}. {hint}", error_type="connect_failed"
            )
        return ConnectionFailedError(f"The connection to {where} broke{during}: {detail}. Try again.")

    def timed_out(self, what: str, limit_s: float, error_type: str) -> ProviderTimeoutError:
        return ProviderTimeoutError(
            f"{self.provider.label} sent {what} for {limit_s:g} s. Try again, or choose another model.",
            error_type=error_type,
        )

    def malformed(self, what: str, sample: str = "") -> MalformedResponseError:
        shown = f": {self.redact(sample[:200])!r}" if sample else ""
        return MalformedResponseError(
            f"{self.provider.label} sent {what}{shown}. Try again, or choose another model."
        )

    def without_choice(self, sample: str) -> MalformedResponseError:
        return self.malformed("an answer without a choice", sample)

    def no_answer(self, body: bytes) -> MalformedResponseError:
        """Return the error for a successful response without an answer: a web page, plain text, truncated
        JSON."""
        text = body[:20_000].decode("utf-8", "replace").strip()
        if not text.startswith("<"):
            return self.malformed("text instead of an answer" if text else "an empty answer", text)
        title = self.redact(_plain_words(body, {}))
        return MalformedResponseError(
            f"{self.provider.label} sent a web page{f' ({title!r})' if title else ''} instead of an answer. "
            f"Check the base URL {shown_url(self.base_url)!r}, or a proxy."
        )

    def broke_off(self) -> ConnectionFailedError:
        return ConnectionFailedError(
            f"{self.provider.label} closed the connection before the answer's end. Try again."
        )

    def no_key(self) -> AuthenticationError:
        return AuthenticationError(missing_key(self.provider), error_type="no_key")

    def _redirected(self, status: int, headers: Mapping[str, str]) -> ProviderError:
        target = self.redact(shown_url(headers.get("location", ""))) or "nowhere"
        return InvalidRequestError(
            f"{shown_url(self.base_url)} redirects to {target!r} ({status}). Redirects are not followed, "
            "because the key would go with them: set that base URL yourself if you trust it.",
            status=status,
        )

    def _error(self, error: Any, status: int | None, words: str, headers: Mapping[str, str]) -> ProviderError:
        metadata = as_dict(as_dict(error).get("metadata"))
        error_type = _error_type(error, metadata)
        kind = _kind(status, error_type, words)
        upstream = metadata.get("provider_name")
        may_pass = status in RETRY_STATUSES or kind is RateLimitError or upstream is not None
        wait_s = requested_wait_s(headers) if may_pass else None
        if wait_s is not None and wait_s > MAX_WAIT_S:
            advice = f"Try again in {format_wait(wait_s)}."
        else:
            advice = self._advice(kind, error_type, bool(metadata.get("reasons")))
        code = f" ({status})" if status else ""
        reason = self.redact(_with_raw(words, metadata)).rstrip(".") or "no reason given"
        made = kind(
            f"{self.provider.label}{code}: {reason}. {advice}".strip(),
            status=status,
            error_type=error_type,
            provider=upstream if isinstance(upstream, str) else None,
            retry_after_s=wait_s,
            generation_id=headers.get("x-generation-id"),
        )
        made.retryable = kind.retryable or status == 408
        return made

    def _advice(self, kind: type[ProviderError], error_type: str | None, is_moderated: bool) -> str:
        """Return what to do next. Advice about a key names the one that was sent."""
        if kind is PermissionDeniedError and (is_moderated or error_type in _MODERATION):
            return ""
        if kind not in (AuthenticationError, PermissionDeniedError):
            return _ADVICE.get(kind, "")
        if not self.sends_key:
            return f"No API key was sent. Set {self.provider.key_variable or NAMED_KEY_VARIABLE}."
        if kind is PermissionDeniedError:
            return f"The key in {self.key_variable} was sent." if self.key_variable else ""
        return f"Check the key in {self.key_variable}." if self.key_variable else "Check the API key."


_CHECK_NETWORK = "Check the network, a proxy or the URL."
_MODERATION = frozenset({"content_policy_violation", "refusal"})
_ADVICE: Mapping[type[ProviderError], str] = {
    PaymentRequiredError: "Add credits, lower max_tokens, or choose a cheaper model.",
    ModelNotFoundError: "Check the model's name, or choose another one.",
    RateLimitError: "Try again shortly, or choose another model.",
    ServerError: "Try again, or choose another model.",
    ContextLengthError: "Shorten the conversation, or choose a model with a larger window.",
}


def _kind(status: int | None, error_type: str | None, words: str) -> type[ProviderError]:
    named = _BY_TYPE.get(error_type or "")
    if named is not None:
        return named
    if status in (400, 413, 422, None) and _OVERFLOW.search(words):
        return ContextLengthError
    if status is None or status >= 500:
        return ServerError
    return _BY_STATUS.get(status, InvalidRequestError)


def _error_type(error: Any, metadata: Mapping[str, Any]) -> str | None:
    """Return OpenRouter's `metadata.error_type`, else OpenAI's `code` or `type` if it is a word."""
    for value in (metadata.get("error_type"), as_dict(error).get("code"), as_dict(error).get("type")):
        if isinstance(value, str) and value and not value.isdigit():
            return value
    return None


def _status_in(error: Any) -> int | None:
    code = as_dict(error).get("code")
    if isinstance(code, str) and code.isdigit():
        code = int(code[:4])
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None


def _words(error: Any) -> str:
    if isinstance(error, str):
        return error.strip()[:MAX_WORDS]
    for key in ("message", "error", "detail"):
        value = as_dict(error).get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()[:MAX_WORDS]
    return ""


def _with_raw(words: str, metadata: Mapping[str, Any]) -> str:
    """Return OpenRouter's own message, which is often vague ("Provider returned error"), with that of the
    upstream provider and the reasons of a moderation."""
    parts = [words]
    reasons = metadata.get("reasons")
    if isinstance(reasons, list) and reasons:
        parts.append(f"reasons: {', '.join(str(reason) for reason in reasons[:10])}")
    raw = metadata.get("raw")
    if isinstance(raw, dict):
        raw = _words(raw.get("error", raw))
    if isinstance(raw, str) and raw.strip() and raw.strip() not in words:
        name = metadata.get("provider_name")
        parts.append(f"{name if isinstance(name, str) else 'upstream'} said: {raw.strip()}")
    return "; ".join(part for part in parts if part)[:MAX_WORDS]


def _plain_words(body: bytes, headers: Mapping[str, str]) -> str:
    """Return the text of a body that is not JSON; of an HTML page, its title."""
    text = body[:20_000].decode("utf-8", "replace").strip()
    if "html" in headers.get("content-type", "") or text[:1] == "<":
        title = re.search(r"<title[^>]*>([^<]{1,200})", text, re.IGNORECASE)
        return title.group(1).strip() if title else ""
    return text[:500]
