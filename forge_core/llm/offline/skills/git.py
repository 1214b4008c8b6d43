"""What changed, the diff, the log, and taking changes back, by plain git commands."""

from __future__ import annotations

import re
import shlex

from forge_core.llm.offline import phrases
from forge_core.llm.offline.memory import Memory
from forge_core.llm.offline.parse import IT, Request
from forge_core.llm.offline.skills.running import told_run
from forge_core.llm.offline.steps import Outcome, Skill, ask, say

_STATUS = "git status --short --branch"
_WORDS = {
    "M": "changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "in conflict",
    "?": "new, not in git",
    "T": "type changed",
}
_ENTRY = re.compile(r"^([ MADRCUT?!]{2}) (.+)$", re.MULTILINE)
_NO_REPO = re.compile(r"not a git repository", re.I)
_NO_REPO_TOLD = "This folder is no git repository"
_ALL = ("everything", "all")
_UNDO_COMMAND = "`/undo` takes back what the last turn changed, with git or without."


def changes(request: Request, memory: Memory) -> Skill:
    """The changed files, and where git knows them their diff. Two plain commands: a rule can allow each."""
    status = yield from ask("bash", command=_STATUS, description="List the changed files")
    if _NO_REPO.search(status.text):
        return f"{_NO_REPO_TOLD}, so git cannot tell what changed. `run git init` would make it one."
    if status.failed:
        return phrases.failed("git could not tell what changed", status.text)
    branch, entries = split_status(status.text)
    on = f" on branch {phrases.code(branch)}" if branch else ""
    if not entries:
        return f"Nothing has changed{on}: the files are as in the last commit."
    listing = "\n".join(
        f"- {phrases.code(path)}: {_WORDS.get(mark, 'changed')}" for mark, path in entries[:40]
    )
    rest = f"\n- … and {len(entries) - 40} more" if len(entries) > 40 else ""
    verb = "file has" if len(entries) == 1 else "files have"
    told = f"{len(entries)} {verb} changed{on}:\n\n{listing}{rest}"
    tracked = [path for mark, path in entries if mark != "?"]
    if not tracked:
        return told
    yield from say(told)
    outcome = yield from ask("bash", command="git diff HEAD", description="Show the changes as a diff")
    if outcome.failed:
        return phrases.failed("git could not show the diff", outcome.text)
    start = outcome.text.find("diff --git")
    lines = _without_notes(outcome.text[start:]) if start >= 0 else []
    shown = (
        phrases.fenced("\n".join(phrases.capped(lines, 120)), "diff")
        if lines
        else "There is no diff to show."
    )
    return f"{shown}\n\n`undo my change to {tracked[0]}` takes it back."


def diff(request: Request, memory: Memory) -> Skill:
    """The diff of one file, or of all."""
    path = _path(request, memory)
    command = "git diff HEAD" + (f" -- {shlex.quote(path)}" if path else "")
    outcome = yield from ask("bash", command=command, description="Show the changes as a diff")
    if outcome.failed:
        return _failed("git could not show the diff", outcome)
    start = outcome.text.find("diff --git")
    if start < 0:
        what = f"{phrases.code(path)} is" if path else "All files are"
        return f"No difference: {what} as in the last commit (files that are new to git are not compared)."
    lines = _without_notes(outcome.text[start:])
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    head = f"{phrases.count(added, 'line')} added, {removed:,} removed" + (
        f" in {phrases.code(path)}" if path else ""
    )
    return f"{head}:\n\n{phrases.fenced(chr(10).join(phrases.capped(lines, 160)), 'diff')}"


def log(request: Request, memory: Memory) -> Skill:
    """The latest commits."""
    number = min(
        request.number("n")
        or (1 if re.search(r"\blast commit\b|\blatest commit\b", request.text, re.I) else 10),
        50,
    )
    command = f"git log -n {number} --date=short --pretty=format:'%h %ad %an: %s'"
    outcome = yield from ask("bash", command=command, description="Show the latest commits")
    if outcome.failed:
        return _failed("git could not show the log", outcome)
    lines = [line for line in _without_notes(outcome.text) if re.match(r"[0-9a-f]{6,}\s", line)]
    if not lines:
        return told_run(command, outcome)
    head = "The last commit" if len(lines) == 1 else f"The last {len(lines)} commits"
    return f"{head}:\n\n{phrases.fenced(chr(10).join(lines))}"


