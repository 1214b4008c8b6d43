"""The filter of system calls, as the kernel's classic BPF, assembled without a library.

It takes away what leads around the namespaces: other processes' memory, mounts, new user namespaces,
keyrings, io_uring (which carries file and network calls past any filter), pushing keys into the terminal.
Ordinary programs meet none of it; they get EPERM, and ENOSYS for clone3, whose flags no filter can see, so
that the C library falls back to clone, whose flags it can.

Source: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux for the numbers,
linux/seccomp.h, linux/bpf_common.h, man 2 seccomp.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24
"""Offsets in struct seccomp_data; of an argument, its low half on a little-endian machine."""
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_X32_BIT = 0x40000000

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_NEW_TIME = 0x80
"""CLONE_NEWTIME, which only unshare knows: in clone these bits are the exit signal."""
_TERMINAL_INPUT = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX, TIOCSETD: only 32 bits of the request count for the kernel, and here."""

_BOTH = """io_uring_setup 425  io_uring_enter 426  io_uring_register 427  open_tree 428  move_mount 429
fsopen 430 fsconfig 431  fsmount 432  fspick 433  clone3 435  pidfd_getfd 438  process_madvise 440
mount_setattr 442 quotactl_fd 443  open_tree_attr 467"""

_X86_64 = """ioctl 16  socket 41  socketpair 53  clone 56  ptrace 101  syslog 103  uselib 134  vhangup 153
modify_ldt 154  pivot_root 155  adjtimex 159  chroot 161  acct 163  settimeofday 164  mount 165  umount2 166
swapon 167  swapoff 168  reboot 169  sethostname 170  setdomainname 171  iopl 172  ioperm 173  create_module
174 init_module 175  delete_module 176  quotactl 179  nfsservctl 180  lookup_dcookie 212  clock_settime 227
kexec_load 246  add_key 248  request_key 249  keyctl 250  migrate_pages 256  unshare 272  move_pages 279
perf_event_open 298  fanotify_init 300  open_by_handle_at 304  clock_adjtime 305  setns 308  process_vm_readv
310 process_vm_writev 311  kcmp 312  finit_module 313  kexec_file_load 320  bpf 321  userfaultfd 323"""

_AARCH64 = """lookup_dcookie 18  ioctl 29  umount2 39  mount 40  pivot_root 41  nfsservctl 42  chroot 51
vhangup 58 quotactl 60  acct 89  unshare 97  kexec_load 104  init_module 105  delete_module 106
clock_settime 112 syslog 116  ptrace 117  reboot 142  sethostname 161  setdomainname 162  settimeofday 170
adjtimex 171 socket 198  socketpair 199  add_key 217  request_key 218  keyctl 219  clone 220  swapon 224
swapoff 225 migrate_pages 238  move_pages 239  perf_event_open 241  fanotify_init 262  open_by_handle_at 265
clock_adjtime 266  setns 268  process_vm_readv 270  process_vm_writev 271  kcmp 272  finit_module 273  bpf 280
userfaultfd 282  kexec_file_load 294"""

AF_UNIX = 1
FAMILIES = (AF_UNIX, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: all that a network of one's own needs."""
_SPECIAL = frozenset({"clone", "clone3", "unshare", "ioctl", "socket", "socketpair"})

Instruction = tuple[int, int, int, int]
"""Code, steps when true, steps when false, operand."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of processor as the kernel's filter sees it."""

    audit_arch: int
    """AUDIT_ARCH_* of linux/audit.h."""
    numbers: dict[str, int]
    """System call numbers by name."""
    has_x32: bool = False
    """Whether a second numbering, with bit 30 set, leads to the same calls."""


@lru_cache(maxsize=8)
def seccomp_filter(
    machine_name: str, families: Sequence[int] = FAMILIES, *, local_pairs_only: bool = False
) -> bytes | None:
    """Return the program as `struct sock_filter[]`; None for a processor without a table.

    `families` are the address families that `socket()` gives. With `local_pairs_only` AF_UNIX works for
    `socketpair()` alone, so that nothing can be connected to.
    """
    known = machine(machine_name)
    if known is None:
        return None
    allow, refuse = _give(_ALLOW), _refuse(errno.EPERM)
    program = _entry(known)
    for name, number in sorted(known.numbers.items(), key=lambda item: item[1]):
        if name not in _SPECIAL:
            program += _if_number(number, [refuse])
    sockets = [one for one in families if not (local_pairs_only and one == AF_UNIX)]
    program += _if_number(known.numbers["clone3"], [_refuse(errno.ENOSYS)])
    program += _if_number(known.numbers["clone"], _unless_bits(_ARG0, _NEW_NAMESPACES))
    program += _if_number(known.numbers["unshare"], _unless_bits(_ARG0, _NEW_NAMESPACES | _NEW_TIME))
    program += _if_number(known.numbers["ioctl"], _if_one_of(_ARG1, _TERMINAL_INPUT, refuse, allow))
    program += _if_number(known.numbers["socket"], _if_one_of(_ARG0, sockets, allow, refuse))
    program += _if_number(known.numbers["socketpair"], _if_one_of(_ARG0, families, allow, refuse))
    program.append(allow)
    return b"".join(struct.pack("<HBBI", *one) for one in program)


def _entry(known: Machine) -> list[Instruction]:
    """End programs of another architecture, whose numbers mean other calls, and load the number."""
    program = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, known.audit_arch),
        _give(_KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if known.has_x32:
        program += [(_JSET, 0, 1, _X32_BIT), _refuse(errno.EPERM)]
    return program


def _if_number(number: int, then: list[Instruction]) -> list[Instruction]:
    """`then`, which must end in a return, for this call alone."""
    return [(_JEQ, 0, len(then), number), *then]


def _unless_bits(offset: int, bits: int) -> list[Instruction]:
    return [(_LOAD, 0, 0, offset), (_JSET, 0, 1, bits), _refuse(errno.EPERM), _give(_ALLOW)]


def _if_one_of(
    offset: int, values: Sequence[int], then: Instruction, other: Instruction
) -> list[Instruction]:
    """Each comparison that is true jumps over `other`, which comes first."""
    compared = [(_JEQ, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [(_LOAD, 0, 0, offset), *compared, other, then]


def _refuse(number: int) -> Instruction:
    return _give(_ERRNO | number)


def _give(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def machine(name: str) -> Machine | None:
    """Return the table for what `platform.machine()` gives; None for a processor that has no table here."""
    match name:
        case "x86_64" | "amd64":
            return Machine(0xC000003E, _table(_BOTH + " " + _X86_64), has_x32=True)
        case "aarch64" | "arm64":
            return Machine(0xC00000B7, _table(_BOTH + " " + _AARCH64))
        case _:
            return None


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}
