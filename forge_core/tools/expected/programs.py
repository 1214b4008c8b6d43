"""What usual programs write, as tables."""

from __future__ import annotations

import re

from forge_core.permissions.programs.word_sets import table
from forge_core.undo.expected_effects import FileEffect

READERS = table(
    """pytest py.test tox nox mypy pyright pyre flake8 pylint pydocstyle bandit vulture jest vitest mocha
    ava cypress playwright tsc eslint stylelint hadolint shellcheck ctest cat less more head tail grep
    egrep fgrep rg ag ack wc diff cmp ls tree find stat file du df which type echo printf sleep test
    true false cd pwd export env date id whoami uname seq sort uniq cut tr jq yq xxd od strings md5sum
    sha1sum sha256sum ps top kill pkill wait read exit return set unset source curl wget ping ssh nproc
    free [ [[ : let local declare typeset readonly trap eval shift hash alias ulimit umask times getopts
    mapfile readarray basename dirname realpath readlink tput clear stty tty expr bc dc factor yes tac
    rev nl fold fmt column paste join comm look hexdump zcat bzcat xzcat killall pgrep lsof netstat ss
    time watch command gh docker podman kubectl (( break continue exec coverage"""
)
"""They write only where an option says so: their other arguments are no outputs."""

WRITING_READERS = table("curl wget sort eslint jest")
"""Those of them whose `-o` and the like name an output."""

READING_PARTS = {
    "ruff": table("check rule config"),
    "cargo": table("test check clippy tree doc bench"),
    "go": table("test vet list doc env"),
    "biome": table("lint check"),
    "npm": table("test t ls outdated audit"),
}
"""Subcommands that do so."""

WRITES_OPERANDS = {"tee": "", "touch": "rtd", "truncate": "srd", "sponge": "", "mkfifo": "m", "split": "blna"}
"""They write all that they name; the letters are options that take a value."""

PLAIN_WRITES = {
    "tee": re.compile(r"-[aip]+|--append"),
    "touch": re.compile(r"-[am]+"),
    "truncate": re.compile(r"-s|-s\d+[KMG]?|--size=\d+[KMG]?"),
}
"""Options with which these programs open all files that they name, if they may be written at all."""

FORMATTERS: dict[str, tuple[str, FileEffect]] = {
    "black": ("", FileEffect.FORMAT),
    "yapf": (r"-i|--in-place", FileEffect.FORMAT),
    "autopep8": (r"-i|-\w*i\w*|--in-place", FileEffect.FORMAT),
    "ruff": (r"format", FileEffect.FORMAT),
    "isort": ("", FileEffect.FIX),
    "autoflake": (r"-i|--in-place", FileEffect.FIX),
    "pyupgrade": ("", FileEffect.REWRITE),
    "prettier": (r"-w|--write", FileEffect.FORMAT),
    "standard": (r"--fix", FileEffect.FIX),
    "xo": (r"--fix", FileEffect.FIX),
    "dprint": (r"fmt", FileEffect.FORMAT),
    "biome": (r"format|--write|--apply", FileEffect.FORMAT),
    "eslint": (r"--fix", FileEffect.FIX),
    "stylelint": (r"--fix", FileEffect.FORMAT),
    "gofmt": (r"-w", FileEffect.FORMAT),
    "gofumpt": (r"-w", FileEffect.FORMAT),
    "goimports": (r"-w", FileEffect.FIX),
    "go": (r"fmt", FileEffect.FORMAT),
    "rustfmt": ("", FileEffect.FORMAT),
    "cargo": (r"fmt", FileEffect.FORMAT),
    "clang-format": (r"-i", FileEffect.FORMAT),
    "shfmt": (r"-\w*w\w*", FileEffect.FORMAT),
    "stylua": ("", FileEffect.FORMAT),
    "terraform": (r"fmt", FileEffect.FORMAT),
    "rubocop": (r"-a|-A|--auto-?correct\S*", FileEffect.FIX),
    "mix": (r"format", FileEffect.FORMAT),
    "dart": (r"format", FileEffect.FORMAT),
    "zig": (r"fmt", FileEffect.FORMAT),
    "taplo": (r"fmt|format", FileEffect.FORMAT),
    "djlint": (r"--reformat", FileEffect.FORMAT),
    "swiftformat": ("", FileEffect.FORMAT),
    "ktlint": (r"-F|--format", FileEffect.FORMAT),
    "pre-commit": (r"run", FileEffect.FORMAT),
    "unexpand": ("", FileEffect.FORMAT),
    "dos2unix": ("", FileEffect.FORMAT),
    "unix2dos": ("", FileEffect.FORMAT),
}
"""Program → what one of its words must be for it to write (empty: it always does), and what it does."""
ALSO_FIX = frozenset({"ruff", "biome", "pre-commit", "go"})
"""Of these, `--fix`, `check --fix` or their hooks repair too."""

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
        ),
        table("-o --output"),
    ),
    **dict.fromkeys(table("bison flex lex yacc m4 cython gpg coverage xmllint"), table("-o --output")),
    "wget": table("-O --output-document"),
}
"""Options whose value is a file that a program has written when it has succeeded; programs that aren't listed
have the long ones."""

