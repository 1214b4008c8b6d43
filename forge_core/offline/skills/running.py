"""Commands, tests and background jobs: run them and report what they printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from forge_core.offline import phrases
from forge_core.offline.conversation import Argument, CallOutcome
from forge_core.offline.intents import IT, Request
from forge_core.offline.phrases import code, without_error_mark
from forge_core.offline.references import Memory
from forge_core.offline.skills.reading import names_in
from forge_core.offline.skills.runners import (
    RunnerReport,
    command_for_tests,
    install_command,
    python_of,
    read_report,
)
from forge_core.offline.steps import Skill, ask, require
from forge_core.offline.tool_output import exit_code

MAX_COMMITS = 20
"""Commits that a `git log` without a number shows."""
_LONG_TIMEOUT_S = 600
_RUNNERS = {
    ".py": "python3", ".sh": "bash", ".js": "node", ".mjs": "node", ".rb": "ruby", ".pl": "perl",
    ".php": "php", ".go": "go run", ".lua": "lua"
}  # fmt: skip
_NO_MODULE = re.compile(r"No module named ['\"]?([\w.]+)")
_INSTALLS = re.compile(r"\b(?:pip|uv|npm|yarn|pnpm|cargo|go|poetry|apt|brew|make|docker)\b")
_NOTE = re.compile(
    r"\[?exit code -?\d+\b[^\n]{0,30}|\[still running[^\n]*\]|\[changed by the command[^\n]*\]|\(no output\)",
    re.I,
)
_JOB = re.compile(r"\bjob[ _](?:output )?(\d+)\b|\bas job (\d+)\b")
_JOB_NOTE = re.compile(r"^\[.*\]$|^\(no (?:new )?output.*\)$")
_JOB_STATE = re.compile(r"^\[(job \d+ .+)\]$", re.MULTILINE)
_PRONOUN = re.compile(r"(?:it|that|this|that file|this file|the (?:file|script|program))(?: again)?", re.I)


def run(request: Request, memory: Memory) -> Skill:
    """Run a command line, or a script by its file; show the output and how it ended."""
    command = request.get("command")
    if _PRONOUN.fullmatch(command):
        command = memory.path_of(IT)
        if not command:
            return phrases.needs_target("run")
    command = _runnable(command)
    if re.fullmatch(r"git log(?: --?(?!since|until|max)[a-z][a-z-]*)*", command):
        command += f" -n {MAX_COMMITS}"
    arguments: dict[str, Argument] = {"command": command, "description": f"Run {command[:60]}"}
    if _INSTALLS.search(command):
        arguments["timeout_s"] = _LONG_TIMEOUT_S
    outcome = yield from ask("bash", **arguments)
    return report_of_command(command, outcome)


def tests(request: Request, memory: Memory) -> Skill:
    """Run the project's tests with the command that its files suggest, and report the result."""
    path = memory.path_of(request.get("path"))
    names = names_in((yield from require("The folder could not be listed", "ls")))
    only = request.get("only")
    if path and not re.search(r"[./:]", path) and f"{path}/" not in names:
        path, only = "", path  # "the tests for urls": no path, but a word in their names
    command = command_for_tests(names, shlex.quote(path) if path else "", only)
    if command and request.get("how"):
        part = " For a part of them add a file or `-k WORD`." if "pytest" in command else ""
        return f"With {code(command)}, by the files that are here. `run the tests` does it.{part}"
    if not command:
        return (
            "I see no sign of tests here: no pyproject.toml, package.json, go.mod, Cargo.toml, Makefile or "
            "tests folder. If you know the command, say `run COMMAND`."
        )
    outcome = yield from ask("bash", command=command, description="Run the tests", timeout_s=_LONG_TIMEOUT_S)
    return report_of_tests(command, outcome, names)


def report_of_command(command: str, outcome: CallOutcome) -> str:
    """Return the outcome of a command in words; a test runner's output as a test report."""
    report = read_report(outcome.text) if re.search(r"test|tox|nox|spec|check", command) else None
    if report is not None:
        return report_of_tests(command, outcome, ())
    ended, body = how_it_ended(outcome), _output(outcome)
    if not body:
        return f"{code(command)} {ended} and printed nothing."
    return f"{code(command)} {ended}:\n\n{phrases.block(body)}"


