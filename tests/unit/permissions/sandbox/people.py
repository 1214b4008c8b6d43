"""Somebody who runs commands, with and without the sandbox: root, or an ordinary user when root runs the tests.

A forked child takes on the identity and stays for many commands, so that Forge's own part runs as that user too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.permissions.sandbox import confine, landlock, seccomp, survey
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState

PRELOADED = (confine, landlock, seccomp, survey)
"""Imported before the fork: an ordinary user may not be able to read the checkout."""
NOBODY = 65534


@dataclass(frozen=True)
class Done:
    code: int
    output: str

    def __str__(self) -> str:
        return f"exit {self.code}: {self.output}"


class Person:
    """One identity. `run` gives how a bash command went; stdout and stderr come together."""

    def __init__(self, name: str, uid: int | None) -> None:
        self.name = name
        self.uid = os.geteuid() if uid is None else uid
        to_child, from_parent = os.pipe()
        to_parent, from_child = os.pipe()
        self._child = os.fork()
        # os.pipe gives (read, write): the child reads `to_child` and writes `from_child`.
        if self._child == 0:
            try:
                os.close(from_parent)
                os.close(to_parent)
                _become(uid)
                sys.executable = _python()
                _serve(to_child, from_child)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(to_child)
        os.close(from_child)
        self._requests = os.fdopen(from_parent, "w")
        self._replies = os.fdopen(to_parent)
        self.python = self.ask({"do": "which"})

    def run(
        self,
        command: str,
        folder: Path,
        *,
        state_dir: Path,
        environment: Mapping[str, str],
        sandbox: str = SandboxKind.BUBBLEWRAP,
        root: Path | None = None,
        network: bool = False,
        timeout_s: float = 120,
        stdin: str = "",
        readable: Sequence[Path] = (),
        added: Sequence[Path] = (),
        shown: Sequence[Path] = (),
    ) -> Done:
        reply = self.ask(
            {
                "do": "run",
                "command": command,
                "folder": str(folder),
                "root": str(root or folder),
                "state_dir": str(state_dir),
                "environment": dict(environment),
                "sandbox": sandbox,
                "network": network,
                "timeout_s": timeout_s,
                "stdin": stdin,
                "readable": [str(one) for one in readable],
                "added": [str(one) for one in added],
                "shown": [str(one) for one in shown],
            }
        )
        return Done(reply["code"], reply["output"])

    def probe(self, root: Path, environment: Mapping[str, str]) -> tuple[str, str]:
        """Strength and label."""
        reply = self.ask({"do": "probe", "root": str(root), "environment": dict(environment)})
        return reply["strength"], reply["label"]

    def start(self, argv: Sequence[str], environment: Mapping[str, str]) -> int:
        """The id of a process of this person outside any sandbox; `stop` ends it."""
        return int(self.ask({"do": "start", "argv": list(argv), "environment": dict(environment)}))

    def is_running(self, pid: int) -> bool:
        return bool(self.ask({"do": "is_running", "pid": pid}))

    def stop(self, pid: int) -> None:
        """Ends what `start` began."""
        self.ask({"do": "stop", "pid": pid})

    def ask(self, request: Mapping[str, Any]) -> Any:
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        reply = json.loads(self._replies.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["value"]

    def close(self) -> None:
        self._requests.close()
        self._replies.close()
        os.waitpid(self._child, 0)


def _become(uid: int | None) -> None:
    os.chdir("/")
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        # A change of identity makes a process undumpable, which would hide /proc/PID of all it starts too.
        import ctypes

        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


def _python() -> str:
    """An interpreter that this identity can start. The real one: that of a virtual environment may lie in
    /tmp, which is another one in the sandbox."""
    real = os.path.realpath(sys.executable)
    found = (shutil.which(one) for one in (real, "/usr/bin/python3", "/usr/local/bin/python3"))
    return next((one for one in found if one and os.access(one, os.X_OK)), "")


def _serve(requests: int, replies: int) -> None:
    started: dict[int, subprocess.Popen[bytes]] = {}
    with os.fdopen(requests) as lines, os.fdopen(replies, "w") as answers:
        for line in lines:
            try:
                reply = {"value": _answer(json.loads(line), started)}
            except Exception:
                reply = {"error": traceback.format_exc()}
            answers.write(json.dumps(reply) + "\n")
            answers.flush()
    for process in started.values():
        process.kill()
        process.wait()


def _answer(request: dict[str, Any], started: dict[int, subprocess.Popen[bytes]]) -> Any:
    match request["do"]:
        case "which":
            return _python()
        case "probe":
            os.environ["HOME"] = request["environment"]["HOME"]
            state = probe_now(root=Path(request["root"]), environment=request["environment"])
            return {"strength": state.strength, "label": state.label}
        case "start":
            process = subprocess.Popen(request["argv"], env=request["environment"], stdin=subprocess.DEVNULL)
            started[process.pid] = process
            return process.pid
        case "is_running":
            return started[request["pid"]].poll() is None
        case "stop":
            process = started.pop(request["pid"])
            process.kill()
            return process.wait()
        case _:
            return _run(request)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    done = _run_once(request)
    if done["code"] == 1 and done["output"].startswith("bwrap: Can't "):
        # Nothing has run: the socket of another program went between the look and the mount. Forge's own
        # bash tool starts such a command again too.
        done = _run_once(request)
    return done


def _run_once(request: dict[str, Any]) -> dict[str, Any]:
    os.environ["HOME"] = request["environment"]["HOME"]
    folder = Path(request["folder"])
    program = shutil.which("bwrap") or ""
    state = SandboxState(SandboxKind(request["sandbox"]), program=program)
    readable = tuple(map(Path, request["readable"]))
    box = Sandbox(state, Path(request["root"]), state_dir=Path(request["state_dir"]), readable=readable)
    for added in request["added"]:
        box.add_folder(Path(added))
    box.show_folders(map(Path, request["shown"]))
    argv = ["bash", "-c", request["command"]]
    with (
        box.launch(argv, folder, request["environment"], network=request["network"]) as launch,
        Path(request["stdin"] or os.devnull).open() as stdin,
    ):
        done = subprocess.run(
            launch.argv,
            cwd=folder,
            env=dict(launch.environment),
            pass_fds=launch.pass_fds,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=request["timeout_s"],
            start_new_session=True,
            check=False,
        )
    assert box.tidy()
    return {"code": done.returncode, "output": done.stdout.decode("utf-8", "replace")}
