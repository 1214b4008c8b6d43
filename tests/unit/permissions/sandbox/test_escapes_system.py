"""Ways out through processes, sockets, devices and system calls, each tried for real.

Every attempt that is harmless is shown to work without the sandbox too, on machines whose kernel allows it.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.permissions.sandbox.world import SECRET, World

pytestmark = pytest.mark.slow


TARGET = ["sleep", "300"]
SYSCALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(x86_64, aarch64, *arguments):
    number = {"x86_64": x86_64, "aarch64": aarch64}[os.uname().machine]
    done = libc.syscall(number, *arguments)
    print("DONE" if done >= 0 else f"errno {ctypes.get_errno()}", flush=True)
    return done
"""


def python(body: str) -> str:
    """A bash command that runs `body` with `call(number on x86_64, number on aarch64, …)`."""
    return f"$PYTHON -I - <<'END'\n{SYSCALL}\n{body}\nEND"


@contextmanager
def target(world: World) -> Iterator[int]:
    """A process of the same person outside, with a secret in its environment."""
    pid = world.person.start(TARGET, {"CANARY": SECRET, "PATH": os.defpath})
    world.variables["TARGET"] = str(pid)
    try:
        # Its environment can be read from outside once it has become `sleep`.
        while not world.bare(f"tr -d '\\0' < /proc/{pid}/cmdline").output.startswith("sleep"):
            pass
        yield pid
    finally:
        world.person.stop(pid)


def yama() -> bool:
    path = Path("/proc/sys/kernel/yama/ptrace_scope")
    return path.exists() and path.read_text().strip() != "0"


def test_another_process_cannot_be_killed(world: World) -> None:
    killing = "kill -9 $TARGET; kill -9 -- -$TARGET; pkill -9 -f 'sleep 300'; true"
    with target(world) as pid:
        world.run(killing)
        assert world.person.is_running(pid), "it was killed from within"
        world.bare("kill -9 $TARGET")
        while world.person.is_running(pid):
            pass


def test_another_process_reveals_no_information(world: World) -> None:
    reading = "cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'"
    with target(world):
        assert SECRET not in world.run(reading).output
        assert SECRET in world.bare("tr '\\0' '\\n' < /proc/$TARGET/environ").output


def test_another_process_cannot_be_traced_nor_its_memory_read(world: World) -> None:
    attach = python('call(101, 117, 0x4206, int(os.environ["TARGET"]), 0, 0)')
    memory = python(
        "for pid in ('1', os.environ['TARGET'], str(os.getppid())):\n"
        "    try:\n        open(f'/proc/{pid}/mem', 'r+b', buffering=0); print('DONE', pid)\n"
        "    except OSError as error: print(error)"
    )
    peek = python(
        "import struct\nbuffer = ctypes.create_string_buffer(8)\n"
        "local = struct.pack('QQ', ctypes.addressof(buffer), 8)\n"
        "call(310, 270, int(os.environ['TARGET']), local, 1, local, 1, 0)"
    )
    with target(world) as pid:
        for command in (attach, peek):
            assert "DONE" not in world.run(command).output
            if not yama():
                assert world.bare(command).output != world.run(command).output
        assert f"DONE {pid}" not in world.run(memory).output
        if not yama():
            assert "DONE" in world.bare(attach).output
            assert f"DONE {pid}" in world.bare(memory).output


def test_child_processes_cannot_be_traced(world: World) -> None:
    trace_me = python("call(101, 117, 0, 0, 0, 0)")
    assert "errno 1" in world.run(trace_me).output
    assert "DONE" in world.bare(trace_me).output


def running(words: list[str]) -> list[int]:
    """The processes with exactly this command line."""
    wanted = "\0".join(words) + "\0"
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_text() == wanted:
                found.append(int(entry.name))
    return found


def test_daemons_do_not_outlive_the_command(world: World) -> None:
    words = ["sleep", str(6_000_000 + os.getpid())]
    name = " ".join(words)
    stay = f"(setsid nohup {name} > /dev/null 2>&1 &) ; (trap '' TERM HUP; exec {name}) > /dev/null 2>&1 &"
    world.run(stay)
    deadline = time.monotonic() + 60
    while running(words) and time.monotonic() < deadline:
        pass  # the kernel ends what is left when the namespace's first process is gone
    assert running(words) == []
    world.bare(stay)
    while len(left := running(words)) < 2 and time.monotonic() < deadline:
        pass
    assert len(left) == 2
    for pid in left:
        os.kill(pid, 9)


# ---- network -----------------------------------------------------------------------------------------------

CONNECT = "import socket\ns = socket.socket(socket.{family}, socket.{kind})\ns.connect({address!r})\ns.send(b'x')\nprint('DONE')"


