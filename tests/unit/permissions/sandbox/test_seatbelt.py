"""The profile for macOS, as text and parameters, and when its sandbox counts as on.

No macOS is needed: the profile is read as text, and `sandbox-exec` is a program of the test.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.permissions.sandbox import probing
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.permissions.sandbox.seatbelt import PROGRAM, Bounds, confined, profile
from tests.unit.permissions.sandbox.conftest import bwrap_works, needs_bwrap

ROOT = Path("/Users/ada/project")
BOUNDS = Bounds(
    writable=[ROOT, Path("/private/var/folders/x/forge-1")],
    read_only=[ROOT / ".git/config", ROOT / ".git/hooks", ROOT / "sub/dep/.git/config"],
    missing=[ROOT / ".forge", ROOT / ".git/commondir"],
    pinned=[ROOT / ".git"],
    hidden=[Path("/Users/ada/.ssh"), ROOT / "deploy/.env"],
)


class Profile:
    """A profile as its rules, the parameters put in, and what they decide of a path."""

    def __init__(self, bounds: Bounds) -> None:
        self.text, self.parameters = profile(bounds)
        self.rules = [rule for rule in _expressions(self.text) if rule[0] in ("allow", "deny")]

    def allows(self, operation: str, path: str | Path) -> bool:
        decision = False
        for action, *rest in self.rules:
            operations = [one for one in rest if isinstance(one, str)]
            filters = [one for one in rest if not isinstance(one, str)]
            if any(
                operation == one or (one.endswith("*") and operation.startswith(one[:-1]))
                for one in operations
            ) and (not filters or any(self._meets(one, str(path)) for one in filters)):
                decision = action == "allow"
        return decision

    def _meets(self, one: list[object], path: str) -> bool:
        kind, *values = one
        if kind == "require-all":
            return all(self._meets(value, path) for value in values)  # type: ignore[arg-type]
        value = values[0]
        if isinstance(value, list):
            assert value[0] == "param"
            value = self.parameters[str(value[1]).strip('"')]
        text = str(value).strip('"')
        if kind == "regex":
            return re.search(text.removeprefix('#"'), path) is not None
        return path == text or (kind == "subpath" and path.startswith(f"{text}/"))


def _expressions(text: str) -> list[list[object]]:
    """The S-expressions of a profile; fails on unbalanced brackets or quotes."""
    stack: list[list[object]] = [[]]
    for token in re.findall(r'#?"[^"]*"|[()]|[^\s()"]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1
    return stack[0]  # type: ignore[return-value]


def test_the_profile_denies_by_default() -> None:
    text, _ = profile(BOUNDS)
    assert text.startswith("(version 1)\n(deny default)\n")
    assert "(allow default)" not in text
    assert "(allow file-write*)" not in text


def test_only_the_workspace_and_temporary_folder_are_writable() -> None:
    to = Profile(BOUNDS)
    for path in (ROOT / "a.py", ROOT / "new/deep/file", "/private/var/folders/x/forge-1/t"):
        assert to.allows("file-write-data", path), path
    for path in (
        "/Users/ada/.zshrc",
        "/Users/ada/project-2/a",
        "/etc/hosts",
        "/private/tmp/x",
        "/private/var/folders/x/y",
    ):
        assert not to.allows("file-write-data", path), path
        assert to.allows("file-read-data", path), path


def test_git_and_forge_configuration_is_write_protected_in_any_letter_case() -> None:
    to = Profile(BOUNDS)
    for name in (".git/config", ".git/hooks/pre-commit", "sub/dep/.git/config", ".forge/config.toml", ".forge", ".FORGE/x",
                 ".Forge/x", ".git/commondir", ".git/CommonDir", ".GIT/COMMONDIR"):  # fmt: skip
        expected = (
            name == ".GIT/COMMONDIR"
        )  # of a folder that is there, the kernel gives the name as it is on disk
        assert to.allows("file-write-create", ROOT / name) is expected, name
    for name in (".git/index", ".git/objects/x", ".forgery", "sub/dep/a.py", "commondir"):
        assert to.allows("file-write-create", ROOT / name), name


def test_parents_of_protected_or_hidden_paths_cannot_be_renamed() -> None:
    to = Profile(BOUNDS)
    for name in (".git", "sub", "sub/dep", "sub/dep/.git", "deploy"):
        assert not to.allows("file-write-unlink", ROOT / name), name
        assert to.allows("file-write-unlink", ROOT / name / "other"), name


def test_secrets_cannot_be_read_or_moved() -> None:
    to = Profile(BOUNDS)
    for path in ("/Users/ada/.ssh/id_ed25519", "/Users/ada/.ssh", ROOT / "deploy/.env"):
        for operation in ("file-read-data", "file-read-metadata", "file-write-unlink", "file-write-data"):
            assert not to.allows(operation, path), (operation, path)
    for operation in ("file-link", "file-clone", "mach-priv-task-port", "job-creation", "appleevent-send"):
        assert not to.allows(operation, ROOT / "a.py"), operation


def test_a_covered_home_shows_only_the_list_and_the_workspace() -> None:
    home = Path("/Users/ada")
    rules = Profile(replace(BOUNDS, covered=[home], shown=[home / ".cargo/bin", home / ".npmrc"]))
    for name in (
        ".aws/credentials",
        ".claude.json",
        "Library/Keychains/login.keychain-db",
        "Documents/a.pdf",
    ):
        assert not rules.allows("file-read-data", home / name), name
        assert not rules.allows("file-read-xattr", home / name), name
        assert rules.allows("file-read-metadata", home / name), "every path must be resolvable"
    for path in (ROOT / "src/main.c", home / ".cargo/bin/cargo", home / ".npmrc", "/usr/bin/true"):
        assert rules.allows("file-read-data", path), path
    for path in (ROOT / "deploy/.env", home / ".ssh/id_rsa"):
        assert not rules.allows("file-read-data", path), path
    assert not rules.allows("file-write-data", home / ".cargo/bin/cargo")


def test_the_network_is_off_unless_requested_and_never_reaches_named_sockets() -> None:
    assert "network" not in profile(BOUNDS)[0]
    text, _ = profile(Bounds(writable=[ROOT], network=True))
    assert "(allow network-outbound (remote ip)" in text
    assert "unix-socket" not in text
    assert "SecurityServer" not in text


@pytest.mark.parametrize(
    "name",
    [
        'x") (allow default) ("',
        "a\\",
        'a"b',
        "new\nline",
        "(param",
        "caf\u00e9 \u202e",
        "${HOME}",
        "-Dx=y",
        "#|",
    ],
)
def test_a_path_cannot_inject_a_profile_rule(name: str) -> None:
    hostile = Path("/Users/ada") / name
    bounds = Bounds(
        [hostile], [hostile / ".git/config"], [hostile / ".forge"], [hostile / ".git"], [hostile / ".env"]
    )
    plain = Bounds([ROOT], [ROOT / ".git/config"], [ROOT / ".forge"], [ROOT / ".git"], [ROOT / ".env"])
    assert profile(bounds)[0] == profile(plain)[0]
    command = confined(PROGRAM, ["true"], bounds)
    assert command[:2] == (PROGRAM, "-p")
    assert f"-DWRITABLE_0={hostile}" in command
    assert command[-2:] == ("--", "true")


def test_a_real_workspace_gives_the_expected_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "home/work"
    (home / ".ssh").mkdir(parents=True)
    (home / "Library/Keychains").mkdir(parents=True)
    (home / ".cargo/bin").mkdir(parents=True)
    (root / "sub").mkdir(parents=True)
    for name in (".env", "sub/deploy.key"):
        (root / name).write_text("-----BEGIN PRIVATE KEY-----\n")
    monkeypatch.setenv("HOME", str(home))
    sandbox = Sandbox(SandboxState(SandboxKind.SEATBELT, program=PROGRAM), root, state_dir=tmp_path / "state")
    environment = {"HOME": str(home), "SSH_AUTH_SOCK": "/x", "TMPDIR": "/tmp", "LANG": "C"}
    with sandbox.launch(["bash", "-c", "x"], root, environment) as launch:
        given = dict(one[2:].split("=", 1) for one in launch.argv if one.startswith("-D"))
    hidden = {path for name, path in given.items() if name.startswith("HIDDEN")}
    assert {str(root / ".env"), str(root / "sub/deploy.key")} <= hidden
    covered = {path for name, path in given.items() if name.startswith("COVERED")}
    shown = {path for name, path in given.items() if name.startswith("SHOWN")}
    assert str(home) in covered
    assert {str(root), str(home / ".cargo/bin")} <= shown
    assert not any(Path(path).is_relative_to(home / name) for path in shown for name in (".ssh", "Library"))
    assert home not in map(Path, shown)
    assert str(root / ".forge") in {path for name, path in given.items() if name.startswith("HELD")}
    assert "SSH_AUTH_SOCK" not in launch.environment
    temporary = Path(launch.environment["TMPDIR"])
    assert str(temporary) in given.values()
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o700
    assert list(root.glob(".forge")) == [], "a path that must not come into being needs no placeholder"
    with sandbox.launch(["true"], root, environment, read_only=True) as launch:
        writable = [one for one in launch.argv if one.startswith("-DWRITABLE")]
    assert [one.partition("=")[2] for one in writable] == [str(temporary)]


CONFINING = f"""#!{sys.executable}
import os, sys
words = sys.argv[3:]
given = []
while words[0] != "--":
    name, _, path = words.pop(0)[2:].partition("=")
    given.append((name.partition("_")[0], path))
