"""Which files of a search count: not the ignored, the secret, the denied, nor what the glob leaves out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forge_core.permissions.path_info import is_secret
from forge_core.tools.searching.query import SearchQuery
from forge_core.workspace.globs import compile_glob
from forge_core.workspace.ignore import IgnoreRules


class FileFilter:
    """Filters paths relative to the query's root; each folder is examined once.

    A single file that was named is only subject to the user's deny rules: the policy has already judged it.
    """

    def __init__(self, query: SearchQuery, hides: Callable[[Path], bool] | None) -> None:
        self._query = query
        self._hides = hides
        self._below = len(query.start) + 1 if query.start else 0
        self._glob = compile_glob(query.glob, any_depth=True) if query.glob else None
        self._takes_all = query.is_single_file
        self._rules = None if self._takes_all else IgnoreRules(Path(query.root))
        self._folders: dict[str, Callable[[str, bool], bool] | None] = {}

    def admits(self, path: str) -> bool:
        """Return whether the file counts. A folder that was named is searched also when it is ignored
        itself."""
        if self._hides is not None and self._hides(Path(self._query.root) / path):
            return False
        if self._rules is None:
            return True
        folder, _, name = path.rpartition("/")
        try:
            ignores = self._folders[folder]
        except KeyError:
            ignores = self._folders[folder] = self._enter(folder)
        if ignores is None or ignores(name, False) or is_secret(path):
            return False
        return self._glob is None or self._glob.fullmatch(path[self._below :]) is not None

    def _enter(self, folder: str) -> Callable[[str, bool], bool] | None:
        """Return the rules for the contents of `folder`; None if it is ignored, itself or by a parent."""
        assert self._rules is not None
        parts = folder[self._below :].split("/") if folder[self._below :] else []
        head = folder[: self._below]
        for count in range(1, len(parts) + 1):
            if self._rules.is_ignored_itself(head + "/".join(parts[:count]), True):
                return None
        return self._rules.in_folder(folder)
