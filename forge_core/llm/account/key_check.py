"""Checking an API key by a request that costs nothing."""

from __future__ import annotations

import asyncio

from forge_core.errors import ProviderTimeoutError

TIMEOUT_S = 15.0


async def check_key(base_url: str, key: str, timeout_s: float = TIMEOUT_S) -> str:
    """Return what the endpoint says of the key, in a few words, by a request that costs nothing.

    Raises:
        AuthenticationError: the endpoint rejects it.
        ProviderError: the endpoint gave no answer, or none within `timeout_s`.
        ConfigError: it holds characters that no key has.
    """
    from forge_core.llm.client import OpenRouterClient

    try:
        async with asyncio.timeout(timeout_s), OpenRouterClient(key, base_url, max_retries=0) as client:
            if not client.provider.reports_bills:
                await client.probe("models")
                return "accepted"
            info = await client.key_info()
    except TimeoutError as error:
        raise ProviderTimeoutError(f"There was no answer within {timeout_s:g} s.") from error
    left = info.limit_remaining
    return "accepted" if left is None else f"accepted, ${left:.2f} left"