command = ["bwrap", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
for kind, path in given:
    if kind == "WRITABLE":
        command += ["--bind", path, path]
    if kind == "HELD" and path.endswith("/.forge"):
        command += ["--tmpfs", path, "--remount-ro", path]
    if kind == "HIDDEN" and path.endswith(".env"):
        command += ["--ro-bind", "/dev/null", path]
os.execvp("bwrap", command + words)
"""
"""Does with mounts what macOS does by the profile."""


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host that takes itself for macOS; the path of its sandbox-exec, which is not there yet."""
    program = tmp_path / "sandbox-exec"
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(probing, "PLATFORM", "darwin")
    monkeypatch.setattr("forge_core.permissions.sandbox.seatbelt.PROGRAM", str(program))
    probing.forget()
    return program


def probed(program: Path, script: str | None) -> SandboxState:
    if script is not None:
        program.write_text(script)
        program.chmod(0o755)
    work = program.parent / "work"
    state = probe_now(root=work, environment={"PATH": os.environ["PATH"], "HOME": str(program.parent)})
    assert list(work.iterdir()) == []
    return state


def test_seatbelt_is_on_once_the_probe_has_passed(mac: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    state = probed(mac, CONFINING)
    assert (state.kind, state.strength, state.reason) == (SandboxKind.SEATBELT, "full", "")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "not found"),
        ("#!/bin/sh\nexit 65\n", "exit code 65"),
        (
            "#!/bin/sh\necho 'sandbox-exec: sandbox_apply: Operation not permitted' >&2\nexit 71\n",
            "Operation not permitted",
        ),
        ("#!/bin/sh\nprintf '\\033]0;owned\\007\\n' >&2; exit 3\n", "sandbox-exec failed"),
        ('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', "confines nothing"),
        (CONFINING.replace('kind == "HELD"', 'kind == "NONE"'), "confines nothing"),
        (CONFINING.replace('kind == "HIDDEN"', 'kind == "NONE"'), "confines nothing"),
        (CONFINING.replace('"--unshare-net", ', ""), "confines nothing"),
    ],
    ids=[
        "missing",
        "fails",
        "refused",
        "escapes",
        "confines nothing",
        "holds nothing",
        "hides nothing",
        "has a network",
    ],
)
def test_it_is_off_with_a_reason_while_the_probe_has_not_passed(
    mac: Path, script: str | None, reason: str
) -> None:
    if script is not None and "bwrap" in script and not bwrap_works():
        pytest.skip(needs_bwrap)
    state = probed(mac, script)
    assert (state.kind, state.strength) == (SandboxKind.OFF, "off")
    assert reason in state.reason
    assert state.label.isprintable()
