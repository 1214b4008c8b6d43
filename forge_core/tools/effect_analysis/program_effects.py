"""Tables of what common programs write. What they read or run is in `forge_core.permissions.programs`."""

from __future__ import annotations

import re

from forge_core.permissions.programs.program_catalog import DECLARERS, GLUE
from forge_core.permissions.programs.program_catalog import READERS as READ_ONLY_PROGRAMS
from forge_core.permissions.programs.word_sets import table
from forge_core.undo.expected_effects import FileEffect

READERS = (
    READ_ONLY_PROGRAMS.keys()
    | GLUE
    | DECLARERS
    | table(
        """pytest py.test tox nox mypy pyright pyre flake8 pylint pydocstyle bandit vulture jest vitest mocha
        ava cypress playwright tsc eslint stylelint hadolint shellcheck ctest coverage less more ack ag find
        yq ps top kill pkill killall pgrep lsof netstat ss wait read readarray mapfile set unset source curl
        wget ping ssh docker podman kubectl gh [[ (( let trap eval exec shift hash alias ulimit umask times
        getopts tput clear stty bc dc factor yes fmt look zcat bzcat xzcat time watch"""
    )
)
"""Programs that write only where an option names a file: their other arguments are no outputs."""

WRITING_READERS = table("curl wget sort eslint jest")
"""Those of them whose `-o` and similar options name an output."""

READING_PARTS = {
    "ruff": table("check rule config"),
    "cargo": table("test check clippy tree doc bench"),
    "go": table("test vet list doc env"),
    "biome": table("lint check"),
    "npm": table("test t ls outdated audit"),
}
"""Program → subcommands that write nothing."""

WRITES_OPERANDS = {"tee": "", "touch": "rtd", "truncate": "srd", "sponge": "", "mkfifo": "m", "split": "blna"}
"""Programs that write every operand → their options that take a value."""

PLAIN_WRITES = {
    "tee": re.compile(r"-[aip]+|--append"),
    "touch": re.compile(r"-[am]+"),
    "truncate": re.compile(r"-s|-s\d+[KMG]?|--size=\d+[KMG]?"),
}
"""Program → options with which it still opens every file that it names, if it may be written at all."""

FORMATTERS: dict[str, tuple[str, FileEffect]] = {
    name: (needed, effect)
    for names, needed, effect in (
        ("black rustfmt stylua swiftformat unexpand dos2unix unix2dos", "", FileEffect.FORMAT),
        ("isort", "", FileEffect.FIX),
        ("pyupgrade", "", FileEffect.REWRITE),
        ("ruff mix dart", r"format", FileEffect.FORMAT),
        ("dprint go cargo terraform zig", r"fmt", FileEffect.FORMAT),
        ("taplo", r"fmt|format", FileEffect.FORMAT),
        ("biome", r"format|--write|--apply", FileEffect.FORMAT),
        ("pre-commit", r"run", FileEffect.FORMAT),
        ("yapf", r"-i|--in-place", FileEffect.FORMAT),
        ("autopep8", r"-i|-\w*i\w*|--in-place", FileEffect.FORMAT),
        ("autoflake", r"-i|--in-place", FileEffect.FIX),
        ("clang-format", r"-i", FileEffect.FORMAT),
        ("gofmt gofumpt", r"-w", FileEffect.FORMAT),
        ("goimports", r"-w", FileEffect.FIX),
        ("prettier", r"-w|--write", FileEffect.FORMAT),
        ("shfmt", r"-\w*w\w*", FileEffect.FORMAT),
        ("standard xo eslint", r"--fix", FileEffect.FIX),
        ("stylelint", r"--fix", FileEffect.FORMAT),
        ("djlint", r"--reformat", FileEffect.FORMAT),
        ("ktlint", r"-F|--format", FileEffect.FORMAT),
        ("rubocop", r"-a|-A|--auto-?correct\S*", FileEffect.FIX),
    )
    for name in names.split()
}
"""Program → what one of its words must be for it to write (empty: it always does), and the effect."""
ALSO_FIX = frozenset({"ruff", "biome", "pre-commit", "go"})
"""Formatters that also fix, with `--fix`, `check --fix` or by their hooks."""

