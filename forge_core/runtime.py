"""The one place where the parts are wired. What is heavy is imported inside, when a session is built."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from forge_core.approval import ApprovalReply, ApprovalRequest, Approver
    from forge_core.config.models import ForgeConfig, PermissionMode
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.models import TokenUsage
    from forge_core.llm.retry import RetryNotice
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.redact import Redactor
    from forge_core.session.session import ForgeSession
    from forge_core.session.status import ModelChoice, ProviderLabel

_TRACING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


def load_session_config(
    path: str | Path | None = None,
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    needs_write: bool = False,
) -> ForgeConfig:
    """The settings for a session in `path`; see `forge_core.config.load.load_config`.

    Raises:
        WorkspaceError, ConfigError: with what is wrong and what to do.
    """
    from forge_core.config.load import load_config
    from forge_core.llm.choice import choose_endpoint

    return load_config(
        path, choose_endpoint=choose_endpoint, flags=flags, environ=environ, needs_write=needs_write
    )


def build_session(config: ForgeConfig, approver: Approver) -> ForgeSession:
    """A session that checks every tool call against the policy and asks `approver`.

    Takes a second or so the first time, for the imports; opens no connection and no file.
    """
    silence_tracing(os.environ)
    from forge_core.langchain.callbacks import LoggingCallback, TokenTrackingCallback
    from forge_core.permissions.policy import PermissionPolicy
    from forge_core.session.session import ForgeSession, SessionParts
    from forge_core.store.journal import Journal
    from forge_core.store.log import close_log, open_log
    from forge_core.store.paths import journal_path, log_path, new_session_id, outputs_dir

    session_id = new_session_id()
    notify = _Notifier()
    client = _build_client(config, notify)
    make_llm = _llm_factory(config, client, session_id)
    policy = PermissionPolicy(
        root=config.working_dir, mode=config.permission_mode, allow=config.allow, deny=config.deny
    )
    tracker = TokenTrackingCallback()
    files: dict[str, str] = {}
    outputs = outputs_dir(config.state_dir, session_id)
    agent = _build_agent(config, make_llm(config.model), approver, policy, files, outputs)
    logger = open_log(log_path(config.state_dir), config.log_level, f"forge.{session_id}")
    agent.tracker, agent.callbacks = tracker, [tracker, LoggingCallback(logger, redact=_redactor(config))]

    async def close() -> None:
        await client.aclose()
        close_log(logger)

    session = ForgeSession(
        SessionParts(
            id=session_id,
            config=config,
            agent=agent,
            tracker=tracker,
            policy=policy,
            journal=Journal(journal_path(config.state_dir, session_id), notify.trouble),
            files=files,
            provider_label=_provider_label(config),
            sandbox="sandbox: off",
            make_llm=make_llm,
            context_window=_context_window(config),
            known_models=partial(_known_models, config),
            system_prompt=_prompt_maker(config),
            **_account_calls(config, client),
            close=close,
        )
    )
    session.set_mode(config.permission_mode)
    notify.session = session
    return session


def harden_process() -> None:
    """Closes this process to the commands that the model runs. For Forge's own programs, not for a library's
    caller: it also means no core dumps."""
    from forge_core.tools.shell.environment import protect_process

    protect_process()


def silence_tracing(environ: Any) -> list[str]:
    """Turns LangSmith tracing off: it would upload the code that the model sees. Returns what was on."""
    found = [name for name in _TRACING if environ.get(name, "").lower() in ("1", "true", "yes", "on")]
    for name in found:
        environ[name] = "false"
    return found


class _Notifier:
    """Carries what client and journal report to the session, which is built after them."""

    def __init__(self) -> None:
        self.session: ForgeSession | None = None

    def retry(self, notice: RetryNotice) -> None:
        when = "at once" if notice.wait_s < 0.5 else f"in {notice.wait_s:.0f} s"
        reason = notice.reason.removesuffix("Try again.").rstrip()
        self._tell("warning", f"{reason} Trying again {when}.")

    def abandoned(self, generation_id: str) -> None:
        if self.session is not None:
            self.session.generation_abandoned(generation_id)

    def trouble(self, text: str) -> None:
        self._tell("error", text)

    def _tell(self, level: Any, text: str) -> None:
        from forge_core.events import Notice

        if self.session is not None:
            self.session.notify(Notice(level=level, text=text))


class _PausingApprover:
    """Stops the run's clock while the person is asked: waiting for them never counts against a timeout."""

    def __init__(self, inner: Approver) -> None:
        self._inner = inner
        self.agent: ForgeAgent | None = None

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        clock = self.agent.clock if self.agent else None
        with clock.paused() if clock else nullcontext():
            return await self._inner(request)


