"""Searches for files, definitions, usages and text, and for what a question is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TypeAlias

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument, Call
from forge_core.offline.intents import Intent, Request
from forge_core.offline.parse import expand_short_forms, plain, word_set
from forge_core.offline.phrases import code, without_error_mark
from forge_core.offline.references import Memory, search_scope
from forge_core.offline.skills.file_lookup import files_named, listed_paths, only_match
from forge_core.offline.skills.reading import PAGE, show_block, show_lines
from forge_core.offline.source_code import defines, definition_pattern, extensions, last_name
from forge_core.offline.steps import SearchError, Skill, Steps, ask, ask_all, say
from forge_core.offline.tool_output import Hit, grep_hits, has_nothing

HEAD_LIMIT = 250
"""Hits that one search gives."""
LINE_CUT = "[line cut]"
"""Ends a line that a search shows only in part."""
SHOWN = 15
"""Hits that an answer lists."""
_FOREIGN = re.compile(
    r"(?:^|/)(?:site-packages|node_modules|\.?venv|\.tox|\.nox|vendor|third_party|dist|build)/"
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|docs?|examples?|benchmarks?|vendor|node_modules)/|(?:^|/)test_|_test\.|\.(?:md|rst|txt)$"
)
_COMMENT = re.compile(r"^\s*(?:#|//|\*|/\*|--|;|>>>|\"\"\")")
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")
_LOOKS_REGEX = re.compile(r"\\[wdsbWDSB]|\.[*+]|\[[^\]]+\][*+]?|\^|\$$|\w\|\w")
_READS = ("show", "read", "open", "print", "display", "see", "view", "cat", "go", "jump", "let", "get")
_MORE = re.compile(r"(\d[\d,]*) more", re.I)

_UNSURE = "I have no rule for that (I am the offline model), so I searched."
_HEAD = "I can't explain it in words of my own (rules, no AI), but I can show where to look."
_DEFINES = "def|class|func|function|fn|struct|enum|trait|interface|type|const"
_OF_THEM = re.compile(r"(?:which|what)(?: one| ones| of (?:them|these|those))\b", re.I)
_HEADS = (
    ("inherit|extend|subclass|deriv|implement", r"\b(?:class|interface|struct|trait|impl)\b.*"),
    ("import", r"\b(?:import|from|require|use|include)\b.*"),
    ("rais|throw", r"\b(?:raise|throw)\b.*"),
    ("catch|handl", r"\b(?:except|catch)\b.*"),
)
"""What precedes a name where it is used in the way that a verb says."""
_NAMED = re.compile(r"\b(?:[A-Z]\w+|\w+_\w+|[a-z]+[A-Z]\w*)\b")
"""A word that is written like a name in code."""
_NAME = re.compile(rf"\b(?:{_DEFINES})\s+(\w+)|^(\w+)(?:: .+)? = ")

_FILLER = word_set("""
    everything defined declared folder folders open leftover
    a about after all allow allowed am an and any anyone anything are ask at be been before being but by
    called can class client code could did do does done else enabled ever file files find for from function
    functions get gets give going good got had handle handled handles happen happens has have here how i im
    implemented in into is it its just know let library like list live lives located look made make makes me
    method module much my need new no not now of off ok on one only or our out part place please pls
    possible processed project question repo reside see server set sets should show sit sits so some
    something still such support supported supports take tell than thanks that the their them then there
    these thing things this those to too try use used uses want was we were what when where which who why
    will with work works would wrong yes you your
