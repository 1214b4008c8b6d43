"""The built-in list of programs that only read, and what makes each of them do more than that."""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.permissions.tables import table


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads, but for some options."""

    short: frozenset[str] = frozenset()
    """Letters of one-letter options that write, run something, or read what is not named."""
    long: frozenset[str] = frozenset()
    """Options of several letters that do; so does each beginning of one."""
    texts: int = 0
    """So many first operands are no paths: a pattern, a program's text."""
    most: int = 1_000
    """More operands than that do more than read."""
    values: frozenset[str] = frozenset()
    """Options whose value, the next word, is no path."""
    beginning: str = ""
    """With what operands that are no paths must begin."""
    is_text: bool = False
    """No operand is a path."""
    is_free: bool = False
    """No option of it does anything else: whatever names a glob or another program gives it are harmless."""


_FREE = table(
    "cat head tail wc ls stat basename dirname cut nl tac rev fold md5sum sha1sum sha224sum sha256sum"
    " sha384sum"
    " sha512sum b2sum cksum cmp comm paste join strings od hexdump readlink realpath du df"
)
_PRINTERS = table(
    "echo true false : pwd whoami id groups uptime nproc arch uname seq sleep expr printenv locale getconf"
    " free"
    " lscpu cal tty exit return break continue"
)

READERS = {
    **{name: Reader(is_free=True) for name in _FREE},
    **{name: Reader(is_text=True, is_free=True) for name in _PRINTERS},
    "[": Reader(short=frozenset("vR"), is_free=False),
    "test": Reader(short=frozenset("vR")),
    "printf": Reader(short=frozenset("v"), is_text=True),
    "which": Reader(is_text=True),
    "type": Reader(is_text=True),
    "whereis": Reader(is_text=True),
    "hostname": Reader(most=0, short=frozenset("FbB")),
    "date": Reader(
        short=frozenset("sf"), long=table("--set --file"), is_text=True, beginning="+", values=table("-d -r")
    ),
    "ps": Reader(is_text=True),
    "tr": Reader(is_text=True),
    "env": Reader(most=0, long=table("--split-string --chdir")),
    "file": Reader(short=frozenset("CmzZf"), long=table("--compile --magic-file --uncompress --files-from")),
    "sort": Reader(
        short=frozenset("oT"),
        long=table("--output --compress-program --temporary-directory --files0-from"),
        values=table("-k -t -S"),
    ),
    "uniq": Reader(most=1, values=table("-f -s -w")),
    "diff": Reader(
        short=frozenset("l"), long=table("--paginate"), values=table("-U -C -I -x -W -F --label -L")
    ),
    "column": Reader(values=table("-s -o -c -N -R")),
    "tree": Reader(short=frozenset("oR"), long=table("--fromfile"), values=table("-I -P -L")),
    "xxd": Reader(most=1, short=frozenset("r"), values=table("-l -s -c -g")),
    "jq": Reader(
        short=frozenset("fL"),
        long=table("--from-file --library-path"),
        texts=1,
        values=table("--arg --argjson"),
    ),
    "grep": Reader(
        short=frozenset("f"),
        long=table("--file"),
        texts=1,
        is_free=True,
        values=table("-e -A -B -C -m --include --exclude --exclude-dir --regexp"),
    ),
    "rg": Reader(
        short=frozenset("zf"),
        long=table("--pre --pre-glob --hostname-bin --search-zip --file --ignore-file --hyperlink-format"),
        texts=1,
        values=table(
            "-e -A -B -C -m -g -t -T -M -j -r --glob --iglob --type --type-not --max-count --sort"
            " --regexp --context --color --max-depth"
        ),
    ),
    "fd": Reader(
        short=frozenset("xXl"),
        long=table("--exec --exec-batch --list-details"),
        texts=1,
        values=table("-e -t -E -d --extension --type --exclude --max-depth"),
    ),
    "awk": Reader(
        short=frozenset("fiElopdDW"),
        long=table("--file --include --exec --load --dump-variables --pretty-print --profile --debug"),
        texts=1,
        values=table("-F -v"),
    ),
    "sed": Reader(
        short=frozenset("isfIw"), long=table("--in-place --file --separate"), texts=1, values=table("-e")
    ),
    "cut": Reader(is_free=True, values=table("-d -f -c -b")),
    "find": Reader(),
    "git": Reader(),
    "cd": Reader(most=1),
}
READERS |= {
    alias: READERS[name]
    for alias, name in (
        ("egrep", "grep"), ("fgrep", "grep"), ("fdfind", "fd"), ("gawk", "awk"), ("mawk", "awk"),
    )
}  # fmt: skip

VERSIONS = table(
    "python python3 node npm npx pnpm yarn pip pip3 uv go cargo rustc rustup gcc g++ clang cc make cmake java"
    " javac ruby gem perl php deno bun tsc docker rg pytest ruff mypy black poetry bash git jq curl dotnet"
    " kotlin swift terraform kubectl helm gh fd tree sqlite3 psql ffmpeg"
)
"""Programs that may be asked for their version."""
VERSION_WORDS = table("--version -V version")

LISTINGS = frozenset(
    {
        ("pip", "list"), ("pip", "show"), ("pip", "freeze"),
        ("pip3", "list"), ("pip3", "show"), ("pip3", "freeze"),
        ("npm", "ls"), ("npm", "list"), ("go", "version"), ("go", "env"), ("rustup", "show"),
    }
)  # fmt: skip
"""Program and subcommand that only list what is installed; plain names may follow."""

FIND_TESTS = table(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size"
    " -empty"
    " -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -newermt -user -group -perm -links -inum"
    " -print -print0 -prune -not -and -or -a -o ! ( ) -depth -d -xdev -mount -follow -L -H -P -ls -printf"
    " -quit"
    " -true -false -readable -writable -executable -regextype -samefile -daystart -noleaf -E -,"
)
FIND_VALUES = table(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size"
    " -mtime"
    " -atime -ctime -mmin -amin -cmin -newermt -user -group -perm -links -inum -printf -regextype"
)
