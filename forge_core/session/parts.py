"""What a session is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from langchain_core.language_models import BaseChatModel

from forge_core.config.models import ForgeConfig
from forge_core.config.settings import PermissionMode
from forge_core.context.system_prompt import SystemPrompt
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.llm.models import TokenUsage
from forge_core.session.status import ModelChoice
from forge_core.session.workbench import Workbench
from forge_core.store.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """What `runtime` wires together."""

    id: str
    config: ForgeConfig
    agent: ForgeAgent
    tracker: TokenTrackingCallback
    bench: Workbench
    journal: Journal
    provider_label: str
    make_llm: Callable[[str], BaseChatModel]
    context_window: Callable[[str], int | None]
    known_models: Callable[[], Sequence[ModelChoice]]
    system_prompt: Callable[[PermissionMode], SystemPrompt]
    max_output: Callable[[str], int | None] = lambda model: None
    """The longest answer of a model, in tokens."""
    output_price: Callable[[str], Decimal | None] = lambda model: None
    """US dollars for a token that a model writes; for figures while it writes."""
    bill: Callable[[str], Awaitable[TokenUsage | None]] | None = None
    """What a generation that was left cost; None where the provider has no such thing."""
    refresh: Callable[[], Awaitable[None]] | None = None
    """Brings the model catalogue up to date, beside the first turn."""
    learn_window: Callable[[str], Awaitable[None]] | None = None
    """Asks the endpoint how much a model holds; None where `context_window` knows without."""
    close: Callable[[], Any]
    """Closes the provider's connections; awaited when it gives an awaitable."""
