"""What Forge knows about each program, in one record for the parser, the guard, the rules and plain reading.

To teach Forge a program, add or extend its record. The tables below the records are made from them, one for
each question; nothing else names programs, apart from what only one program has (git in
`git_command_line.py`, the expressions of find and test where they are read).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.programs.word_sets import table

Trait: TypeAlias = Literal[
    "adds_arguments",
    "checker",
    "copies_folders",
    "declares",
    "deletes",
    "destructive",
    "filter",
    "glue",
    "guarded",
    "harmless_wrapper",
    "interpreter",
    "long_options_with_one_dash",
    "multicall",
    "names_files",
    "network",
    "only_inside",
    "only_prints",
    "overwrites",
    "reads_folders",
    "has_subcommands",
    "runs_input",
    "runs_its_file",
    "runs_nothing",
    "runs_scripts",
    "script_after_subcommand",
    "shell",
    "short_config_options",
    "writes_files",
]
"""A fact about a program; each is documented at the table that is made from it."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program that runs another command is called."""

    value_options: str = ""
    """Its options that take the next word as their value, separated by blanks."""
    operands: int = 0
    """How many words of its own come before the command."""


@dataclass(frozen=True, slots=True)
class Program:
    """The record of one program, or of several that are alike. Lists of words are separated by blanks."""

    names: str
    traits: tuple[Trait, ...] = ()
    wrapper: Wrapper | None = None
    read_only: ArgumentSpec | None = None
    """The exact arguments with which it only reads."""
    version: str = ""
    """The arguments, each by itself, for which it prints its version and does nothing else."""
    listings: str = ""
    """Subcommands that only list what is installed; plain names may follow."""
    script_options: str = ""
    """A pattern for the options whose value it runs as a command."""
    risky_options: str | None = None
    """Its short options that run a program or write a file; None when they are not known."""
    running_words: str = ""
    """Words among its arguments that make it run other programs."""
    destructive_words: str = ""
    """Subcommands that delete, rewrite or publish."""
    recursive_options: str = ""
    """A pattern for the options with which it goes through folders."""
    writing_options: str = ""
    """A pattern for the options with which it writes files that its words name."""
    hidden_file_options: str = ""
    """A pattern for the options with which a search reads files that are not named, hidden ones too."""


_GREP = ArgumentSpec(
    "rnivwxclLohHEFGPsqabzyT",
    "e:T A:N B:N C:N m:N",
    "--include:G --exclude:G --exclude-dir:G --regexp:T --color --color=K --recursive --line-number"
    " --ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches"
    " --files-without-match --only-matching --no-filename --with-filename --extended-regexp --fixed-strings"
    " --basic-regexp --perl-regexp --no-messages --quiet --silent --text --null --max-count:N --byte-offset"
    " --after-context:N --before-context:N --context:N",
    texts=1,
    instead="-e --regexp",
    has_digits=True,
)
_SUMS = ArgumentSpec("bt", long="--binary --text --tag")
_LIST = ArgumentSpec(
    "ABCFGNQRSUXabcdfghiklmnopqrstuvxZ1",
    "I:G w:N T:N",
    "--all --almost-all --color --color=K --human-readable --recursive --directory --reverse --inode --size"
    " --group-directories-first --sort=K --time=K --time-style=T --full-time --format=K --classify --no-group"
    " --file-type --numeric-uid-gid --ignore=G --hide=G --si --author",
    is_free=True,
)

