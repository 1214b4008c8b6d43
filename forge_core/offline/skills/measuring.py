"""How long a file is, how big the project is, how many tests or classes it has: counted by searching."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import PurePosixPath

from forge_core.offline import phrases
from forge_core.offline.intents import IT, Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory, search_scope, target
from forge_core.offline.skills.reading import explain_failure
from forge_core.offline.skills.search import HEAD_LIMIT, grep, list_hits, literal, ranked, search_text
from forge_core.offline.steps import Skill, Steps, ask
from forge_core.offline.tool_output import numbered_lines, stated_total

_COUNT = re.compile(r"^(?P<path>\S.*?):\s?(?P<count>\d+)$", re.MULTILINE)
_DEFINES = r"^\s*(export\s+|default\s+|pub\s+|public\s+|private\s+|static\s+|async\s+|abstract\s+)*"
_THINGS = {
    "test": r"^\s*((async )?def test\w*\(|(it|test)\(|func Test\w|#\[(tokio::)?test\]|@Test\b)",
    "function": _DEFINES + r"(def|func|function|fn|fun)\s",
    "method": r"^\s+((async )?def|fn|fun)\s",
    "import": r"^\s*(import\s|from\s+\S+\s+import\b|use\s|#include\b|.*\brequire\()",
    "todo": r"\b(TODO|FIXME|XXX)\b",
    "class": _DEFINES + r"(class|struct|interface|trait|enum)\s+\w",
}
_COUNTS = re.compile(r"how|count|(?:what is )?(?:the )?(?:total )?number", re.I)
_LARGEST = 10


def measure(request: Request, memory: Memory) -> Skill:
    """Count what was asked for: the lines of a file, else something in the whole folder."""
    thing = re.sub(r"(?<=ss)es$|(?<!s)s$", "", request.get("thing").lower())
    called = [done.call.name for done in memory.turns[-1].done] if memory.turns else []
    is_named = request.get("file") not in ("", IT) or (request.get("file") and "ls" not in called)
    location = target(request, memory) if is_named else None
    if location is not None:
        return (yield from _lines_of(location.path))
    if thing == "commit":
        by = request.get("by")
        command = f"git rev-list --count{f' -i --author={shlex.quote(by)}' if by else ''} HEAD"
        outcome = yield from ask("bash", command=command, description="Count the commits")
        made = re.match(r"\d+", outcome.text)
        if not made:
            return phrases.failed("git failed", outcome.text)
        return f"{made[0]} commits on this branch{f' by {code(by)}' if by else ''}."
    scope = search_scope(request.get("path"), memory)
    if name := request.get("name"):
        counts = yield from _counts(rf"\b{literal(name)}\b", scope)
        where = f"{phrases.count(sum(counts.values()), 'line')} of {phrases.count(len(counts), 'file')}"
        top = phrases.numbered(f"{code(path)} {number:,}" for path, number in counts.most_common(_LARGEST))
        return f"{code(name)} occurs on {where}.\n\n{top}".rstrip()
    if thing in _THINGS and not _COUNTS.match(request.text):
        return (yield from _listed(thing, scope))
    counts = yield from _counts(_THINGS.get(thing, "^"), scope)
    total, files = sum(counts.values()), phrases.count(len(counts), "file")
    is_least = bool(re.match(r"smallest|shortest|fewest|least", thing))
    ranking = counts.most_common()[:: -1 if is_least else 1][:_LARGEST]
    top = phrases.numbered(f"{code(path)} {number:,}" for path, number in ranking)
    if thing in _THINGS:
        noun = phrases.count(total, thing, "classes" if thing == "class" else f"{thing}s")
        return f"I count {noun} in {files}, judging by their syntax.\n\n{top}".rstrip()
    kinds = Counter[str]()
    for path, number in counts.items():
        kinds[PurePosixPath(path).suffix or "no ending"] += number
    shares = ", ".join(f"{code(kind)} {number:,}" for kind, number in kinds.most_common(8))
    head = f"{phrases.count(total, 'line')} in {files} with text (what git ignores is not counted): {shares}."
    which = "shortest" if is_least else "longest"
    return f"{head}\n\nThe {which}:\n\n{top}" if counts else "There is no text in this folder."


def _lines_of(path: str) -> Skill:
    outcome = yield from ask("read", file_path=path, limit=1)
    if outcome.failed:
        return (yield from explain_failure(path, outcome, _lines_of))
    total = stated_total(outcome.text) or len(numbered_lines(outcome.text))
    return f"{code(path)} has {phrases.count(total, 'line')}."


def _listed(thing: str, scope: dict[str, str]) -> Skill:
    """List every test, class or function by the line that defines it."""
    hits = yield from grep(_THINGS[thing], scope)
    if not hits:
        return f"I see no {thing} here, judging by the syntax."
    nouns = "classes" if thing == "class" else f"{thing}s"
    number = f"{'at least ' if len(hits) >= HEAD_LIMIT else ''}{phrases.count(len(hits), 'line')}"
    return f"Lines that look like {nouns}, {number}:\n\n{list_hits(ranked(hits))}"


def _counts(pattern: str, scope: dict[str, str]) -> Steps[Counter[str]]:
    """Return how often the pattern matches in each file. Raises SearchError where the tool failed."""
    output = yield from search_text(pattern, scope, "count", 0)
    return Counter({found["path"]: int(found["count"]) for found in _COUNT.finditer(output)})
