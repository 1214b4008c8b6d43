"""The kind of sandbox on this machine, and its description for the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

SandboxSetting = Literal["auto", "strict", "off"]
SandboxStrength = Literal["full", "weak", "off"]


class SandboxKind(StrEnum):
    """What confines a command."""

    BUBBLEWRAP = "bubblewrap"
    """Namespaces and a filter of system calls: nothing outside the workspace can be changed or reached."""
    SEATBELT = "seatbelt"
    """The profile that macOS enforces for `sandbox-exec`: the same promises, by path instead of by mount."""
    LANDLOCK = "landlock"
    """The kernel's Landlock and the filter: no namespaces, so protected paths, other processes and named
    sockets stay within reach."""
    OFF = "off"
    """Commands run like any other program of the user."""


@dataclass(frozen=True, slots=True)
class SandboxState:
    """What was found by running it."""

    kind: SandboxKind
    reason: str = ""
    """Why it is off or weak, in a sentence without its full stop that says what to do. With BUBBLEWRAP: what
    it can't hold here; empty when it holds everything."""
    program: str = ""
    """The absolute path of bwrap or sandbox-exec."""
    binds_paths: bool = False
    """bwrap is too old to mount descriptors (`--bind-fd`), so a path could be exchanged in between."""
    host_proc: bool = False
    """The host's own /proc is shown, read-only, where a new one can't be mounted (inside containers)."""

    @property
    def strength(self) -> SandboxStrength:
        """What the permission policy goes by: only "full" lets commands run that change something unasked."""
        if self.kind is SandboxKind.OFF:
            return "off"
        is_whole = self.kind in (SandboxKind.BUBBLEWRAP, SandboxKind.SEATBELT) and not self.reason
        return "full" if is_whole else "weak"

    @property
    def label(self) -> str:
        """One line for the status bar and `forge doctor`."""
        if self.strength == "full":
            return "sandbox: on"
        state, reason = ("weak", "no namespaces") if self.strength == "weak" else ("OFF", "unavailable")
        return f"sandbox: {state} - {self.reason or reason}. Commands that may write will ask."
