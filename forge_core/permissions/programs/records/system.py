"""Programs that change files, disks, accounts and processes."""

from __future__ import annotations

import re

from forge_core.permissions.programs.records.program import Fatal, Program, Remote

_HELP = r"--help|--version|--usage|-h|-V"


def _unless(options: str = "", *, helps: str = _HELP) -> str:
    """Return the pattern of arguments among which none of these options is."""
    return rf"^(?!(?:.* )?(?:{helps}{'|' if options else ''}{options})(?:[ =]|$))"


def _any(words: str) -> str:
    """Return the pattern of arguments among which one of these words is."""
    return rf"(?:^| )(?:{words})(?:[ =]|$)"


_DISK, _POOL, _KEYS = "destroys what is on a disk", "destroys a storage pool", "destroys keys or accounts"
_BOOT, _STOP = "can keep the machine from starting", "stops the machine or ends the session"
_STATES = (
    "poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency|exit|suspend|hibernate|hybrid-sleep"
    "|suspend-then-hibernate"
)
_ON_DEVICE = r"(?:^|[ =])(?:/dev/|r?disk\d)"
_HISTORY = "rewrites the history"
_KERNEL = (
    r"^(?:\S+ )*(?:remove|purge|autopurge|erase|-R\w*) (?:\S+ )*(?:linux-image|kernel|linux|grub|systemd)"
    r"(?:[-\s]|$)"
)


def _fatal(effect: str, arguments: str) -> Fatal:
    return Fatal(re.compile(arguments), effect)


