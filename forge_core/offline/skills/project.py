"""The folder as a whole: a listing, and an overview from its README and manifests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from forge_core.offline import phrases
from forge_core.offline.conversation import Call, CallOutcome
from forge_core.offline.intents import IT, Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory
from forge_core.offline.skills.file_lookup import folder_named, listed_paths
from forge_core.offline.skills.manifests import MANIFESTS, read_manifest
from forge_core.offline.skills.reading import explain_failure, names_in
from forge_core.offline.skills.runners import command_for_tests
from forge_core.offline.source_code import outline
from forge_core.offline.steps import Skill, Steps, ask, ask_all
from forge_core.offline.tool_output import grep_hits, has_nothing, numbered_lines

_README = re.compile(r"^readme(?:\.(?:md|rst|txt|markdown))?$", re.I)
_ROLES = {
    "tests": "tests", "test": "tests", "spec": "tests", "docs": "documentation", "doc": "documentation",
    "examples": "examples",
    "scripts": "scripts", "src": "sources", "lib": "sources", "bin": "executables",
    ".github": "GitHub workflows", "benchmarks": "benchmarks",
    "migrations": "database migrations", "static": "static files", "templates": "templates",
    "themes": "themes"
}  # fmt: skip
_TOPICS = (
    ("tools", r"build (?:system|backend|tool)|framework|runner|linter|formatter|checker|\btool"),
    ("changelog", r"change ?log|when\b.*releas|release notes|\bnew\b|latest release"),
    ("license", r"licen[sc]"),
    ("authors", r"^who\b|author|maintain"),
    ("commands", r"entry ?point|main (?:file|function|module)|scripts"),
    ("dependencies", r"depend|requirements|packages"),
    ("language", r"\b(?:python|node|go|golang|rust|java|ruby)\b"),
    ("version", r"version|release"),
)
_SECTIONS = {
    "install": ("install", "setup", "getting started", "quick"), "develop": ("develop", "contribut"),
    "setup": ("setup", "install", "getting started"), "start": ("start", "usage", "run"),
    "use": ("usage", "example", "quick", "start"), "run": ("run", "usage", "quick", "start")
}  # fmt: skip
"""What the README's heading is called where one asks how to do this."""

_RELEASE = re.compile(r"(?:#+ |\[|v?\d).*\d+\.\d+|\d+\.\d+.*\d{4}")
Lines: TypeAlias = Steps[list[str]]


def listing(request: Request, memory: Memory) -> Skill:
    """List a folder."""
    path = request.get("path")
    if path == IT:
        path = memory.path_of(IT).rpartition("/")[0]
    outcome = yield from (ask("ls", path=path) if path else ask("ls"))
    if outcome.failed and path and (found := (yield from folder_named(path))):
        path, outcome = found, (yield from ask("ls", path=found))
    if outcome.failed:
        return (yield from explain_failure(path or ".", outcome))
    lines = outcome.text.strip().split("\n")
    if not outcome.text.strip():
        return f"{code(path) if path else 'This folder'} is empty."
    where = code(path) if path else "This folder"
    return f"{where} contains:\n\n{phrases.fenced(chr(10).join(phrases.capped(lines, 100)))}"


def overview(request: Request, memory: Memory) -> Skill:
    """Describe the project by its README, manifest and folders, and state how its tests are run."""
    names, readme, texts = yield from _sources()
    if not names:
        return "This folder is empty. `create notes.md with 'hello'` makes a first file."
    parts = [*_about(readme, texts), *_folders(names), *_next_steps(names)]
    return "\n\n".join(parts)


def facts(request: Request, memory: Memory) -> Skill:
    """Answer a question about the project from its manifest, README, license, changelog or git."""
    names, readme, texts = yield from _sources()
    if request.get("install"):
        return _how_to(request.get("install").lower(), readme, texts)
    asked = request.text.lower()
    for name, text in texts.items():
        for one, spec in read_manifest(name, text).dependencies.items():
            if re.search(rf"(?<![\w-]){re.escape(one.lower())}(?![\w-])", asked):
                wanted = code(spec) if spec else "any version"
                return f"{code(one)}: {wanted} (from {code(name)})."
    topic = next((topic for topic, words in _TOPICS if re.search(words, asked)), "")
    parts = [part for name, text in texts.items() for part in _manifest_facts(name, text, topic)]
    if topic in _ELSEWHERE and (topic == "authors" or not parts):
        parts += yield from _ELSEWHERE[topic](names)
    looked = f" (I read {phrases.one_of(list(texts))})" if texts else ""
    return "\n\n".join(parts) or f"I found nothing here that tells{looked}."


