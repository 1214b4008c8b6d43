"""What changed, the diff, the log, and taking changes back, by plain git commands."""

from __future__ import annotations

import re
import shlex

from forge_core.offline import phrases
from forge_core.offline.conversation import CallOutcome
from forge_core.offline.intents import IT, Intent, Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory
from forge_core.offline.skills.file_lookup import files_named, only_match
from forge_core.offline.skills.running import MAX_COMMITS, report_of_command
from forge_core.offline.steps import Skill, StepFailedError, ask, say

_STATUS = "git status --short --branch"
_WORDS = {
    "M": "changed", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "U": "in conflict",
    "?": "new, not in git", "T": "type changed"
}  # fmt: skip
_ENTRY = re.compile(r"^([ MADRCUT?!]{2}) (.+)$", re.MULTILINE)
_NO_REPO = re.compile(r"not a git repository", re.I)
_NO_REPO_ANSWER = "This folder is no git repository"
_ALL = ("everything", "all")
_UNDO_COMMAND = "Type `/undo`: it reverts what the last turn changed, with or without git."


def changes(request: Request, memory: Memory) -> Skill:
    """List the changed files and show the diff of those that git tracks: two plain commands, each of which a
    rule can allow."""
    status = yield from ask("bash", command=_STATUS, description="List the changed files")
    if _NO_REPO.search(status.text):
        return f"{_NO_REPO_ANSWER}, so git cannot tell what changed. `run git init` would make it one."
    if status.failed:
        return phrases.failed("git could not tell what changed", status.text)
    branch, entries = split_status(status.text)
    on = f" on branch {code(branch)}" if branch else ""
    if not entries:
        return f"Nothing has changed{on}: the files are as in the last commit."
    listing = "\n".join(f"- {code(path)}: {_WORDS.get(mark, 'changed')}" for mark, path in entries[:40])
    rest = f"\n- … and {len(entries) - 40} more" if len(entries) > 40 else ""
    verb = "file has" if len(entries) == 1 else "files have"
    summary = f"{len(entries)} {verb} changed{on}:\n\n{listing}{rest}"
    tracked = [path for mark, path in entries if mark != "?"]
    if not tracked:
        return summary
    yield from say(summary)
    try:
        shown = yield from diff(Request(Intent.DIFF), memory)
    except StepFailedError as failure:
        shown = str(failure)
    return f"{shown}\n\n{_UNDO_COMMAND}"


def diff(request: Request, memory: Memory) -> Skill:
    """Show the diff of one file, or of all."""
    path = _path(request, memory)
    if not path and memory.turns and memory.turns[-1].answer.startswith("The last commit:"):
        return (yield from log(Request(Intent.LOG, {"detail": "last"}, request.text), memory))
    path = path and (yield from _existing(path))
    command = "git diff HEAD" + (f" -- {shlex.quote(path)}" if path else "")
    output = yield from _git("git could not show the diff", command, "Show the changes as a diff")
    start = output.find("diff --git")
    if start < 0:
        what = f"{code(path)} is" if path else "All files are"
        return f"No difference: {what} as in the last commit (files that are new to git are not compared)."
    lines = _without_notes(output[start:])
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    where = f" in {code(path)}" if path else ""
    head = f"{phrases.count(added, 'line')} added, {removed:,} removed{where}"
    return f"{head}:\n\n{phrases.fenced(chr(10).join(phrases.capped(lines, 160)), 'diff')}"


def log(request: Request, memory: Memory) -> Skill:
    """List the latest commits, of one file where it is named, at most MAX_COMMITS."""
    if request.get("detail"):
        command = "git show --date=short --pretty=format:'%h %ad %an: %s' HEAD"
        output = yield from _git("git could not show the commit", command, "Show the last commit")
        head, *lines = _without_notes(output)
        shown = phrases.fenced("\n".join(phrases.capped(lines, 120)), "diff")
        return f"The last commit:\n\n1. {_plain(head)}\n\n{shown}"
    path = _path(request, memory)
    path = path and (yield from _existing(path))
    is_one = request.get("last") or re.search(r"\b(?:last|latest) commit\b|^when\b", request.text, re.I)
    number = min(request.number("n") or (1 if is_one else 10), MAX_COMMITS)
    command = f"git log -n {number} --date=short --pretty=format:'%h %ad %an: %s'"
    if request.get("first"):
        command = command.replace(f"-n {number}", "--reverse")
    since = request.get("since").removeprefix("since ").removeprefix("after ")
    since = {"today": "midnight"}.get(since, since.replace("this ", "1 ").replace("last ", "1 "))
    command += f" --since={shlex.quote(since)}" if since else ""
    command += f" -i --author={shlex.quote(request.get('by'))}" if request.get("by") else ""
    command += f" -- {shlex.quote(path)}" if path else ""
    output = yield from _git("git could not show the log", command, "Show the latest commits")
    rows = re.findall(r"^([0-9a-f]{6,})\s(.*)$", output, re.MULTILINE)
    rows = rows[:1] if request.get("first") else rows
    of = f" of {code(path)}" if path else ""
    of += f" by {code(request.get('by'))}" if request.get("by") else ""
    of += f" since {code(since)}" if since else ""
    if not rows:
        return f"git has no commit{of}." if of else report_of_command(command, CallOutcome(output))
    which = "first" if request.get("first") else "last"
    head = f"The {which} commit{of}" if len(rows) == 1 else f"The last {len(rows)} commits{of}, newest first"
    if request.get("who"):
        names = dict.fromkeys(row[11:].partition(": ")[0] for _, row in rows)
        head = f"By {phrases.one_of([code(name) for name in names])}. {head}"
    return f"{head}:\n\n" + phrases.numbered(f"{code(name)} {_plain(row)}" for name, row in rows)


