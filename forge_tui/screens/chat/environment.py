"""What the screen reads from its environment, in one value that snapshots and tests replace."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core import __version__
from forge_tui import workers

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.runtime.local_servers import RunningServer
    from forge_core.workspace.trust import TrustQuestion
    from forge_tui.screens.chat.live_figures import LiveFigures
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.terminal.clipboard import Route


def git_branch(folder: Path) -> str:
    """Return the branch checked out in `folder`; empty outside a repository."""
    from forge_core.workspace.git import branch  # after the first frame: it imports subprocess

    return branch(folder) or ""


async def changed_files(folder: Path) -> Sequence[str]:
    """Return the files of the repository around `folder` that have uncommitted changes, relative to it."""
    from forge_core.workspace.git import changed_paths  # after the first frame: it imports subprocess

    return await changed_paths(folder)


def trust_question(config: ForgeConfig) -> TrustQuestion | None:
    """Return what is ignored until the user trusts the folder; None if there is nothing to ask."""
    from forge_core.workspace import trust  # after the first frame: it reads files

    return trust.trust_question(config)


def local_server(config: ForgeConfig) -> str:
    """Return which model server runs on this machine, and how to use it; empty if that is of no use."""
    from forge_core.runtime.local_servers import local_server_notice  # after the first frame: it connects

    return local_server_notice(config)


def local_servers() -> Sequence[RunningServer]:
    """Return the model servers that run on this machine."""
    from forge_core.runtime.local_servers import local_servers  # when an endpoint is chosen

    return local_servers()


def clipboard_route(folder: Path) -> Route:
    """Return how to reach the clipboard of the user's machine, by no program from `folder`."""
    from forge_core.workspace.program_lookup import find_program
    from forge_tui.terminal.clipboard import find_route  # when something is copied

    return find_route(os.environ, lambda name: find_program(name, folder))


@dataclass(frozen=True, slots=True)
class Environment:
    """The real environment by default."""

    version: str = __version__
    clock: Callable[[], float] = time.monotonic
    """Seconds; only differences count."""
    branch: Callable[[Path], str] = git_branch
    changed_files: Callable[[Path], Awaitable[Sequence[str]]] = changed_files
    home: Path = field(default_factory=Path.home)
    trust_question: Callable[[ForgeConfig], TrustQuestion | None] = trust_question
    clipboard: Callable[[Path], Route] = clipboard_route
    local_server: Callable[[ForgeConfig], str] = local_server
    local_servers: Callable[[], Sequence[RunningServer]] = local_servers


class RepositoryWatch:
    """Reads the repository's state into the figures; git runs beside the event loop, one call at a time."""

    def __init__(
        self, screen: ChatScreen, environment: Environment, folder: Path, figures: LiveFigures
    ) -> None:
        self._screen = screen
        self._environment = environment
        self._folder = folder
        self._figures = figures
        self._changed: Sequence[str] = ()

    def changed(self) -> Sequence[str]:
        """Return the paths of changed files, relative to the folder, as read last."""
        return self._changed

    def refresh(self) -> None:
        """Read the branch; between turns let git count the changes, too."""
        self._figures.use_branch(branch := self._environment.branch(self._folder))
        if branch and not self._screen.has_turn:
            workers.start(self._screen, self._count, "repository", is_replacing=True)

    async def _count(self) -> None:
        self._changed = await self._environment.changed_files(self._folder)
        if (count := len(self._changed)) != self._figures.current().changed_files:
            self._figures.use_changed_files(count)
            self._screen.show_figures()
