"""The providers: base URL, key variable and abilities of each; and which key may be sent where.

A hosted service is identified by its host, a local server by its customary port on this machine. Anything
else is `custom`: an OpenAI-compatible server about which nothing is known. The variable of a provider is read
for that provider's own host only; FORGE_API_KEY belongs to whatever endpoint the user names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from forge_core.config.checks import shown_url as shown_url
from forge_core.errors import ConfigError

OPENROUTER_URL = "https://openrouter.ai/api/v1"
DEFAULT_MODEL = "anthropic/claude-sonnet-5"
"""Of OpenRouter, which is the provider where no endpoint is named."""
NAMED_KEY_VARIABLE = "FORGE_API_KEY"
"""The key for an endpoint that the user names; it comes before the provider's own variable."""

NO_KEY = "No API key for"
"""How the message about a missing key begins."""
SAVED_KEYS = "your saved keys"
"""In the place of the variable that a key came from: it was saved with `forge auth login`."""

_PLACEHOLDERS = (
    *("", "dummy", "dummy-key", "dummy_key", "empty", "local", "llama.cpp", "lm-studio", "lmstudio"),
    *("no-key", "no-key-required", "no_key", "not-needed", "not_needed", "ollama", "openai"),
    *("password", "placeholder", "secret", "sk-dummy", "sk-no-key-required", "token-abc123", "unused"),
    *("your-api-key", "your_api_key"),
)
"""What people set as a key for a local server that needs none, and words that are no secrets."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that implements the chat completions API, and what it can do."""

    name: str
    label: str
    """For messages and the status line."""
    base_url: str
    key_variable: str | None = None
    """Environment variable of its key; None: it has none."""
    domains: tuple[str, ...] = ()
    """Domains whose every host is the service's, for one that has several; else the host of `base_url`."""
    is_local: bool = False
    default_model: str | None = None
    """The model of a session that names none; None: one must be named."""
    has_catalogue: bool = False
    """The bundled catalogue lists its models with windows and prices, `GET /models` returns newer ones."""
    reports_bills: bool = False
    """`GET /generation?id=…` returns what a generation has cost, also a cancelled one."""
    routes_requests: bool = False
    """Forwards requests to other providers: it accepts preferences in the field `provider`, and models below
    its own name (`openrouter/auto`) choose among those of several vendors."""
    takes_session_id: bool = False
    """Sends the requests of one `session_id` to the same upstream provider, whose prompt cache stays warm."""
    cache_control_models: tuple[str, ...] = ()
    """Prefixes of the models that cache a prompt only where `cache_control` marks it."""
    attribution_headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Name the application that sends the request."""
    usage_in_body: bool = False
    """Usage is requested with `usage: {include: true}`; otherwise with `stream_options: {include_usage:
    true}`."""
    reasoning_in_object: bool = False
    """The reasoning effort is requested with `reasoning: {effort: …}`; otherwise with `reasoning_effort`."""
    takes_reasoning: bool = True
    """Accepts `reasoning_details` of earlier answers in assistant messages."""
    takes_reasoning_text: bool = False
    """Accepts `reasoning`, as plain text, where an answer with tool calls has no details."""
    max_tokens_field: str = "max_tokens"

    @property
    def needs_key(self) -> bool:
        """Whether every request needs a key: a local server may run with one or without."""
        return self.key_variable is not None and not self.is_local


_GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
_HOSTED = (
    Provider(
        "openrouter",
        "OpenRouter",
        OPENROUTER_URL,
        "OPENROUTER_API_KEY",
        default_model=DEFAULT_MODEL,
        has_catalogue=True,
        reports_bills=True,
        routes_requests=True,
        # https://openrouter.ai/docs/features/prompt-caching
        takes_session_id=True,
        cache_control_models=("anthropic/",),
        # https://openrouter.ai/docs/app-attribution; no HTTP-Referer, as Forge has no home page to name
        attribution_headers={
            "X-OpenRouter-Title": "Forge",
            "X-Title": "Forge",
            "X-OpenRouter-Categories": "cli-agent",
        },
        usage_in_body=True,
        reasoning_in_object=True,
        takes_reasoning_text=True,
    ),
    Provider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        takes_reasoning=False,
        max_tokens_field="max_completion_tokens",
    ),
    *(
        Provider(name, label, url, variable, takes_reasoning=False)
        for name, label, url, variable in (
            ("anthropic", "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
            ("google", "Google", _GOOGLE_URL, "GEMINI_API_KEY"),
            ("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
            ("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
            ("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
            ("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
            ("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
            ("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
        )
    ),
    Provider(
        "nebius",
        "Nebius",
        "https://api.tokenfactory.nebius.com/v1",
        "NEBIUS_API_KEY",
        domains=("nebius.com", "nebius.ai"),
        takes_reasoning=False,
    ),
)
_LOCAL = (
    Provider("ollama", "Ollama", "http://localhost:11434/v1", is_local=True),
    Provider("lmstudio", "LM Studio", "http://localhost:1234/v1", is_local=True),
    Provider("llamacpp", "llama.cpp", "http://localhost:8080/v1", "LLAMA_API_KEY", is_local=True),
    Provider("vllm", "vLLM", "http://localhost:8000/v1", "VLLM_API_KEY", is_local=True),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in (*_HOSTED, *_LOCAL)}
"""By name."""
DEFAULT_PROVIDER = PROVIDERS["openrouter"]
"""Where no endpoint is named."""

_BY_HOST = {urlsplit(provider.base_url).hostname: provider for provider in _HOSTED}
_BY_DOMAIN = {domain: provider for provider in _HOSTED for domain in provider.domains}
_BY_PORT = {urlsplit(provider.base_url).port: provider for provider in _LOCAL}


@dataclass(frozen=True, slots=True)
class ResolvedEndpoint:
    """A base URL, its provider, and the key that may be sent there."""

    provider: Provider
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    """The environment variable that held the key, or SAVED_KEYS; None without a key."""


def identify(base_url: str) -> Provider:
    """Return the provider at `base_url`; a custom one, labelled with the host, for an unknown host.

    Raises ConfigError when it is no http(s) URL with a host, or would carry a hosted service's key
    unencrypted.
    """
    url = clean_url(base_url)
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")  # "openrouter.ai." is the same host, fully qualified
    known = _BY_HOST.get(host) or _by_domain(host)
    if known is not None:
        if parts.scheme != "https":
            raise ConfigError(f"{known.label} is only spoken to over https. Give {known.base_url!r}.")
        return known
    if is_loopback(host):
        return _BY_PORT.get(parts.port) or Provider("custom", "local server", url, is_local=True)
    return Provider("custom", host, url, is_local=_is_private(host))


def _by_domain(host: str) -> Provider | None:
    return next((known for domain, known in _BY_DOMAIN.items() if host.endswith(f".{domain}")), None)


def resolve(
    base_url: str | None,
    environ: Mapping[str, str],
    *,
    may_carry_key: bool = True,
    saved_key: Callable[[str], str | None] = lambda base_url: None,
) -> ResolvedEndpoint:
    """Return the endpoint at `base_url` (None: the default provider) with its key from `environ`.

    The key is that of FORGE_API_KEY where the endpoint is named, else that of the provider's own variable,
    else the one that `saved_key` returns for the exact base URL, else none; an empty string is one that is
    read later. `may_carry_key=False` is for a URL that came from a project's file: it gets no key at all.
    """
    url = clean_url(base_url or OPENROUTER_URL)
    provider = identify(url)
    for variable in _key_variables(provider, is_named=base_url is not None) if may_carry_key else ():
        if key := environ.get(variable, "").strip():
            return ResolvedEndpoint(provider, url, key, variable)
    if may_carry_key and (saved := saved_key(url)) is not None:
        return ResolvedEndpoint(provider, url, saved or None, SAVED_KEYS)
    return ResolvedEndpoint(provider, url)


def _key_variables(provider: Provider, *, is_named: bool) -> tuple[str, ...]:
    """Return the variables whose key may be sent to `provider`, in order of precedence."""
    named = (NAMED_KEY_VARIABLE,) if is_named else ()
    return (*named, provider.key_variable) if provider.key_variable else named


def key_variables() -> frozenset[str]:
    """Return the names of the environment variables with the keys of all providers."""
    named = (one.key_variable for one in PROVIDERS.values() if one.key_variable)
    return frozenset((NAMED_KEY_VARIABLE, *named))


def held_secrets(environ: Mapping[str, str], base_url: str = "") -> tuple[str, ...]:
    """Return every secret that Forge knows: the keys of all providers, and the passwords in `base_url` and in
    the URLs of proxies. Values that are customary where no key is needed are none."""
    keys = [environ.get(name, "").strip() for name in sorted(key_variables())]
    proxies = [value for name, value in environ.items() if name.lower().endswith("_proxy")]
    passwords = [form for url in (base_url, *proxies) for form in _passwords(url)]
    return tuple(one for one in dict.fromkeys((*keys, *passwords)) if one.lower() not in _PLACEHOLDERS)


def _passwords(url: str) -> tuple[str, ...]:
    """Return the password in a URL, as written and decoded."""
    try:
        found = urlsplit(url).password or ""
    except ValueError:
        return ()
    return (found, unquote(found))


def missing_key(provider: Provider, subject: str = "", otherwise: str = "") -> str:
    """Return the message about a missing key of `subject`, by default the provider; `otherwise` extends the
    advice."""
    variable = provider.key_variable or NAMED_KEY_VARIABLE
    return f"{NO_KEY} {subject or provider.label}. Set {variable}{otherwise}."


def clean_url(base_url: str) -> str:
    """Return `base_url` without a trailing slash or `/chat/completions`. Raise ConfigError if invalid."""
    url = base_url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # A backslash is a path separator to some parsers: they would see another host than this one.
    if not usable or any(ord(char) <= 0x20 or char in "\\\x7f" for char in url):
        raise ConfigError(
            f"The base URL {shown_url(base_url)!r} is not usable. Give one like {OPENROUTER_URL!r} "
            "or 'http://localhost:11434/v1'."
        )
    return url


def is_loopback(host: str) -> bool:
    """Return whether `host` names this machine, so that a local provider's key may go there.

    Of the localhost names only `localhost` itself, which every system's hosts file defines. RFC 6761 section
    6.3 reserves the names below it too, but resolvers only SHOULD answer them with a loopback address, and an
    application MAY pass them on: glibc without nss-myhostname asks the network's DNS server for
    `vllm.localhost`, which may name any host.
    """
    host = host.lower().removesuffix(".")
    if host == "localhost":
        return True
    import ipaddress  # 9 ms, and only a custom URL needs it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bypasses_proxy(host: str) -> bool:
    """Return whether requests to `host` never go through a proxy: it would look up a localhost name, those
    below `localhost` included, from its own machine."""
    return host.lower().removesuffix(".").endswith(".localhost") or is_loopback(host)


def _is_private(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host.endswith((".local", ".lan", ".internal"))