""")
"""Words of a question that do not belong to its topic."""

_CONCEPTS = (
    (r"type[ -]?(?:hint|annot|check)|annotation", "type hints", r"def \w+\(.*\) *->|^\s*\w+: \w+.* ="),
    (r"\basync\b|asyncio|await|coroutine", "async functions", r"\basync (def|function|fn)\b|\basyncio\b"),
    (r"data ?class", "dataclasses", r"@(dataclass|attr\.s|define)|\bBaseModel\b"),
    (r"\blogg(?:ing|er|s)\b|\blogs\b", "logging", r"\b(import logging|getLogger|logger\.\w+|console\.log)"),
    (r"env(?:ironment)? ?var", "environment variables", r"\bos\.environ|\bgetenv\(|process\.env|env::var"),
    (r"deprecat", "deprecations", r"[dD]eprecat"),
    (r"\bregex|regular expr", "regexes", r"\bre\.(compile|match|search|sub|findall)\(|new RegExp"),
    (r"\bthread|subprocess", "threads or processes", r"\b(threading|multiprocessing|subprocess)\b"),
)  # fmt: skip
"""Features that one asks for by a word which the code does not hold: words, label, how they are written."""

Found: TypeAlias = Steps[list[Hit]]


def literal(text: str) -> str:
    """Return `text` as a regular expression that matches just it."""
    return _META.sub(r"\\\1", text)


def ranked(hits: Sequence[Hit], call_of: str = "") -> list[Hit]:
    """Sort sources before tests, docs and examples, and calls of `call_of` before comments and words about
    it. Installed packages only where nothing else was found."""
    call = re.compile(rf"^[^`]*(?<!\w){re.escape(call_of)}\s*\(") if call_of else None

    def key(hit: Hit) -> tuple[bool, bool, bool]:
        is_aside = bool(_COMMENT.match(hit.text)) or bool(call and not call.search(hit.text))
        is_foreign = bool(_FOREIGN.search(hit.path))
        return is_foreign, bool(_ASIDE.search(hit.path)), bool(call_of) and is_aside

    own = [hit for hit in hits if not _FOREIGN.search(hit.path)]
    return sorted(own or hits, key=key)


def find_definitions(name: str, scope: dict[str, str]) -> Found:
    """Return the lines that define `name` by a keyword, sources first. Raises SearchError when the search
    failed."""
    constant = rf"|^\s*{name}(: .+)? = " if name.isidentifier() and name.isupper() else ""
    hits = yield from grep(definition_pattern(name) + constant, scope)
    return ranked([hit for hit in hits if defines(hit.text, name)])


def definition(request: Request, memory: Memory) -> Skill:
    """Show where a name is defined; else where it is mentioned; else the most similar names."""
    name, scope = request.get("name"), search_scope(request.get("path"), memory)
    is_read = request.text.lower().split(" ")[0] in _READS
    is_new = not request.get("sought")
    hits = (yield from find_definitions(name, scope)) if is_new else []
    if not hits and is_new and (found := (yield from module(name))):
        if is_read:
            return (yield from show_lines(found, 1, PAGE))
        return f"`{name}` is a file:\n\n1. {code(found)}\n\nSay `read it` or `explain it`."
    mentions: list[Hit] = []
    if not hits:
        yield from say(f"No keyword defines `{name}`; looking for any mention of it.")
        mentions = yield from _mentions(name, scope)
        hits = ranked([hit for hit in mentions if defines(hit.text, name)])
    if not hits:
        return (yield from _describe_mentions(name, mentions))
    if len(hits) == 1 and is_read:
        return (yield from show_block(hits[0].path, hits[0].line))
    where = "one place" if len(hits) == 1 else phrases.count(len(hits), "place")
    which = "it" if len(hits) == 1 else "1"
    return f"`{name}` is defined in {where}:\n\n{list_hits(hits)}\n\nSay `read {which}` to see the code."


def module(name: str) -> Steps[str]:
    """Return the source file that is called `name`, "" where there is none."""
    found = [] if name.isupper() else (yield from files_named(name))
    bare = name.strip("._").lower()
    same = [path for path in found if PurePosixPath(path).stem.strip("._").lower() == bare]
    return only_match(same) if same else ""


def nearest_definitions(name: str) -> Found:
    """Return the definitions of the only name that holds `name` or is spelt almost like it."""
    part = literal(last_name(name).strip("_"))
    hits = yield from grep(rf"\b({_DEFINES})\s+\w*{part}\w*", {}, ignore_case=True)
    named = {found[1] or "": hit for hit in hits if (found := _NAME.search(hit.text))}
    near = list(named) if len(named) == 1 else [] if hits else (yield from _near_names(name))
    near = near if named else get_close_matches(name, near, n=1, cutoff=0.85)
    return (yield from find_definitions(near[0], {})) if len(near) == 1 else []


def _mentions(name: str, scope: dict[str, str]) -> Found:
    word = literal(last_name(name))
    hits = yield from grep(rf"\b{word}\b" if re.fullmatch(r"\w.*\w|\w", word) else word, scope)
    if hits:
        return hits
    return (yield from grep(word, scope, ignore_case=True))


def _describe_mentions(name: str, hits: Sequence[Hit]) -> Skill:
    if hits:
        listing = list_hits(ranked(hits))
        whole = re.compile(rf"(?<!\w){re.escape(last_name(name))}(?!\w)")
        if not any(whole.search(hit.text) for hit in hits):
            return f"There is no `{name}` as a word of its own; it is a part of these:\n\n{listing}"
        return f"I see no definition of `{name}`, but it is mentioned {_times(hits)}:\n\n{listing}"
    near = yield from _near_names(name)
    if near:
        names = phrases.one_of([f"`{item}`" for item in near])
        return f"There is no `{name}` in this folder. Near it: {names}."
    return f"There is no `{name}` in this folder: neither a definition nor a mention."


def _near_names(name: str) -> Steps[list[str]]:
    """Return defined names that are spelt almost like `name`."""
    start = literal(name[:2])
    pattern = rf"\b(?:def|class|func|function|fn|struct|interface|trait|enum|type|const|let|var)\s+{start}\w*"
    try:
        hits = yield from grep(pattern, {}, ignore_case=True)
    except SearchError:
        return []
    names = {found for hit in hits for found in re.findall(rf"\b{start}\w*", hit.text, re.I)}
    return get_close_matches(name, sorted(names), n=3, cutoff=0.6)


def usages(request: Request, memory: Memory) -> Skill:
    """List where a name is used: its mentions without its definitions."""
    concept = next((row for row in _CONCEPTS if re.search(row[0], request.text, re.I)), None)
    if concept:
        return (yield from _concept(*concept[1:]))
    name, scope = request.get("name"), search_scope(request.get("path"), memory)
    word = last_name(name)
    head = next((before for verb, before in _HEADS if re.search(rf"\b(?:{verb})", request.text, re.I)), "")
    wanted = [rf"{head}\b{literal(name)}\b", rf"\b{literal(word)}\b"]
    hits = yield from grep(wanted[0], scope)
    if not hits and wanted[0] != wanted[1]:
        hits = yield from grep(wanted[1], scope)
        if hits:
            return f"No line has it as {code(name)}. Of {code(word)} I see:\n\n{list_hits(ranked(hits))}"
    used = ranked([hit for hit in hits if not defines(hit.text, word)], call_of="" if head else word)
    if not hits and scope:
        return f"`{name}` does not occur in {code(request.get('path'))}."
    if not hits:
        return (yield from _describe_mentions(name, hits))
    if not used:
        return f"`{name}` is defined but I see no other mention of it:\n\n{list_hits(ranked(hits))}"
    return f"`{name}` is used {_times(used, len(hits))}:\n\n{list_hits(used)}"


def _concept(label: str, pattern: str) -> Skill:
    """Say whether the code uses a language feature, judging by the syntax."""
    hits = yield from grep(pattern, {})
    if not hits:
        return f"No: I see no {label} here."
    some = phrases.numbered(map(_shown, ranked(hits)[:5]))
    return f"Yes: {label}, {_times(hits, len(hits))}. Some of them:\n\n{some}"


def text(request: Request, memory: Memory) -> Skill:
    """List lines with a text, ignoring case where the exact spelling finds nothing."""
    mark = request.get("todo").upper()
    marks = r"\b(?:TODO|FIXME|XXX)\b" if "DO" in mark else r"\b(?:FIXME|XXX|HACK)\b"
    wanted = marks if mark else request.get("text")
    is_regex = bool(mark or "regex" in request.text.lower() or _LOOKS_REGEX.search(wanted))
    scope = search_scope(request.get("path"), memory)
    pattern, note = wanted if is_regex else literal(wanted), ""
    label = ("To-do marks" if "DO" in mark else "FIXME marks") if mark else code(wanted)
    hits = yield from grep(pattern, scope)
    if not hits and any(letter.isalpha() for letter in wanted):
        yield from say(f"Not in this spelling; looking for {label} without regard to case.")
        hits = yield from grep(pattern, scope, ignore_case=True)
        note = " (without regard to case)"
    if not hits:
        where = f" in {code(request.get('path'))}" if request.get("path") else ""
        return f"I found no {label}{where}."
    if request.get("files"):
        names = list(dict.fromkeys(hit.path for hit in ranked(hits)))
        entries = [code(name) for name in names[:SHOWN]]
        head = f"{phrases.count(len(names), 'file contains', 'files contain')} {label}{note}"
        return f"{head}:\n\n{phrases.numbered(entries)}"
    found, hits = len(hits), ranked(hits)
    verb = "occur" if request.get("todo") else "occurs"
    return f"{label} {verb}{note} {_times(hits, found)}:\n\n{list_hits(hits)}"


def find_files(request: Request, memory: Memory) -> Skill:
    """List files by name, part of a name, extension or language."""
    folder = search_scope(request.get("path"), memory).get("path", "")
    if request.get("file") and "*" not in request.get("file"):
        return (yield from _find_named(request.get("file")))
    within = {"path": folder} if folder else {}
    calls = [Call("glob", {"pattern": pattern, **within}) for pattern in _globs(request)]
    outcomes = yield from ask_all(*calls)
    problem = next((outcome for outcome in outcomes if outcome.failed), None)
    if problem is not None:
        return phrases.failed("The search for files failed", problem.text)
    found = [path for outcome in outcomes for path in listed_paths(outcome)]
    found = sorted({memory.short(path) for path in found}, key=lambda path: (_is_hidden(path), path))
    rests = [number for outcome in outcomes for number in _MORE.findall(outcome.text)[-1:]]
    more = sum(int(number.replace(",", "")) for number in rests)
    names = [code(str(call.arguments["pattern"]).removeprefix("**/")) for call in calls]
    what = " or ".join(names) + (f" in {code(folder)}" if folder else "")
    if not found:
        return f"No file here matches {what}."
    head = f"{phrases.count(len(found) + more, 'file matches', 'files match')} {what}"
    if request.get("count"):
        return f"{head}."
    entries = phrases.numbered(code(path) for path in found[:40])
    rest = len(found) + more - min(len(found), 40)
    return f"{head}:\n\n{entries}" + (f"\n\n… and {rest:,} more." if rest else "")


def _is_hidden(path: str) -> bool:
    """Return whether a path is in a folder that is not the project's own work."""
    return path.startswith(".") or bool(
        re.search(r"(?:^|/)(?:node_modules|site-packages|venv|vendor)/", path)
    )


