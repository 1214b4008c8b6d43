"""Who answers where, and which key may go there."""

from __future__ import annotations

import pytest

from forge_core.errors import ConfigError
from forge_core.llm.endpoints import OPENROUTER_URL, clean_url, identify, is_local, resolve, shown_url

ENVIRON = {"OPENROUTER_API_KEY": "or-key", "OPENAI_API_KEY": "oa-key", "GROQ_API_KEY": " "}


@pytest.mark.parametrize(
    ("url", "name", "local"),
    [
        (OPENROUTER_URL, "openrouter", False),
        ("https://OpenRouter.ai/api/v1/", "openrouter", False),
        ("https://api.openai.com/v1/chat/completions", "openai", False),
        ("http://localhost:11434/v1", "ollama", True),
        ("http://127.0.0.1:1234/v1", "lmstudio", True),
        ("http://[::1]:8080/v1", "llamacpp", True),
        ("http://127.0.0.1:8000/v1", "vllm", True),
        ("http://127.0.0.1:9999/v1", "custom", True),
        ("http://192.168.1.5:8000/v1", "custom", True),
        ("https://llm.example.com/v1", "custom", False),
        ("https://openrouter.ai.evil.test/api/v1", "custom", False),
        ("https://evil.test/openrouter.ai", "custom", False),
    ],
)
def test_a_provider_is_told_by_host_or_local_port(url: str, name: str, local: bool) -> None:
    provider = identify(url)
    assert (provider.name, provider.is_local) == (name, local)
    assert is_local(url) is local


def test_a_custom_server_is_labelled_with_its_host() -> None:
    assert identify("https://llm.example.com/v1").label == "llm.example.com"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (None, "or-key"),
        ("https://api.openai.com/v1", "oa-key"),
        ("https://api.groq.com/openai/v1", None),
        ("https://llm.example.com/v1", "or-key"),
        ("http://127.0.0.1:9999/v1", "or-key"),
        ("http://127.0.0.1:8000/v1", "or-key"),
        ("http://localhost:11434/v1", None),
        ("http://localhost:1234/v1", None),
    ],
)
def test_each_endpoint_gets_its_own_key_only(url: str | None, key: str | None) -> None:
    assert resolve(url, ENVIRON).api_key == key


def test_a_local_servers_own_key_comes_first() -> None:
    assert resolve("http://127.0.0.1:8000/v1", {**ENVIRON, "VLLM_API_KEY": "v"}).api_key == "v"


def test_a_url_from_a_project_gets_no_key() -> None:
    assert resolve("https://llm.example.com/v1", ENVIRON, may_carry_key=False).api_key is None


def test_the_key_is_not_in_the_repr() -> None:
    assert "or-key" not in repr(resolve(None, ENVIRON))


def test_a_hosted_service_is_refused_over_plain_http() -> None:
    with pytest.raises(ConfigError, match="https"):
        identify("http://openrouter.ai/api/v1")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "openrouter.ai",
        "ftp://x/y",
        "http://",
        "http://a b/",
        "http://h:99999/",
        "http://h:0/x",
        "http://x\n/y",
    ],
)
def test_unusable_urls_are_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"base URL .* is not usable"):
        clean_url(url)


def test_urls_are_brought_to_one_form() -> None:
    assert clean_url(" https://h/v1/chat/completions/ ") == "https://h/v1"
    assert clean_url("https://h/v1///") == "https://h/v1"


def test_a_shown_url_holds_no_secret() -> None:
    assert shown_url("https://user:pw@h:8/p/q?key=s#f") == "https://h:8/p/q"
    assert shown_url("user:pw@h/p") == "h/p"
