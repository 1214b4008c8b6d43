"""Finds out what sandbox there is by running one: what is installed says little."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.errors import ForgeError
from forge_core.permissions.sandbox import seatbelt
from forge_core.permissions.sandbox.bubblewrap import first_line, why_bwrap_failed
from forge_core.permissions.sandbox.path_checks import is_folder, is_there
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxSetting, SandboxState
from forge_core.permissions.sandbox.seccomp import machine
from forge_core.workspace.program_lookup import find_program

_TIMEOUT_S = 5.0
"""A run takes about 30 ms; this is for a bwrap that hangs."""

_SCRIPT = """
echo inside > "$1/inside"
(echo outside > "$2") 2>/dev/null
for one in net pid; do echo "$one $(readlink "/proc/self/ns/$one" 2>/dev/null)"; done
while read -r name value rest; do
  case $name in Seccomp: | NoNewPrivs: | CapEff:) echo "$name $value" ;; esac
done < /proc/self/status
if (exec 3<> /dev/udp/192.0.2.1/9) 2>/dev/null; then echo connected; fi
if (: < "/proc/$4/environ") 2>/dev/null; then echo environ; fi
if [ -w "$3" ]; then echo writable; fi
if (: > "$1/.forge") 2>/dev/null; then echo forge; fi
if (read -r line < "$1/.env" && [ "$line" = "$5" ]) 2>/dev/null; then echo secret; fi
echo end
"""
"""Tries what must work and what must not. Only bash opens /dev/udp as a socket; connecting one sends nothing,
and 192.0.2.1 is an address for documentation."""

NO_BWRAP = "bwrap not found (apt install bubblewrap)"

PLATFORM = sys.platform
_PATH_FAILED = "bwrap: Can't "

_known: dict[tuple[str, Path, str, int], SandboxState] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Trial:
    """How a run of the script in a sandbox went."""

    problem: str = ""
    """Why the sandbox can't be used, in the words of `SandboxState.reason`; empty when it can."""
    error: str = ""
    """What bubblewrap wrote to stderr."""


def probe_now(
    setting: SandboxSetting = "auto", root: Path | None = None, environment: Mapping[str, str] | None = None
) -> SandboxState:
    """Return what confines commands in the workspace `root` (by default the current folder), found by real
    runs.

    About 60 ms, once for a process and workspace; never raises. "strict" gives the same as "auto": it is the
    caller who ends then unless the strength is "full".
    """
    if setting == "off":
        return SandboxState(SandboxKind.OFF, "turned off by choice")
    environment = os.environ if environment is None else environment
    try:
        place = Path(os.path.realpath(root or Path.cwd()))
        key = ("on", place, environment.get("PATH", os.defpath), os.geteuid())
        with _lock:
            if key not in _known:
                _known[key] = _find(place, environment)
            return _known[key]
    except (OSError, ValueError, ForgeError, subprocess.SubprocessError) as error:
        return SandboxState(SandboxKind.OFF, f"its test run failed ({error})")


def forget() -> None:
    """Make the next probe a real one again."""
    with _lock:
        _known.clear()


def _find(root: Path, environment: Mapping[str, str]) -> SandboxState:
    if PLATFORM not in ("linux", "darwin"):
        return SandboxState(SandboxKind.OFF, f"{platform.system() or PLATFORM} is not supported yet")
    if root == Path("/"):
        return SandboxState(SandboxKind.OFF, "the folder is '/' (start Forge in a project folder)")
    if PLATFORM == "darwin":
        return _find_seatbelt(root, environment)
    program = find_program("bwrap", root, environment.get("PATH", os.defpath))
    if program is None:
        return _fallback(NO_BWRAP, root, environment)
    state = SandboxState(SandboxKind.BUBBLEWRAP, program=program)
    trial = _try(state, root, environment)
    if trial.problem and "proc" in trial.error and "mount" in trial.error.lower():
        state = replace(state, host_proc=True)
        trial = _try(state, root, environment)
    if trial.problem and "bind-fd" in trial.error:
        state = replace(state, binds_paths=True)
        trial = _try(state, root, environment)
    if trial.problem:
        return _fallback(trial.problem, root, environment)
    return replace(state, reason=_unprotected_reason(state, root))


def _find_seatbelt(root: Path, environment: Mapping[str, str]) -> SandboxState:
    """sandbox-exec, when a run of it held."""
    if not os.access(seatbelt.PROGRAM, os.X_OK):
        return SandboxState(SandboxKind.OFF, f"{seatbelt.PROGRAM} not found")
    state = SandboxState(SandboxKind.SEATBELT, program=seatbelt.PROGRAM)
    trial = _run(state, root, environment)
    if trial.problem:
        return SandboxState(SandboxKind.OFF, trial.problem)
    return replace(state, reason=_unprotected_reason(state, root))


