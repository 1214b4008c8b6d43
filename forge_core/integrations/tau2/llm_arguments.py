"""The model for tau2's `llm` and `llm_args`, which are written for LiteLLM."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.endpoints import Provider, missing_key, resolve

_FIELDS = frozenset(
    {
        "temperature",
        "max_tokens",
        "top_p",
        "frequency_penalty",
        "presence_penalty",
        "stop",
        "seed",
        "models",
        "provider",
        "reasoning",
        "session_id",
        "cache_control",
        "timeout",
        "max_retries",
    }
)
"""Arguments that OpenRouterLLM has a field for; others go into the request's body under their own names."""
_RENAMED = {"api_base": "base_url", "num_retries": "max_retries", "request_timeout": "timeout"}
_LITELLM_ONLY = frozenset({"drop_params", "caching", "custom_llm_provider", "allowed_openai_params"})
_REFUSED = frozenset({"messages", "tools", "functions", "model", "extra_headers"})
MAX_RETRIES = 3
"""As many as tau2 gives its own agents."""


def clean_args(llm_args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a copy of the arguments under one name each, without those that are None or for LiteLLM alone.

    Raises:
        ValueError: an argument would replace what the agent itself sends.
    """
    given = copy.deepcopy(dict(llm_args or {}))
    refused = sorted(_REFUSED & given.keys())
    if refused:
        raise ValueError(
            f"llm_args may not hold {', '.join(refused)}: the agent sets what these would replace."
        )
    named = {_RENAMED.get(name, name): value for name, value in given.items()}
    body = named.pop("extra_body", None) or {}
    return {k: v for k, v in {**body, **named}.items() if v is not None and k not in _LITELLM_ONLY}


def build_llm(
    llm: str | None, args: Mapping[str, Any], base_url: str | None, api_key: str | None
) -> OpenRouterLLM:
    """Return the model. `args` are those of `clean_args`, without key and URL; a seed may be set later.

    Raises:
        ValueError: a hosted service has no key, neither given nor in the environment.
    """
    found = resolve(_given(base_url) or _given(os.environ.get("OPENROUTER_BASE_URL")), os.environ)
    key = _given(api_key) or found.api_key
    if key is None and not found.provider.is_local:
        raise ValueError(
            missing_key(
                found.provider,
                otherwise=', or give api_key in llm_args (--agent-llm-args \'{"api_key": "…"}\')',
            )
        )
    fields = {name: value for name, value in args.items() if name in _FIELDS}
    if isinstance(fields.get("stop"), str):
        fields["stop"] = [fields["stop"]]
    fields.setdefault("max_retries", MAX_RETRIES)
    if llm:
        fields["model"] = _model_id(llm, found.provider)
    return OpenRouterLLM(
        base_url=found.base_url,
        api_key=SecretStr(key) if key else None,
        model_kwargs={name: value for name, value in args.items() if name not in _FIELDS},
        **fields,
    )


def _given(value: str | None) -> str | None:
    """Return None for None, "" and blanks: nothing was given."""
    return (value or "").strip() or None


def _model_id(llm: str, provider: Provider) -> str:
    """Return `llm` without LiteLLM's name of the service, where the service itself knows the model without
    it."""
    rest = llm.removeprefix(f"{provider.name}/")
    is_own = provider.routes_requests and "/" not in rest  # openrouter/auto is a model's name
    return llm if is_own else rest