def _sources() -> Steps[tuple[list[str], str, dict[str, str]]]:
    """Return the folder's names, its README, and the texts of README and manifests."""
    names = names_in((yield from ask("ls")))
    readme = next((name for name in names if _README.match(name)), "")
    wanted = [*([readme] if readme else []), *[name for name in MANIFESTS if name in names][:2]]
    if not wanted:
        return names, readme, {}
    outcomes = yield from ask_all(*(Call("read", {"file_path": name, "limit": 400}) for name in wanted))
    read = zip(wanted, outcomes, strict=True)
    return names, readme, {name: _body(outcome) for name, outcome in read if not outcome.failed}


def _how_to(verb: str, readme: str, texts: Mapping[str, str]) -> str:
    """Return the README's section about it, and the commands that the manifest names."""
    stems = _SECTIONS.get(verb.replace(" ", ""), (verb[:6],))
    section = next((found for stem in stems if (found := _section(texts.get(readme, ""), stem))), "")
    parts = [f"{code(readme)} says:\n\n{section}" if section else f"I see no README section on {verb}."]
    if not section and stems == (verb[:6],):
        return parts[0]
    topic = "commands" if verb in ("run", "start", "launch", "use") else "dependencies"
    return "\n\n".join(
        [*parts, *(part for name, text in texts.items() for part in _manifest_facts(name, text, topic))]
    )


def _newest_changes(names: list[str]) -> Lines:
    """Return the first entry of the changelog."""
    path = _named(r"(?:change|release|history|news)[\w-]*(?:\.\w+)?$", names)
    if not path:
        return ["There is no changelog here. `show the last 5 commits` tells what changed last."]
    outcome = yield from ask("read", file_path=path, limit=200)
    lines = _body(outcome).split("\n")
    heads = [at for at, line in enumerate(lines) if _RELEASE.match(line)]
    if outcome.failed or not heads:
        return [f"{code(path)} has no entry that I recognise. `read {path}` shows it."]
    entry = lines[heads[0] : heads[1] if len(heads) > 1 else len(lines)][:60]
    return [f"The newest entry of {code(path)}:\n\n" + "\n".join(entry).strip()]


def _license_file(names: list[str]) -> Lines:
    path = _named(r"licen[sc]e|copying", names)
    if not path:
        return ["There is no license file here, and no manifest names a license."]
    outcome = yield from ask("read", file_path=path, limit=20)
    head = next((line for line in _body(outcome).split("\n") if line.strip()), "")
    return [f"{code(path)} begins: {code(head.strip())}."]


def _version_in_code(names: list[str]) -> Lines:
    outcome = yield from ask("grep", pattern=r"^\s*(__version__|VERSION)\b.*=\s*[\x22'][0-9]", head_limit=5)
    hits = [] if outcome.failed or has_nothing(outcome.text) else grep_hits(outcome.text)
    return [f"{code(hit.text.strip())} ({code(f'{hit.path}:{hit.line}')})." for hit in hits[:1]]


def _committers(names: list[str]) -> Lines:
    outcome = yield from ask("bash", command="git shortlog -sn HEAD", description="Count the commits")
    found = [] if outcome.failed else re.findall(r"^\s*(\d+)\s+(\S.*)$", outcome.text, re.MULTILINE)
    listing = phrases.numbered(f"{name}: {number}" for number, name in found[:20])
    return [f"{phrases.count(len(found), 'author')} by commits:\n\n{listing}"] if found else []


def _tools(names: list[str]) -> Lines:
    """Return the tools that the configuration names, and what runs the tests."""
    outcome = yield from ask(
        "grep", pattern=r"^\[tool[.:]\w|build-backend|^\[(mypy|flake8|testenv)", glob="*.{toml,cfg,ini}"
    )
    hits = [] if outcome.failed or has_nothing(outcome.text) else grep_hits(outcome.text)
    tests = [f"The tests run with {code(command_for_tests(names))}."] if command_for_tests(names) else []
    listing = phrases.numbered(f"{code(hit.path)} {code(hit.text)}" for hit in hits[:20])
    return [*tests, *([f"The configuration names:\n\n{listing}"] if hits else [])]