def _find_named(name: str) -> Skill:
    found = yield from files_named(name)
    wanted = PurePosixPath(name)
    exact = [
        path
        for path in found
        if (PurePosixPath(path).name if wanted.suffix else PurePosixPath(path).stem).lower()
        == wanted.name.lower()
    ]
    if len(exact) == 1:
        return f"Here it is:\n\n1. {code(exact[0])}\n\nSay `read it` or `explain it`."
    if exact:
        listing = phrases.numbered(map(code, exact[:SHOWN]))
        return f"{phrases.count(len(exact), 'file is', 'files are')} called that:\n\n{listing}"
    return phrases.no_such_file(name, found[:5])


def _globs(request: Request) -> list[str]:
    glob, language = request.get("glob") or request.get("file"), request.get("language")
    part = request.get("part")
    if glob:
        glob = f"*{glob}" if glob.startswith(".") and "/" not in glob else glob
        return [glob if "/" in glob else f"**/{glob}"]
    if language == "test":
        return ["**/test_*", "**/*_test.*", "**/*.test.*"]
    if language:
        return [f"**/*.{ending}" for ending in extensions(language)[:4] or (language,)]
    if part:
        return [f"**/{part}"] if "*" in part else [f"**/*{part}*", f"**/{part}/*"]
    return ["**/*"]