def connect(family: str, kind: str, address: object) -> str:
    return python(CONNECT.format(family=family, kind=kind, address=address))


def arrived(listener: socket.socket) -> bool:
    """Whether anything has come in."""
    return bool(select.select([listener], [], [], 0.05)[0])


def listening(family: int, kind: int, address: object) -> socket.socket:
    listener = socket.socket(family, kind)
    listener.bind(address)  # type: ignore[arg-type]
    if kind == socket.SOCK_STREAM:
        listener.listen(8)
    return listener


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_host_services_are_unreachable(world: World, kind: str) -> None:
    with listening(socket.AF_INET, getattr(socket, kind), ("127.0.0.1", 0)) as service:
        command = connect("AF_INET", kind, service.getsockname())
        world.run(command)
        assert not arrived(service)
        assert "DONE" in world.bare(command).output
        assert arrived(service)


def test_no_connection_leaves_the_sandbox(world: World) -> None:
    """192.0.2.1 is for documentation; connecting a datagram socket only asks for a route."""
    udp = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('192.0.2.1', 53))\nprint('DONE')"
    names = "import socket\nprint(socket.getaddrinfo('example.org', 80))"
    confined = world.run(python(udp))
    assert "unreachable" in confined.output
    assert world.run(python(names)).code != 0
    interfaces = world.run("cut -s -d: -f1 /proc/net/dev | tr -d ' ' | grep -v '|'").output.split()
    assert interfaces == ["lo"]


def test_an_abstract_socket_of_the_host_is_out_of_reach(world: World) -> None:
    name = f"\0forge-test-{os.getpid()}"
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, name) as service:
        command = connect("AF_UNIX", "SOCK_STREAM", name)
        world.run(command)
        assert not arrived(service)
        world.run(command, network=True)
        assert not arrived(service), "the host's network brings its abstract sockets along"
        assert "DONE" in world.bare(command).output
        assert arrived(service)


@pytest.mark.parametrize("where", ["/run", "/tmp", "home/.docker/run", "outside", "home/my work"])
@pytest.mark.parametrize("network", [False, True], ids=["offline", "online"])
def test_a_named_socket_of_a_service_is_out_of_reach(world: World, where: str, network: bool) -> None:
    folder = world.base / where
    if where == "/run" and os.geteuid() != 0:
        pytest.skip("only root can put a socket into /run")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"docker-{os.getpid()}.sock"
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, str(path)) as service:
        path.chmod(0o666)
        try:
            command = connect("AF_UNIX", "SOCK_STREAM", str(path))
            confined = world.run(command, network=network)
            assert "bwrap:" not in confined.output
            assert not arrived(service)
            assert "DONE" in world.bare(command).output
            assert arrived(service)
        finally:
            path.unlink()


@pytest.mark.parametrize("family", [17, 38, 40], ids=["packet", "alg", "vsock"])
def test_other_socket_families_are_rejected(world: World, family: int) -> None:
    assert "errno 1\n" in world.run(python(f"call(41, 198, {family}, 3, 0)")).output
    assert "errno 1\n" in world.run(python(f"call(41, 198, {family}, 3, 0)"), network=True).output


def test_variables_that_point_to_sockets_are_not_passed(world: World) -> None:
    names = (
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XDG_RUNTIME_DIR",
        "DOCKER_HOST",
    )
    world.variables.update(dict.fromkeys(names, "/somewhere"))
    assert world.run(f"env | grep -E '^({'|'.join(names)})='").output == ""
    assert len(world.bare(f"env | grep -E '^({'|'.join(names)})='").output.splitlines()) == len(names)


# ---- privileges --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Power:
    name: str
    command: str
    sign: str = "DONE"
    bare: str = "same"
    """Without the sandbox: "same" must work for everybody, "root" for root; "no": would do harm, or depends."""


