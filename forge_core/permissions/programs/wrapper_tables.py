"""Which programs run what their arguments name, and how their own words end."""

from __future__ import annotations

import re

from forge_core.permissions.programs.word_sets import table

SHELLS = table("sh bash zsh dash ksh mksh fish ash rbash tcsh csh pwsh su")
INTERPRETERS = table(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh wish expect awk"
    " gawk"
    " mawk nawk sed gsed ed ex vi vim nvim view emacs gdb lldb sqlite3 psql mysql osascript R Rscript julia"
    " ghc"
    " irb ipython jshell groovy scala erl elixir bc dc m4 socat nc ncat tmux screen zip less more man"
)
"""What may run programs by a text among its arguments, in a language of its own."""
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "sudo": (table("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --chdir --prompt --chroot"), 0),
    "doas": (table("-u -C"), 0),
    "env": (table("-u -C --unset --chdir"), 0),
    "nice": (table("-n --adjustment"), 0),
    "ionice": (table("-c -n -p -P -u --class --classdata"), 0),
    "chrt": (table("-p -T -P -D"), 1),
    "timeout": (table("-s -k --signal --kill-after"), 1),
    "gtimeout": (table("-s -k --signal --kill-after"), 1),
    "stdbuf": (table("-i -o -e --input --output --error"), 0),
    "unbuffer": (frozenset(), 0),
    "xargs": (table("-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file --replace"), 0),
    "gxargs": (table("-I -n -P -L -d -a -s -E"), 0),
    "coproc": (frozenset(), 0),
    "pkexec": (table("--user"), 0),
    "runuser": (table("-u -g -G"), 0),
    "setpriv": (table("--reuid --regid --groups"), 0),
    "flock": (table("-w -E --timeout --conflict-exit-code"), 1),
    "taskset": (table("-p"), 1),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (table("-a"), 0),
    "time": (table("-f -o --format --output"), 0),
    "busybox": (frozenset(), 0),
    "toybox": (frozenset(), 0),
    "chroot": (table("--userspec --groups"), 1),
    "unshare": (table("-S -G -R -w --root --wd --setuid --setgid"), 0),
    "nsenter": (table("-t --target -S -G"), 0),
    "prlimit": (table("-p --pid"), 0),
    "strace": (table("-o -e -p -s -u -E -P -O -S -a -b -I"), 0),
    "ltrace": (table("-o -e -p -s -u -n -l -a"), 0),
    "valgrind": (frozenset(), 0),
    "perf": (table("-o -e"), 1),
    "catchsegv": (frozenset(), 0),
    "systemd-run": (table("-p --unit -u --property -E"), 0),
    "dbus-run-session": (frozenset(), 0),
    "firejail": (frozenset(), 0),
    "bwrap": (table("--chdir --setenv --dev --proc --tmpfs --uid --gid"), 0),
    "proxychains": (table("-f"), 0),
    "torsocks": (frozenset(), 0),
    "tsocks": (frozenset(), 0),
    "faketime": (frozenset(), 1),
    "fakeroot": (frozenset(), 0),
    "caffeinate": (table("-t -w"), 0),
    "arch": (frozenset(), 0),
    "setarch": (frozenset(), 1),
    "linux64": (frozenset(), 0),
    "linux32": (frozenset(), 0),
    "cpulimit": (table("-l -p -e"), 0),
    "ts": (frozenset(), 0),
    "then": (frozenset(), 0),
    "do": (frozenset(), 0),
    "else": (frozenset(), 0),
    "elif": (frozenset(), 0),
    "if": (frozenset(), 0),
    "while": (frozenset(), 0),
    "until": (frozenset(), 0),
    "{": (frozenset(), 0),
    "!": (frozenset(), 0),
}
"""Program → its options that take a value, and how many words of its own come before the command."""
FEEDERS = table("xargs gxargs parallel find")
"""They add names to the command that stand nowhere in the line."""
STRING_OPTIONS: dict[str, re.Pattern[str]] = {
    "su": re.compile(r"-\w*c|--command|--session-command"),
    "runuser": re.compile(r"-\w*c|--command"),
    "script": re.compile(r"-\w*c|--command"),
    "flock": re.compile(r"-c|--command"),
    "watch": re.compile(r"-x"),
    "ssh": re.compile(r"-o(?:\w*Command)?"),
    "scp": re.compile(r"-o(?:\w*Command)?|-S"),
    "sftp": re.compile(r"-o(?:\w*Command)?|-S"),
    "split": re.compile(r"--filter"),
    "rsync": re.compile(r"-\w*e|--rsh|--rsync-path"),
    "tar": re.compile(
        r"-\w*[IF]|--(?:to-command|use-compress-program|rsh-command|info-script|new-volume-script"
        r"|checkpoint-action)"
    ),
    "git": re.compile(
        r"-c|-x|-O|--(?:exec|extcmd|upload-pack|receive-pack|open-files-in-pager|config|exec-path|\w+-filter)"
    ),
    "sort": re.compile(r"--compress-p\w*"),
    "rg": re.compile(r"--pre|--hostname-bin"),
    "fd": re.compile(r"-x|-X|--exec|--exec-batch"),
    "make": re.compile(r"--eval"),
    "nix-shell": re.compile(r"--run|--command"),
    "npx": re.compile(r"-c|--call"),
    "npm": re.compile(r"-c|--call"),
    "man": re.compile(r"-P|--pager|-H|--html"),
    "env": re.compile(r"-\w*S|--s[a-z-]*"),
    "nc": re.compile(r"-c|-e"),
    "ncat": re.compile(r"-c|-e|--exec|--sh-exec"),
    "zip": re.compile(r"-TT|--unzip-command"),
    "crontab": re.compile(r"-c"),
    "sysctl": re.compile(r"-w"),
}  # fmt: skip
"""Program → its options whose value is run."""
