"""Filters the files of a search: leaves out ignored, secret and denied ones, and those outside the glob."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forge_core.permissions.path_info import is_secret
from forge_core.permissions.secret_content import holds_secret, needs_reading
from forge_core.tools.searching.query import SearchQuery
from forge_core.workspace.globs import compile_glob
from forge_core.workspace.ignore import IgnoreRules


class FileFilter:
    """Filters paths relative to the query's root; each folder is examined once.

    A single file that was named is only subject to the user's deny rules: the policy has already judged it.
    """

    def __init__(self, query: SearchQuery, hides: Callable[[Path], bool] | None) -> None:
        self._root = Path(query.root)
        self._hides = hides
        self._below = len(query.start) + 1 if query.start else 0
        self._glob = compile_glob(query.glob, any_depth=True) if query.glob else None
        self._rules = None if query.is_single_file else IgnoreRules(self._root, query.start)

    def admits(self, path: str) -> bool:
        """Return whether the file counts. A folder that was named is searched also when it is ignored
        itself."""
        if self._hides is not None and self._hides(self._root / path):
            return False
        if self._rules is None:
            return True
        if self._rules.is_ignored(path, False) or is_secret(path):
            return False
        if needs_reading(path) and holds_secret(self._root / path):
            return False
        return self._glob is None or self._glob.fullmatch(path[self._below :]) is not None