def _unprotected_reason(state: SandboxState, root: Path) -> str:
    """Return why a working sandbox is "weak" for this workspace; empty when it is not."""
    from forge_core.permissions.sandbox.hidden import home_folders
    from forge_core.permissions.sandbox.protected import protection

    if state.kind is SandboxKind.BUBBLEWRAP and machine(platform.machine()) is None:
        return f"no system call filter for {platform.machine() or 'this machine'}"
    if state.binds_paths:
        return "bwrap is too old to protect paths that a command may replace (update bubblewrap)"
    if any(home.is_relative_to(root) for home in home_folders(os.environ)):
        return "the folder contains your home and its start-up files (start Forge in a project folder)"
    if unheld := protection(root).unheld:
        name = unheld[0].relative_to(root) if unheld[0].is_relative_to(root) else unheld[0]
        return f"{str(name)!r} is a link, so a command could replace it"
    return ""


def _fallback(reason: str, root: Path, environment: Mapping[str, str]) -> SandboxState:
    """Landlock, when it holds; else nothing."""
    from forge_core.permissions.sandbox.confine import landlock_abi

    weak = SandboxState(SandboxKind.LANDLOCK, reason)
    usable = bool(sys.executable) and machine(platform.machine()) is not None and landlock_abi() > 0
    if usable and not _try(weak, root, environment).problem:
        return weak
    return SandboxState(SandboxKind.OFF, reason)


def _try(state: SandboxState, root: Path, environment: Mapping[str, str]) -> _Trial:
    """Run the script, and once more where bubblewrap could not reach a path: what was to be hidden, such as
    the socket of a program that has ended meanwhile, may be gone."""
    trial = _run(state, root, environment)
    return _run(state, root, environment) if trial.error.startswith(_PATH_FAILED) else trial


def _run(state: SandboxState, root: Path, environment: Mapping[str, str]) -> _Trial:
    """Run the script in a sandbox over an empty folder, with `root` writable too, and judge what it did."""
    folder = Path(tempfile.mkdtemp(prefix="forge-probe-"))
    home = Path(environment.get("HOME") or "/")
    outside = home / f".forge-probe-{uuid.uuid4().hex}"
    try:
        (folder / "workspace").mkdir()
        secret = uuid.uuid4().hex
        if state.kind is SandboxKind.SEATBELT:
            (folder / "workspace/.env").write_text(f"{secret}\n")
        sandbox = Sandbox(
            state,
            folder / "workspace",
            state_dir=folder / "state",
            extra_writable=(root,) if is_folder(root) else (),
        )
        shell = find_program("bash", root, environment.get("PATH", os.defpath)) or "/bin/sh"
        words = [shell, "-c", _SCRIPT, "probe", folder / "workspace", outside, root, os.getpid(), secret]
        with sandbox.launch([str(word) for word in words], folder / "workspace", environment) as launch:
            done = subprocess.run(
                launch.argv,
                env=dict(launch.environment),
                pass_fds=launch.pass_fds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
            )
        holds_home = home.is_relative_to(root)
        return _judge(
            state, done, (folder / "workspace/inside").exists(), is_there(outside) and not holds_home, root
        )
    except subprocess.TimeoutExpired:
        name = "sandbox-exec" if state.kind is SandboxKind.SEATBELT else "bwrap"
        return _Trial(f"{name} did not finish within {_TIMEOUT_S:g} s")
    finally:
        outside.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _judge(
    state: SandboxState, done: subprocess.CompletedProcess[str], wrote: bool, escaped: bool, root: Path
) -> _Trial:
    lines = done.stdout.splitlines()
    if state.kind is SandboxKind.SEATBELT:
        return _judge_seatbelt(done, lines, wrote=wrote, escaped=escaped)
    if "end" not in lines or not wrote:
        return _Trial(why_bwrap_failed(done.stderr, done.returncode), done.stderr)
    filtered = "Seccomp: 2" in lines or machine(platform.machine()) is None
    held = not escaped and "connected" not in lines and "environ" not in lines and filtered
    held = held and "NoNewPrivs: 1" in lines
    if state.kind is SandboxKind.BUBBLEWRAP:
        own = {f"{name} {Path('/proc/self/ns', name).readlink()}" for name in ("net", "pid")}
        held = held and not own.intersection(lines) and "CapEff: 0000000000000000" in lines
    if not held:
        return _Trial("bwrap runs but confines nothing here (a write, a socket or a process escaped)")
    if "writable" not in lines and is_folder(root) and os.access(root, os.W_OK):
        return _Trial(f"commands in it can't write to {str(root)!r} (run Forge as the owner of that folder)")
    return _Trial()


def _judge_seatbelt(
    done: subprocess.CompletedProcess[str], lines: list[str], *, wrote: bool, escaped: bool
) -> _Trial:
    if "end" not in lines or not wrote:
        reason = first_line(done.stderr)[:160].rstrip(".") or f"exit code {done.returncode}"
        return _Trial(f"sandbox-exec failed ({reason})", done.stderr)
    if escaped or not {"connected", "environ", "forge", "secret"}.isdisjoint(lines):
        return _Trial("sandbox-exec runs but confines nothing here (a write, a socket or a key escaped)")
    if "writable" not in lines:
        return _Trial("commands in it can't write to the folder (run Forge as the owner of that folder)")
    return _Trial()