def _prompt_maker(config: ForgeConfig) -> Callable[[PermissionMode], str]:
    from forge_core.context.system_prompt import system_prompt
    from forge_core.workspace.git import branch

    root = config.working_dir
    return lambda mode: system_prompt(root, mode, branch=branch(root))


def _build_agent(
    config: ForgeConfig,
    llm: BaseChatModel,
    approver: Approver,
    policy: PermissionPolicy,
    files: dict[str, str],
    output_dir: Path,
) -> ForgeAgent:
    from forge_core.langchain.agent import ForgeAgent
    from forge_core.tools.base import ExecutionContext
    from forge_core.tools.executor import ToolExecutor
    from forge_core.tools.registry import builtin_tools

    pausing = _PausingApprover(approver)
    agent = ForgeAgent(
        llm=llm,
        tools=builtin_tools(),
        max_iterations=config.max_iterations,
        timeout=None,
        executor=ToolExecutor(policy=policy, approver=pausing, output_dir=output_dir),
        make_context=lambda: ExecutionContext(working_dir=config.working_dir, files=files),
    )
    pausing.agent = agent
    return agent


def _build_client(config: ForgeConfig, notify: _Notifier) -> OpenRouterClient:
    from forge_core.llm.client import OpenRouterClient

    transport = None
    if config.endpoint.kind == "offline":
        from forge_core.llm.offline.transport import OfflineTransport

        transport = OfflineTransport(config.working_dir)
    return OpenRouterClient(
        api_key=config.endpoint.api_key,
        base_url=config.endpoint.base_url or "http://offline.invalid/v1",
        max_retries=config.max_retries,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
        connect_timeout_s=config.connect_timeout_s,
        transport=transport,
        on_retry=notify.retry,
        on_abandoned=notify.abandoned,
    )


def _llm_factory(
    config: ForgeConfig, client: OpenRouterClient, session_id: str
) -> Callable[[str], BaseChatModel]:
    from forge_core.langchain.llm import OpenRouterLLM

    def make(model: str) -> BaseChatModel:
        if config.endpoint.kind != "openrouter":
            return OpenRouterLLM(client=client, model=model)
        # Prompt caching: one breakpoint on the last block, and the same upstream for the whole session
        # (https://openrouter.ai/docs/features/prompt-caching).
        caching = {"type": "ephemeral"} if model.startswith("anthropic/") else None
        return OpenRouterLLM(client=client, model=model, session_id=session_id, cache_control=caching)

    return make


def _context_window(config: ForgeConfig) -> Callable[[str], int | None]:
    from forge_core.llm.catalog import lookup
    from forge_core.llm.offline.protocol import CONTEXT_LENGTH

    def window(model: str) -> int | None:
        if config.context_window:
            return config.context_window
        if config.endpoint.kind == "offline":
            return CONTEXT_LENGTH
        found = lookup(model) if config.endpoint.kind == "openrouter" else None
        return found.context_length if found else None

    return window


def _account_calls(config: ForgeConfig, client: OpenRouterClient) -> dict[str, Any]:
    """What only OpenRouter answers: the bill of a cut answer, the catalogue with prices."""
    if config.endpoint.kind != "openrouter":
        return {}
    from forge_core.llm.catalog_refresh import refresh_catalogue

    folder = config.state_dir / "cache"
    return {"bill": partial(_bill, client), "refresh": partial(refresh_catalogue, client, folder)}


async def _bill(client: OpenRouterClient, generation_id: str) -> TokenUsage | None:
    found = await client.generation(generation_id)
    return found.usage if found is not None else None


def _known_models(config: ForgeConfig) -> Sequence[ModelChoice]:
    from forge_core.llm.catalog import ModelInfo, bundled
    from forge_core.session.status import ModelChoice

    if config.endpoint.kind != "openrouter":
        return ()

    def note(model: ModelInfo) -> str:
        window = f"{model.context_length // 1000:,}k" if model.context_length else ""
        given, made = model.prices.prompt, model.prices.completion
        price = ""
        if given is not None and made is not None:
            price = f"${given * 1_000_000:g} in, ${made * 1_000_000:g} out per million"
        return " · ".join(part for part in (window, price) if part)

    return tuple(ModelChoice(model.id, note(model)) for model in bundled().values() if model.takes_tools)


def _redactor(config: ForgeConfig) -> Redactor:
    from forge_core.redact import Redactor

    key = config.endpoint.api_key
    return Redactor((key,) if key else ())


def _provider_label(config: ForgeConfig) -> ProviderLabel:
    if config.endpoint.kind != "custom":
        return config.endpoint.kind
    from forge_core.llm.endpoints import is_local

    return "local" if is_local(config.endpoint.base_url) else "custom"
