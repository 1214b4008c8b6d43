"""The commands, skills, agents and styles of a session: loaded beside the start, reloaded on request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.catalog import ExtensionCatalog, load_catalog

_WAIT_S = 0.2
"""How long the first turn waits for them; what comes later counts from the next model call on."""


class SessionExtensions:
    """What the files of the user and of a trusted project define."""

    def __init__(self, config: ForgeConfig) -> None:
        self.catalog = ExtensionCatalog()
        """What is in use now."""
        self._listeners: list[Callable[[], None]] = []
        self._config = config
        self._loading: Future[ExtensionCatalog] = Future()
        self._is_loading = False

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
        """Wait a moment until what is being loaded is in use. What takes longer is used once it is there."""
        if not self._is_loading:
            return
        loading = asyncio.wrap_future(self._loading)
        loading.add_done_callback(lambda done: self._use(done.result()) if self._is_loading else None)
        await asyncio.wait({loading}, timeout=_WAIT_S)

    async def reload(self) -> str:
        """Read all files again; return what came, changed and went, in one line; empty if nothing did."""
        before = self.catalog
        self._use(await asyncio.to_thread(load_catalog, self._config))
        return self.catalog.changes_since(before)

    def _use(self, catalog: ExtensionCatalog) -> None:
        self.catalog, self._is_loading = catalog, False
        for listener in self._listeners:
            listener()

    def _load(self) -> None:
        try:
            self._loading.set_result(load_catalog(self._config))
        except Exception as error:  # a bug must not keep a session from starting; it is reported
            problem = f"Commands, skills, agents and styles were not loaded: {type(error).__name__}: {error}."
            self._loading.set_result(ExtensionCatalog(problems=(problem,)))