def _existing(path: str) -> Skill:
    """Return the only file that `path` can mean; `path` itself where there is not exactly one."""
    near = yield from files_named(path)
    return path if path in near else only_match(near) or path


def _plain(text: str) -> str:
    """Return a commit's words without what Markdown would read as marks."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def branch(request: Request, memory: Memory) -> Skill:
    """Show the current branch, and list the others."""
    output = yield from _git("git could not list the branches", "git branch", "List the branches")
    current = re.search(r"^\* (.+)$", output, re.MULTILINE)
    others = re.findall(r"^  (\S.*)$", output, re.MULTILINE)
    if not current:
        return report_of_command("git branch", CallOutcome(output))
    names = ", ".join(code(name) for name in others[:20])
    rest = f" Others: {names}." if others else " There is no other local branch."
    return f"You are on {code(current[1])}.{rest}"


def undo(request: Request, memory: Memory) -> Skill:
    """Point to /undo, which only the user can give. git takes a file back only where git is asked for."""
    path = _path(request, memory)
    if not (path and request.get("file") != IT and re.search(r"\bgit\b", request.text, re.I)):
        git = f" To put {code(path)} back as it was committed, say `run git restore {path}`." if path else ""
        return f"{_UNDO_COMMAND}{git if request.get('file') != IT else ''}"
    command = f"git restore -- {shlex.quote(path)}"
    outcome = yield from ask("bash", command=command, description="Undo the changes with git")
    if re.search(r"did not match any file", outcome.text):
        return f"git does not know {code(path)}, so it has no earlier version of it. {_UNDO_COMMAND}"
    if outcome.failed:
        raise _failure(f"git could not undo the change to {code(path)}", outcome)
    return f"Done: {code(path)} is back at its last committed version ({code(command)})."


def commit(request: Request, memory: Memory) -> Skill:
    """Commit what changed in files that git knows."""
    message = request.get("text")
    if not message:
        return 'With what message? Say for example `commit with message "Fix a typo"`.'
    command = f"git commit -am {shlex.quote(message)}"
    outcome = yield from ask("bash", command=command, description="Commit the changes")
    return report_of_command(command, outcome)


def split_status(output: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the branch, and (mark, path) entries."""
    name = re.search(r"^## (?:No commits yet on )?(.+?)(?:\.\.\..*)?$", output, re.MULTILINE)
    found = [entry for line in output.split("\n") if (entry := _ENTRY.match(line.rstrip("\r")))]
    entries = [(entry[1].strip()[:1], entry[2].split(" -> ")[-1].strip('"')) for entry in found]
    return (name[1] if name else ""), entries


def _path(request: Request, memory: Memory) -> str:
    file = request.get("file")
    if file == IT:
        return memory.last_edited() or memory.path_of(IT)
    return "" if file.lower() in _ALL else file


def _git(problem: str, command: str, description: str) -> Skill:
    """Return what a git command prints; end the skill with `problem` where it fails."""
    outcome = yield from ask("bash", command=command, description=description)
    if outcome.failed:
        raise _failure(problem, outcome)
    return outcome.text


def _failure(problem: str, outcome: CallOutcome) -> StepFailedError:
    if _NO_REPO.search(outcome.text):
        return StepFailedError(f"{_NO_REPO_ANSWER}.")
    return StepFailedError(phrases.failed(problem, outcome.text))


def _without_notes(text: str) -> list[str]:
    """Return the lines without the tool's closing line about the exit code."""
    lines = text.rstrip("\n").split("\n")
    while lines and (
        not lines[-1].strip() or re.fullmatch(r"[\[(<]?exit\w*\b.{0,40}", lines[-1].strip(), re.I)
    ):
        lines.pop()
    return lines