def topic(request: Request, memory: Memory) -> Skill:
    """List definitions whose names match the topic; else the lines that mention it."""
    asked, is_last_resort = request.get("topic"), request.intent is Intent.UNKNOWN
    names = [] if request.get("tests") else _NAMED.findall(asked)[:3]
    words = keywords(asked) or {name: name.lower() for name in names}
    if not words:
        return phrases.not_understood(request.text)
    shown = phrases.one_of([code(word) for word in words if " " not in word])
    scope = {"glob": "*test*"} if request.get("tests") else {}
    stem = next(iter(words.values()))
    named = (yield from files_named(f"test_{stem}")) if request.get("tests") else []
    if any(stem in path.lower() for path in named):
        return f"Test files whose names match {shown}:\n\n{phrases.numbered(map(code, named[:SHOWN]))}"
    for name in names:
        if (yield from find_definitions(name, {})):
            verb = "show" if is_last_resort else request.text
            return (yield from definition(Request(request.intent, {"name": name}, verb), memory))
    hits = yield from _named_for(words.values(), scope)
    kind = "Definitions whose names match" if hits else "These lines mention"
    hits = hits or (yield from grep(rf"\b({'|'.join(words.values())})", scope, ignore_case=True))
    if not hits and is_last_resort:
        return phrases.not_understood(request.text)
    if not hits:
        return f"{'No test' if request.get('tests') else 'Nothing in this folder'} mentions {shown}."
    listing = list_hits(_by_relevance(hits, words.values())[: 8 if is_last_resort else None])
    return f"{_UNSURE if is_last_resort else _HEAD} {kind} {shown}:\n\n{listing}"


