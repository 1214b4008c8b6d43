"""API keys that the user saved with `forge auth login`, one for each base URL.

They are in a file of the state folder that only the user can read, whose name tells the permission rules that
it holds keys. A key is returned for the exact base URL that it was saved for, and for no other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forge_core.config.project_state import replace_file
from forge_core.errors import ConfigError
from forge_core.private_folders import make_private_folder

_MAX_BYTES = 256 * 1024
_entered: list[str] = []
"""Keys that the user has entered in this process, saved or not."""


def remember_entered(key: str) -> None:
    """Let redactors that are made from now on know a key that is about to be checked."""
    _entered.append(key)


class SavedKeys:
    """The file of saved keys. It is read again each time: `forge auth` may have changed it."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "credentials.json"

    def __repr__(self) -> str:
        return f"SavedKeys({str(self.path)!r})"

    def get(self, base_url: str) -> str | None:
        """Return the key of this base URL; None without one, or if the file cannot be read."""
        return self._usable().get(base_url)

    def urls(self) -> list[str]:
        """Return the base URLs that have a key."""
        return sorted(self._usable())

    def held(self) -> tuple[str, ...]:
        """Return all keys, for the redactor, with those that were entered in this process."""
        return (*self._usable().values(), *_entered)

    def save(self, base_url: str, key: str) -> None:
        """Save the key of this base URL. Raise ConfigError if the file cannot be read or written."""
        self._write({**self._read(), base_url: key})

    def remove(self, base_url: str) -> bool:
        """Remove the key of this base URL; return whether there was one. Raise ConfigError if the file cannot
        be read or written."""
        keys = self._read()
        was_there = keys.pop(base_url, None) is not None
        if was_there:
            self._write(keys)
        return was_there

    def _usable(self) -> dict[str, str]:
        try:
            return self._read()
        except ConfigError:
            return {}

    def _read(self) -> dict[str, str]:
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                raise ValueError("it is too large")
            import json  # here and below: the first frame does without it where no key is saved

            kept: Any = json.loads(data)
            keys = kept["keys"]
            if not all(isinstance(key, str) for key in keys.values()):
                raise ValueError("a key is no text")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise ConfigError(
                f"The saved keys in {str(self.path)!r} cannot be read ({reason}). Remove the file, and "
                "log in again."
            ) from error
        return dict(keys)

    def _write(self, keys: dict[str, str]) -> None:
        try:
            make_private_folder(self.path.parent)
            if keys:
                import json

                replace_file(self.path, json.dumps({"v": 1, "keys": keys}, indent=1) + "\n")
            else:
                self.path.unlink()
        except OSError as error:
            raise ConfigError(
                f"The keys were not saved: {str(self.path)!r} cannot be written ({error.strerror})."
            ) from error
