"""The endpoint and the model of a session, from the user's settings.

FORGE_API_KEY goes to the endpoint that the user named (flag, environment, own settings), a provider's
variable to that provider's own host, and no key anywhere else: not to a URL from a project's file, and the
client follows no redirect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from forge_core.config.checks import shown_url
from forge_core.config.forge_config import OFFLINE_ENDPOINT, OFFLINE_MODEL, Endpoint, Origin
from forge_core.errors import ConfigError

if TYPE_CHECKING:
    from forge_core.llm.endpoints import ResolvedEndpoint


def choose_endpoint(
    base_url: str | None,
    model: str | None,
    environ: Mapping[str, str],
    origins: Mapping[str, Origin],
    saved_key: Callable[[str], str | None] = lambda base_url: None,
) -> tuple[Endpoint, str]:
    """Return the endpoint and the model's id.

    That is the base URL that is set, otherwise OpenRouter with a key in OPENROUTER_API_KEY or a saved one,
    otherwise the offline model, which the model name `offline` also selects. `saved_key` returns the key that
    was saved for a base URL, an empty string for one that is read later.

    Raises:
        ConfigError: a model was asked for and there is nothing that could serve it.
    """
    if model in (OFFLINE_NAME, OFFLINE_MODEL):
        return OFFLINE_ENDPOINT, OFFLINE_MODEL
    has_key = base_url is not None or environ.get("OPENROUTER_API_KEY", "").strip()
    if not has_key and saved_key(_OPENROUTER_URL) is None:
        if model is not None and origins.get("model") in (Origin.FLAG, Origin.ENVIRONMENT):
            from forge_core.llm.endpoints import DEFAULT_PROVIDER, missing_key

            otherwise = (
                ", name a local endpoint with --base-url, or use the built-in model with --model offline"
            )
            raise ConfigError(missing_key(DEFAULT_PROVIDER, f"the model {model!r}", otherwise))
        return OFFLINE_ENDPOINT, OFFLINE_MODEL
    from forge_core.llm.endpoints import resolve  # here and below: before the first frame, so only when used

    found = resolve(
        base_url, environ, may_carry_key=origins.get("base_url") is not Origin.PROJECT, saved_key=saved_key
    )
    model = model or found.provider.default_model
    if model is None:
        raise ConfigError(f"No model given for {shown_url(found.base_url)!r}. Name one with --model.")
    return endpoint_of(found, is_named=base_url is not None), model


def endpoint_of(found: ResolvedEndpoint, *, is_named: bool = True) -> Endpoint:
    """Return a resolved endpoint as a session's; with a notice of the key if the user named the endpoint."""
    kind = found.provider.name if found.provider.has_catalogue else "custom"
    notice = _key_notice(found) if is_named else ""
    return Endpoint(kind, found.base_url, found.api_key, found.key_variable, notice)


def _key_notice(endpoint: ResolvedEndpoint) -> str:
    from forge_core.llm.endpoints import NAMED_KEY_VARIABLE

    url, is_local = shown_url(endpoint.base_url), endpoint.provider.is_local
    if endpoint.key_variable is None:
        return f"No API key is sent to {url}.{'' if is_local else f' Set {NAMED_KEY_VARIABLE} to send one.'}"
    is_exposed = url.startswith("http:") and not is_local
    return f"The API key in {endpoint.key_variable} is sent to {url}{', unencrypted' if is_exposed else ''}."


OFFLINE_NAME = "offline"
"""What users call the built-in model."""
_OPENROUTER_URL = "https://openrouter.ai/api/v1"
"""As in `endpoints`, whose import the first frame of the offline model does without."""
