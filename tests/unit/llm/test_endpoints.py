"""Who answers where, and which key may go there."""

from __future__ import annotations

import pytest

from forge_core.config.forge_config import Origin
from forge_core.errors import ConfigError
from forge_core.llm.choice import choose_endpoint
from forge_core.llm.endpoints import (
    OPENROUTER_URL,
    PROVIDERS,
    bypasses_proxy,
    clean_url,
    identify,
    resolve,
    shown_url,
)

ENVIRON = {
    "OPENROUTER_API_KEY": "or-key",
    "OPENAI_API_KEY": "oa-key",
    "GROQ_API_KEY": " ",
    "VLLM_API_KEY": "v",
}


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
        ("http://LOCALHOST.:11434/v1", "ollama", True),
        ("http://ollama.localhost:11434/v1", "custom", False),
        ("http://ollama.localhost.:11434/v1", "custom", False),
        ("http://192.168.1.5:8000/v1", "custom", True),
        ("https://llm.example.com/v1", "custom", False),
        ("https://openrouter.ai.evil.test/api/v1", "custom", False),
        ("https://evil.test/openrouter.ai", "custom", False),
    ],
)
def test_a_provider_is_identified_by_host_or_local_port(url: str, name: str, local: bool) -> None:
    provider = identify(url)
    assert (provider.name, provider.is_local) == (name, local)


def test_a_custom_server_is_labelled_with_its_host() -> None:
    assert identify("https://llm.example.com/v1").label == "llm.example.com"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (None, "or-key"),
        ("https://api.openai.com/v1", "oa-key"),
        ("https://api.groq.com/openai/v1", None),
        ("https://llm.example.com/v1", None),
        ("http://127.0.0.1:9999/v1", None),
        ("http://127.0.0.1:8000/v1", "v"),
        ("http://192.168.1.5:8000/v1", None),
        ("http://localhost:11434/v1", None),
        ("http://localhost:1234/v1", None),
    ],
)
def test_each_endpoint_gets_its_own_key_only(url: str | None, key: str | None) -> None:
    assert resolve(url, ENVIRON).api_key == key


@pytest.mark.parametrize(
    "url",
    [
        "https://openrouter.ai.evil.test/api/v1",
        "https://evilopenrouter.ai/api/v1",
        "https://openrouter.ai@evil.test/api/v1",
        "https://openrouter.ai:443@evil.test/api/v1",
        "https://evil.test/openrouter.ai",
        "https://evil.test?openrouter.ai",
        "https://evil.test#@openrouter.ai",
        "https://openrouter。ai/api/v1",
        "https://ｏpenrouter.ai/api/v1",
        "https://оpenrouter.ai/api/v1",  # a Cyrillic o
        "https://nebius.com.evil.test/v1",
        "https://evilnebius.com/v1",
        "https://xn--penrouter-5bg.ai/api/v1",
    ],
)
def test_a_lookalike_host_gets_no_key(url: str) -> None:
    environ = {provider.key_variable: "k" for provider in PROVIDERS.values() if provider.key_variable}
    found = resolve(url, environ)
    assert (found.provider.name, found.api_key, found.key_variable) == ("custom", None, None)


@pytest.mark.parametrize(
    "url",
    [
        "https://OPENROUTER.ai/api/v1",
        "https://openrouter.ai:443/api/v1",
        "https://openrouter.ai./api/v1",
        "https://evil.test@openrouter.ai/api/v1",
    ],
)
def test_every_spelling_of_a_provider_host_is_recognised(url: str) -> None:
    assert resolve(url, ENVIRON).key_variable == "OPENROUTER_API_KEY"
    with pytest.raises(ConfigError, match="https"):
        resolve(url.replace("https:", "http:"), ENVIRON)


@pytest.mark.parametrize("host", ["vllm.localhost", "vllm.localhost.", "VLLM.LOCALHOST", "a.b.localhost"])
def test_a_subdomain_of_localhost_gets_no_key_of_a_local_provider(host: str) -> None:
    environ = {"VLLM_API_KEY": "v", "LLAMA_API_KEY": "l"}
    for port in (8000, 8080):
        assert resolve(f"http://{host}:{port}/v1", environ).api_key is None
        assert resolve(f"http://localhost:{port}/v1", environ).api_key is not None


def test_a_custom_key_for_a_localhost_subdomain_is_reported_as_sent_unencrypted() -> None:
    url = "http://vllm.localhost:8000/v1"
    endpoint, _ = choose_endpoint(url, "m", {"FORGE_API_KEY": "named"}, {"base_url": Origin.FLAG})
    assert endpoint.key_notice == f"The API key in FORGE_API_KEY is sent to {url}, unencrypted."


@pytest.mark.parametrize(
    ("host", "is_direct"),
    [
        ("localhost", True),
        ("localhost.", True),
        ("vllm.localhost", True),
        ("Vllm.Localhost.", True),
        ("127.0.0.2", True),
        ("evillocalhost", False),
        ("localhost.evil.test", False),
        ("192.168.1.5", False),
    ],
)
def test_localhost_names_are_never_resolved_by_a_proxy(host: str, is_direct: bool) -> None:
    assert bypasses_proxy(host) is is_direct


def test_every_subdomain_of_a_service_gets_its_key() -> None:
    environ = {"NEBIUS_API_KEY": "n", "OPENROUTER_API_KEY": "or-key"}
    for host in ("api.tokenfactory.nebius.com", "api.studio.nebius.ai"):
        assert resolve(f"https://{host}/v1", environ).api_key == "n"


@pytest.mark.parametrize("url", ["https://llm.example.com/v1", "https://api.openai.com/v1", OPENROUTER_URL])
def test_the_custom_endpoint_key_has_priority_over_the_provider_key(url: str) -> None:
    found = resolve(url, {**ENVIRON, "FORGE_API_KEY": " named "})
    assert (found.api_key, found.key_variable) == ("named", "FORGE_API_KEY")


def test_the_custom_endpoint_key_is_not_used_for_the_default_endpoint() -> None:
    assert resolve(None, {"FORGE_API_KEY": "named"}).api_key is None
    assert resolve(None, {**ENVIRON, "FORGE_API_KEY": "named"}).key_variable == "OPENROUTER_API_KEY"


@pytest.mark.parametrize("url", ["https://llm.example.com/v1", OPENROUTER_URL])
def test_a_url_from_a_project_gets_no_key(url: str) -> None:
    environ = {**ENVIRON, "FORGE_API_KEY": "named"}
    assert resolve(url, environ, may_carry_key=False).api_key is None


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
        "https://evil.test\\@openrouter.ai/api/v1",
    ],
)
def test_invalid_urls_are_rejected_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"base URL .* is not usable"):
        clean_url(url)


def test_urls_are_normalised() -> None:
    assert clean_url(" https://h/v1/chat/completions/ ") == "https://h/v1"
    assert clean_url("https://h/v1///") == "https://h/v1"


def test_a_displayed_url_contains_no_secret() -> None:
    assert shown_url("https://user:pw@h:8/p/q?key=s#f") == "https://h:8/p/q"
    assert shown_url("user:pw@h/p") == "h/p"