def branch(request: Request, memory: Memory) -> Skill:
    """The branch that is checked out, and the others."""
    outcome = yield from ask("bash", command="git branch", description="List the branches")
    if outcome.failed:
        return _failed("git could not list the branches", outcome)
    current = re.search(r"^\* (.+)$", outcome.text, re.MULTILINE)
    others = re.findall(r"^  (\S.*)$", outcome.text, re.MULTILINE)
    if not current:
        return told_run("git branch", outcome)
    rest = (
        f" Others: {', '.join(phrases.code(name) for name in others[:20])}."
        if others
        else " There is no other local branch."
    )
    return f"You are on {phrases.code(current[1])}.{rest}"


def undo(request: Request, memory: Memory) -> Skill:
    """Takes a file back to what git has; without a name, the one that was changed last."""
    wants_all = request.get("file").lower() in _ALL
    path = "" if wants_all else _path(request, memory) or memory.last_edited() or ""
    if path:
        return (yield from _restore([path]))
    status = yield from ask("bash", command=_STATUS, description="See what changed")
    if status.failed:
        return f"{_failed('git could not tell what changed', status)} {_UNDO_COMMAND}"
    entries = split_status(status.text)[1]
    changed = [path for mark, path in entries if mark in "MDT"]
    if not changed:
        new = [path for mark, path in entries if mark == "?"]
        more = (
            f" New files are not touched by that: {', '.join(phrases.code(name) for name in new[:8])}."
            if new
            else ""
        )
        return f"There is nothing to undo: no file that git knows has changed.{more} {_UNDO_COMMAND}"
    if len(changed) == 1 or wants_all:
        return (yield from _restore(changed))
    listing = phrases.numbered(f"`undo my change to {name}`" for name in changed[:10])
    head = f"{phrases.count(len(changed), 'file')} changed. Which one shall I take back?"
    return f"{head}\n\n{listing}\n\n`undo everything` takes back all of them."


def _restore(files: list[str]) -> Skill:
    command = "git checkout -- " + " ".join(shlex.quote(path) for path in files)
    outcome = yield from ask("bash", command=command, description="Undo the changes with git")
    names = ", ".join(phrases.code(path) for path in files)
    if re.search(r"did not match any file", outcome.text):
        why = "(never committed), so it has no earlier version to go back to"
        return f"git does not know {names} {why}. `delete {files[0]}` would remove it."
    if outcome.failed:
        return _failed(f"git could not undo the change to {names}", outcome)
    were = "is as git had it" if len(files) == 1 else "are as git had them"
    return f"Done: {names} {were} last ({phrases.code(command)})."


def commit(request: Request, memory: Memory) -> Skill:
    """Commits what changed in files that git knows."""
    message = request.get("text")
    if not message:
        return 'With what message? Say for example `commit with message "Fix a typo"`.'
    command = f"git commit -am {shlex.quote(message)}"
    outcome = yield from ask("bash", command=command, description="Commit the changes")
    return told_run(command, outcome)


def split_status(output: str) -> tuple[str, list[tuple[str, str]]]:
    """The branch, and (mark, path) entries."""
    name = re.search(r"^## (?:No commits yet on )?(.+?)(?:\.\.\..*)?$", output, re.MULTILINE)
    found = [entry for line in output.split("\n") if (entry := _ENTRY.match(line.rstrip("\r")))]
    entries = [(entry[1].strip()[:1], entry[2].split(" -> ")[-1].strip('"')) for entry in found]
    return (name[1] if name else ""), entries


def _path(request: Request, memory: Memory) -> str:
    file = request.get("file")
    if file == IT:
        place = memory.latest()
        return memory.last_edited() or (place.path if place else "")
    return "" if file.lower() in _ALL else file


def _failed(what: str, outcome: Outcome) -> str:
    if _NO_REPO.search(outcome.text):
        return f"{_NO_REPO_TOLD}."
    return phrases.failed(what, outcome.text)


def _without_notes(text: str) -> list[str]:
    """The lines without the tool's closing line about the exit code."""
    lines = text.rstrip("\n").split("\n")
    while lines and (
        not lines[-1].strip() or re.fullmatch(r"[\[(<]?exit\w*\b.{0,40}", lines[-1].strip(), re.I)
    ):
        lines.pop()
    return lines
