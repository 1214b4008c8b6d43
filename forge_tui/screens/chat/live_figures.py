"""The status bar's figures: the session's own, with the running answer's tokens estimated on top."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.commands.figures import estimate_tokens, tokens_text
from forge_core.config.forge_config import ForgeConfig
from forge_tui.widgets.status_text import Figures
from forge_tui.widgets.welcome.welcome_text import examples

if TYPE_CHECKING:
    from decimal import Decimal

    from forge_core.llm.models import TokenUsage
    from forge_core.session.status import SessionStatus


def shown_folder(path: Path, home: Path) -> str:
    """Return the folder with "~" for the home."""
    if path == home:
        return "~"
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


class LiveFigures:
    """Collects text as it arrives and computes `Figures` on request, not per token."""

    def __init__(self, config: ForgeConfig, home: Path) -> None:
        self._new_text: list[str] = []
        """Text of the running answer that has not been estimated yet."""
        self._tokens = 0
        """The estimate of the text before that; the provider's count replaces it at the end of the call."""
        self._argument_characters = 0
        self._output_price: Decimal | None = None
        self.examples = examples(config.working_dir)
        """What to ask about the folder."""
        self._figures = Figures(
            model=config.model,
            provider="offline" if config.endpoint.kind == "offline" else "",
            context_window=config.context_window,
            mode=str(config.permission_mode),
            folder=shown_folder(config.working_dir, home),
            added=tuple(folder.name for folder in config.added_folders),
        )

    def current(self) -> Figures:
        """Return the session's figures, with an estimate of what the running answer adds."""
        self._tokens += estimate_tokens("".join(self._new_text))
        self._new_text.clear()
        if not self._tokens:
            return self._figures
        figures, more = self._figures, self._tokens
        live = replace(
            figures,
            context_used=(figures.context_used or 0) + more,
            is_context_estimate=True,
            turn_out=figures.turn_out + more,
            is_turn_estimate=True,
        )
        price = self._output_price
        if not price:
            return live
        return replace(
            live,
            cost_usd=None if figures.is_unpriced else (figures.cost_usd or 0) + price * more,
            known_usd=(figures.known_usd or 0) + price * more,
            is_cost_estimate=True,
        )

    @property
    def mode(self) -> str:
        """The permission mode, which the session has or will have."""
        return self._figures.mode

    def begin_turn(self) -> None:
        """Start counting the output of a new turn."""
        self.forget_count()
        self._figures = replace(self._figures, turn_out=0, is_turn_estimate=False)

    def use_running(self, is_running: bool) -> None:
        """Show the figures that are of interest while a turn runs, or hide them."""
        self._figures = replace(self._figures, is_running=is_running)

    def count(self, text: str) -> None:
        """Count text of the running answer."""
        self._new_text.append(text)

    def count_arguments(self, text: str) -> None:
        """Count text of a tool call that the model is writing."""
        self._new_text.append(text)
        self._argument_characters += len(text)

    def forget_count(self) -> None:
        """Forget the estimate: no answer is running, or the session has counted it."""
        self._new_text.clear()
        self._tokens = self._argument_characters = 0

    def answered(self, usage: TokenUsage) -> None:
        """Replace the estimate of the running answer by its count."""
        self.forget_count()
        figures = self._figures
        self._figures = replace(
            figures,
            turn_out=figures.turn_out + usage.completion_tokens,
            is_turn_estimate=figures.is_turn_estimate or usage.estimated,
        )

    def progress(self) -> str:
        """Return how much of a tool call the model has written: its card does not show that yet."""
        count = self._argument_characters
        return f"Writing a call · {tokens_text(count)} characters" if count else ""

    def use_status(self, status: SessionStatus) -> None:
        """Copy the session's figures."""
        usage = status.usage
        tells_cache = usage.cached_tokens or usage.cache_write_tokens
        self._output_price = status.output_price_usd
        self._figures = replace(
            self._figures,
            model=status.model,
            effort=status.effort or "",
            provider=status.provider_label,
            cost_usd=usage.cost_usd,
            known_usd=status.known_cost_usd,
            is_cost_estimate=usage.estimated,
            is_unpriced=usage.cost_usd is None and usage.total_tokens > 0,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens if tells_cache else None,
            context_used=status.context_used,
            context_window=status.context_window,
            compacts_at=status.compacts_at,
            is_context_estimate=status.is_context_estimate,
            mode=str(status.mode),
            sandbox=status.sandbox,
            is_away=status.is_away,
            running_jobs=status.running_jobs,
            running_agents=status.running_agents,
            broken_hooks=status.broken_hooks,
            added=tuple(folder.name for folder in status.added_folders),
        )

    def use_branch(self, branch: str) -> None:
        self._figures = replace(self._figures, branch=branch)

    def use_changed_files(self, count: int) -> None:
        self._figures = replace(self._figures, changed_files=count)

    def use_mode(self, mode: str) -> None:
        """Show the mode that the session will have once it is ready."""
        self._figures = replace(self._figures, mode=mode)
