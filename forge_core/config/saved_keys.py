"""API keys that the user saved with `forge auth login` or `/connect`, one for each base URL.

They are in the system keyring if there is one that works (`system_keyring`), else in a file of the state
folder that only the user can read. The permission rules know by its name that it holds keys. The file also
says which keys are in the keyring, so that the keyring is asked for no others. A key is returned for the
exact base URL that it was saved for, and for no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from forge_core.config.project_state import replace_file
from forge_core.errors import ConfigError
from forge_core.private_folders import make_private_folder

if TYPE_CHECKING:
    from forge_core.config.system_keyring import SystemKeyring

_MAX_BYTES = 256 * 1024
_known: dict[tuple[str, str], str] = {}
"""(File, base URL) → key, of those read from the keyring in this process: it is asked once for each."""
_entered: list[str] = []
"""Keys that the user has entered in this process, saved or not."""

Place = Literal["keyring", "file"]


def remember_entered(key: str) -> None:
    """Let redactors that are made from now on know a key that is about to be checked."""
    _entered.append(key)


class SavedKey(NamedTuple):
    """Where a key was saved."""

    place: Place
    problem: str = ""
    """Why it is not in the keyring although there is one; empty else."""


class _Content(NamedTuple):
    """What the file holds."""

    keys: dict[str, str]
    in_keyring: frozenset[str]
    """The base URLs whose keys are in the keyring."""


class SavedKeys:
    """The saved keys. The file is read again each time: `forge auth` may have changed it."""

    def __init__(self, state_dir: Path, timeout_s: float | None = None) -> None:
        """`timeout_s` limits requests to the keyring."""
        self.path = state_dir / "credentials.json"
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"SavedKeys({str(self.path)!r})"

    def find(self, base_url: str) -> str | None:
        """Return the key of this base URL, an empty string if it is in the keyring, which is not asked; None
        without one, or if the file cannot be read."""
        content = self._usable()
        key = _known.get((str(self.path), base_url), "") if base_url in content.in_keyring else None
        return content.keys.get(base_url, key)

    def get(self, base_url: str) -> str | None:
        """Return the key of this base URL; None without one. May block for seconds.

        Raises:
            ConfigError: it is in the keyring, which does not return it.
        """
        key = self.find(base_url)
        return self._from_keyring(base_url) if key == "" else key

    def places(self) -> dict[str, Place]:
        """Return where the key of each base URL is."""
        content = self._usable()
        return {url: "file" if url in content.keys else "keyring" for url in self.urls()}

    def name_of(self, place: Place) -> str:
        """Return a place for messages."""
        return "the system keyring" if place == "keyring" else f"a file that only you can read: {self.path}"

    def urls(self) -> list[str]:
        """Return the base URLs that have a key."""
        content = self._usable()
        return sorted({*content.keys, *content.in_keyring})

    def held(self) -> tuple[str, ...]:
        """Return all keys, for the redactor: those in the file, and those that this process has read from the
        keyring or was given."""
        return (*self._usable().keys.values(), *_known.values(), *_entered)

    def save(self, base_url: str, key: str) -> SavedKey:
        """Save the key of this base URL. May block for seconds.

        Raises:
            ConfigError: the file cannot be read or written.
        """
        content = self._read()
        others = {url: one for url, one in content.keys.items() if url != base_url}
        _known.pop((str(self.path), base_url), None)
        problem = self._put_into_keyring(base_url, key)
        if problem is None:
            self._write(others, content.in_keyring | {base_url})
            _known[str(self.path), base_url] = key
            return SavedKey("keyring")
        self._write({**others, base_url: key}, content.in_keyring - {base_url})
        return SavedKey("file", problem)

    def remove(self, base_url: str) -> bool:
        """Remove the key of this base URL, from wherever it is; return whether there was one.

        Raises:
            ConfigError: the file cannot be read or written, or the keyring does not remove the key.
        """
        content = self._read()
        is_marked, in_file = base_url in content.in_keyring, base_url in content.keys
        _known.pop((str(self.path), base_url), None)
        problem = self._remove_from_keyring(base_url) if is_marked or in_file else ""
        keys = {url: key for url, key in content.keys.items() if url != base_url}
        stays = is_marked and bool(problem)
        if is_marked or in_file:
            self._write(keys, content.in_keyring if stays else content.in_keyring - {base_url})
        if stays:
            raise ConfigError(f"The key is still in the system keyring ({problem}). Remove it again later.")
        return is_marked or in_file

    # The keyring

    def _from_keyring(self, base_url: str) -> str:
        from forge_core.config.system_keyring import KeyringError

        try:
            key = self._keyring().get(base_url)
            if key is None:
                raise KeyringError("it does not hold the key any more")
        except KeyringError as error:
            raise ConfigError(
                f"The saved key for {base_url} was not read from the system keyring: {error}. Unlock it, or "
                f"save the key again: forge auth login {base_url}"
            ) from error
        _known[str(self.path), base_url] = key
        return key

    def _put_into_keyring(self, base_url: str, key: str) -> str | None:
        """Return None if the key is in the keyring now, else why not; an empty string if there is none."""
        from forge_core.config.system_keyring import KeyringError

        keyring = self._keyring()
        try:
            if not keyring.is_installed():
                return ""
            keyring.set(base_url, key)
        except KeyringError as error:
            return f"The system keyring was not used: {error}."
        return None

    def _remove_from_keyring(self, base_url: str) -> str:
        """Return why the keyring may still hold the key; empty if it does not."""
        from forge_core.config.system_keyring import KeyringError

        try:
            self._keyring().delete(base_url)
        except KeyringError as error:
            return str(error)
        return ""

    def _keyring(self) -> SystemKeyring:
        from forge_core.config.system_keyring import TIMEOUT_S, SystemKeyring

        return SystemKeyring(TIMEOUT_S if self._timeout_s is None else self._timeout_s)

    # The file

    def _usable(self) -> _Content:
        try:
            return self._read()
        except ConfigError:
            return _Content({}, frozenset())

    def _read(self) -> _Content:
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                raise ValueError("it is too large")
            import json  # here and below: the first frame does without it where no key is saved

            kept: Any = json.loads(data)
            keys, in_keyring = kept["keys"], kept.get("keyring", [])
            if not all(isinstance(one, str) for one in (*keys.values(), *in_keyring)):
                raise ValueError("a key is no text")
        except FileNotFoundError:
            return _Content({}, frozenset())
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise ConfigError(
                f"The saved keys in {str(self.path)!r} cannot be read ({reason}). Remove the file, and "
                "log in again."
            ) from error
        return _Content(dict(keys), frozenset(in_keyring))

    def _write(self, keys: dict[str, str], in_keyring: Iterable[str]) -> None:
        marked = sorted(in_keyring)
        try:
            make_private_folder(self.path.parent)
            if keys or marked:
                import json

                content = {"v": 1, "keys": keys} | ({"keyring": marked} if marked else {})
                replace_file(self.path, json.dumps(content, indent=1) + "\n")
            else:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                f"The keys were not saved: {str(self.path)!r} cannot be written ({error.strerror})."
            ) from error