# fmt: off
_RECORDS = (
    # Shells
    Program("su", ("destructive", "shell"), script_options=r"-\w*c|--command|--session-command"),
    Program("bash", ("shell",), version="--version"),
    Program("ash csh dash fish ksh mksh pwsh rbash sh tcsh zsh", ("shell",)),
    # Interpreters, and editors, debuggers and pagers that can run programs
    Program("sed", ("filter", "interpreter"),
        read_only=ArgumentSpec("nErus", long="--quiet --silent --regexp-extended", texts=1),
        risky_options="-i -f", writing_options="-[A-Za-z]*i.*|--in-place.*"),
    Program("perl", ("interpreter",), version="--version", risky_options="-e -i",
        writing_options="-[A-Za-z]*i.*"),
    Program("man", ("runs_nothing", "interpreter"), script_options="-P|--pager|-H|--html"),
    Program("zip", ("copies_folders", "checker", "interpreter"), script_options="-TT|--unzip-command"),
    Program("nc", ("interpreter", "network"), script_options="-c|-e"),
    Program("ncat", ("interpreter", "network"), script_options="-c|-e|--exec|--sh-exec"),
    Program("awk gawk mawk nawk", ("filter", "interpreter"), risky_options="-E -f -i -l -o"),
    Program("gsed", ("filter", "interpreter"), risky_options="-i -f"),
    Program("bun", ("interpreter", "script_after_subcommand", "runs_scripts")),
    Program("deno", ("interpreter", "script_after_subcommand"), version="--version"),
    Program("R", ("interpreter", "script_after_subcommand")),
    Program("python python3", ("interpreter",), version="--version -V"),
    Program("node", ("interpreter",), version="--version -v"),
    Program("ruby", ("interpreter",), version="--version", writing_options="-[A-Za-z]*i.*"),
    Program("Rscript bc dc ed elixir emacs erl ex expect gdb ghc groovy ipython irb jshell julia less"
        " lldb lua luajit m4 more mysql nodejs nvim osascript php psql pypy pypy3 python2 scala screen"
        " socat sqlite3 tclsh tmux vi view vim wish", ("interpreter",)),
    Program(". source", ("runs_its_file", "runs_input")),
    Program("ts-node tsx", ("runs_its_file",)),
    Program("java", ("long_options_with_one_dash",)),
    # Programs that run what they are given as text
    Program("make", ("runs_input",), version="--version", script_options="--eval", risky_options="-C -I -f"),
    Program("crontab", ("destructive", "runs_input"), script_options="-c"),
    Program("at batch eval gmake", ("runs_input",)),
    # Programs and keywords that run the command behind them
    Program("command", ("harmless_wrapper",), wrapper=Wrapper(),
        read_only=ArgumentSpec("vV", operands="texts")),
    Program("env", wrapper=Wrapper("--chdir --unset -C -u"), read_only=ArgumentSpec(operands="none"),
        script_options=r"-\w*S|--s[a-z-]*"),
    Program("arch", wrapper=Wrapper(), read_only=ArgumentSpec(operands="none")),
    Program("runuser", wrapper=Wrapper("-G -g -u"), script_options=r"-\w*c|--command"),
    Program("flock", wrapper=Wrapper("--conflict-exit-code --timeout -E -w", operands=1),
        script_options="-c|--command"),
    Program("sudo", ("destructive",),
        wrapper=Wrapper("--chdir --chroot --group --host --prompt --user -C -D -R -T -U -g -h -p -r -t -u")),
    Program("doas", ("destructive",), wrapper=Wrapper("-C -u")),
    Program("xargs", ("adds_arguments",),
        wrapper=Wrapper("--arg-file --delimiter --max-args --max-procs --replace -E -I -L -P -a -d -n -s")),
    Program("gxargs", ("adds_arguments",), wrapper=Wrapper("-E -I -L -P -a -d -n -s")),
    Program("!", ("harmless_wrapper",), wrapper=Wrapper()),
    Program("nice", ("harmless_wrapper",), wrapper=Wrapper("--adjustment -n")),
    Program("stdbuf", ("harmless_wrapper",), wrapper=Wrapper("--error --input --output -e -i -o")),
    Program("time", ("harmless_wrapper",), wrapper=Wrapper("--format --output -f -o")),
    Program("gtimeout timeout", ("harmless_wrapper",),
        wrapper=Wrapper("--kill-after --signal -k -s", operands=1)),
    Program("busybox toybox", ("multicall",), wrapper=Wrapper()),
    Program("builtin catchsegv coproc dbus-run-session do elif else fakeroot firejail if linux32 linux64"
        " nohup setsid then torsocks ts tsocks unbuffer until valgrind while {", wrapper=Wrapper()),
    Program("faketime setarch", wrapper=Wrapper(operands=1)),
    Program("bwrap", wrapper=Wrapper("--chdir --dev --gid --proc --setenv --tmpfs --uid")),
    Program("ionice", wrapper=Wrapper("--class --classdata -P -c -n -p -u")),
    Program("setpriv", wrapper=Wrapper("--groups --regid --reuid")),
    Program("chroot", wrapper=Wrapper("--groups --userspec", operands=1)),
    Program("prlimit", wrapper=Wrapper("--pid -p")),
    Program("systemd-run", wrapper=Wrapper("--property --unit -E -p -u")),
    Program("unshare", wrapper=Wrapper("--root --setgid --setuid --wd -G -R -S -w")),
    Program("nsenter", wrapper=Wrapper("--target -G -S -t")),
    Program("pkexec", wrapper=Wrapper("--user")),
    Program("chrt", wrapper=Wrapper("-D -P -T -p", operands=1)),
    Program("strace", wrapper=Wrapper("-E -I -O -P -S -a -b -e -o -p -s -u")),
    Program("ltrace", wrapper=Wrapper("-a -e -l -n -o -p -s -u")),
    Program("exec", wrapper=Wrapper("-a")),
    Program("cpulimit", wrapper=Wrapper("-e -l -p")),
    Program("perf", wrapper=Wrapper("-e -o", operands=1)),
    Program("proxychains", wrapper=Wrapper("-f")),
    Program("taskset", wrapper=Wrapper("-p", operands=1)),
    Program("caffeinate", wrapper=Wrapper("-t -w")),
    Program("parallel parallel.moreutils env_parallel rush rust-parallel xe apply", ("adds_arguments",)),
    Program("script", script_options=r"-\w*c|--command"),
    Program("npx", script_options="-c|--call"),
    Program("nix-shell", script_options="--run|--command"),
    Program("watch", script_options="-x"),
    # Builtins and programs that print or compare
    Program(": echo false true", ("glue", "runs_nothing", "only_prints")),
    Program("pwd", ("glue", "runs_nothing"), read_only=ArgumentSpec("LP", operands="none")),
    Program("cd", ("glue", "runs_nothing"), read_only=ArgumentSpec(most=1)),
    Program("printf", ("glue", "runs_nothing"), read_only=ArgumentSpec(operands="texts")),
    Program("exit return", ("glue", "runs_nothing"), read_only=ArgumentSpec(operands="texts", most=1)),
    Program("[ test", ("glue", "runs_nothing")),
    # Programs that read
    Program("grep", ("runs_nothing",), read_only=_GREP, risky_options="",
        recursive_options="-[A-Za-z]*[rR][A-Za-z]*|--(?:dereference-)?recursive",
        hidden_file_options=r"-[A-Za-z]*r[A-Za-z]*|--recursive"),
    Program("egrep fgrep", ("runs_nothing",), read_only=_GREP,
        recursive_options="-[A-Za-z]*[rR][A-Za-z]*|--(?:dereference-)?recursive",
        hidden_file_options=r"-[A-Za-z]*r[A-Za-z]*|--recursive"),
    Program("ls", ("runs_nothing",), read_only=_LIST, risky_options="",
        recursive_options="-[A-Za-z]*R[A-Za-z]*|--recursive"),
    Program("md5sum sha1sum sha256sum", ("runs_nothing",), read_only=_SUMS),
    Program("b2sum sha224sum sha384sum sha512sum", read_only=_SUMS),
    Program("comm", ("runs_nothing",),
        read_only=ArgumentSpec("123z", long="--total --check-order --nocheck-order")),
    Program("cat", ("runs_nothing",), read_only=ArgumentSpec("AbeEnstTuv", long="--number"
        " --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank --show-nonprinting",
        is_free=True)),
    Program("hexdump", read_only=ArgumentSpec("Ccxobdv", "n:N s:N")),
    Program("fd", ("reads_folders",), read_only=ArgumentSpec("HIsigFap01u", "e:K t:K E:G d:N", "--hidden"
        " --no-ignore --extension:K --type:K --exclude:G --max-depth:N --min-depth:N --glob --regex"
        " --fixed-strings --ignore-case --case-sensitive --absolute-path --full-path --print0 --color:K",
        texts=1), version="--version", script_options="-x|-X|--exec|--exec-batch", risky_options="-X -x"),
    Program("strings", ("runs_nothing",),
        read_only=ArgumentSpec("a", "n:N t:K e:K", "--all --bytes=N --radix=K")),
    Program("locale", read_only=ArgumentSpec("a", operands="none")),
    Program("which", ("runs_nothing",), read_only=ArgumentSpec("a", operands="texts")),
    Program("du", ("runs_nothing", "reads_folders"), read_only=ArgumentSpec("abhkmscx0Sl", "d:N",
        "--max-depth:N --summarize --human-readable --apparent-size --total --all --exclude=G --bytes"
        " --one-file-system --si")),
    Program("tree", ("runs_nothing", "reads_folders"), read_only=ArgumentSpec("adfhispugDFCnN", "L:N I:G P:G",
        "--dirsfirst --noreport --prune --du --si --charset=K --filelimit=N", joins_values=False),
        version="--version"),
    Program("uname", read_only=ArgumentSpec("asnrvmpio", long="--all --machine --kernel-release"
        " --kernel-name", operands="none")),
    Program("type", ("runs_nothing",), read_only=ArgumentSpec("atpP", operands="texts")),
    Program("basename", ("runs_nothing",),
        read_only=ArgumentSpec("az", "s:T", "--suffix:T --multiple", is_free=True)),
    Program("sort", ("runs_nothing",), read_only=ArgumentSpec("bdfgiMhnRrVcCmsuz", "k:K t:D", "--reverse"
        " --numeric-sort --unique --human-numeric-sort --version-sort --ignore-case --stable --check"
        " --general-numeric-sort --zero-terminated --key:K --field-separator:D --ignore-leading-blanks"),
        script_options=r"--compress-p\w*", risky_options="-T -o", writing_options="-[A-Za-z]*o.*|--output.*"),
    Program("file", ("runs_nothing",),
        read_only=ArgumentSpec("bi", long="--brief --mime --mime-type --mime-encoding")),
    Program("free", read_only=ArgumentSpec("bkmght", operands="none")),
    Program("whereis", ("runs_nothing",), read_only=ArgumentSpec("bm", operands="texts")),
    Program("fold", read_only=ArgumentSpec("bs", "w:N", "--width:N --spaces", has_digits=True)),
    Program("tr", ("runs_nothing",),
        read_only=ArgumentSpec("cCdst", long="--delete --squeeze-repeats --complement", operands="texts")),
    Program("uniq", ("runs_nothing",),
        read_only=ArgumentSpec("cduizD", "f:N s:N w:N", "--count --repeated --unique --ignore-case", most=1)),
    Program("wc", ("runs_nothing",),
        read_only=ArgumentSpec("clmwL", long="--lines --words --bytes --chars --max-line-length")),
    Program("od", ("runs_nothing",),
        read_only=ArgumentSpec("cxobdav", "A:K t:K N:N j:N w:N", joins_values=True)),
    Program("realpath", ("runs_nothing",),
        read_only=ArgumentSpec("emqsz", long="--canonicalize-missing --canonicalize-existing --quiet")),
    Program("readlink", ("runs_nothing",),
        read_only=ArgumentSpec("femnqsvz", long="--canonicalize --no-newline")),
    Program("hostname", read_only=ArgumentSpec("fsiIdA", operands="none")),
    Program("df", ("runs_nothing",), read_only=ArgumentSpec("hkmTialPH", long="--human-readable --total"
        " --print-type --inodes --portability")),
    Program("join", ("runs_nothing",), read_only=ArgumentSpec("i", "t:D 1:N 2:N j:N a:N v:N", most=2)),
    Program("cmp", ("runs_nothing",),
        read_only=ArgumentSpec("lsb", "n:N i:N", "--silent --quiet --print-bytes --verbose", most=2)),
    Program("rg", ("runs_nothing",), read_only=ArgumentSpec("nilcvwFoHIsSaNpqUP0xh", "e:T A:N B:N C:N m:N"
        " g:G t:K T:K M:N j:N r:T d:N", "--files --json --hidden --glob:G --iglob:G --type:K --type-not:K"
        " --sort:K --sortr:K --max-count:N --max-depth:N --context:N --after-context:N"
        " --before-context:N --regexp:T --replace:T --color:K --no-heading --heading --line-number"
        " --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp"
        " --line-regexp --count --count-matches --files-with-matches --files-without-match"
        " --only-matching --stats --multiline --multiline-dotall --no-filename --pcre2 --with-filename"
        " --vimgrep --trim --column --invert-match --type-list --no-ignore --no-ignore-vcs --no-messages"
        " --passthru --pretty --quiet --null --max-columns:N --threads:N --max-filesize:N --text"
        " --no-config", texts=1, instead="-e --regexp --files --type-list"), version="--version",
        script_options="--pre|--hostname-bin", risky_options="-z",
        hidden_file_options=r"-[A-Za-z]*u[A-Za-z]*|--hidden|--no-ignore(?:-vcs)?"),
    Program("cut", ("runs_nothing",), read_only=ArgumentSpec("nsz", "d:D f:K c:K b:K", "--delimiter:D"
        " --fields:K --complement --only-delimited --output-delimiter:D")),
    Program("nl", read_only=ArgumentSpec("p", "b:K n:K w:N s:D v:N i:N", is_free=True)),
    Program("uptime", read_only=ArgumentSpec("ps", operands="none")),
    Program("xxd", ("runs_nothing",),
        read_only=ArgumentSpec("pubia", "l:N s:N c:N g:N", most=1, joins_values=False),
        risky_options="-r"),
    Program("head tail", ("runs_nothing",), read_only=ArgumentSpec("qvz", "n:N c:N", "--lines:N --bytes:N"
        " --quiet --silent --verbose", has_digits=True, is_free=True)),
    Program("jq", ("runs_nothing",), read_only=ArgumentSpec("rcMCSeajns", long="--raw-output"
        " --compact-output --monochrome-output --color-output --sort-keys --exit-status --ascii-output"
        " --join-output --null-input --slurp --raw-input --tab --indent:N", texts=1, joins_values=False),
        version="--version"),
    Program("tty", read_only=ArgumentSpec("s", operands="none")),
    Program("paste", ("runs_nothing",), read_only=ArgumentSpec("sz", "d:D", "--delimiters:D --serial")),
    Program("column", ("runs_nothing",), read_only=ArgumentSpec("t", "s:D o:D")),
    Program("stat", ("runs_nothing",),
        read_only=ArgumentSpec("tf", "c:T", "--format:T --printf=T --terse --file-system", is_free=True)),
    Program("date", ("runs_nothing",), read_only=ArgumentSpec("uR", "d:T", "--utc --universal --iso-8601"
        " --iso-8601=K --rfc-3339=K --rfc-email --date:T", operands="texts", beginning="+"),
        risky_options="-s"),
    Program("id", read_only=ArgumentSpec("ugGnr", long="--user --group --groups --name", operands="texts")),
    Program("diff", ("runs_nothing", "only_inside"), read_only=ArgumentSpec("uqNBwibyatEZpces", "U:N C:N W:N",
        "--brief --unified --unified=N --side-by-side --color --color=K --ignore-all-space --ignore-case"
        " --ignore-space-change --ignore-blank-lines --suppress-common-lines --minimal --text --new-file"
        " --report-identical-files --strip-trailing-cr --width=N", most=2)),
    Program("seq", ("runs_nothing",), read_only=ArgumentSpec("w", "s:T", has_digits=True, operands="texts")),
    Program("dirname", ("runs_nothing",), read_only=ArgumentSpec("z", is_free=True)),
    Program("cksum", read_only=ArgumentSpec()),
    Program("expr", read_only=ArgumentSpec(has_digits=True, operands="texts")),
    Program("rev tac", read_only=ArgumentSpec(is_free=True)),
    Program("nproc", read_only=ArgumentSpec(long="--all", operands="none")),
    Program("break continue", ("runs_nothing",), read_only=ArgumentSpec(operands="none")),
    Program("lscpu whoami", read_only=ArgumentSpec(operands="none")),
    Program("sleep", ("runs_nothing",), read_only=ArgumentSpec(operands="texts")),
    Program("getconf groups printenv", read_only=ArgumentSpec(operands="texts")),
    Program("find", ("adds_arguments", "long_options_with_one_dash", "reads_folders"),
        risky_options="-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir"),
    Program("ps", risky_options=""),
    # Builtins
    Program("declare export local readonly typeset", ("declares", "runs_nothing")),
    Program("[[ ] done esac fi help popd pushd read unset", ("runs_nothing",)),
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
    # Archives and copies
    Program("tar", ("copies_folders",), script_options=r"-\w*[IF]|--(?:to-command|use-compress-program"
        r"|rsh-command|info-script|new-volume-script|checkpoint-action)", risky_options="-F -I",
        writing_options="-?[A-Za-z]*x[A-Za-z]*|--extract|--get"),
    Program("unzip", ("checker", "writes_files")),
    Program("7z 7za 7zz ack ag bsdtar cpio gtar pax rclone ugrep", ("copies_folders",)),
    Program("curl", ("checker", "network"), version="--version", risky_options="-F -K -O -T -d -o -x",
        writing_options="-[A-Za-z]*[oO].*|--output.*|--remote-name.*"),
    Program("ssh", ("network",), script_options=r"-o(?:\w*Command)?", risky_options="-o"),
    Program("sftp", ("network",), script_options=r"-o(?:\w*Command)?|-S"),
    Program("wget", ("checker", "network"),
        writing_options="-[A-Za-z]*[OP].*|--output-doc.*|--directory-pre.*"),
    Program("ftp telnet", ("network",)),
    # Checkers, compilers and formatters
    Program("black codespell gofmt shellcheck shfmt yamllint", ("checker", "only_inside")),
    Program("ruff", ("checker", "only_inside"), version="--version"),
    Program("cc clang gcc", ("checker",), version="--version", risky_options=""),
    Program("eslint markdownlint prettier rubocop", ("checker", "short_config_options")),
    Program("rustc", ("checker",), version="--version -V"),
    Program("g++ mypy", ("checker",), version="--version"),
    Program("ar bzip2 c++ clang++ clang-format clang-tidy flake8 gunzip gzip hadolint isort javac ld nm"
        " objdump pylint pyright rustfmt strip tsc xz zstd", ("checker",)),
    Program("pytest", ("only_inside",), risky_options="-c -o -p"),
    Program("stylelint", ("short_config_options",)),
    Program("cmake", version="--version"),
    # Programs with subcommands
    Program("npm", ("runs_scripts", "has_subcommands"), version="--version -v", script_options="-c|--call",
        risky_options="-C -O -c -o", destructive_words="publish unpublish"),
    Program("pnpm yarn", ("runs_scripts", "has_subcommands")),
    Program("gh", ("has_subcommands",), version="--version", destructive_words="api release repo secret"),
    Program("terraform", ("long_options_with_one_dash", "has_subcommands"),
        destructive_words="apply destroy"),
    Program("kubectl", ("has_subcommands",), destructive_words="delete drain"),
    Program("docker", ("has_subcommands",), version="--version",
        destructive_words="kill prune rm rmi system volume"),
    Program("cargo", ("has_subcommands",), version="--version -V", destructive_words="publish yank"),
    Program("go", ("long_options_with_one_dash", "has_subcommands"), version="version", listings="env",
        risky_options="-C -exec -modfile -o -overlay -toolexec -vettool"),
    Program("pip", ("has_subcommands",), version="--version", listings="list show"),
    Program("pip3", ("has_subcommands",), version="--version", listings="list show"),
    Program("uv", ("has_subcommands",), version="--version", running_words="install run"),
    Program("snap", ("multicall", "has_subcommands")),
    Program("apt apt-get aws az brew conda dnf gcloud gem helm podman poetry yum", ("has_subcommands",)),
    Program("git", ("runs_nothing",), version="--version", script_options=r"-c|-x|-O|--(?:exec|extcmd"
        r"|upload-pack|receive-pack|open-files-in-pager|config|exec-path|\w+-filter)",
        risky_options="-O -c -o -x", running_words="config difftool filter-branch foreach mergetool run",
        destructive_words="branch checkout clean filter-branch gc prune push rebase reset restore rm"
        " stash tag"),
    # Programs that act by the name they are called by
    Program("ccache coreutils distcc rustup sccache volta-shim", ("multicall",)),
)
# fmt: on


