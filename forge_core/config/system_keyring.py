"""The system keyring, through the optional package `keyring`, with a time limit for each request.

The package is imported, and the keyring asked, only when a key is saved, removed, or needed that is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from forge_core.redact import Redactor

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "forge-assistant"
"""The service under which the keyring holds the keys; the user name is the base URL."""
TIMEOUT_S = 20.0
"""A locked keyring may ask the user to unlock it."""
_LEAST_PRIORITY = 1
"""What the package calls recommended: below are backends that keep nothing, or keep it as plain text."""

T = TypeVar("T")


class KeyringError(Exception):
    """The keyring cannot be used; the text says why, without a key."""


class SystemKeyring:
    """Holds one key for each base URL. Every method raises KeyringError, and none blocks for longer than the
    time limit."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    def is_installed(self) -> bool:
        """Return whether there is a backend that keeps keys safely."""
        try:
            return self._limited(lambda: _backend().priority >= _LEAST_PRIORITY)
        except _MissingError:
            return False

    def get(self, base_url: str) -> str | None:
        return self._limited(lambda: _backend().get_password(SERVICE, base_url))

    def set(self, base_url: str, key: str) -> None:
        """Save a key, and make sure that it can be read again."""

        def save() -> bool:
            backend = _backend()
            backend.set_password(SERVICE, base_url, key)
            return backend.get_password(SERVICE, base_url) == key

        if not self._limited(save, key):
            raise KeyringError("it did not return what was saved")

    def delete(self, base_url: str) -> None:
        """Remove a key, if there is one."""

        def remove() -> None:
            backend = _backend()
            if backend.get_password(SERVICE, base_url) is not None:
                backend.delete_password(SERVICE, base_url)

        self._limited(remove)

    def _limited(self, work: Callable[[], T], secret: str = "") -> T:
        """Run `work` in a daemon thread: a keyring that hangs keeps neither Forge nor its exit waiting."""
        results: list[T] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                results.append(work())
            except Exception as error:  # backends raise what their services do
                errors.append(error)

        thread = threading.Thread(target=run, name="forge-keyring", daemon=True)
        thread.start()
        thread.join(self._timeout_s)
        if results:
            return results[0]
        if not errors:
            raise KeyringError(f"it did not answer within {self._timeout_s:g} s")
        if isinstance(errors[0], KeyringError):
            raise errors[0]
        text = Redactor((secret,))(f"{type(errors[0]).__name__}: {errors[0]}")
        raise KeyringError(text.rstrip(": ")) from None


class _MissingError(KeyringError):
    """The package is not installed."""


def _backend() -> KeyringBackend:
    try:
        import keyring
    except ImportError as error:
        raise _MissingError("the package keyring is not installed") from error
    return keyring.get_keyring()