def report_of_tests(command: str, outcome: CallOutcome, names: Sequence[str]) -> str:
    """Return the report of a test run; never "pass" where the exit code says otherwise."""
    report, status = read_report(outcome.text), exit_code(outcome.text)
    if report is None:
        return _output_without_report(command, outcome, names)
    counts = _counts(report)
    if report.is_green and outcome.failed and status not in (0, None):
        verdict = f"No test failed, but {code(command)} ended with exit code {status}"
    elif report.total == 0:
        verdict = f"{code(command)} ran no tests"
    elif report.is_green:
        verdict = f"The {report.unit}s pass"
    else:
        verdict = f"The {report.unit}s do **not** pass"
    parts = [f"{verdict}: {counts} ({code(command)})." if report.total else f"{verdict}."]
    if report.failing:
        shown = phrases.numbered(code(name) for name in report.failing[:20])
        rest = len(report.failing) - 20
        parts.append(f"Failing:\n\n{shown}" + (f"\n\n… and {rest} more." if rest > 0 else ""))
    if not report.is_green:
        end = "\n".join(_output(outcome).split("\n")[-25:])
        parts.append(f"The end of the output:\n\n{phrases.fenced(end)}")
    return "\n\n".join(parts)


def how_it_ended(outcome: CallOutcome) -> str:
    """Return `ended well`, `failed with exit code 2`, …"""
    status = exit_code(outcome.text)
    if "timed out" in outcome.text.lower()[:300]:
        return "was stopped because it took too long"
    if outcome.failed or status not in (0, None):
        return "failed" + (f" with exit code {status}" if status not in (0, None) else "")
    return "succeeded"


def _output_without_report(command: str, outcome: CallOutcome, names: Sequence[str]) -> str:
    body = phrases.fenced("\n".join(phrases.capped(_output(outcome).split("\n"), 40)))
    head = f"{code(command)} {how_it_ended(outcome)}, and its output holds no test report:\n\n{body}\n\n"
    missing = _NO_MODULE.search(outcome.text)
    if missing:
        return head + phrases.module_missing(missing[1], python_of(names), install_command(names))
    return f"{head}So I can't tell whether the tests pass. If another command runs them, say `run COMMAND`."


def _counts(report: RunnerReport) -> str:
    errors = "error" if report.errors == 1 else "errors"
    others = {"failed": report.failed, errors: report.errors, "skipped": report.skipped}
    counts = [f"{number:,} {word}" for word, number in others.items() if number]
    return ", ".join([f"{report.passed:,} passed", *counts])


def _output(outcome: CallOutcome) -> str:
    """Return what was printed, without the tool's own lines about the exit code."""
    lines = without_error_mark(outcome.text).strip("\n").split("\n")
    return "\n".join(line for line in lines if not _NOTE.fullmatch(line.strip())).strip("\n")


def _runnable(command: str) -> str:
    """Return the command that runs a lone script; anything else as typed."""
    runner = _RUNNERS.get(PurePosixPath(command).suffix) if re.fullmatch(r"[\w./-]+", command) else None
    return f"{runner} {shlex.quote(command)}" if runner and not command.startswith("./") else command


def background(request: Request, memory: Memory) -> Skill:
    """Start a command as a job."""
    command = request.get("command")
    what = f"Start {command[:60]}"
    problem = f"{code(command)} could not be started"
    outcome = yield from require(problem, "bash", command=command, description=what, run_in_background=True)
    number = _number_in(outcome.text)
    body = _job_output(outcome)
    shown = f"\n\n{phrases.block(body)}" if body else ""
    if not number:
        return f"{code(command)} has ended already.{shown}"
    return (
        f"{code(command)} runs in the background as job {number}.{shown}\n\n"
        f"1. `show the output of job {number}`\n2. `stop job {number}`"
    )


def job_output(request: Request, memory: Memory) -> Skill:
    """Show what a job has printed since its output was shown last."""
    return (yield from _job("job_output", "read", " It printed nothing new.", request, memory))


def job_stop(request: Request, memory: Memory) -> Skill:
    """Stop a job."""
    return (yield from _job("job_stop", "stopped", "", request, memory))


def _job(tool: str, verb: str, without_output: str, request: Request, memory: Memory) -> Skill:
    number = _job_number(request, memory)
    outcome = yield from require(f"Job {number} could not be {verb}", tool, job_id=number)
    body = _job_output(outcome)
    return _job_state(outcome, number) + (f"\n\n{phrases.block(body)}" if body else without_output)


def _job_number(request: Request, memory: Memory) -> int:
    """Return the job that is named, else the one that was mentioned last, else the first."""
    named = request.number("n")
    if named is not None:
        return named
    for turn in reversed(memory.turns):
        number = _number_in(turn.answer)
        if number:
            return number
    return 1


def _number_in(text: str) -> int | None:
    found = _JOB.search(text)
    return int(found[1] or found[2]) if found else None


def _job_state(outcome: CallOutcome, number: int) -> str:
    found = _JOB_STATE.search(outcome.text)
    state = found[1] if found else f"job {number}"
    return f"{state[:1].upper()}{state[1:]}."


def _job_output(outcome: CallOutcome) -> str:
    lines = [line for line in outcome.text.split("\n") if not _JOB_NOTE.fullmatch(line.strip())]
    return "\n".join(lines).strip("\n")