def _named() -> Iterator[tuple[str, Program]]:
    return ((name, one) for one in _RECORDS for name in one.names.split())


def _having(*traits: Trait) -> frozenset[str]:
    return frozenset(name for name, one in _named() if not set(traits).isdisjoint(one.traits))


SHELLS = _having("shell")
"""Programs whose arguments or input are shell text."""
INTERPRETERS = _having("interpreter")
"""What may run programs by a text among its arguments, in a language of its own."""
RUNS_INPUT = _having("shell", "interpreter", "runs_input")
"""Programs that may run what they read from their input."""
RUNS_ITS_FILE = _having("shell", "interpreter", "runs_its_file") - _having(
    "filter", "script_after_subcommand"
)
"""Programs whose first operand is a script."""
FILTERS = _having("filter")
"""Interpreters of which only the values of options are files with programs."""
WRAPPERS = {name: one.wrapper for name, one in _named() if one.wrapper is not None}
"""Programs and keywords that run the command behind them."""
HARMLESS_WRAPPERS = _having("harmless_wrapper")
"""They run what follows and do nothing else."""
FEEDERS = _having("adds_arguments")
"""They add names to the command that are not in the line."""
INPUT_FEEDERS = FEEDERS - {"find"}
"""They take these names from their input."""
SCRIPT_OPTIONS = {name: re.compile(one.script_options) for name, one in _named() if one.script_options}
"""Program → its options whose value is run."""
NEVER_RUN = _having("runs_nothing")
"""Programs that never run what their words name: a word that one of them mentions is no command."""
WITH_SUBCOMMANDS = _having("has_subcommands")
"""Programs whose first word is a subcommand of their own."""
SCRIPT_RUNNERS = _having("runs_scripts")
"""Programs that run scripts of the project by name."""
MULTICALL = _having("multicall")
"""Programs that are whatever the link that leads to them is called."""

