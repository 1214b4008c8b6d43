"""Programs that archive, transfer, check and build."""

from __future__ import annotations

from forge_core.permissions.programs.git_command_line import RUNS_GPG
from forge_core.permissions.programs.records.program import Program, Remote, RiskyWords

_SSH = Remote("BbcDEeFIiJLlMmOoPpQRSWw", joins_words=True)
_CONTAINER = Remote(
    "uweHpf",
    "--user --workdir --env --env-file --index --project-name --file --context --host --detach-keys",
    "exec",
)
_POD = Remote("ncsf", "--namespace --container --context --kubeconfig --filename", "exec")

# fmt: off
RECORDS = (
    # Archives and copies
    Program("tar", ("copies_folders",), script_options=r"-\w*[IF]|--(?:to-command|use-compress-program"
        r"|rsh-command|info-script|new-volume-script|checkpoint-action)",
        risky_options="-F -I --remove-files", following_options="-?[A-Za-z]*h[A-Za-z]*|--dereference",
        writing_options="-?[A-Za-z]*x[A-Za-z]*|--extract|--get"),
    Program("unzip", ("checker", "writes_files")),
    Program("ack ag", ("copies_folders",), following_options="-[A-Za-z]*f[A-Za-z]*|--follow"),
    Program("7z 7za 7zz bsdtar cpio gtar pax rclone ugrep", ("copies_folders",)),
    Program("curl", ("checker", "network"), version="--version", risky_options="-F -K -O -T -d -o -x",
        writing_options="-[A-Za-z]*[oO].*|--output.*|--remote-name.*"),
    Program("ssh", ("network",), script_options=r"-o(?:\w*Command)?", risky_options="-o", remote=_SSH),
    # Programs that run commands elsewhere
    Program("autossh slogin rsh dbclient", remote=_SSH),
    Program("mosh", remote=Remote("p", "--ssh --port --bind-server --predict")),
    Program("nerdctl docker-compose podman-compose", remote=_CONTAINER),
    Program("oc", remote=_POD),
    Program("lxc incus", remote=Remote("tTn", "--env --cwd --user --group --mode", "exec")),
    Program("multipass", remote=Remote("d", "--working-directory", "exec")),
    Program("limactl machinectl",
        remote=Remote("MHpE", "--workdir --shell --machine --uid --setenv", "shell")),
    Program("colima", remote=Remote("p", "--profile", "ssh", 0)),
    Program("adb", remote=Remote("stHPL", "", "shell", 0, joins_words=True)),
    Program("heroku", remote=Remote("ars", "--app --remote --size", "run", 0)),
    Program("pdsh", remote=Remote("wxlfutR", operands=0, joins_words=True)),
    Program("clush", remote=Remote("wxglfut", "--group", operands=0, joins_words=True)),
    Program("pssh parallel-ssh",
        remote=Remote("hHlptoeOx", "--hosts --host --user --par --timeout", operands=0, joins_words=True)),
    Program("salt", remote=Remote("", "", "cmd.run", 0, joins_words=True)),
    Program("vagrant", remote=Remote(text_options="-c --command")),
    Program("ansible", remote=Remote(text_options="-a --args -m --module-name")),
    Program("flyctl fly", remote=Remote(text_options="-C --command")),
    Program("sftp", ("network",), script_options=r"-o(?:\w*Command)?|-S"),
    Program("wget", ("checker", "network"),
        writing_options="-[A-Za-z]*[OP].*|--output-doc.*|--directory-pre.*"),
    Program("ftp telnet", ("network",)),
    # Checkers, compilers and formatters
    Program("black", ("checker", "only_inside", "rewrites")),
    Program("codespell gofmt shfmt", ("checker", "only_inside"),
        writing_options="-[a-z]*w[a-z]*|--write.*"),
    Program("shellcheck yamllint", ("checker", "only_inside")),
    Program("ruff", ("checker", "only_inside"), version="--version", writing_options="format|--fix.*|-o.*"),
    Program("cc clang gcc", ("checker",), version="--version", risky_options="", writing_options="-o.*"),
    Program("eslint markdownlint prettier rubocop", ("checker", "short_config_options"),
        writing_options="-w|-[aAxo]|--(?:write|fix|auto|output).*"),
    Program("rustc", ("checker",), version="--version -V", writing_options="-o.*|--out-dir.*"),
    Program("g++", ("checker",), version="--version", writing_options="-o.*"),
    Program("mypy", ("checker",), version="--version"),
    Program("c++ clang++ ld", ("checker",), writing_options="-o.*"),
    Program("clang-format clang-tidy", ("checker",), writing_options="-i|--fix.*"),
    Program("ar bzip2 gunzip gzip isort rustfmt strip xz zstd", ("checker", "rewrites")),
    Program("flake8 hadolint javac nm objdump pylint pyright tsc", ("checker",)),
    Program("pytest", ("only_inside",), risky_options="-c -o -p",
        risky_words=RiskyWords(r"^@|^(?:-W|--pythonwarnings=)?\s*[a-z]{1,7}:[^:]*:[^:]*\.",
            "files of options, and classes of warnings")),
    Program("stylelint", ("short_config_options",)),
    Program("cmake", version="--version"),
    # Programs with subcommands
    Program("npm", ("runs_scripts", "has_subcommands"), version="--version -v", script_options="-c|--call",
        risky_options="-C -O -c -o", destructive_words="publish unpublish"),
    Program("pnpm yarn", ("runs_scripts", "has_subcommands")),
    Program("gh", ("has_subcommands",), version="--version", destructive_words="api release repo secret"),
    Program("terraform", ("long_options_with_one_dash", "has_subcommands"),
        destructive_words="apply destroy"),
    Program("kubectl", ("has_subcommands",), destructive_words="delete drain", remote=_POD),
    Program("podman", ("has_subcommands",), remote=_CONTAINER),
    Program("gcloud", ("has_subcommands",), remote=Remote(text_options="--command")),
    Program("docker", ("has_subcommands",), version="--version", remote=_CONTAINER,
        destructive_words="kill prune rm rmi system volume"),
    Program("cargo", ("has_subcommands",), version="--version -V", destructive_words="publish yank"),
    Program("go", ("long_options_with_one_dash", "has_subcommands"), version="version", listings="env",
        risky_options="-C -exec -modfile -o -overlay -toolexec -vettool"),
    Program("pip", ("has_subcommands",), version="--version", listings="list show"),
    Program("pip3", ("has_subcommands",), version="--version", listings="list show"),
    Program("uv", ("has_subcommands",), version="--version",
        risky_words=RiskyWords("^(?:install|run)$", "the subcommands install and run")),
    Program("snap", ("multicall", "has_subcommands")),
    Program("aws az brew conda gem helm poetry", ("has_subcommands",)),
    Program("git", ("runs_nothing",), version="--version", script_options=r"-c|-x|-O|--(?:exec|extcmd"
        r"|upload-pack|receive-pack|open-files-in-pager|config|exec-path|\w+-filter)",
        risky_options="-O -c -o -x",
        risky_words=RiskyWords(r"^(?:config|difftool|filter-branch|foreach|mergetool|run)$|^ext::"
            rf"|{RUNS_GPG.pattern}", "subcommands, addresses and formats that run programs"),
        destructive_words="branch checkout clean filter-branch gc prune push rebase reset restore rm"
        " stash tag"),
    # Programs that act by the name they are called by
    Program("ccache coreutils distcc rustup sccache volta-shim", ("multicall",)),
)
# fmt: on
