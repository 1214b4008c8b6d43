"""The commands, skills, agents and styles of a session: loaded in a thread, reloaded on request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self, TypeAlias

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.accepted import AcceptedDefinitions
from forge_core.extensions.agents import AgentCatalog, agents_of
from forge_core.extensions.catalog import ExtensionCatalog, load_catalog
from forge_core.extensions.definitions import Definition

_WAIT_S = 0.2
"""How long the first turn waits for them; what takes longer is used from the next model call on."""


_Loaded: TypeAlias = tuple[ExtensionCatalog, AgentCatalog]


class SessionExtensions:
    """What the files of the user and of a trusted project define."""

    def __init__(self, config: ForgeConfig) -> None:
        self.catalog = ExtensionCatalog()
        """What is in use now."""
        self.agents = AgentCatalog()
        """Its agents, and the built-in ones."""
        self._listeners: list[Callable[[], None]] = []
        self._config = config
        self._accepted: AcceptedDefinitions | None = None
        self._told = ""
        self._loading: Future[_Loaded] = Future()
        self._is_loading = False
        self._reading = asyncio.Lock()

    @classmethod
    def started(cls, config: ForgeConfig) -> Self:
        """Return an object that loads them in a thread."""
        extensions = cls(config)
        extensions._is_loading = True
        threading.Thread(target=extensions._load, name="forge-extensions", daemon=True).start()
        return extensions

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after another catalog is in use, in the thread of the event loop."""
        self._listeners.append(listener)

    @property
    def is_loading(self) -> bool:
        """Whether the first catalog is not in use yet."""
        return self._is_loading

    async def loaded(self) -> None:
        """Wait until the first catalog is in use, however long that takes."""
        if self._is_loading:
            catalog = await asyncio.shield(asyncio.wrap_future(self._loading))
            if self._is_loading:
                self._use(catalog)

    async def ready(self) -> None:
        """Wait until the first catalog is in use, at most `_WAIT_S`; it is used as soon as it is loaded."""
        if not self._is_loading:
            return
        loading = asyncio.wrap_future(self._loading)
        loading.add_done_callback(lambda done: self._use(done.result()) if self._is_loading else None)
        await asyncio.wait({loading}, timeout=_WAIT_S)

    async def reload(self, *, accepts_all: bool = False) -> ExtensionCatalog:
        """Read all files again; return the catalog that was in use before.

        What is new or changed in the project since the user accepted its files is left out, unless
        `accepts_all`: the user has just decided whether the folder is trusted.
        """
        await self.loaded()
        async with self._reading:  # the catalog that is read last is the one in use
            before = self.catalog
            self._use(await asyncio.to_thread(self._read, accepts_all=accepts_all))
        return before

    async def accept(self) -> ExtensionCatalog:
        """Accept what is pending, as it was when it was read, and return what `reload` returns.

        Raises:
            ConfigError: it counts in this session, but cannot be recorded.
        """
        accepted, pending = self._accepted, [one.definition for one in self.catalog.pending]
        if accepted is None or not pending:
            return await self.reload()
        try:
            await asyncio.to_thread(accepted.accept, pending)
        finally:
            before = await self.reload()
        return before

    def take_notice(self) -> str:
        """Return the notice about what is left out, in one line; empty if there is nothing new to report."""
        names, told = self.catalog.pending_text, self._told
        self._told = names
        if not names or names == told:
            return ""
        return (
            f"New or changed since you trusted this folder, so left out: {names}. /extensions shows the "
            "differences, /reload accept accepts them."
        )

    def accepted_at(self, one: Definition) -> int | None:
        """Return when the user accepted a definition of the project, in seconds since the epoch; None where
        that is not known."""
        return None if self._accepted is None else self._accepted.accepted_at(one)

    def _read(self, *, accepts_all: bool = False) -> _Loaded:
        if self._accepted is None or accepts_all:
            self._accepted = AcceptedDefinitions.load(self._config)
            self._accepted.accepts_all |= accepts_all
        catalog = load_catalog(self._config, self._accepted)
        return catalog, agents_of(catalog)

    def _use(self, loaded: _Loaded) -> None:
        (self.catalog, self.agents), self._is_loading = loaded, False
        for listener in self._listeners:
            listener()

    def _load(self) -> None:
        try:
            self._loading.set_result(self._read())
        except Exception as error:  # a bug must not keep a session from starting; it is reported
            problem = f"Commands, skills, agents and styles were not loaded: {type(error).__name__}: {error}."
            self._loading.set_result((ExtensionCatalog(problems=(problem,)), AgentCatalog()))
