"""Servers whose entries ask for the sandbox: real processes, and what they can reach from there."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from forge_core.mcp.wire import BridgeEvent, Operation, ServerSandbox
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.process_tree import descendants
from tests.support.hooks import running_in
from tests.support.mcp_bench import SERVER, Bench

needs_sandbox = pytest.mark.skipif(
    probe_now("auto").strength != "full", reason=f"no full sandbox here: {probe_now('auto').label}"
)


class World:
    """A project, a home and Forge's own folders; each holds a file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work, self.home = root / "work", root / "home"
        self.state, self.config = root / "home/state/forge", root / "home/config/forge"
        for folder in (self.work, self.state, self.config):
            folder.mkdir(parents=True)
            (folder / "kept").write_text("its content")
        (self.home / "notes").write_text("its content")
        shutil.copy(SERVER, self.work / "server.py")

    @property
    def launch(self) -> dict[str, Any]:
        return {
            "argv": (sys.executable, "-S", str(self.work / "server.py"), "leaves-child"),
            "environment": {**child_environment(), "HOME": str(self.home)},
            "folder": str(self.work),
            "roots": (str(self.work),),
            "state_dir": str(self.state),
            "config_dir": str(self.config),
        }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "work")
    await bench.bridge.start(child_environment())
    yield bench
    await bench.bridge.aclose()


async def attempts(bench: Bench, **what: tuple[str, str | int]) -> Mapping[str, str]:
    """Have the server do these things; return how each went."""
    answer = await bench.call("attempt", **{name: [how, str(to)] for name, (how, to) in what.items()})
    found: Mapping[str, str] = json.loads(answer["content"][0]["text"])
    return found


def ways(world: World, port: int) -> dict[str, tuple[str, str | int]]:
    return {
        "project": ("write", str(world.work / "made")),
        "home": ("read", str(world.home / "notes")),
        "home, writing": ("write", str(world.home / "made")),
        "state": ("read", str(world.state / "kept")),
        "state, writing": ("write", str(world.state / "made")),
        "config": ("read", str(world.config / "kept")),
        "network": ("connect", port),
    }


def around(world: World) -> dict[str, tuple[str, str | int]]:
    """Ways around what hides the folders, through another process and by the name of a mount."""
    return {
        "through a process": ("read", f"/proc/{os.getpid()}/root{world.state}/kept"),
        "unmounted": ("unmount", str(world.state)),
        "after that": ("read", str(world.state / "kept")),
    }


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_sandbox
async def test_a_strict_server_reaches_the_project_only(bench: Bench, world: World) -> None:
    await bench.start(sandbox=ServerSandbox.STRICT, **world.launch)
    await bench.until(BridgeEvent.STATE, state="ready")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = await attempts(bench, **ways(world, listener.getsockname()[1]))

    assert found.pop("project") == "done" and (world.work / "made").exists()
    assert {*found.values()}.isdisjoint({"done", "its content"}), found
    assert not (world.home / "made").exists() and not (world.state / "made").exists()

    await bench.bridge.request(Operation.STOP, server="one")
    assert running_in(world.work) == []
    async with asyncio.timeout(20):  # until what only held a place is gone
        while {path.name for path in world.work.iterdir()} != {"kept", "made", "server.py"}:
            await asyncio.sleep(0.01)


@needs_sandbox
async def test_a_server_without_keys_reaches_all_but_the_folders_of_forge(bench: Bench, world: World) -> None:
    await bench.start(sandbox=ServerSandbox.KEYS, **world.launch)
    await bench.until(BridgeEvent.STATE, state="ready")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = await attempts(bench, **ways(world, listener.getsockname()[1]), **around(world))

    reached = {name for name, outcome in found.items() if outcome in ("done", "its content")}
    assert reached == {"project", "home", "home, writing", "network"}, found
    assert (world.home / "made").exists() and not (world.state / "made").exists()


@needs_sandbox
@pytest.mark.parametrize("sandbox", [ServerSandbox.KEYS, ServerSandbox.STRICT])
async def test_nothing_of_a_confined_server_outlives_its_bridge(
    bench: Bench, world: World, sandbox: ServerSandbox
) -> None:
    await bench.start(sandbox=sandbox, **world.launch)
    await bench.until(BridgeEvent.STATE, state="ready")
    started = {one.pid for one in descendants(bench.bridge.pid)}
    assert len(started) >= 4  # the supervisor, bwrap, the server, and a daemon of it

    os.kill(bench.bridge.pid, signal.SIGKILL)

    async with asyncio.timeout(20):
        while any(map(is_alive, started)):
            await asyncio.sleep(0.01)


@needs_sandbox
@pytest.mark.parametrize("sandbox", [ServerSandbox.KEYS, ServerSandbox.STRICT])
async def test_a_folder_that_the_sandbox_hides_is_replaced_by_an_empty_one(
    bench: Bench, world: World, sandbox: ServerSandbox
) -> None:
    hidden = world.state / "mcp-untrusted"
    hidden.mkdir()
    await bench.start(sandbox=sandbox, **{**world.launch, "folder": str(hidden)})

    await bench.until(BridgeEvent.STATE, state="ready")


@pytest.mark.parametrize(
    ("sandbox", "what"),
    [(ServerSandbox.KEYS, "bubblewrap"), (ServerSandbox.STRICT, "a full sandbox")],
)
async def test_without_what_its_entry_asks_for_a_server_does_not_start(
    world: World, sandbox: ServerSandbox, what: str
) -> None:
    bench = Bench(world.work)
    nothing = {**child_environment(), "PATH": str(world.home)}
    await bench.bridge.start(nothing)
    await bench.start(sandbox=sandbox, **{**world.launch, "environment": nothing})
    failed = await bench.until(BridgeEvent.STATE, state="failed")
    await bench.bridge.aclose()

    assert failed["error"].startswith(f'its entry has "sandbox": "{sandbox}", and {what} is not available: ')
    assert (sys.platform == "linux") == ("bwrap not found" in failed["error"])
    assert not running_in(Path(os.path.realpath(world.work)))
