"""Files with keys in the workspace: which of them the sandbox hides, and why it cannot hide all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forge_core.permissions.sandbox.home_view import is_in
from forge_core.permissions.sandbox.survey import Survey, SurveyResult, committed_secrets, tracked_secrets

MAX_MASKS = 512
"""Files with keys that are hidden in the workspace and the repository around it: each is a mount."""
_MAX_NAMED = 3


class SecretFiles:
    """The files with keys in the workspace `root`, in folders added to it, and in those around it that
    commands see."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = [root]
        self._surveys = {root: Survey(root)}
        self._tracked: tuple[object, dict[Path, bool]] = ((), {})

    def add_folder(self, folder: Path) -> None:
        """Treat a folder, given by its real path, as the workspace."""
        self._folders.append(folder)

    def scan_workspace(self) -> SurveyResult:
        """Scan all folders of the workspace."""
        scans = [self.scan(folder) for folder in self._folders]
        return SurveyResult(
            [path for one in scans for path in one.secrets],
            [path for one in scans for path in one.repositories],
            all(one.is_complete for one in scans),
        )

    def scan(self, folder: Path) -> SurveyResult:
        """Scan a folder; what has not changed since the last time is not read again."""
        return self._surveys.setdefault(folder, Survey(folder)).scan()

    def to_hide(self, found: SurveyResult, *, hides_committed: bool) -> tuple[list[Path], dict[Path, bool]]:
        """Return the secrets that can be hidden, and what `_tracked_among` returns of all that were found."""
        tracked = self._tracked_among(found.secrets)
        kept = [path for path in found.secrets if not tracked.get(path)]
        if hides_committed:
            kept += committed_secrets(tracked)
        return kept[:MAX_MASKS], tracked

    def unmasked_reason(self) -> str:
        """Return why a command could read files with keys although the sandbox hides such files; "" when it
        can hide them all."""
        found = self.scan_workspace()
        tracked = self._tracked_among(found.secrets)
        count = len(found.secrets) - sum(tracked.values())
        others = [self.scan(folder) for folder in [*self._surveys] if folder not in self._folders]
        count += sum(not is_in(path, self._folders) for other in others for path in other.secrets)
        if count > MAX_MASKS:
            return f"the sandbox can hide {MAX_MASKS} files with keys, and there are more in the folder"
        if not all(one.is_complete for one in (found, *others)):
            return "the folder is too large to be searched for files with keys, which the sandbox would hide"
        return ""

    def committed_reason(self, *, are_hidden: bool) -> str:
        """Return why a search could read files with keys that git holds in the same state; "" when it could
        not. With `are_hidden` it is in a line that is launched with `hides_committed`."""
        found = self.scan_workspace()
        kept, tracked = self.to_hide(found, hides_committed=are_hidden)
        committed = [path for path in committed_secrets(tracked) if path not in kept]
        if not committed:
            return ""
        names = sorted(
            str(path.relative_to(self._root) if path.is_relative_to(self._root) else path)
            for path in committed
        )
        more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
        why = f", as the sandbox can hide only {MAX_MASKS} files" if are_hidden else " in this line"
        return f"committed files with keys are not hidden{why}: {', '.join(names[:_MAX_NAMED])}{more}"

    def _tracked_among(self, secrets: Sequence[Path]) -> dict[Path, bool]:
        if not secrets:
            return {}
        indexes = [folder / ".git" / "index" for folder in self._folders]
        key = tuple((path, _stamp(path)) for path in [*secrets, *indexes])
        if self._tracked[0] != key:
            tracked: dict[Path, bool] = {}
            for folder in self._folders:
                tracked |= tracked_secrets(folder, [path for path in secrets if path.is_relative_to(folder)])
            self._tracked = (key, tracked)
        return self._tracked[1]


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_size, status.st_ino
