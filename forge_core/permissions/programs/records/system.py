"""Programs that change files, disks, accounts and processes."""

from __future__ import annotations

from forge_core.permissions.programs.records.program import Program

# fmt: off
RECORDS = (
    # Programs that change files, disks and processes
    Program("srm trash", ("deletes",)),
    Program("shred", ("destructive", "overwrites", "guarded")),
    Program("truncate", ("destructive", "overwrites")),
    Program("rsync", ("copies_folders", "names_files", "network"),
        script_options=r"-\w*e|--rsh|--rsync-path", risky_options="-e"),
    Program("scp", ("copies_folders", "names_files", "network"), script_options=r"-o(?:\w*Command)?|-S"),
    Program("install", ("names_files",)),
    Program("link", ("names_files",)),
    Program("dd", ("destructive", "guarded", "writes_files")),
    Program("mkfs", ("destructive", "guarded")),
    Program("patch", ("writes_files",)),
    Program("systemctl", ("destructive", "has_subcommands")),
    Program("halt killall pkill poweroff reboot shutdown unlink", ("destructive",)),
    Program("mkdir touch", ("runs_nothing", "only_inside", "writes_files")),
    Program("rm", ("deletes", "destructive", "runs_nothing")),
    Program("mv", ("destructive", "runs_nothing", "names_files")),
    Program("chmod chown", ("destructive", "guarded", "runs_nothing")),
    Program("kill rmdir", ("destructive", "runs_nothing")),
    Program("tee", ("overwrites", "runs_nothing")),
    Program("cp", ("runs_nothing", "names_files")),
    Program("ln", ("runs_nothing", "names_files")),
    Program("split", script_options="--filter"),
    Program("sysctl", script_options="-w"),
)
# fmt: on