def search_words(request: Request, memory: Memory) -> Skill:
    """Serve a request that no rule matches: repeat the last answer, or search for the words of the
    request."""
    text = plain(expand_short_forms(request.text))
    before = memory.turns[-1].answer if memory.turns else ""
    if re.match(r"how many\b", text) and re.match(r".*\d", before):
        return before.split("\n")[0]
    if _OF_THEM.match(text):
        stems = keywords(text).values()
        lines = [line for line in before.split("\n") if any(stem in line.lower() for stem in stems)]
        if lines:
            return "These lines of the last answer mention that:\n\n" + "\n".join(lines[:8])
    if len(text) > 200 or "grep" not in memory.tools:
        return phrases.not_understood(request.text)
    is_name = _NAMED.match(text) and not text[1:].split(" ")[0].islower()
    asked = text if is_name else text[:1].lower() + text[1:]
    return (yield from topic(Request(request.intent, {"topic": asked}, request.text), memory))


def keywords(text: str) -> dict[str, str]:
    """Return the words of a question that may occur in names, each with its stem: "redirects" →
    "redirect"."""
    found: dict[str, str] = {}
    for word in re.findall(r"[^\W\d]\w*", text.lower()):
        stem = re.sub(r"(?<=[a-z]{3})(?:ies|es|s|ing|ed)$", "", word)
        stem = re.sub(r"^(auth|config|param|init|admin|spec|exec)(?!or)[a-z]{3,}$", r"\1", stem)
        if word not in _FILLER and len(stem) > 2 and stem not in found.values():
            found[word] = stem
    pairs = re.findall(r"(?=\b([a-z]{3,}) ([a-z]{3,})\b)", text.lower())
    joined = {f"{a} {b}": f"{a}_?{b}" for a, b in pairs if a in found}
    return dict(list(found.items())[:4] + list(joined.items())[:3])


