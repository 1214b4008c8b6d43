"""Which endpoint and model a session talks to, from what the person set.

A key travels to the endpoint that the person named (flag, environment, own settings), to OpenRouter, and
nowhere else: a project's file cannot name a URL at all, and the client follows no redirect with a key.
"""

from __future__ import annotations

from collections.abc import Mapping

from forge_core.config.models import Endpoint, Origin
from forge_core.errors import ConfigError
from forge_core.llm.offline import OFFLINE_MODEL

KEY_VARIABLE = "FORGE_API_KEY"
"""The key for whatever `base_url` names; stronger than the service's own variable."""


def choose_endpoint(
    base_url: str | None, model: str | None, environ: Mapping[str, str], origins: Mapping[str, Origin]
) -> tuple[Endpoint, str]:
    """The endpoint and the model's id.

    A URL leads there; else a key in OPENROUTER_API_KEY leads to OpenRouter; else the offline model answers,
    which `offline` as the model's name also chooses.

    Raises:
        ConfigError: a model was asked for and there is nothing that could serve it.
    """
    if model in ("offline", OFFLINE_MODEL):
        return _OFFLINE, OFFLINE_MODEL
    if base_url is None and not environ.get("OPENROUTER_API_KEY", "").strip():
        if model is not None and origins.get("model") in (Origin.FLAG, Origin.ENVIRONMENT):
            raise ConfigError(
                f"No API key for the model {model!r}. Set OPENROUTER_API_KEY, name a local endpoint with "
                "--base-url, or use the built-in model with --model offline."
            )
        return _OFFLINE, OFFLINE_MODEL
    from forge_core.llm.endpoints import resolve  # here and below: before the first frame, so only when used

    found = resolve(base_url, environ)
    key = (environ.get(KEY_VARIABLE, "").strip() if base_url else "") or found.api_key
    if found.provider.name == "openrouter":
        return Endpoint("openrouter", found.base_url, key), model or _default_model()
    if not model:
        raise ConfigError(f"No model given for {found.base_url!r}. Name one with --model.")
    return Endpoint("custom", found.base_url, key), model


_OFFLINE = Endpoint("offline", "")


def _default_model() -> str:
    from forge_core.llm.catalog import DEFAULT_MODEL

    return DEFAULT_MODEL
