"""Files and folders found by the name that a request gives, or by the nearest one there is."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from forge_core.offline.conversation import CallOutcome
from forge_core.offline.steps import Steps, ask
from forge_core.offline.tool_output import has_nothing, paths


def files_named(name: str) -> Steps[list[str]]:
    """Return the files that `name` may mean, case aside: those called so; else with another ending or marks
    around it ("readme", "config" for `_config.py`); else those whose names hold it or come near."""
    base = PurePosixPath(name).name or name
    found = yield from _glob(f"**/{_any_case(base)}")
    if found:
        return [path for path in found if path.lower().endswith(f"/{name.lower()}")] or found
    stem = PurePosixPath(base).stem.strip("._") or base
    found = yield from _glob(f"**/*{_any_case(stem[:24])}*")
    if found:
        alike = [path for path in found if PurePosixPath(path).stem.strip("._").lower() == stem.lower()]
        return alike or found
    found = yield from _glob(f"**/*{_any_case(stem[:3])}*")
    bases = {PurePosixPath(path).name.lower(): path for path in found}
    return [bases[near] for near in get_close_matches(base.lower(), bases, n=5, cutoff=0.6)]


def folder_named(name: str) -> Steps[str]:
    """Return the only folder whose name holds `name`, case aside; "" where it must be asked."""
    found = yield from _glob(f"**/*{_any_case(name.strip('/'))}*/*")
    folders = {str(PurePosixPath(path).parent) for path in found}
    return folders.pop() if len(folders) == 1 else ""


def listed_paths(outcome: CallOutcome) -> list[str]:
    """Return the paths in the result of a search for files, none where it failed."""
    return [] if outcome.failed or has_nothing(outcome.text) else paths(outcome.text)


def only_match(near: Sequence[str]) -> str:
    """Return the only candidate, or the only one at the top of the folder; "" where it must be asked."""
    top = [path for path in near if "/" not in path]
    return near[0] if len(near) == 1 else top[0] if len(top) == 1 else ""


def _any_case(name: str) -> str:
    """Return `name` as a glob that takes both cases."""
    return "".join(f"[{a.lower()}{a.upper()}]" if a.isascii() and a.isalpha() else a for a in name)


def _glob(pattern: str) -> Steps[list[str]]:
    outcome = yield from ask("glob", pattern=pattern)
    return sorted(listed_paths(outcome), key=lambda path: (path.startswith("."), path.count("/"), path))
