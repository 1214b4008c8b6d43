"""The status bar's figures: the session's own, with the running answer's tokens estimated on top."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.config.models import ForgeConfig
from forge_tui.widgets.status_bar import Figures, tokens_text
from forge_tui.widgets.todo_panel import Todo

if TYPE_CHECKING:
    from forge_core.session.status import SessionStatus
    from forge_core.tools.todo import TodoItem

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb; the provider's count replaces it at the end of the call."""


def shown_folder(path: Path, home: Path) -> str:
    """The folder as a person writes it, "~" for the home."""
    if path == home:
        return "~"
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def as_todos(items: Iterable[TodoItem]) -> tuple[Todo, ...]:
    """The session's list of tasks, for the panel."""
    return tuple(Todo(item.content, item.status.value, item.active_form) for item in items)


class LiveFigures:
    """Counts characters as they come and makes `Figures` when asked: nothing is computed per token."""

    def __init__(self, config: ForgeConfig, home: Path) -> None:
        self._characters = 0
        self._argument_characters = 0
        self._figures = Figures(
            model=config.model,
            provider="offline" if config.endpoint.kind == "offline" else "",
            context_window=config.context_window,
            mode=str(config.permission_mode),
            folder=shown_folder(config.working_dir, home),
        )

    def current(self) -> Figures:
        if not self._characters:
            return self._figures
        more = -(-self._characters // CHARACTERS_PER_TOKEN)
        tokens_out = self._figures.tokens_out + more
        return replace(self._figures, tokens_out=tokens_out, is_estimate=True)

    def count(self, characters: int) -> None:
        """This much more has come of the running answer."""
        self._characters += characters

    def count_arguments(self, characters: int) -> None:
        """This much more has come of a call that the model is writing."""
        self._characters += characters
        self._argument_characters += characters

    def forget_count(self) -> None:
        """The running answer has been counted by the provider, or has not begun."""
        self._characters = self._argument_characters = 0

    def progress(self) -> str:
        """What the model is writing where nothing of it shows yet: a call's arguments."""
        count = self._argument_characters
        return f"Writing a call · {tokens_text(count)} characters" if count else ""

    def use_status(self, status: SessionStatus) -> None:
        """Take over the session's figures."""
        usage = status.usage
        self._figures = replace(
            self._figures,
            model=status.model,
            provider=status.provider_label,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            cost_usd=usage.cost_usd,
            is_estimate=usage.estimated,
            context_used=status.context_used,
            context_window=status.context_window,
            mode=str(status.mode),
            sandbox=status.sandbox,
            is_away=status.is_away,
        )

    def use_branch(self, branch: str) -> None:
        self._figures = replace(self._figures, branch=branch)

    def use_mode(self, mode: str) -> None:
        """Show a mode that a session still to come will have."""
        self._figures = replace(self._figures, mode=mode)
