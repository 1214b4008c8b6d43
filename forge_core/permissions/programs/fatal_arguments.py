"""Arguments with which programs destroy disks, storage pools or keys, keep the machine from starting, or stop
it: what the guard denies in every mode. With other arguments these programs show, check or create."""

from __future__ import annotations

import re
from dataclasses import dataclass

from forge_core.permissions.programs.word_sets import table

_HELP = r"--help|--version|--usage|-h|-V"


@dataclass(frozen=True, slots=True)
class Fatal:
    """What a program destroys, and the arguments with which it does so."""

    arguments: re.Pattern[str]
    """Searched for in the arguments, joined by blanks."""
    effect: str


def _unless(options: str = "", *, helps: str = _HELP) -> str:
    """Return the pattern of arguments among which none of these options is."""
    return rf"^(?!(?:.* )?(?:{helps}{'|' if options else ''}{options})(?:[ =]|$))"


def _any(words: str) -> str:
    """Return the pattern of arguments among which one of these words is."""
    return rf"(?:^| )(?:{words})(?:[ =]|$)"


_DISK, _POOL, _KEYS = "destroys what is on a disk", "destroys a storage pool", "destroys keys or accounts"
_BOOT, _STOP = "can keep the machine from starting", "stops the machine or ends the session"
_STATES = "poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency|exit"

