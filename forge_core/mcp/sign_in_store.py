"""The sign-ins to MCP servers: what is kept of each, one private folder for each URL.

Tokens, and the secret of the registered client, are in the system keyring if there is one that works
(`forge_core.config.system_keyring`), else in the file beside the rest, which only the user can read. The
permission rules know by its name that it holds secrets.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from forge_core.config.project_state import replace_file
from forge_core.config.system_keyring import TIMEOUT_S, KeyringError, SystemKeyring
from forge_core.errors import ConfigError
from forge_core.private_folders import make_private_folder

FOLDER = "mcp-sign-ins"
"""In Forge's state folder."""
_MAX_BYTES = 256 * 1024
_SECRET_FIELDS = ("tokens", "client")
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSignIn:
    """What is kept about one URL. The objects are those of the OAuth protocols."""

    tokens: Mapping[str, Any] | None = None
    """A token response; None before the first sign-in."""
    obtained_at: float = 0.0
    """When the tokens were issued, in seconds since the epoch."""
    expires_at: float | None = None
    """When the access token expires; None: not known."""
    client: Mapping[str, Any] | None = None
    """The client's registration at the authorization server."""
    redirect_uri: str = ""
    """For which that was made."""
    authorization_server: Mapping[str, Any] | None = None
    """Its metadata."""
    resource: Mapping[str, Any] | None = None
    """The metadata of the MCP server itself."""
    challenge_status: int = 0
    """The status of the last response that asked for a sign-in, or for more scopes; 0: none since the last
    sign-in."""
    challenge: str = ""
    """Its header WWW-Authenticate."""

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and time.time() >= self.expires_at

    def secrets(self) -> tuple[str, ...]:
        """Return all values that must appear nowhere."""
        tokens, client = self.tokens or {}, self.client or {}
        found = (tokens.get("access_token"), tokens.get("refresh_token"), client.get("client_secret"))
        return tuple(one for one in found if isinstance(one, str))


class SignInStore:
    """What is kept about one URL. Reading and writing may block for seconds; hold the lock to do both."""

    def __init__(self, state_dir: Path, url: str, timeout_s: float = TIMEOUT_S) -> None:
        """`timeout_s` limits requests to the keyring."""
        self.folder = state_dir / FOLDER / hashlib.sha256(url.encode()).hexdigest()[:32]
        self.path = self.folder / "credentials.json"
        self._url = url
        self._keyring = SystemKeyring(timeout_s)
        self._account = f"mcp {url}"

    def __repr__(self) -> str:
        return f"SignInStore({str(self.path)!r})"

    def read(self) -> SavedSignIn:
        """Return what is kept.

        Raises:
            ConfigError: it cannot be read, or the keyring does not return it.
        """
        content = self._content()
        if content.pop("keyring", False):
            content |= self._from_keyring()
        known = {one.name for one in fields(SavedSignIn)}
        return SavedSignIn(**{name: value for name, value in content.items() if name in known})

    def obtained_at(self) -> float:
        """Return when the tokens were issued, without asking the keyring; 0 without any."""
        value = self._public("obtained_at")
        return float(value) if isinstance(value, int | float) else 0.0

    def is_asked_for(self) -> bool:
        """Return whether the server has refused a request for want of a sign-in since the last one, without
        asking the keyring."""
        return self._public("challenge_status") == 401

    def last_redirect(self) -> str:
        """Return the redirect URI of the last sign-in, without asking the keyring; empty without one."""
        value = self._public("redirect_uri")
        return value if isinstance(value, str) else ""

    def place(self) -> str:
        """Return where the secrets are, for messages."""
        return (
            "the system keyring" if self._public("keyring") else f"a file that only you can read: {self.path}"
        )

    def _public(self, name: str) -> object:
        try:
            return self._content().get(name)
        except ConfigError:
            return None

    def write(self, saved: SavedSignIn) -> str:
        """Replace what is kept. Return why secrets are not in the keyring although there is one; empty else.

        Raises:
            ConfigError: the file cannot be written; what was kept is still there.
        """
        content = asdict(saved)
        secret = {name: content[name] for name in _SECRET_FIELDS}
        problem = self._put_into_keyring(json.dumps(secret)) if any(secret.values()) else ""
        is_in_keyring = problem is None
        if is_in_keyring:
            content = {name: value for name, value in content.items() if name not in _SECRET_FIELDS}
        try:
            make_private_folder(self.folder)
            text = {"v": 1, "url": self._url, "keyring": is_in_keyring, **content}
            replace_file(self.path, json.dumps(text, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(
                f"The sign-in was not saved: {str(self.path)!r} cannot be written ({error.strerror})."
            ) from error
        return problem or ""

    def remove(self) -> bool:
        """Remove what is kept; return whether there were tokens.

        Raises:
            ConfigError: the file or the keyring does not let it be removed.
        """
        content = self._content()
        is_in_keyring = bool(content.get("keyring"))
        if is_in_keyring:
            try:
                self._keyring.delete(self._account)
            except KeyringError as error:
                raise ConfigError(
                    f"The sign-in is still in the system keyring ({error}). Remove it again later."
                ) from error
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"{str(self.path)!r} cannot be removed ({error.strerror}).") from error
        return is_in_keyring or bool(content.get("tokens"))

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Keep other processes, and other tasks of this one, from changing what is kept.

        It is polled for: a task that is cancelled while it waits in a thread would get the lock, and keep it.
        """
        make_private_folder(self.folder)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _content(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            content: Any = json.loads(data)
            if len(data) > _MAX_BYTES or not isinstance(content, dict):
                raise ValueError("it is damaged")
            return content
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise ConfigError(
                f"The sign-in in {str(self.path)!r} cannot be read ({reason}). Remove the file, and sign in "
                "again."
            ) from error

    def _from_keyring(self) -> dict[str, Any]:
        try:
            text = self._keyring.get(self._account)
            if text is None:
                raise KeyringError("it does not hold it any more")
            content: Any = json.loads(text)
            return {name: content[name] for name in _SECRET_FIELDS}
        except (KeyringError, ValueError, KeyError, TypeError) as error:
            reason = str(error) if isinstance(error, KeyringError) else "it is damaged"
            raise ConfigError(
                f"The sign-in was not read from the system keyring: {reason}. Unlock it, or sign in again."
            ) from error

    def _put_into_keyring(self, text: str) -> str | None:
        """Return None if it is in the keyring now, else why not; an empty string if there is none."""
        try:
            if not self._keyring.is_installed():
                return ""
            self._keyring.set(self._account, text)
        except KeyringError as error:
            return f"The system keyring was not used: {error}."
        return None