# fmt: off
RECORDS = (
    # Programs that change files, disks and processes
    Program("srm trash", ("deletes",)),
    Program("shred", ("destructive", "overwrites", "guarded")),
    Program("truncate", ("destructive", "overwrites")),
    Program("rsync", ("copies_folders", "names_files", "network"),
        script_options=r"-\w*e|--rsh|--rsync-path", risky_options="-e",
        following_options="-[A-Za-z]*[Lk][A-Za-z]*|--copy-(?:dir|unsafe-)?links"),
    Program("scp", ("copies_folders", "names_files", "network"), script_options=r"-o(?:\w*Command)?|-S",
        following_options="-[A-Za-z]*r[A-Za-z]*"),
    Program("install", ("names_files",)),
    Program("link", ("names_files",)),
    Program("dd", ("destructive", "guarded", "writes_files")),
    Program("patch", ("writes_files",)),
    Program("killall pkill unlink", ("destructive",)),
    Program("mkdir touch", ("runs_nothing", "only_inside", "writes_files")),
    Program("rm", ("deletes", "destructive", "runs_nothing")),
    Program("mv", ("destructive", "runs_nothing", "names_files")),
    Program("chmod chown", ("destructive", "guarded", "runs_nothing")),
    Program("kill rmdir", ("destructive", "runs_nothing")),
    Program("tee", ("overwrites", "runs_nothing")),
    Program("cp", ("runs_nothing", "names_files"), following_options="-[A-Za-z]*[HL][A-Za-z]*|--dereference"),
    Program("ln", ("runs_nothing", "names_files")),
    Program("split", script_options="--filter"),
    Program("sysctl", script_options="-w"),
    # Programs that can destroy disks, pools, keys or accounts, or stop the machine
    Program("mkfs", ("destructive", "guarded"), fatal=_fatal(_DISK, _unless("-n|-N"))),
    Program("mke2fs mkdosfs mkntfs newfs newfs_msdos newfs_apfs mkswap",
        fatal=_fatal(_DISK, _unless("-n|-N"))),
    Program("fdisk cfdisk gdisk cgdisk", fatal=_fatal(_DISK, _unless("-l|--list|-s|-x|--list-details"))),
    Program("sfdisk",
        fatal=_fatal(_DISK, _unless("-l|--list|-d|--dump|-J|--json|-s|-V|--verify|-F|-T|-n|--no-act"))),
    Program("parted",
        fatal=_fatal(_DISK, _any("mklabel|mktable|mkpart|rm|resizepart|rescue|mkfs|mkpartfs|set|move"
            "|name|toggle|type"))),
    Program("sgdisk", ("guarded",),
        fatal=_fatal(_DISK, r"(?:^| )-[A-Za-z]*[ZzodngGlRrtu]|" + _any(
            "--zap|--zap-all|--clear|--delete|--new|--largest-new|--load-backup|--replicate|--mbrtogpt"))),
    Program("wipefs", ("guarded",), fatal=_fatal(_DISK, r"(?:^| )-[a-z]*[ao]|" + _any("--all|--offset"))),
    Program("blkdiscard", ("guarded",), fatal=_fatal(_DISK, _unless())),
    Program("nwipe scrub flash_erase flash_eraseall nandwrite sg_sanitize sg_unmap sg_write_same format.com",
        fatal=_fatal(_DISK, _unless())),
    Program("sg_format", fatal=_fatal(_DISK, _any("-F|--format|--six"))),
    Program("badblocks", fatal=_fatal(_DISK, r"(?:^| )-[a-z]*w")),
    Program("hdparm",
        fatal=_fatal(_DISK,
            _any("--security-erase|--security-erase-enhanced|--security-set-pass|--write-sector"
            "|--trim-sector-ranges|--trim-sector-ranges-stdin|--sanitize-[a-z-]*"
            "|--make-bad-sector|-N|--fwdownload"))),
    Program("nvme", ("guarded",),
        fatal=_fatal(_DISK,
            r"^(?:format|sanitize|delete-ns|detach-ns|write|write-zeroes|write-uncor|dsm|fw-commit"
            r"|zns reset-zone)\b")),
    Program("cryptsetup", ("guarded",),
        fatal=_fatal(_DISK,
            _any("luks(?:Format|Erase|KillSlot|RemoveKey|HeaderRestore)|erase|reencrypt|format"))),
    Program("diskutil",
        fatal=_fatal(_DISK,
            r"(?i)(?:^| )(?:erase|zero|random|secureErase|partition|reformat|delete|destroy)")),
    # Repairing, resizing and changing a file system: of a device, not of an image in a file.
    Program("e2fsck fsck",
        fatal=_fatal(_DISK, rf"(?:^| )-\w*[yap](?=[ \w]).*{_ON_DEVICE}|{_ON_DEVICE}.* -\w*[yap]"
            r"|(?:^| )-\w*A\w* .*-\w*y|(?:^| )-\w*y\w* .*-\w*A")),
    Program("dosfsck fsck_apfs fsck_hfs",
        fatal=_fatal(_DISK, rf"(?:^| )-\w*[yaprw].*{_ON_DEVICE}|{_ON_DEVICE}.* -\w*[yaprw]")),
    Program("tune2fs",
        fatal=_fatal(_DISK, rf"^(?!(?:.* )?-l(?: |$)).*{_ON_DEVICE}.* -|(?:^| )-[^l].*{_ON_DEVICE}")),
    Program("resize2fs ntfsresize",
        fatal=_fatal(_DISK, rf"{_unless('-n|-i|-c|--info|--check|--no-action|-P')}(?=.*{_ON_DEVICE})")),
    Program("e2image", fatal=_fatal(_DISK, rf"(?:^| )-\w*I.*{_ON_DEVICE}|{_ON_DEVICE}.* /dev/")),
    Program("zerofree btrfs-convert btrfstune xfs_admin",
        fatal=_fatal(_DISK, rf"{_unless('-n|-l|-u|-lu|-ul')}(?=.*{_ON_DEVICE})")),
    Program("debugfs", fatal=_fatal(_DISK, r"(?:^| )-[a-z]*w")),
    Program("xfs_repair", fatal=_fatal(_DISK, r"(?:^| )-[a-z]*L")),
    Program("zpool", ("guarded",), fatal=_fatal(_POOL, r"^(?:destroy|labelclear)\b|^create\b.*(?:^| )-f")),
    Program("zfs", ("guarded",),
        fatal=_fatal(_POOL, r"^destroy\b(?!.* -\w*n)|^rollback\b.* -\w*[rR]|^(?:receive|recv)\b.* -\w*F")),
    Program("lvremove vgremove pvremove", ("guarded",), fatal=_fatal(_POOL, _unless("-t|--test"))),
    Program("lvreduce", fatal=_fatal(_POOL, _unless("-t|--test"))),
    Program("lvm", fatal=_fatal(_POOL, r"^(?:lvremove|vgremove|pvremove|lvreduce)\b")),
    Program("mdadm", ("guarded",),
        fatal=_fatal(_POOL, r"(?:^| )-[a-z]*[CS]|" + _any("--zero-superblock|--create|--stop|--build"))),
    Program("btrfs", ("guarded",),
        fatal=_fatal(_POOL,
            r"^(?:su\w* de\w*|dev\w* (?:rem\w*|del\w*)|check .*--(?:repair|init-\S+)|rescue)\b")),
    Program("bcachefs", fatal=_fatal(_POOL, r"^(?:format|device (?:remove|evacuate))\b")),
    Program("dmsetup", fatal=_fatal(_POOL, r"^(?:remove|remove_all|wipe_table|clear)\b")),
    Program("ceph",
        fatal=_fatal(_POOL, r"\b(?:osd pool (?:delete|rm)|osd (?:destroy|purge|lost|rm)|fs rm|fs reset)\b")),
    Program("rados", fatal=_fatal(_POOL, r"\b(?:purge|rmpool|cleanup)\b")),
    Program("rbd", fatal=_fatal(_POOL, _any("rm|remove|trash purge"))),
    Program("gluster", fatal=_fatal(_POOL, r"\bvolume (?:delete|reset-brick|remove-brick)\b")),
    Program("stratis", fatal=_fatal(_POOL, r"\b(?:pool|filesystem|fs) destroy\b")),
    Program("vdo", fatal=_fatal(_POOL, r"^remove\b")),
    Program("drbdadm", fatal=_fatal(_POOL, r"\b(?:wipe-md|create-md|invalidate)\b")),
    Program("git-filter-repo git-filter-branch bfg", fatal=_fatal(_HISTORY, _unless())),
    Program("gpg gpg2", fatal=_fatal(_KEYS, r"(?:^| )--delete-(?:secret|keys)")),
    Program("pass gopass", fatal=_fatal(_KEYS, r"^(?:rm|remove|delete)\b")),
    Program("security", fatal=_fatal(_KEYS, r"^delete-")),
    Program("userdel deluser groupdel delgroup chpasswd chgpasswd newusers vipw vigr",
        fatal=_fatal(_KEYS, _unless())),
    Program("passwd", fatal=_fatal(_KEYS, _unless("-S|-Sa|-aS|--status"))),
    Program("usermod",
        fatal=_fatal(_KEYS, r"(?:^| )-[aGgmo]*[LUpesdlu]\w*(?: |$)|" + _any(
            "--lock|--unlock|--password|--expiredate|--shell|--login|--uid|--home|--move-home"))),
    Program("gpasswd", fatal=_fatal(_KEYS, _any("-d|-r|-R|-A|-M|--delete|--remove-password|--restrict"))),
    Program("chage", fatal=_fatal(_KEYS, r"(?:^| )(?:-\w*[EI]|--expiredate|--inactive)")),
    Program("visudo", fatal=_fatal(_KEYS, _unless("-c|-cf|--check"))),
    Program("pw", fatal=_fatal(_KEYS, r"^(?:(?:user|group)(?:del|mod)|lock|user del|group del)\b")),
    Program("dscl", fatal=_fatal(_KEYS, r"(?:^| )-?(?:delete|passwd|change)\b")),
    Program("sysadminctl", fatal=_fatal(_KEYS, r"(?i)(?:^| )-(?:deleteUser|resetPasswordFor)")),
    Program("homectl", fatal=_fatal(_KEYS, r"^(?:-\S+ )*(?:remove|deactivate-all|lock-all)(?: |$)")),
    Program("efibootmgr",
        fatal=_fatal(_BOOT, r"(?:^| )(?:-\w*[BOonNcC]|--delete-\w+|--remove-dups|--create|--bootnext)")),
    Program("grub-install grub2-install extlinux syslinux lilo", fatal=_fatal(_BOOT, _unless())),
    Program("grubby", fatal=_fatal(_BOOT, r"(?:^| )--remove-kernel")),
    Program("kernel-install", fatal=_fatal(_BOOT, r"^(?:-\S+ )*remove(?: |$)")),
    Program("bcdedit bcdedit.exe", fatal=_fatal(_BOOT, r"(?i)(?:^| )/(?:delete|deletevalue|import)")),
    Program("mokutil", fatal=_fatal(_BOOT, r"(?:^| )--(?:reset|delete|disable-validation)")),
    Program("bootctl", fatal=_fatal(_BOOT, r"(?:^| )remove(?: |$)")),
    Program("update-initramfs", fatal=_fatal(_BOOT, r"(?:^| )-\w*d")),
    Program("apt apt-get dnf yum", ("has_subcommands",), fatal=_fatal(_BOOT, _KERNEL)),
    Program("pacman zypper", fatal=_fatal(_BOOT, _KERNEL)),
    Program("nvram", fatal=_fatal(_BOOT, r"(?:^| )-c")),
    Program("flashrom", fatal=_fatal(_BOOT, r"(?:^| )(?:-\w*[wE]|--write|--erase)")),
    Program("shutdown", ("destructive",),
        fatal=_fatal(_STOP, _unless("-c|-k|--show", helps="--help|--version|--usage|-V"))),
    Program("poweroff reboot halt", ("destructive",),
        fatal=_fatal(_STOP, _unless("-w|--wtmp-only", helps="--help|--version|--usage|-V"))),
    Program("openrc-shutdown", fatal=_fatal(_STOP, _unless("-c|--cancel|-D"))),
    Program("init telinit runit-init", fatal=_fatal(_STOP, r"(?:^| )(?:[0-6sS]|emergency|rescue)$")),
    Program("systemctl", ("destructive", "has_subcommands"),
        fatal=_fatal(_STOP,
            rf"^(?:-\S+ )*(?:{_STATES}|(?:isolate|start|restart) (?:-\S+ )*(?:{_STATES}|shutdown"
            r"|runlevel[016])\.target)(?: |$)")),
    Program("loginctl",
        fatal=_fatal(_STOP, r"^(?:-\S+ )*(?:poweroff|reboot|halt|terminate-\w+|kill-\w+)(?: |$)")),
    Program("kexec", fatal=_fatal(_STOP, r"(?:^| )(?:-\w*e|--exec|-f|--force)")),
    Program("rtcwake", fatal=_fatal(_STOP, r"(?:^| )(?:-m ?|--mode[ =])(?:off|disk)")),
    Program("busctl dbus-send gdbus qdbus",
        fatal=_fatal(_STOP, r"\b(?:PowerOff|Reboot|Halt|KExec|Shutdown)\w*\b")),
    Program("osascript", ("interpreter",), fatal=_fatal(_STOP, r"(?i)\b(?:shut down|restart|log out)\b")),
    Program("launchctl", fatal=_fatal(_STOP, r"^(?:reboot|bootout (?:gui|user|login)/\d+$)")),
    Program("ipmitool ipmi-power ipmi-chassis",
        fatal=_fatal(_STOP, r"(?i)(?:^| )(?:chassis |power )?power (?:off|cycle|reset|soft|diag)(?: |$)"
            r"|(?:^| )--(?:off|cycle|reset|pulse|soft)(?: |$)|--chassis-control=(?!POWER-UP)")),
    Program("racadm", fatal=_fatal(_STOP, r"(?i)\bserveraction (?!power(?:up|status))")),
    Program("pm-suspend pm-hibernate pm-powersave", fatal=_fatal(_STOP, _unless())),
    Program("pmset", fatal=_fatal(_STOP, _any("sleepnow|restartnow|shutdownnow|haltnow"))),
    Program("molly-guard", fatal=_fatal(_STOP, _any("reboot|poweroff|halt|shutdown"))),
    Program("shutdown.exe", fatal=_fatal(_STOP, r"(?i)(?:^| )[-/](?:s|r|g|p|h|l|sg)(?: |$)")),
    Program("wsl wsl.exe", remote=Remote("du", "--distribution --user --cd", operands=0),
        fatal=_fatal(_STOP, r"(?:^| )(?:--shutdown|--unregister)")),
)
# fmt: on
