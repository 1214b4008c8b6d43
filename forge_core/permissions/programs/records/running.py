"""Shells, interpreters, and programs that run the command behind them."""

from __future__ import annotations

from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.programs.records.program import Program, RiskyWords, Wrapper

# fmt: off
RECORDS = (
    # Shells
    Program("su", ("destructive", "shell"), script_options=r"-\w*c|--command|--session-command"),
    Program("bash", ("shell",), version="--version"),
    Program("ash csh dash fish ksh mksh pwsh rbash sh tcsh zsh", ("shell",)),
    # Interpreters, and editors, debuggers and pagers that can run programs
    Program("sed", ("filter", "interpreter"),
        read_only=ArgumentSpec("nErus", long="--quiet --silent --regexp-extended", texts=1),
        risky_options="-f --file -i --in-place", writing_options="-[A-Za-z]*i.*|--in-place.*"),
    Program("perl", ("interpreter",), version="--version", risky_options="-e -i",
        writing_options="-[A-Za-z]*i.*"),
    Program("man", ("runs_nothing", "interpreter"), script_options="-P|--pager|-H|--html"),
    Program("zip", ("copies_folders", "checker", "interpreter"), script_options="-TT|--unzip-command",
        following_options="-[A-Za-z]*r[A-Za-z]*|--recurse-paths"),
    Program("nc", ("interpreter", "network"), script_options="-c|-e"),
    Program("ncat", ("interpreter", "network"), script_options="-c|-e|--exec|--sh-exec"),
    Program("awk gawk mawk nawk", ("filter", "interpreter"),
        risky_options="-D -E -W -d -f -i -l -o -p --debug --dump-variables --exec --file --gen-pot --include"
        " --load --pretty-print --profile"),
    Program("gsed", ("filter", "interpreter"), risky_options="-f --file -i --in-place"),
    Program("less more", ("interpreter",), risky_options="-O -T -k -o --LOG-FILE"
        " --lesskey-content --lesskey-file --lesskey-src --log-file --tag-file",
        risky_words=RiskyWords(r"^\+(?!\d*[gGpF%]?$|/)", "initial commands")),
    Program("bun", ("interpreter", "script_after_subcommand", "runs_scripts")),
    Program("deno", ("interpreter", "script_after_subcommand"), version="--version"),
    Program("R", ("interpreter", "script_after_subcommand")),
    Program("python python3", ("interpreter",), version="--version -V"),
    Program("node", ("interpreter",), version="--version -v"),
    Program("ruby", ("interpreter",), version="--version", writing_options="-[A-Za-z]*i.*"),
    Program("ed emacs ex nvim vi view vim", ("interpreter", "edits")),
    Program("Rscript bc dc elixir erl expect gdb ghc groovy ipython irb jshell julia"
        " lldb lua luajit m4 mysql nodejs php psql pypy pypy3 python2 scala screen"
        " socat sqlite3 tclsh tmux wish", ("interpreter",)),
    Program(". source", ("runs_its_file", "runs_input")),
    Program("ts-node tsx", ("runs_its_file",)),
    Program("java", ("long_options_with_one_dash",)),
    # Programs that run what they are given as text
    Program("make", ("runs_input",), version="--version", script_options="--eval",
        risky_options="-C -I -f --directory --eval --file --include-dir --makefile",
        risky_words=RiskyWords(r"^[A-Z_]+[:?+]?=", "variables")),
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
    Program("sshpass", wrapper=Wrapper("-P -d -f -p")),
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
)
# fmt: on
