"""The numbers of the system calls that the sandbox judges, per machine.

Source: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of processor as the kernel's filter sees it."""

    audit_arch: int
    """AUDIT_ARCH_* of linux/audit.h."""
    numbers: dict[str, int]
    """System call numbers by name."""
    has_x32: bool = False
    """Whether a second numbering, with bit 30 set, leads to the same calls."""


def machine(name: str) -> Machine | None:
    """The table for what `platform.machine()` gives; None for a processor that has no table here."""
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
