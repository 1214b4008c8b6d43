"""Errors: the right class, the provider's words, never a key."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from forge_core import errors
from forge_core.errors import ProviderError
from forge_core.llm.endpoints import OPENROUTER_URL, identify
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.redact import Redactor

KEY = "sk-or-v1-0123456789abcdef"
ERRORS = ErrorMapper(identify(OPENROUTER_URL), OPENROUTER_URL, Redactor((KEY,)))


def refused(status: int, error: Any = None, headers: dict[str, str] | None = None) -> ProviderError:
    payload = {"error": error if error is not None else {"code": status, "message": "words"}}
    return ERRORS.from_response(status, headers or {}, json.dumps(payload).encode(), payload)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidRequestError),
        (401, errors.AuthenticationError),
        (402, errors.PaymentRequiredError),
        (403, errors.PermissionDeniedError),
        (404, errors.ModelNotFoundError),
        (408, errors.ProviderTimeoutError),
        (409, errors.InvalidRequestError),
        (413, errors.InvalidRequestError),
        (418, errors.InvalidRequestError),
        (422, errors.InvalidRequestError),
        (429, errors.RateLimitError),
        (500, errors.ServerError),
        (502, errors.ServerError),
        (503, errors.ServerError),
        (524, errors.ServerError),
        (529, errors.ServerError),
    ],
)
def test_each_status_maps_to_its_class_and_keeps_the_message(status: int, kind: type[ProviderError]) -> None:
    error = refused(status)
    assert type(error) is kind
    assert error.status == status
    assert "words" in error.message
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("error_type", "kind"),
    [
        ("context_length_exceeded", errors.ContextLengthError),
        ("rate_limit_exceeded", errors.RateLimitError),
        ("provider_overloaded", errors.ServerError),
        ("payment_required", errors.PaymentRequiredError),
        ("content_policy_violation", errors.PermissionDeniedError),
        ("timeout", errors.ProviderTimeoutError),
    ],
)
def test_the_canonical_error_type_wins_over_the_status(error_type: str, kind: type[ProviderError]) -> None:
    error = refused(400, {"code": 400, "message": "m", "metadata": {"error_type": error_type}})
    assert type(error) is kind
    assert error.error_type == error_type


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000.",
        "prompt is too long: 213000 tokens > 200000 maximum",
        "the request exceeds the available context size (4096 tokens)",
        "Please reduce the length of the messages.",
    ],
)
def test_a_context_overflow_is_recognised_by_its_message(words: str) -> None:
    assert type(refused(400, {"code": 400, "message": words})) is errors.ContextLengthError
    assert type(ERRORS.from_event({"message": words})) is errors.ContextLengthError


def test_openai_string_error_codes_are_mapped() -> None:
    error = refused(400, {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"})
    assert type(error) is errors.ContextLengthError
    assert type(refused(429, {"message": "m", "code": "insufficient_quota"})) is errors.PaymentRequiredError


def test_the_upstream_provider_and_its_message_are_included() -> None:
    metadata = {"provider_name": "DeepInfra", "raw": '{"detail":"engine is out of memory"}'}
    error = refused(502, {"code": 502, "message": "Provider returned error", "metadata": metadata})
    assert error.provider == "DeepInfra"
    assert "DeepInfra said" in error.message
    assert "engine is out of memory" in error.message


def test_moderation_reasons_are_included() -> None:
    error = refused(403, {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}})
    assert "reasons: violence" in error.message


@pytest.mark.parametrize(
    ("url", "sends_key", "variable", "advice"),
    [
        (OPENROUTER_URL, True, "OPENROUTER_API_KEY", "Check the key in OPENROUTER_API_KEY."),
        ("https://llm.example/v1", True, "FORGE_API_KEY", "Check the key in FORGE_API_KEY."),
        ("https://api.openai.com/v1", True, None, "Check the API key."),
        ("https://llm.example/v1", False, None, "No API key was sent. Set FORGE_API_KEY."),
        ("http://localhost:8000/v1", False, None, "No API key was sent. Set VLLM_API_KEY."),
    ],
)
def test_a_rejected_key_is_named_by_its_environment_variable(
    url: str, sends_key: bool, variable: str | None, advice: str
) -> None:
    errors = ErrorMapper(identify(url), url, sends_key=sends_key, key_variable=variable)
    message = errors.from_response(401, {}, b"", {"error": {"message": "no"}}).message
    assert message.endswith(f"no. {advice}")


def test_a_missing_permission_names_the_key_and_a_moderation_does_not() -> None:
    errors = ErrorMapper(
        identify(OPENROUTER_URL), OPENROUTER_URL, sends_key=True, key_variable="FORGE_API_KEY"
    )
    denied = errors.from_response(403, {}, b"", {"error": {"message": "no"}})
    flagged = errors.from_response(403, {}, b"", {"error": {"message": "no", "metadata": {"reasons": ["x"]}}})
    assert "The key in FORGE_API_KEY was sent." in denied.message
    assert "FORGE_API_KEY" not in flagged.message


def test_no_error_message_contains_a_key() -> None:
    shapes: list[Any] = [
        {"message": f"Incorrect API key provided: {KEY}"},
        {"message": "m", "metadata": {"raw": f"bad {KEY}", "provider_name": "X"}},
        f"bare {KEY}",
    ]
    for shape in shapes:
        assert KEY not in refused(401, shape).message
        assert KEY not in ERRORS.from_event(shape).message
    assert KEY not in ERRORS.from_network(httpx.ReadError(f"Illegal header {KEY}")).message
    assert KEY not in ERRORS.malformed("nonsense", f"{KEY}...").message
    assert KEY not in refused(302, headers={"location": f"https://evil.test/{KEY}"}).message
    assert KEY not in repr(ERRORS)


@pytest.mark.parametrize(
    "error", [None, 5, [], {}, {"message": None}, {"message": {"deep": 1}}, {"code": "x" * 9}]
)
def test_malformed_error_bodies_still_give_an_error(error: Any) -> None:
    assert isinstance(ERRORS.from_event(error), errors.ServerError)


def test_an_html_error_page_gives_its_title_and_plain_text_is_quoted() -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body>" + b"x" * 100_000
    assert "502 Bad Gateway" in ERRORS.from_response(502, {"content-type": "text/html"}, page, None).message
    assert "try later" in ERRORS.from_response(503, {}, b"try later", None).message
    assert "no reason given" in ERRORS.from_response(500, {}, b"", None).message


def test_very_long_error_messages_are_truncated() -> None:
    assert len(refused(400, {"message": "x" * 100_000}).message) < 3_000


def test_a_long_retry_wait_is_shown_to_the_user() -> None:
    error = refused(429, headers={"retry-after": "600"})
    assert error.retry_after_s == 600
    assert "Try again in 10 min." in error.message


def test_an_error_code_in_a_stream_is_used_as_the_status() -> None:
    error = ERRORS.from_event({"code": 429, "message": "slow down"}, "gen-5")
    assert type(error) is errors.RateLimitError
    assert (error.status, error.generation_id) == (429, "gen-5")
    assert ERRORS.from_event({"code": "503", "message": "m"}).status == 503


def test_a_redirect_is_rejected_with_its_target() -> None:
    error = refused(308, headers={"location": "https://user:pw@evil.test/x?y=z"})
    assert type(error) is errors.InvalidRequestError
    assert "'https://evil.test/x'" in error.message
    assert "pw" not in error.message


@pytest.mark.parametrize(
    ("failure", "kind", "retryable"),
    [
        (httpx.ConnectError("refused"), errors.ConnectionFailedError, True),
        (httpx.ReadError(""), errors.ConnectionFailedError, True),
        (httpx.RemoteProtocolError("peer closed"), errors.ConnectionFailedError, True),
        (httpx.ConnectTimeout(""), errors.ProviderTimeoutError, True),
        (httpx.ReadTimeout(""), errors.ProviderTimeoutError, True),
        (OSError("no route"), errors.ConnectionFailedError, True),
    ],
)
def test_network_failures_map_to_error_classes(
    failure: Any, kind: type[ProviderError], retryable: bool
) -> None:
    error = ERRORS.from_network(failure)
    assert type(error) is kind
    assert error.retryable is retryable
    assert "openrouter.ai" in error.message
