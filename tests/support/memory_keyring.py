"""A backend of the package `keyring` that keeps passwords in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryKeyring(KeyringBackend):
    """Keeps passwords in memory; locked it raises, and stuck it never returns."""

    priority = 5.0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.is_locked = False
        self.stuck: threading.Event | None = None

    def _use(self) -> None:
        self.asked += 1
        if self.stuck is not None:
            self.stuck.wait()
        if self.is_locked:
            raise KeyringLocked("Failed to unlock [the collection]!")

    def get_password(self, service: str, username: str) -> str | None:
        self._use()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._use()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._use()
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


@contextmanager
def memory_keyring() -> Iterator[MemoryKeyring]:
    """Use such a backend in the place of the system's."""
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    if backend.stuck is not None:
        backend.stuck.set()
    keyring.set_keyring(before)
