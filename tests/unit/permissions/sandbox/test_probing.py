"""The sandbox's state on hosts that have it, have half of it, or have nothing: found by running, never raising."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from forge_core.permissions.sandbox import probing
from forge_core.permissions.sandbox.bubblewrap import why_bwrap_failed
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from tests.support.promptness import assert_prompt
from tests.unit.permissions.sandbox.conftest import bwrap_works, needs_bwrap
from tests.unit.permissions.sandbox.people import Person
from tests.unit.permissions.sandbox.world import World, everything_in


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    probing.forget()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def host(tmp_path: Path, bwrap: str | None) -> dict[str, str]:
    """An environment with the usual programs, and `bwrap` as a script or none."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin"):
        for name in ("bash", "sh", "readlink", "cat", "env"):
            if (Path(place) / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to(Path(place) / name)
    if bwrap is not None:
        (folder / "bwrap").write_text(bwrap)
        (folder / "bwrap").chmod(0o755)
    return {"PATH": str(folder), "HOME": str(tmp_path)}


def without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forge_core.permissions.sandbox.confine.landlock_abi", lambda: 0)


def has_landlock() -> bool:
    from forge_core.permissions.sandbox.confine import landlock_abi

    return landlock_abi() > 0


NO_NAMESPACES = "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces.' >&2\nexit 1\n"


def test_a_working_bubblewrap_gives_a_full_sandbox_for_every_user(world: World) -> None:
    assert world.person.probe(world.work, world.environment) == ("full", "sandbox: on")
    assert (world.work / ".forge").exists() is False


async def test_probing_is_fast_and_its_result_is_cached(work: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    probe_now(root=work)  # imports

    async def attempt() -> float:
        probing.forget()
        started = time.perf_counter()
        first = probe_now(root=work)
        took = time.perf_counter() - started
        assert first.strength == "full"
        assert probe_now(root=work) is first
        return took

    async def again() -> float:
        started = time.perf_counter()
        probe_now(root=work)
        return time.perf_counter() - started

    await assert_prompt(1.0, attempt)  # about 0.05 s on an idle machine
    await assert_prompt(0.005, again)


def test_a_socket_that_disappears_meanwhile_does_not_prevent_the_sandbox(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sockets that others listen on are hidden; one may be gone when bubblewrap comes to it."""
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    gone = [[Path("/usr/gone.sock")]]
    monkeypatch.setattr(
        "forge_core.permissions.sandbox.sandbox.listening_sockets", lambda: gone.pop() if gone else []
    )
    assert probe_now(root=work).strength == "full"
    assert gone == []


def test_without_bwrap_landlock_is_weak_and_names_what_to_install(tmp_path: Path, work: Path) -> None:
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    state = probe_now(root=work, environment=host(tmp_path, None))
    assert (state.kind, state.strength) == (SandboxKind.LANDLOCK, "weak")
    assert state.label == (
        "sandbox: weak - bwrap not found (apt install bubblewrap). Commands that may write will ask."
    )


def test_with_neither_it_is_off_and_reports_it(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_landlock(monkeypatch)
    state = probe_now(root=work, environment=host(tmp_path, None))
    assert (state.kind, state.strength) == (SandboxKind.OFF, "off")
    assert (
        state.label
        == "sandbox: OFF - bwrap not found (apt install bubblewrap). Commands that may write will ask."
    )


def test_a_bwrap_that_may_not_create_namespaces_is_distinguished_from_a_missing_one(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_landlock(monkeypatch)
    state = probe_now(root=work, environment=host(tmp_path, NO_NAMESPACES))
    assert state.kind is SandboxKind.OFF
    assert state.reason.startswith("user namespaces are forbidden (")


@pytest.mark.parametrize(
    "program",
    [
        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\necho end\nexit 0\n",
        "#!/nowhere/sh\n",
        "not a program",
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n',
        "#!/bin/sh\nprintf '\\033]0;owned\\007\\n' >&2; exit 3\n",
    ],
    ids=["silent", "pretends", "no interpreter", "not a program", "runs without confining", "escapes"],
)
def test_a_bwrap_that_does_not_confine_is_not_used(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    without_landlock(monkeypatch)
    environment = host(tmp_path, program)
    state = probe_now(root=work, environment=environment)
    assert state.strength == "off"
    assert state.label.isprintable()
    assert everything_in(work) == {}
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".forge-probe")] == []


def test_a_hanging_bwrap_is_abandoned(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_landlock(monkeypatch)
    monkeypatch.setattr(probing, "_TIMEOUT_S", 0.3)
    state = probe_now(
        root=work,
        environment=host(tmp_path, "#!/bin/sh\nexec sleep 30\n")
        | {"PATH": f"{tmp_path}/programs:/usr/bin:/bin"},
    )
    assert state.strength == "off"
    assert "did not finish" in state.reason


def test_an_unmountable_proc_falls_back_to_the_host_proc_without_leaking(world: World) -> None:
    """As in most containers: parts of /proc are covered, so the kernel lets nobody mount a new one."""
    if os.geteuid() != 0 or world.person.uid == 0:
        pytest.skip("takes root to cover a part of /proc for somebody else")
    program = f"""
import sys; sys.path[:0] = {[str(Path.cwd())]!r}
from pathlib import Path
from forge_core.permissions.sandbox import sandbox
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
import os, subprocess
sandbox.listening_sockets = lambda: ()
root = Path({str(world.work)!r})
state = probe_now(root=root)
print(state.label, state.host_proc)
other = subprocess.Popen(["sleep", "60"], env={{"CANARY": "canary-value"}})
box = Sandbox(state, root, state_dir=Path({str(world.state)!r}))
look = f"cat /proc/{{other.pid}}/environ; ls /proc/{{other.pid}}/root; cat /proc/*/environ | tr '\\\\0' '\\\\n' | grep canary; kill -9 {{other.pid}}; echo x > /proc/self/comm; cat /proc/self/status | grep ^Name; git status"
with box.launch(["bash", "-c", look], root, os.environ) as launch:
    done = subprocess.run(launch.argv, env=launch.environment, pass_fds=launch.pass_fds, cwd=root, capture_output=True, text=True)
print(done.stdout, done.stderr)
print("alive", other.poll() is None)
other.kill(); other.wait()
"""
    cover = 'mount --bind /dev/null /proc/version && exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", cover, world.person.python, program],
        env=world.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ModuleNotFoundError" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "sandbox: on True", done
    assert "canary-value" not in done.stdout
    assert "alive True" in lines
    assert "On branch main" in done.stdout


OLD = """#!/bin/sh
if tr '\\0' '\\n' < /proc/self/fd/$2 | grep -q -e '-bind-fd$'; then echo 'bwrap: Unknown option --ro-bind-fd' >&2; exit 1; fi
exec {bwrap} "$@"
"""


def test_a_bwrap_too_old_to_mount_descriptors_is_weak_but_works(tmp_path: Path, work: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    environment = host(tmp_path, OLD.format(bwrap=shutil.which("bwrap")))
    state = probe_now(root=work, environment=environment | {"PATH": f"{tmp_path}/programs:/usr/bin:/bin"})
    assert (state.kind, state.strength) == (SandboxKind.BUBBLEWRAP, "weak")
    assert "update bubblewrap" in state.label


def test_inaccessible_folders_are_skipped(world: World) -> None:
    locked = world.base / "locked"
    (locked / "bin").mkdir(parents=True)
    os.chown(locked, 0 if os.geteuid() == 0 else -1, -1)
    locked.chmod(0)
    world.variables.update(
        PATH=f"{locked}/bin:{locked}:/usr/local/bin:/usr/bin:/bin", VIRTUAL_ENV=f"{locked}/venv"
    )
    assert world.person.probe(world.work, world.environment) == ("full", "sandbox: on")
    assert world.run("echo fine").output == "fine\n"


def test_off_by_choice_runs_nothing_and_reports_it(work: Path) -> None:
    state = probe_now("off", work)
    assert state.label == "sandbox: OFF - turned off by choice. Commands that may write will ask."


def test_strict_mode_gives_the_same_probe_result(work: Path) -> None:
    assert probe_now("strict", work) == probe_now("auto", work)


def test_the_file_system_root_is_not_a_valid_workspace() -> None:
    assert probe_now(root=Path("/")).strength == "off"


def test_the_home_folder_as_workspace_is_weak_because_of_its_startup_files(
    world: World, person: Person
) -> None:
    world.write(world.home / ".bashrc", "mine\n")
    strength, label = person.probe(world.home, world.environment)
    assert strength == "weak"
    assert "home" in label
    done = world.run("echo evil >> .bashrc; cat .ssh/id_ed25519; echo x > new", folder=world.home)
    assert (world.home / ".bashrc").read_text() == "mine\n"
    assert "the-secret" not in done.output
    assert (world.home / "new").exists()


def test_a_link_in_place_of_a_protected_folder_makes_the_sandbox_weak(world: World, person: Person) -> None:
    (world.work / ".forge").symlink_to(world.outside)
    assert person.probe(world.work, world.environment) == (
        "weak",
        "sandbox: weak - '.forge' is a link, so a command could replace it. Commands that may write will ask.",
    )


def test_a_workspace_owned_by_another_user_is_not_fully_sandboxed_for_root(world: World) -> None:
    if world.person.uid != 0:
        pytest.skip("only root writes in other people's folders")
    for one in (world.work, *world.work.rglob("*")):
        os.chown(one, 65534, -1)
    strength, label = world.person.probe(world.work, world.environment)
    assert strength != "full"
    assert "owner" in label


def test_probing_a_missing_folder_does_not_raise(tmp_path: Path) -> None:
    assert probe_now(root=tmp_path / "gone").label


@pytest.mark.parametrize(
    ("error", "setting", "expected"),
    [
        ("bwrap: setting up uid map: Permission denied", "kernel/apparmor_restrict_unprivileged_userns=1", "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "kernel/apparmor_restrict_unprivileged_userns=1", "AppArmor"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "kernel/unprivileged_userns_clone=0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("bwrap: Creating new namespace failed: No space left on device", "user/max_user_namespaces=0", "sysctl user.max_user_namespaces="),
        ("bwrap: Unknown option --sync-fd", "x=1", "bwrap failed (bwrap: Unknown option --sync-fd)"),
        ("", "x=1", "printed nothing"),
    ],
)  # fmt: skip
def test_the_reason_names_the_setting_that_prevents_it(
    tmp_path: Path, error: str, setting: str, expected: str
) -> None:
    name, _, value = setting.partition("=")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(value + "\n")
    assert expected in why_bwrap_failed(error, 1, tmp_path)
