"""The filter of system calls, run by a small interpreter of its own: for every machine, on any machine."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.seccomp import AF_UNIX, FAMILIES, machine, seccomp_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = ["x86_64", "aarch64"]
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def judge(name: str, call: str | int, *arguments: int, arch: int | None = None, **settings: object) -> int:
    """What the kernel would do: ALLOW, KILL, or the error number."""
    known = machine(name)
    assert known is not None
    number = known.numbers[call] if isinstance(call, str) else call
    padded = [value & (2**64 - 1) for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("<IIQ6Q", number, known.audit_arch if arch is None else arch, 0, *padded)
    program = seccomp_filter(name, **settings)  # type: ignore[arg-type]
    assert program is not None
    result = interpret(program, data)
    return result & 0xFFFF if result & 0xFFFF0000 == 0x00050000 else result


def interpret(program: bytes, data: bytes) -> int:
    """Classic BPF, as far as the filter uses it; raises for a jump out of the program."""
    code = list(struct.iter_unpack("<HBBI", program))
    accumulator = at = 0
    while True:
        operation, when_true, when_false, operand = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x06:
                return int(operand)
            case 0x15:
                at += when_true if accumulator == operand else when_false
            case 0x45:
                at += when_true if accumulator & operand else when_false
            case _:
                raise AssertionError(f"unknown operation {operation:#x}")


@pytest.mark.parametrize("name", MACHINES)
def test_ordinary_system_calls_are_allowed(name: str) -> None:
    known = machine(name)
    assert known is not None
    refused = {
        number
        for call, number in known.numbers.items()
        if call not in ("clone", "unshare", "ioctl", "socket", "socketpair")
    }
    for number in range(470):
        if number not in refused:
            assert judge(name, number, 1) == ALLOW, number


@pytest.mark.parametrize("name", MACHINES)
def test_system_calls_that_bypass_namespaces_are_rejected(name: str) -> None:
    for call in ["ptrace", "mount", "umount2", "setns", "bpf", "keyctl", "add_key", "io_uring_setup", "process_vm_readv", "open_by_handle_at", "kexec_load", "pivot_root", "chroot", "move_mount", "pidfd_getfd", "perf_event_open", "userfaultfd"]:  # fmt: skip
        assert judge(name, call) == errno.EPERM, call
    assert judge(name, "clone3") == errno.ENOSYS


@pytest.mark.parametrize("name", MACHINES)
def test_namespace_flags_are_rejected_and_threads_allowed(name: str) -> None:
    thread, fork = 0x3D0F00, 0x01200011
    assert judge(name, "clone", thread) == ALLOW
    assert judge(name, "clone", fork) == ALLOW
    for bit in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert judge(name, "clone", fork | bit) == errno.EPERM
        assert judge(name, "unshare", bit) == errno.EPERM
    assert judge(name, "unshare", 0x80) == errno.EPERM
    assert judge(name, "unshare", 0x600) == ALLOW, "files and working folder of a thread"


@pytest.mark.parametrize("name", MACHINES)
def test_only_the_lower_32_bits_of_an_ioctl_request_are_compared(name: str) -> None:
    for request in (0x5412, 0x541C, 0x5423):
        assert judge(name, "ioctl", 0, request) == errno.EPERM
        assert judge(name, "ioctl", 0, request | 0xFFFFFFFF << 32) == errno.EPERM
    for request in (0x5401, 0x5413, 0x5421):
        assert judge(name, "ioctl", 0, request) == ALLOW


@pytest.mark.parametrize("name", MACHINES)
def test_only_listed_socket_families_are_allowed(name: str) -> None:
    for family in range(50):
        expected = ALLOW if family in FAMILIES else errno.EPERM
        assert judge(name, "socket", family) == expected
        assert judge(name, "socketpair", family) == expected
    assert judge(name, "socket", 1 | 1 << 32) == ALLOW, "the kernel sees 32 bits"
    assert judge(name, "socket", 2, families=(AF_UNIX,)) == errno.EPERM
    assert judge(name, "socket", 1, families=(AF_UNIX,)) == ALLOW
    assert judge(name, "socket", 1, local_pairs_only=True) == errno.EPERM
    assert judge(name, "socketpair", 1, local_pairs_only=True) == ALLOW
    assert judge(name, "socket", 2, local_pairs_only=True) == ALLOW


def test_other_system_call_abis_are_blocked() -> None:
    assert judge("x86_64", 0x40000000 | 0) == errno.EPERM
    assert judge("x86_64", 0xFFFFFFFF) == errno.EPERM
    for name in MACHINES:
        assert judge(name, 0, arch=0x40000003) == KILL, "a 32-bit program's numbers mean other calls"


def test_an_unknown_machine_gets_no_filter() -> None:
    assert seccomp_filter("riscv64") is None
    assert seccomp_filter("") is None


@pytest.mark.parametrize("name", MACHINES)
def test_system_call_numbers_match_the_kernel_headers(name: str) -> None:
    if not HEADERS[name].exists():
        pytest.skip(f"the kernel's headers for {name} are not installed")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", HEADERS[name].read_text()))
    known = machine(name)
    assert known is not None
    newer = {"open_tree_attr"}
    for call, number in known.numbers.items():
        if call in numbers or call not in newer:
            assert int(numbers.get(call, -1)) == number, call
