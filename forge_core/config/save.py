"""Writes a choice made in the app into the user's own settings file, comments and order kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from forge_core.config.fields import check_value
from forge_core.config.load import USER_FILE
from forge_core.errors import ConfigError


def save_user_setting(config_dir: Path, name: str, value: str) -> Path:
    """Sets `name` in the user's `config.toml`, which is replaced as a whole or not at all. Returns its path.

    Raises:
        ConfigError: the value is unusable, or the file is broken or cannot be written; nothing is lost then.
    """
    import tomlkit  # keeps a hand-written file's comments; loaded only when something is saved
    from tomlkit.exceptions import TOMLKitError

    checked = check_value(name, value)
    path = config_dir / USER_FILE
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        document = tomlkit.parse(text)
        document[name] = str(checked)
        _replace(path, tomlkit.dumps(document))
    except TOMLKitError as error:
        raise ConfigError(
            f"{name} was not saved: {str(path)!r} is not valid TOML ({error}). Mend it first."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{name} was not saved: {str(path)!r} cannot be written ({error.strerror})."
        ) from error
    return path


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = path.resolve()  # a symlinked dotfile stays a symlink
    fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=".config-", suffix=".toml")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