READERS = {name: one.read_only for name, one in _named() if one.read_only is not None}
"""Programs that only read, with the exact arguments that each may be given. `echo true false : [ test [[ ps
find git` are looked at in ways of their own."""
PRINTERS = _having("only_prints")
"""No word can make them do more than print."""
HARMLESS_TO_ALL = PRINTERS | {name for name, one in READERS.items() if one.is_free}
"""Whatever file names a glob gives them, no option is among them that does more than read."""
GLUE = _having("glue")
"""They move about, compare or print between other commands."""
VERSIONS = {name: table(one.version) for name, one in _named() if one.version}
"""Programs that may be asked for their version, how exactly. Not those that load the folder's own code, or a
copy of themselves that it names, before they answer: pytest, yarn, pnpm, poetry, dotnet, terraform."""
LISTINGS = frozenset((name, word) for name, one in _named() for word in one.listings.split())
"""Program and subcommand that only list what is installed."""
READS_FOLDERS = _having("reads_folders")
"""They go through whole folders by themselves."""
RECURSIVE = {name: re.compile(one.recursive_options) for name, one in _named() if one.recursive_options}
"""Program → its options with which it goes through folders."""
SEARCHES = {name: re.compile(one.hidden_file_options) for name, one in _named() if one.hidden_file_options}
"""Program → its options with which it reads files that are not named, hidden ones too."""
ARCHIVERS = _having("copies_folders")
"""They read all files in the folders that they are given."""

