"""Which endpoint a session talks to, and which key may go there.

A key travels to the endpoint that the person named (flag, environment, own settings), to OpenRouter, and
nowhere else: a project's file cannot name a URL at all, and the client follows no redirect with a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from forge_core.config.models import Endpoint, Origin
from forge_core.errors import ConfigError

OPENROUTER_URL = "https://openrouter.ai/api/v1"
OFFLINE_MODEL = "forge/offline"
"""The built-in model's id; `offline` is accepted for it."""

_KEY_VARIABLES = {
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.openai.com": "OPENAI_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
}


def choose_endpoint(
    base_url: str | None, model: str | None, environ: Mapping[str, str], origins: Mapping[str, Origin]
) -> tuple[Endpoint, str]:
    """The endpoint and the model's id; the id is empty where the catalogue's default is meant.

    Raises:
        ConfigError: a model was asked for and there is nothing that could serve it.
    """
    if model in ("offline", OFFLINE_MODEL):
        return _OFFLINE, OFFLINE_MODEL
    if base_url is not None:
        return _at_url(base_url, model, environ)
    if key := environ.get("OPENROUTER_API_KEY", "").strip():
        return Endpoint("openrouter", OPENROUTER_URL, key), model or ""
    if model is not None and origins.get("model") in (Origin.FLAG, Origin.ENVIRONMENT):
        raise ConfigError(
            f"No API key for the model {model!r}. Set OPENROUTER_API_KEY, name a local endpoint with "
            "--base-url, or use the built-in model with --model offline."
        )
    return _OFFLINE, OFFLINE_MODEL


_OFFLINE = Endpoint("offline", "")


def _at_url(base_url: str, model: str | None, environ: Mapping[str, str]) -> tuple[Endpoint, str]:
    host = (urlsplit(base_url).hostname or "").lower()
    if not host:
        raise ConfigError(f"base_url is {base_url!r}; it must name a host, e.g. http://localhost:11434/v1.")
    if host == "openrouter.ai":
        return Endpoint("openrouter", base_url, _key(environ, "OPENROUTER_API_KEY")), model or ""
    if not model:
        raise ConfigError(f"No model given for {base_url!r}. Name one with --model.")
    specific = _KEY_VARIABLES.get(host)
    key = _key(environ, "FORGE_API_KEY") or (
        _key(environ, specific) if specific else _key(environ, "OPENROUTER_API_KEY")
    )
    return Endpoint("custom", base_url, key), model


def _key(environ: Mapping[str, str], variable: str) -> str | None:
    return environ.get(variable, "").strip() or None
