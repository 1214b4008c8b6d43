"""Checking an API key by a request that costs nothing."""

from __future__ import annotations


async def check_key(base_url: str, key: str) -> str:
    """Return what the endpoint says of the key, in a few words, by a request that costs nothing.

    Raises:
        AuthenticationError: the endpoint rejects it.
        ProviderError: the endpoint gave no answer.
        ConfigError: it holds characters that no key has.
    """
    from forge_core.llm.client import OpenRouterClient

    async with OpenRouterClient(key, base_url, max_retries=0) as client:
        if not client.provider.reports_bills:
            await client.probe("models")
            return "accepted"
        info = await client.key_info()
        left = info.limit_remaining
        return "accepted" if left is None else f"accepted, ${left:.2f} left"
