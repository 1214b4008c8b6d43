"""One text replaced in every file that holds it, in a single step that is made whole or not at all."""

from __future__ import annotations

import re

from forge_core.llm.offline import phrases
from forge_core.llm.offline.parse import Request
from forge_core.llm.offline.skills.search import HEAD_LIMIT, SearchError, grep, list_hits, literal
from forge_core.llm.offline.steps import Skill, ask

MAX_FILES = 20


def replace_everywhere(request: Request, old: str, new: str) -> Skill:
    """Looks where it stands, then one multi_edit over all files. A name that also stands inside longer words
    is left alone: replacing it there is hardly ever meant."""
    if old == new or "\n" in old:
        return "In several files at once I replace one line's text by another, and they have to differ."
    try:
        hits = yield from grep(literal(old), {})
    except SearchError as problem:
        return phrases.failed("The search failed", str(problem))
    hits = [hit for hit in hits if old in hit.text]
    files = list(dict.fromkeys(hit.path for hit in hits))
    if not files:
        return f"No file here holds {phrases.code(old)}, so there is nothing to replace."
    if len(files) > MAX_FILES or len(hits) >= HEAD_LIMIT:
        found = phrases.count(len(files), "file")
        return f"{phrases.code(old)} stands in {found} or more, too many at once. Name a folder's file each."
    word = re.compile(rf"\b{re.escape(old)}\b")
    inside = [hit for hit in hits if hit.text.count(old) > len(word.findall(hit.text))]
    if inside and re.fullmatch(r"\w+", old):
        return (
            f"{phrases.code(old)} also stands inside longer words, so I leave all files as they are:\n\n"
            f"{list_hits(inside)}\n\nName the file instead: `rename {old} to {new} in {files[0]}`."
        )
    edits = [{"file_path": path, "old_string": old, "new_string": new, "replace_all": True} for path in files]
    outcome = yield from ask("multi_edit", edits=edits)
    if outcome.failed:
        return phrases.failed("Nothing was changed", outcome.text)
    names = phrases.one_of([phrases.code(path) for path in files])
    done = f"Replaced {phrases.code(old)} by {phrases.code(new)} in {phrases.count(len(files), 'file')}"
    return f"{done}: {names}. `/undo` takes it back.{phrases.warning(outcome.text)}"