def _named_for(stems: Collection[str], scope: dict[str, str]) -> Found:
    """Return the definitions and constants whose names hold a stem, at the start of a part of theirs if any
    do."""
    either = "|".join(stems)
    pattern = rf"\b({_DEFINES})\s+\w*({either})|^\w*({either})\w*(: .+)? = "
    hits = yield from grep(pattern, scope, ignore_case=True)
    begins = re.compile(rf"(?:^|_|(?<=[a-z0-9])(?=[A-Z]))(?i:{either})")
    return [
        hit for hit in hits if (name := _NAME.search(hit.text)) and begins.search(name[1] or name[2])
    ] or hits


def _by_relevance(hits: Sequence[Hit], stems: Collection[str]) -> list[Hit]:
    """Sort sources first, and among them the names that contain most of the stems."""

    def matches(hit: Hit) -> int:
        named = _NAME.search(hit.text)
        name = ((named[1] or named[2]) if named else hit.text).lower()
        found = [bool(re.search(stem, name)) for stem in stems]
        return sum(
            2 * one + (stem in hit.path) + (stem == name) for one, stem in zip(found, stems, strict=True)
        )

    return ranked(sorted(hits, key=lambda hit: -matches(hit)))


def list_hits(hits: Sequence[Hit]) -> str:
    """Return a numbered list of `path:line` with the line's text; hits over the limit are counted by file."""
    listing = phrases.numbered(map(_shown, hits[:SHOWN]))
    rest = hits[SHOWN:]
    if not rest:
        return listing
    files = list(dict.fromkeys(hit.path for hit in rest))
    names = ", ".join(code(name) for name in files[:6]) + (" …" if len(files) > 6 else "")
    return f"{listing}\n\n… and {len(rest)} more, in {names}. Add `in FOLDER` to see fewer."


def _shown(hit: Hit) -> str:
    return f"{code(f'{hit.path}:{hit.line}')} {code(hit.text)}"


def _times(hits: Sequence[Hit], found: int = 0) -> str:
    files = len({hit.path for hit in hits})
    least = "at least " if found >= HEAD_LIMIT else ""
    return f"on {least}{phrases.count(len(hits), 'line')}" + (f" of {files} files" if files > 1 else "")


def grep(pattern: str, scope: dict[str, str], *, ignore_case: bool = False) -> Found:
    """Return the lines that match. Raises SearchError where the tool failed."""
    return grep_hits((yield from search_text(pattern, scope, "content", HEAD_LIMIT, ignore_case=ignore_case)))


def search_text(
    pattern: str, scope: dict[str, str], output_mode: str, head_limit: int, *, ignore_case: bool = False
) -> Steps[str]:
    """Return what the search tool prints, "" where nothing matches.

    A path that does not exist is replaced by the only one that can be meant.

    Raises:
        SearchError: the tool failed.
    """
    case: dict[str, Argument] = {"ignore_case": True} if ignore_case else {}
    outcome = yield from ask(
        "grep", pattern=pattern, output_mode=output_mode, head_limit=head_limit, **scope, **case
    )
    if has_nothing(without_error_mark(outcome.text) if outcome.failed else outcome.text):
        return ""
    if not outcome.failed:
        return outcome.text
    near = only_match((yield from files_named(scope["path"]))) if "path" in scope else ""
    if near in ("", scope.get("path")):
        raise SearchError(outcome.text)
    return (yield from search_text(pattern, {"path": near}, output_mode, head_limit, ignore_case=ignore_case))