def _started_files(names: list[str]) -> Lines:
    """Return the files that are entry points by convention."""
    outcome = yield from ask("glob", pattern="**/{__main__,main,app,cli,manage,index}.{py,js,ts,go,rs,rb}")
    found = sorted(listed_paths(outcome), key=len)[:8]
    return ["By their names:\n\n" + phrases.numbered(map(code, found))] if found else []


def _named(pattern: str, names: list[str]) -> str:
    return next((name for name in names if re.match(pattern, name, re.I)), "")


def _section(text: str, word: str) -> str:
    """Return the README's section whose heading holds `word`, without its heading, at most 40 lines."""
    lines = text.split("\n")
    entries = outline("README.md", text).entries
    for position, entry in enumerate(entries):
        if word in entry.label.lower():
            later = (other.line for other in entries[position + 1 :] if other.depth <= entry.depth)
            return "\n".join(lines[entry.line : next(later, len(lines) + 1) - 1][:40]).strip()
    return ""


def _about(readme: str, texts: Mapping[str, str]) -> list[str]:
    parts = []
    found = outline(readme, texts.get(readme, "")) if readme else None
    if found and found.summary:
        parts.append(f"{code(readme)} says:\n\n> {found.summary}")
    parts += [part for name, text in texts.items() for part in _manifest_facts(name, text)]
    if found and found.entries:
        headings = [entry.label for entry in found.entries if entry.depth <= 1][:12]
        parts.append(f"The README's sections: {', '.join(headings)}.")
    return parts or ["I see no README and no manifest that would say what this is."]


def _manifest_facts(name: str, text: str, topic: str = "") -> list[str]:
    """Return what a manifest says about the topic; without a topic a summary of all of it."""
    manifest, most = read_manifest(name, text), 40 if topic else 12
    needs = [f"{one} {spec}".strip() if topic else one for one, spec in manifest.dependencies.items()]
    starts = [code(f"{one} = {what}" if topic else one) for one, what in manifest.commands.items()]
    listed = {
        "name": ("name: ", [manifest.name]),
        "version": ("version: ", [manifest.version]),
        "description": ("description: ", [manifest.description]),
        "dependencies": ("depends on: ", needs),
        "language": ("needs ", manifest.languages),
        "license": ("license: ", [manifest.license]),
        "authors": ("authors: ", manifest.authors),
        "commands": ("commands: ", starts),
    }
    wanted = ("dependencies", "language") if topic == "dependencies" else (topic,) if topic else tuple(listed)
    facts = [
        f"- {label}{', '.join(values[:most])}{' …' if len(values) > most else ''}"
        for label, values in (listed[key] for key in wanted if key in listed)
        if any(values)
    ]
    return [f"From {code(name)}:\n\n" + "\n".join(facts)] if facts else []


def _folders(names: list[str]) -> list[str]:
    folders = [name for name in names if name.count("/") == 1 and name.endswith("/") and name != ".git/"]
    if not folders:
        return []
    roles = {name: _ROLES.get(name.rstrip("/").lower()) for name in folders[:15]}
    entries = [f"- `{name}`" + (f" ({role})" if role else "") for name, role in roles.items()]
    return ["Its folders:\n\n" + "\n".join(entries)]


def _next_steps(names: list[str]) -> list[str]:
    command = command_for_tests(names)
    tests = f"Its tests probably run with {code(command)}: say `run the tests`." if command else ""
    folders = [name.rstrip("/") for name in names if name.count("/") == 1 and name.endswith("/")]
    sources = [name for name in folders if _ROLES.get(name.lower()) == "sources"]
    packages = [name for name in folders if f"{name}/__init__.py" in names]
    folder = next(iter((*sources, *packages)), "")
    look = f"Say `explain {folder}` to look into the code." if folder else ""
    return [" ".join(part for part in (tests, look) if part)] if tests or look else []


def _body(outcome: CallOutcome) -> str:
    return "\n".join(line.text for line in numbered_lines(outcome.text))


_ELSEWHERE: Mapping[str, Callable[[list[str]], Lines]] = {
    "changelog": _newest_changes,
    "license": _license_file,
    "authors": _committers,
    "version": _version_in_code,
    "commands": _started_files,
    "tools": _tools,
}
"""Where to look for facts that no manifest has."""