DELETERS = _having("deletes")
OVERWRITERS = _having("overwrites")
"""They overwrite every file that they are given."""
GUARDED = _having("deletes", "guarded")
"""Programs that the guard looks for among the words of commands that it does not know."""
DESTRUCTIVE = _having("destructive")
"""They delete, change rights, end processes or act as another user: the answer offered first is no."""
DESTRUCTIVE_WORDS = {name: table(one.destructive_words) for name, one in _named() if one.destructive_words}
NETWORK_PROGRAMS = _having("network")
FILE_NAMERS = _having("names_files")
"""They put a file under a name that the line chooses."""
FILE_WRITERS = FILE_NAMERS | OVERWRITERS | _having("writes_files")
"""They write, create or rename files that their words name."""
WRITING_OPTIONS = {name: re.compile(one.writing_options) for name, one in _named() if one.writing_options}
"""Program → its options with which it does so."""
DECLARERS = _having("declares")
"""Builtins whose words set variables."""

CHECKERS = _having("checker")
"""They read, check, compile or rewrite the files that they are given, and run none of them."""
WITH_SHORT_CONFIG_OPTIONS = _having("short_config_options")
"""Checkers that also take a file of settings by a short option."""
ONLY_INSIDE = _having("only_inside")
"""A rule for one of these covers no operand outside of the folder."""
LONG_OPTIONS_WITH_ONE_DASH = _having("long_options_with_one_dash")
RISKY_OPTIONS = {name: table(one.risky_options) for name, one in _named() if one.risky_options is not None}
"""Program → its short options that run a program or write a file."""
RUNNING_WORDS = {name: table(one.running_words) for name, one in _named() if one.running_words}
FIND_RUNNERS = table("-exec -execdir -ok -okdir")
"""Options of find that run a command."""
FD_RUNNERS = table("-x -X --exec --exec-batch")