POWERS = [
    Power("mount", "mount -t tmpfs none /mnt && echo DONE", bare="no"),
    Power("mount in a namespace", "unshare -m mount -t tmpfs none /mnt && echo DONE", bare="root"),
    Power("remount", "mount -o remount,rw / || mount -o remount,rw,bind / && echo DONE", bare="no"),
    Power("unmount", 'umount "$HOME/.ssh" || umount -l .git/config && echo DONE', bare="no"),
    Power("the new mount calls", python("call(430, 430, b'tmpfs', 0)"), bare="root"),
    Power("open_tree", python("call(428, 428, -100, b'/', 1)"), bare="root"),
    Power("a user namespace", "unshare -U true && echo DONE"),
    Power("a user namespace by clone", python("pid = call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)\nos._exit(0) if pid == 0 else None")),
    Power("another's namespace", "nsenter -t 1 -n true && echo DONE", bare="no"),
    Power("a device", "mknod device b 7 0 && echo DONE", bare="root"),
    Power("another root", "chroot / true && echo DONE", bare="root"),
    Power("the kernel's log device", "test -e /dev/kmsg && echo DONE || test -e /dev/mem && echo DONE", bare="no"),
    Power("a disk", "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0 /dev/dm-0; do head -c1 $d > /dev/null 2>&1 && echo DONE; done", bare="no"),
    Power("kernel settings", "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness && echo DONE", bare="root"),
    Power("control groups", "mkdir /sys/fs/cgroup/forge-test /sys/fs/cgroup/*/forge-test 2> /dev/null && echo DONE", bare="no"),
    Power("capabilities", "grep -q 'CapBnd:.*0000000000000000' /proc/self/status || echo DONE", bare="no"),
    Power("the owner", "touch f; chown 1:1 f && echo DONE", bare="root"),
    Power("new privileges", "grep -q 'NoNewPrivs:.*1' /proc/self/status || echo DONE"),
    Power("io_uring", python("call(425, 425, 4, ctypes.create_string_buffer(120))"), bare="no"),
    Power("a keyring", python("call(250, 219, 0, -3, 1)"), bare="no"),
    Power("a key", python("call(248, 217, b'user', b'forge-test', b'x', 1, -2)"), bare="no"),
    Power("bpf", python("call(321, 280, 0, ctypes.create_string_buffer(120), 120)"), bare="no"),
    Power("perf events", python("call(298, 241, ctypes.create_string_buffer(120), 0, -1, -1, 0)"), bare="no"),
    Power("userfaultfd", python("call(323, 282, 1)"), bare="no"),
    Power("handles", python("call(304, 265, -100, ctypes.create_string_buffer(120), 0)"), bare="no"),
    Power("another numbering", python("call(0x40000000 | 39, 172) if os.uname().machine == 'x86_64' else None"), bare="no"),
    Power("a pid namespace's end", "kill -9 1; kill -9 $PPID; sleep 0 && echo alive", sign="never", bare="no"),
]  # fmt: skip


@pytest.mark.parametrize("power", POWERS, ids=lambda power: power.name)
def test_a_privilege_is_removed(world: World, power: Power) -> None:
    confined = world.run(power.command)
    assert power.sign not in confined.output, confined
    if power.bare == "same" or (power.bare == "root" and world.person.uid == 0):
        assert power.sign in world.bare(power.command).output


def test_clone3_reports_enosys_so_that_programs_use_clone(world: World) -> None:
    assert "errno 38" in world.run(python("call(435, 435, 0, 0)")).output
    assert "errno 38" not in world.bare(python("call(435, 435, 0, 0)")).output


def test_input_cannot_be_injected_into_the_terminal(world: World) -> None:
    main, terminal = os.openpty()
    name = os.ttyname(terminal)
    os.chown(name, world.person.uid, -1)
    push = python(
        "import fcntl, termios\n"
        "terminal = os.open(sys.argv[1] if len(sys.argv) > 1 else '/proc/self/fd/3', os.O_RDWR)\n"
        "for request in (termios.TIOCSTI, termios.TIOCSTI | 1 << 40):\n"
        "    done = libc.ioctl(terminal, ctypes.c_ulong(request), b'x')\n"
        "    print('DONE' if done == 0 else f'errno {ctypes.get_errno()}')"
    )
    try:
        confined = world.run(f"exec 3<&0; {push}", stdin=name)
        assert confined.output.split("\n")[:2] == ["errno 1", "errno 1"], confined
        assert not select.select([terminal], [], [], 0)[0]
        size = python("import fcntl, termios; print(len(fcntl.ioctl(3, termios.TIOCGWINSZ, b'x' * 8)))")
        assert world.run(f"exec 3<&0; {size}", stdin=name).output == "8\n", "the rest of ioctl works"
    finally:
        os.close(main)
        os.close(terminal)


def test_a_setuid_program_gains_nothing(world: World) -> None:
    if os.geteuid() != 0 or world.person.uid == 0:
        pytest.skip("takes root to make a setuid program, and somebody else to run it")
    program = world.base / "who"
    shutil.copy("/usr/bin/id", program)
    program.chmod(0o4755)
    world.variables["WHO"] = str(program)
    assert world.run('"$WHO" -u').output.strip() == str(world.person.uid)
    assert world.bare('"$WHO" -u').output.strip() == "0"


def test_no_descriptor_of_forge_is_inherited(world: World) -> None:
    listing = "import os\nfor n in os.listdir('/proc/self/fd'):\n    try: print(n, os.readlink('/proc/self/fd/' + n))\n    except OSError: pass"
    listed = world.run(f'$PYTHON -I -c "{listing}"', network=True).output.splitlines()
    assert [line.split()[0] for line in listed] == ["0", "1", "2"], listed