CHECK_ONLY = table("--check --diff --check-only --dry-run --list-different -l --stdout -c")
"""With these words a formatter writes nothing."""

REWRITERS = table(
    "sd fastmod comby ast-grep sg jscodeshift 2to3 rename codemod git-filter-repo perl ruby gsed"
)

CERTAIN_LONG_OPTIONS = table("--output --output-file --outfile --out --junitxml --junit-xml")
CERTAIN_OPTIONS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        table(
            "gcc cc g++ c++ clang clang++ ld as nasm rustc gfortran ar curl sort pandoc protoc dot xsltproc"
            " bison flex lex yacc m4 cython gpg coverage xmllint"
        ),
        table("-o --output"),
    ),
    "wget": table("-O --output-document"),
}
"""Options whose value is a file that a program has written when it has succeeded; programs that aren't listed
have the long ones."""

CONVERTERS = table("convert magick ffmpeg sox cwebp qpdf")
"""Of their operands, a file that doesn't exist is one that they have written when they have succeeded."""

CREATES = {
    (program, subcommand): tuple(created.split())
    for program, subcommands, created in (
        ("npm", "init version pkg", "package.json"),
        ("npm", "pack", "*.tgz"),
        ("npm", "install i", "package.json package-lock.json node_modules/"),
        ("npm", "ci link", "node_modules/"),
        ("npm", "add uninstall remove update", "package.json node_modules/"),
        ("yarn", "add", "package.json node_modules/"),
        ("yarn", "init", "package.json"),
        ("yarn", "install", "node_modules/ .pnp.cjs .yarn/"),
        ("pnpm", "add", "package.json node_modules/"),
        ("pnpm", "init", "package.json"),
        ("pnpm", "install", "node_modules/"),
        ("cargo", "init", "Cargo.toml src/main.rs src/lib.rs .gitignore"),
        ("cargo", "add remove", "Cargo.toml"),
        ("cargo", "package", "target/"),
        ("go", "mod", "go.mod go.sum vendor/"),
        ("go", "get", "go.mod go.sum"),
        ("go", "work", "go.work go.work.sum"),
        ("uv", "init", "pyproject.toml README.md main.py .python-version .gitignore hello.py"),
        ("uv", "add", "pyproject.toml uv.lock .venv/"),
        ("uv", "remove", "pyproject.toml uv.lock"),
        ("uv", "sync", ".venv/ uv.lock"),
        ("uv", "venv", ".venv/"),
        ("poetry", "init add remove", "pyproject.toml"),
        ("terraform", "init", ".terraform/ .terraform.lock.hcl"),
        ("dotnet", "new", "*.csproj *.sln Program.cs"),
        ("tsc", "--init", "tsconfig.json"),
    )
    for subcommand in subcommands.split()
}
"""What a subcommand writes in its folder; a name with a slash at its end is a whole folder."""

MANIFESTS = table("package.json Cargo.toml go.mod pyproject.toml")
"""Of these, only the lines that such a command changes are taken for its."""

ALSO_CREATES = {
    "configure": ("Makefile", "config.h", "config.log", "config.status", "libtool", "stamp-h1"),
    "cmake": (
        *("Makefile", "cmake_install.cmake", "CTestTestfile.cmake"),
        *("build.ninja", ".ninja_deps", ".ninja_log"),
    ),
    **dict.fromkeys(("gcc", "cc", "g++", "c++", "clang"), ("a.out",)),
    "patch": ("*.rej", "*.orig"),
}
"""Program → files that it may write without naming them."""

RUN_PREFIXES = tuple(
    tuple(line.split())
    for line in (
        *("uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "rye run", "npx", "bunx"),
        *("npm exec --", "npm exec", "pnpm exec", "pnpm dlx", "yarn exec", "bundle exec"),
    )
)
"""Words before a program that run it; of two that match, the longer one comes first."""

OUTPUT_OPTION = re.compile(
    r"-[oOD]|--?\w*[-_]?(?:out|output|outfile|outdir|dest|destination|target|report|junit-?xml|log-?file|save|"
    r"export|write|dir|directory|prefix|result|results|junit)(?:[-_]?(?:file|dir|path|to|name|html|xml|json))?"
    r"|-B|--cov-report",
    re.IGNORECASE,
)
"""Options whose value names an output."""