_ROWS = (
    ("mkfs mke2fs mkdosfs mkntfs newfs newfs_msdos newfs_apfs mkswap", _DISK, _unless("-n|-N")),
    ("fdisk cfdisk gdisk cgdisk", _DISK, _unless("-l|--list|-s|-x|--list-details")),
    ("sfdisk", _DISK, _unless("-l|--list|-d|--dump|-J|--json|-s|-V|--verify|-F|-T|-n|--no-act")),
    ("parted", _DISK, _any("mklabel|mktable|mkpart|rm|resizepart|rescue|mkfs|mkpartfs|set|move")),
    ("sgdisk", _DISK, r"(?:^| )-[A-Za-z]*[ZzodngGlRrtu]|" + _any(
        "--zap|--zap-all|--clear|--delete|--new|--largest-new|--load-backup|--replicate|--mbrtogpt")),
    ("wipefs", _DISK, r"(?:^| )-[a-z]*[ao]|" + _any("--all|--offset")),
    ("blkdiscard nwipe scrub flash_erase flash_eraseall nandwrite sg_sanitize sg_unmap sg_write_same"
     " format.com", _DISK, _unless()),
    ("sg_format", _DISK, _any("-F|--format|--six")),
    ("badblocks", _DISK, r"(?:^| )-[a-z]*w"),
    ("hdparm", _DISK, _any("--security-erase|--security-erase-enhanced|--security-set-pass|--write-sector"
        "|--trim-sector-ranges|--trim-sector-ranges-stdin|--sanitize-[a-z-]*|--make-bad-sector|-N|--fwdownload")),
    ("nvme", _DISK, r"^(?:format|sanitize|delete-ns|detach-ns|write|write-zeroes|write-uncor|dsm|fw-commit"
        r"|zns reset-zone)\b"),
    ("cryptsetup", _DISK,
        _any("luks(?:Format|Erase|KillSlot|RemoveKey|HeaderRestore)|erase|reencrypt|format")),
    ("diskutil", _DISK, r"(?i)(?:^| )(?:erase|zero|random|secureErase|partition|reformat|delete|destroy)"),
    ("debugfs", _DISK, r"(?:^| )-[a-z]*w"),
    ("xfs_repair", _DISK, r"(?:^| )-[a-z]*L"),
    ("zpool", _POOL, r"^(?:destroy|labelclear)\b|^create\b.*(?:^| )-f"),
    ("zfs", _POOL, r"^destroy\b(?!.* -\w*n)|^rollback\b.* -\w*[rR]|^(?:receive|recv)\b.* -\w*F"),
    ("lvremove vgremove pvremove lvreduce", _POOL, _unless("-t|--test")),
    ("lvm", _POOL, r"^(?:lvremove|vgremove|pvremove|lvreduce)\b"),
    ("mdadm", _POOL, r"(?:^| )-[a-z]*[CS]|" + _any("--zero-superblock|--create|--stop|--build")),
    ("btrfs", _POOL, r"^(?:su\w* de\w*|dev\w* (?:rem\w*|del\w*)|check .*--(?:repair|init-\S+)|rescue)\b"),
    ("bcachefs", _POOL, r"^(?:format|device (?:remove|evacuate))\b"),
    ("dmsetup", _POOL, r"^(?:remove|remove_all|wipe_table|clear)\b"),
    ("ceph", _POOL, r"\b(?:osd pool (?:delete|rm)|osd (?:destroy|purge|lost|rm)|fs rm|fs reset)\b"),
    ("rados", _POOL, r"\b(?:purge|rmpool|cleanup)\b"),
    ("rbd", _POOL, _any("rm|remove|trash purge")),
    ("gluster", _POOL, r"\bvolume (?:delete|reset-brick|remove-brick)\b"),
    ("stratis", _POOL, r"\b(?:pool|filesystem|fs) destroy\b"),
    ("vdo", _POOL, r"^remove\b"),
    ("drbdadm", _POOL, r"\b(?:wipe-md|create-md|invalidate)\b"),
    ("gpg gpg2", _KEYS, r"(?:^| )--delete-(?:secret|keys)"),
    ("pass gopass", _KEYS, r"^(?:rm|remove|delete)\b"),
    ("security", _KEYS, r"^delete-"),
    ("userdel", _KEYS, r"(?:^| )(?:-\w*r|--remove)"),
    ("deluser", _KEYS, r"(?:^| )--remove-(?:home|all-files)"),
    ("efibootmgr", _BOOT, r"(?:^| )(?:-\w*[BOo]|--delete-\w+|--remove-dups)"),
    ("bootctl", _BOOT, r"(?:^| )remove(?: |$)"),
    ("update-initramfs", _BOOT, r"(?:^| )-\w*d"),
    ("apt apt-get dnf yum pacman zypper", _BOOT,
        r"^(?:\S+ )*(?:remove|purge|autopurge|erase|-R\w*) (?:\S+ )*"
        r"(?:linux-image|kernel|linux|grub|systemd)(?:[-\s]|$)"),
    ("nvram", _BOOT, r"(?:^| )-c"),
    ("flashrom", _BOOT, r"(?:^| )(?:-\w*[wE]|--write|--erase)"),
    ("shutdown", _STOP, _unless("-c|-k|--show", helps="--help|--version|--usage|-V")),
    ("poweroff reboot halt", _STOP, _unless("-w|--wtmp-only", helps="--help|--version|--usage|-V")),
    ("openrc-shutdown", _STOP, _unless("-c|--cancel|-D")),
    ("init telinit runit-init", _STOP, r"(?:^| )(?:[0-6sS]|emergency|rescue)$"),
    ("systemctl", _STOP, rf"^(?:-\S+ )*(?:{_STATES}|(?:isolate|start|restart) (?:-\S+ )*(?:{_STATES}|shutdown"
        r"|runlevel[016])\.target)(?: |$)"),
    ("loginctl", _STOP, r"^(?:-\S+ )*(?:poweroff|reboot|halt|terminate-\w+|kill-\w+)(?: |$)"),
    ("kexec", _STOP, r"(?:^| )(?:-\w*e|--exec|-f|--force)"),
    ("rtcwake", _STOP, r"(?:^| )(?:-m ?|--mode[ =])(?:off|disk)"),
    ("busctl dbus-send gdbus qdbus", _STOP, r"\b(?:PowerOff|Reboot|Halt|KExec|Shutdown)\w*\b"),
    ("osascript", _STOP, r"(?i)\b(?:shut down|restart|log out)\b"),
    ("wsl wsl.exe", _STOP, r"(?:^| )(?:--shutdown|--unregister)"),
)  # fmt: skip
FATAL = {
    name: Fatal(re.compile(pattern), effect) for names, effect, pattern in _ROWS for name in names.split()
}
"""Program → what of it the guard denies. `mkfs` stands for `mkfs.ext4` and the others too."""
FATAL_BEHIND_OTHERS = table(
    "wipefs zpool zfs lvremove vgremove pvremove blkdiscard cryptsetup mdadm sgdisk nvme btrfs"
)
"""Of these, those whose name as an argument of an unknown program is most likely a command."""
