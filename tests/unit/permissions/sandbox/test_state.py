"""What the person reads about the sandbox, and what the policy goes by."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState


def test_a_sandbox_without_gaps_is_on() -> None:
    state = SandboxState(SandboxKind.BUBBLEWRAP)
    assert (state.label, state.strength) == ("sandbox: on", "full")


def test_the_label_without_a_sandbox_names_the_reason_the_remedy_and_the_consequence() -> None:
    state = SandboxState(SandboxKind.OFF, "bwrap not found (apt install bubblewrap)")
    assert state.label == (
        "sandbox: OFF - bwrap not found (apt install bubblewrap). Commands that may write will ask."
    )
    assert state.strength == "off"


@pytest.mark.parametrize(
    "state",
    [
        SandboxState(SandboxKind.LANDLOCK, "bwrap not found"),
        SandboxState(SandboxKind.BUBBLEWRAP, "the folder holds your home"),
        SandboxState(SandboxKind.LANDLOCK),
    ],
)
def test_a_sandbox_with_any_gap_is_weak(state: SandboxState) -> None:
    assert state.strength == "weak"
    assert state.label.startswith("sandbox: weak - ")
    assert state.label.endswith(". Commands that may write will ask.")


def test_importing_the_sandbox_loads_nothing_heavy() -> None:
    program = (
        "import sys, forge_core.permissions.sandbox.probing, forge_core.permissions.sandbox.sandbox;"
        "print(*[n for n in ('ctypes', 'tree_sitter', 'yaml', 'httpx', 'pydantic') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
