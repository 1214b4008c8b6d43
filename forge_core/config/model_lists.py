"""The user's favourite models and those used last, by endpoint, in one small file of the state folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forge_core.config.project_state import replace_file
from forge_core.private_folders import make_private_folder

MOST_RECENT = 9
_MOST_FAVOURITES = 100
_MOST_ENDPOINTS = 50
_LONGEST = 200
"""Characters of a name."""
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelLists:
    """Ids of models at one endpoint."""

    favourites: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    """The newest one first."""


class SavedModelLists:
    """The lists of one endpoint on disk. A file that cannot be read counts as empty: it is a convenience."""

    def __init__(self, state_dir: Path, endpoint: str) -> None:
        """`endpoint` names it without credentials."""
        self._path = state_dir / "models.json"
        self._endpoint = endpoint

    def read(self) -> ModelLists:
        """Return the lists."""
        found = self._all().get(self._endpoint)
        found = found if isinstance(found, dict) else {}
        return ModelLists(_names(found.get("favourites")), _names(found.get("recent"))[:MOST_RECENT])

    def toggle_favourite(self, model: str) -> ModelLists:
        """Add the model to the favourites, or remove it. Raise OSError when the file cannot be written."""
        lists = self.read()
        kept = tuple(name for name in lists.favourites if name != model)
        added = kept if model in lists.favourites else (*kept, model)
        return self._write(replace(lists, favourites=added[-_MOST_FAVOURITES:]))

    def add_recent(self, *models: str) -> ModelLists:
        """Put models at the beginning of those used before; one that is there keeps its place, so that a key
        can go through them in turn. Raise OSError when the file cannot be written."""
        lists = self.read()
        added = (name for name in models if name not in lists.recent)
        recent = tuple(dict.fromkeys((*added, *lists.recent)))[:MOST_RECENT]
        return lists if recent == lists.recent else self._write(replace(lists, recent=recent))

    def _all(self) -> dict[str, Any]:
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                return {}
            kept = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        endpoints = kept.get("endpoints") if isinstance(kept, dict) else None
        return endpoints if isinstance(endpoints, dict) else {}

    def _write(self, lists: ModelLists) -> ModelLists:
        others = {name: value for name, value in self._all().items() if name != self._endpoint}
        mine = {"favourites": list(lists.favourites), "recent": list(lists.recent)}
        endpoints = dict([*others.items(), (self._endpoint, mine)][-_MOST_ENDPOINTS:])
        make_private_folder(self._path.parent)
        replace_file(self._path, json.dumps({"v": 1, "endpoints": endpoints}, indent=1) + "\n")
        return lists


def _names(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str) and 0 < len(name) <= _LONGEST)
