"""What Forge needs and finds, each problem with what to do. Works without a network."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forge_core import __version__
from forge_core.commands.findings import Finding, Level
from forge_core.config.forge_config import Origin
from forge_core.config.listing import setting_rows, value_text
from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.llm.client import OpenRouterClient
    from forge_core.mcp.servers import ServerStatus

_WIDTH = 79
_LOW_DISK_BYTES = 1024**3
_SLOW_S = 3.0
_NO_SUCH_PATH = (404, 405)


def diagnose(
    config: ForgeConfig | None,
    problem: str,
    *,
    colours: str,
    background: str = "",
    servers: Mapping[str, ServerStatus] | None = None,
) -> Iterator[Finding]:
    """Yield what is found, section by section; nothing about colours or background if they are empty.
    `servers` are the MCP servers that run, by name."""
    yield from _environment()
    yield from _terminal(colours, background)
    if config is None:
        advice = "Correct it, then run forge doctor again: the other checks need the settings."
        yield Finding("Settings", "loading", problem, Level.PROBLEM, advice)
        return
    checks: list[Callable[[ForgeConfig], Iterator[Finding]]] = [
        *(_settings, _keys, _endpoint, _sandbox, _git, _extensions, _hooks),
        partial(_servers, running=servers or {}),
        _disk,
    ]
    for check in checks:
        yield from _guarded(check, config)


def report(findings: Collection[Finding]) -> str:
    """Return the report as plain text, at most 79 columns wide."""
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section] if lines else [section]
        mark = {Level.OK: " ", Level.WARNING: "!", Level.PROBLEM: "✗"}[finding.level]
        head = f"{mark} {finding.name:<15} "
        rows = wrap(safe_line(finding.text), _WIDTH - len(head), break_on_hyphens=False) or [""]
        lines += [head + rows[0], *(" " * len(head) + row for row in rows[1:])]
        if finding.advice:
            advice = wrap(safe_line(finding.advice), _WIDTH - len(head) - 2, break_on_hyphens=False)
            lines += [" " * len(head) + ("→ " if at == 0 else "  ") + row for at, row in enumerate(advice)]
    end = verdict(findings)
    return "\n".join([*(line.rstrip() for line in lines), "", f"{end[:1].upper()}{end[1:]}."])


def verdict(findings: Iterable[Finding]) -> str:
    """Return how many problems and warnings there are."""
    counts = Counter(finding.level for finding in findings)
    parts = [_count(counts[level], str(level)) for level in (Level.PROBLEM, Level.WARNING) if counts[level]]
    return f"{' and '.join(parts)} found" if parts else "everything is in order"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s'[: number != 1]}"


def _guarded(check: Callable[[ForgeConfig], Iterator[Finding]], config: ForgeConfig) -> Iterator[Finding]:
    """Yield what a check finds; its own failure is a finding, too."""
    try:
        yield from check(config)
    except (ForgeError, OSError) as error:
        name = getattr(check, "func", check).__name__.strip("_")
        yield Finding(name.capitalize(), "check", f"could not be finished: {error}", Level.WARNING)


def _environment() -> Iterator[Finding]:
    section = "Environment"
    yield Finding(section, "forge", f"{__version__} in {Path(__file__).parents[2]}")
    yield Finding(section, "python", f"{platform.python_version()} at {sys.executable}")
    yield Finding(section, "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    names = ("LANG", "LC_ALL", "LC_CTYPE")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    encoding = sys.getfilesystemencoding()
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    yield Finding(
        section,
        "encoding",
        f"{encoding}, locale {locale or 'not set'}",
        Level.OK if is_utf8 else Level.WARNING,
        "" if is_utf8 else "Set LANG to a UTF-8 locale such as C.UTF-8, so that file names are read right.",
    )


def _terminal(colours: str, background: str) -> Iterator[Finding]:
    section, term = "Terminal", os.environ.get("TERM", "")
    is_usable = term not in ("", "dumb")
    yield Finding(
        section,
        "type",
        term or "TERM is not set",
        Level.OK if is_usable else Level.WARNING,
        "" if is_usable else "forge chat needs a terminal; forge run works without one.",
    )
    if colours:
        yield from _colours(colours)
    if background:
        yield Finding(section, "background", background)
    yield from _window()
    around = [
        name
        for name, variable in (("tmux", "TMUX"), ("screen", "STY"), ("SSH", "SSH_CONNECTION"))
        if os.environ.get(variable)
    ]
    if around:
        yield Finding(section, "inside", ", ".join(around))


def _colours(colours: str) -> Iterator[Finding]:
    known = {"true": "16 million", "eight bit": "256", "sixteen": "16", "none": "none (NO_COLOR)"}
    yield Finding("Terminal", "colours", known.get(colours, colours))


def _window() -> Iterator[Finding]:
    """Yield the size of the terminal, if there is one; the app replaces `sys.stdout`."""
    output = sys.__stdout__
    if output is None or not output.isatty():
        return
    size = os.get_terminal_size(output.fileno())
    is_small = size.columns < 60 or size.lines < 16
    yield Finding(
        "Terminal",
        "size",
        f"{size.columns} columns, {size.lines} rows",
        Level.WARNING if is_small else Level.OK,
        "The chat needs about 60 columns and 16 rows." if is_small else "",
    )


def _settings(config: ForgeConfig) -> Iterator[Finding]:
    section = "Settings"
    path = config.config_dir / "config.toml"
    yield Finding(section, "file", f"{path}{'' if path.exists() else ' (does not exist; defaults apply)'}")
    yield Finding(section, "folder", str(config.working_dir))
    yield Finding(
        section,
        "trusted",
        "yes" if config.is_trusted else "no: its own settings and instructions are ignored",
    )
    for name, value, origin in setting_rows(config):
        if origin is not Origin.DEFAULT:
            yield Finding(section, name, f"{value_text(value)} ({origin})")
    for notice in config.notices:
        yield Finding(section, "notice", notice, Level.WARNING, "Correct the file that is named.")


def _keys(config: ForgeConfig) -> Iterator[Finding]:
    from forge_core.config.saved_keys import SavedKeys
    from forge_core.llm.endpoints import NAMED_KEY_VARIABLE, PROVIDERS, SAVED_KEYS, shown_url

    section = "Keys"
    variables = (NAMED_KEY_VARIABLE, *(one.key_variable for one in PROVIDERS.values() if one.key_variable))
    held = [name for name in dict.fromkeys(variables) if os.environ.get(name, "").strip()]
    used = config.endpoint.key_variable
    for name in held:
        yield Finding(section, name, "set, used for the endpoint" if name == used else "set")
    keys = SavedKeys(config.state_dir)
    saved = keys.places()
    for url, place in saved.items():
        is_used = used == SAVED_KEYS and url == config.endpoint.base_url
        use = ", used for the endpoint" if is_used else ""
        yield Finding(section, shown_url(url), f"key saved in {keys.name_of(place)}{use}")
    if not held and not saved:
        is_offline = config.endpoint.kind == "offline"
        advice = "For a real model: forge auth login, or name a local endpoint with --base-url."
        yield Finding(
            section,
            "none",
            "no API key in the environment, and none is saved",
            Level.WARNING if is_offline else Level.OK,
            advice if is_offline else "",
        )


def _hooks(config: ForgeConfig) -> Iterator[Finding]:
    """Yield what was declared, what waits for approval, and what does not run. Runs nothing."""
    from forge_core.extensions.hook_locations import hook_sources

    if not hook_sources(config):
        return
    from forge_core.extensions.hooks.approved_hooks import HookApprovals

    section, approvals = "Hooks", HookApprovals.load(config)
    yield Finding(section, "run", _count(len(approvals.allowed), "hook"))
    for one in approvals.waiting:
        text = f"{one.hook.name} in {one.hook.source.label}: {one.judgement.state}, so it does not run"
        yield Finding(section, "approval", text, Level.WARNING, "/hooks approve in forge chat shows it.")
    for skipped in approvals.table.skipped:
        yield Finding(section, "not run", f"{skipped.source.label}: {skipped.text}")
    for problem in approvals.table.problems:
        yield Finding(section, "file", problem, Level.WARNING, "Correct the file that is named.")


def _servers(config: ForgeConfig, running: Mapping[str, ServerStatus]) -> Iterator[Finding]:
    """Yield the state of each declared MCP server. Starts none."""
    from forge_core.commands.server_findings import server_findings

    yield from server_findings(config, running)


def _endpoint(config: ForgeConfig) -> Iterator[Finding]:
    from forge_core.llm.endpoints import shown_url

    section, endpoint = "Endpoint", config.endpoint
    if endpoint.kind == "offline":
        yield Finding(section, "model", "the built-in offline model: rules, no AI; nothing is sent anywhere")
        return
    yield Finding(section, "url", shown_url(endpoint.base_url))
    yield Finding(section, "model", config.model)
    started = time.monotonic()
    try:
        level, answer, advice = asyncio.run(_reached(config))
    except ForgeError as error:
        text = f"not reached, or refused: {error}"
        yield Finding(section, "connection", text, Level.PROBLEM, _advice_for(error))
        return
    took_s = time.monotonic() - started
    if level is Level.OK and took_s > _SLOW_S:
        level = Level.WARNING
    yield Finding(section, "connection", f"{answer} ({took_s:.1f} s)", level, advice)


async def _reached(config: ForgeConfig) -> tuple[Level, str, str]:
    """Return what the endpoint answered to requests that cost nothing, with advice. Raises ProviderError."""
    from forge_core.errors import ModelNotFoundError
    from forge_core.runtime import with_saved_key
    from forge_core.runtime.provider_setup import build_client
    from forge_core.session.event_channel import EventChannel

    config, problem = await asyncio.to_thread(with_saved_key, config)
    if problem:
        return Level.WARNING, "not asked: its key could not be read", problem
    client = build_client(config, EventChannel(), lambda generation_id: None)
    try:
        if client.provider.reports_bills and config.endpoint.api_key:
            await client.key_info()
            return Level.OK, "reached; the key is valid", ""
        try:
            answer = await client.probe("models")
        except ModelNotFoundError:
            return await _without_models(client)
        data = answer.get("data") if isinstance(answer, dict) else None
        text = f"reached; {_count(len(data), 'model')}" if isinstance(data, list) else "reached"
        return Level.OK, text, ""
    finally:
        await client.aclose()


async def _without_models(client: OpenRouterClient) -> tuple[Level, str, str]:
    """Return the same for an endpoint without a list of models: whether anything answers at its path."""
    from forge_core.errors import AuthenticationError, PermissionDeniedError, ProviderError
    from forge_core.llm.endpoints import shown_url

    url = urlsplit(client.base_url)
    try:
        await client.probe("chat/completions", b"{}")
    except (AuthenticationError, PermissionDeniedError):
        raise
    except ProviderError as error:
        if error.status is None:
            raise
        if error.status in _NO_SUCH_PATH:
            text = (
                f"{url.netloc.rpartition('@')[2]} was reached, but has neither models nor chat/completions "
                f"below {url.path or '/'!r}: the path looks wrong"
            )
            there = f"{client.base_url.removesuffix('/v1')}/v1"
            if there != client.base_url and await _lists_models(client, there):
                return Level.PROBLEM, text, f"{shown_url(there)} answers: use it as the base URL."
            advice = "Correct the path of the base URL; that of most servers ends in /v1."
            return Level.PROBLEM, text, advice
    return Level.OK, "reached; it does not list its models", ""


async def _lists_models(client: OpenRouterClient, base_url: str) -> bool:
    from forge_core.errors import ProviderError

    try:
        answer = await client.probe("models", base_url=base_url)
    except ProviderError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("data"), list)


def _advice_for(error: ForgeError) -> str:
    from forge_core.errors import AuthenticationError

    if isinstance(error, AuthenticationError):
        return "Check the key and the account that it belongs to."
    return "The built-in model needs no network: --model offline."


def _sandbox(config: ForgeConfig) -> Iterator[Finding]:
    from forge_core.permissions.sandbox.probing import probe_now

    section, state = "Sandbox", probe_now(config.sandbox, config.working_dir)
    level = {"full": Level.OK, "weak": Level.WARNING, "off": Level.WARNING}[state.strength]
    kind = f"{state.kind}, tested by running it" if state.strength != "off" else "off"
    yield Finding(section, "commands", kind, level, state.reason)


def _git(config: ForgeConfig) -> Iterator[Finding]:
    from forge_core.workspace.git import branch, run_git
    from forge_core.workspace.program_lookup import find_program

    section, program = "Git", find_program("git", config.working_dir)
    if program is None:
        advice = "Install git: without it, undo and the list of changes cover less."
        yield Finding(section, "program", "not found", Level.WARNING, advice)
        return
    version = asyncio.run(run_git(config.working_dir, "--version")).stdout.strip()
    yield Finding(section, "program", f"{version.removeprefix('git version ')} at {program}")
    name = branch(config.working_dir)
    yield Finding(section, "repository", f"branch {name}" if name else "this folder is in no git repository")


def _extensions(config: ForgeConfig) -> Iterator[Finding]:
    from forge_core.commands.extension_findings import extension_findings

    yield from extension_findings(config)


def _disk(config: ForgeConfig) -> Iterator[Finding]:
    section, state = "Disk", config.state_dir
    nearest = next(one for one in (state, *state.parents) if one.exists())
    is_writable = os.access(nearest, os.W_OK)
    yield Finding(
        section,
        "state",
        f"{state}{'' if state.exists() else ' (does not exist yet)'}",
        Level.OK if is_writable else Level.PROBLEM,
        "" if is_writable else "Sessions cannot be saved there. Change its permissions, or set FORGE_HOME.",
    )
    sizes = stored_sizes(state)
    for name, size in sizes.items():
        yield Finding(section, name, _size_text(size))
    free = shutil.disk_usage(nearest).free
    is_low = free < _LOW_DISK_BYTES
    advice = "Free some space: sessions and undo data cannot be saved on a full disk." if is_low else ""
    yield Finding(section, "free", _size_text(free), Level.WARNING if is_low else Level.OK, advice)


def _size_text(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def stored_sizes(state: Path) -> dict[str, int]:
    """Return what Forge stores, in bytes by kind."""
    sizes = {"sessions": 0, "undo data": 0, "outputs": 0, "caches": 0, "other": 0}
    for folder, _, names in os.walk(state):
        parts = Path(folder).relative_to(state).parts
        kind = "other"
        if parts[:1] == ("sessions",):
            kind = "undo data" if "undo" in parts else "outputs" if "outputs" in parts else "sessions"
        elif "caches" in parts:
            kind = "caches"
        for name in names:
            try:
                sizes[kind] += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 (many files)
            except OSError:  # deleted meanwhile
                continue
    return sizes