CONVERTERS = table("convert magick ffmpeg sox cwebp qpdf")
"""Of their operands, a file that doesn't exist is one that they have written when they have succeeded."""

CREATES: dict[tuple[str, str], tuple[str, ...]] = {
    ("npm", "init"): ("package.json",),
    ("npm", "pack"): ("*.tgz",),
    ("npm", "version"): ("package.json",),
    ("npm", "install"): ("package.json", "package-lock.json", "node_modules/"),
    ("npm", "i"): ("package.json", "package-lock.json", "node_modules/"),
    ("npm", "ci"): ("node_modules/",),
    ("npm", "add"): ("package.json", "node_modules/"),
    ("npm", "uninstall"): ("package.json", "node_modules/"),
    ("npm", "remove"): ("package.json", "node_modules/"),
    ("npm", "update"): ("package.json", "node_modules/"),
    ("npm", "pkg"): ("package.json",),
    ("npm", "link"): ("node_modules/",),
    ("yarn", "add"): ("package.json", "node_modules/"),
    ("yarn", "init"): ("package.json",),
    ("yarn", "install"): ("node_modules/", ".pnp.cjs", ".yarn/"),
    ("pnpm", "add"): ("package.json", "node_modules/"),
    ("pnpm", "init"): ("package.json",),
    ("pnpm", "install"): ("node_modules/",),
    ("cargo", "init"): ("Cargo.toml", "src/main.rs", "src/lib.rs", ".gitignore"),
    ("cargo", "add"): ("Cargo.toml",),
    ("cargo", "remove"): ("Cargo.toml",),
    ("cargo", "package"): ("target/",),
    ("go", "mod"): ("go.mod", "go.sum", "vendor/"),
    ("go", "get"): ("go.mod", "go.sum"),
    ("go", "work"): ("go.work", "go.work.sum"),
    ("uv", "init"): ("pyproject.toml", "README.md", "main.py", ".python-version", ".gitignore", "hello.py"),
    ("uv", "add"): ("pyproject.toml", "uv.lock", ".venv/"),
    ("uv", "remove"): ("pyproject.toml", "uv.lock"),
    ("uv", "sync"): (".venv/", "uv.lock"),
    ("uv", "venv"): (".venv/",),
    ("poetry", "init"): ("pyproject.toml",),
    ("poetry", "add"): ("pyproject.toml",),
    ("poetry", "remove"): ("pyproject.toml",),
    ("terraform", "init"): (".terraform/", ".terraform.lock.hcl"),
    ("dotnet", "new"): ("*.csproj", "*.sln", "Program.cs"),
    ("tsc", "--init"): ("tsconfig.json",),
}
"""What a subcommand writes in its folder; a name with a slash at its end is a whole folder."""

MANIFESTS = table("package.json Cargo.toml go.mod pyproject.toml")
"""Of these, only the lines that such a command changes are taken for its."""

ALSO_CREATES: dict[str, tuple[str, ...]] = {
    "configure": ("Makefile", "config.h", "config.log", "config.status", "libtool", "stamp-h1"),
    "cmake": (
        "Makefile",
        "cmake_install.cmake",
        "CTestTestfile.cmake",
        "build.ninja",
        ".ninja_deps",
        ".ninja_log",
    ),
    "gcc": ("a.out",),
    "cc": ("a.out",),
    "g++": ("a.out",),
    "c++": ("a.out",),
    "clang": ("a.out",),
    "patch": ("*.rej", "*.orig"),
}

RUN_PREFIXES = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("npx",),
    ("bunx",),
    ("npm", "exec"),
    ("npm", "exec", "--"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("bundle", "exec"),
)
"""What stands before a program and runs it."""

PACKAGE_RUNNERS = table("npm yarn pnpm bun")
OUTPUT_OPTION = re.compile(
    r"-[oOD]|--?\w*[-_]?(?:out|output|outfile|outdir|dest|destination|target|report|junit-?xml|log-?file|save|"
    r"export|write|dir|directory|prefix|result|results|junit)(?:[-_]?(?:file|dir|path|to|name|html|xml|json))?"
    r"|-B|--cov-report",
    re.IGNORECASE,
)
"""Options whose value names an output."""
