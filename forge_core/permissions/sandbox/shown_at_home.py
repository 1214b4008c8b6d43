"""What a sandboxed command sees of a home folder: the list, as data.

Everything else of a home is hidden, because nobody can list all places where programs keep their logins. An
entry belongs here if programs are built or run with it, and if it holds no login, no history and no personal
file. Where a folder holds both, only its harmless parts are named.
"""

from __future__ import annotations

from dataclasses import dataclass

from forge_core.permissions.programs.word_sets import table


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Programs, their libraries, or downloaded packages."""

    name: str
    folders: tuple[str, ...] = ()
    """Where they are by default, relative to a home."""
    parts: tuple[str, ...] = ()
    """Relative to the folder; empty: all of it is shown."""
    variable: str = ""
    """The environment variable that names the folder instead."""
    marks: tuple[str, ...] = ()
    """The folder that the variable names is shown only if one of these is in it."""


def _toolchain(name: str, folders: str, parts: str = "", variable: str = "", marks: str = "") -> Toolchain:
    return Toolchain(name, tuple(folders.split()), tuple(parts.split()), variable, tuple(marks.split()))


LOCAL_PROGRAMS = _toolchain("local programs", ".local/bin .local/lib .local/lib64 .local/include bin")
"""The folders that the user fills by hand too; the others hold what package managers have put there."""
TOOLCHAINS = (
    LOCAL_PROGRAMS,
    _toolchain("Python", ".pyenv", "", "PYENV_ROOT", "versions shims"),
    _toolchain("Python", ".local/share/pipx .local/pipx", "", "PIPX_HOME", "venvs"),
    _toolchain("Python", ".local/share/uv", "python tools"),
    _toolchain("Python", ".virtualenvs .local/share/virtualenvs .local/share/hatch/env"),
    _toolchain("Python", ".cache/pypoetry/virtualenvs"),
    _toolchain(
        "conda",
        "miniconda3 anaconda3 miniforge3 mambaforge micromamba .conda",
        "bin condabin lib libexec include share conda-meta envs pkgs ssl",
    ),
    _toolchain("conda", "", "", "CONDA_PREFIX", "conda-meta"),
    _toolchain("Node.js", ".nvm", "", "NVM_DIR", "nvm.sh versions"),
    _toolchain("Node.js", ".fnm .local/share/fnm", "", "FNM_DIR", "node-versions"),
    _toolchain("Node.js", ".volta", "bin tools", "VOLTA_HOME", "tools"),
    _toolchain("Node.js", ".nodenv", "", "NODENV_ROOT", "versions"),
    _toolchain("Node.js", ".npm-global .npm-packages", "bin lib share"),
    _toolchain("Node.js", ".local/share/pnpm", "", "PNPM_HOME", "pnpm global"),
    _toolchain("Node.js", ".yarn .config/yarn/global", "bin releases node_modules"),
    _toolchain("Deno", ".deno", "bin", "DENO_INSTALL", "bin/deno"),
    _toolchain("Bun", ".bun", "bin install/global", "BUN_INSTALL", "bin/bun"),
    _toolchain("Rust", ".cargo", "bin env env.fish git registry", "CARGO_HOME", "bin registry"),
    _toolchain("Rust", ".rustup", "", "RUSTUP_HOME", "toolchains settings.toml"),
    _toolchain("Go", "go", "bin pkg", "GOPATH", "pkg bin"),
    _toolchain("Go", "sdk .local/go", "", "GOROOT", "bin/go"),
    _toolchain("Java", ".jdks .java/jdks Library/Java/JavaVirtualMachines", "", "JAVA_HOME", "bin/java"),
    _toolchain("Java", ".sdkman", "bin candidates libexec src var", "SDKMAN_DIR", "candidates"),
    _toolchain("Java", ".jenv", "", "JENV_ROOT", "versions shims"),
    _toolchain("Maven", ".m2", "repository wrapper"),
    _toolchain("Maven", "", "", "MAVEN_HOME", "bin/mvn"),
    _toolchain("Maven", "", "", "M2_HOME", "bin/mvn"),
    _toolchain("Gradle", "", "", "GRADLE_HOME", "bin/gradle"),
    _toolchain("Scala", ".ivy2 .sbt .cache/coursier .local/share/coursier", "cache local boot v1 bin"),
    _toolchain("Android", "Android/Sdk Library/Android/sdk", "", "ANDROID_HOME", "platform-tools platforms"),
    _toolchain("Ruby", ".rbenv", "", "RBENV_ROOT", "versions shims"),
    _toolchain(
        "Ruby", ".rvm .gem .local/share/gem", "bin gems rubies scripts lib environments wrappers ruby"
    ),
    _toolchain("PHP", ".composer .config/composer", "vendor"),
    _toolchain(
        ".NET", ".dotnet", "dotnet host packs sdk sdk-manifests shared templates tools", "DOTNET_ROOT", "sdk"
    ),
    _toolchain(".NET", ".nuget", "packages"),
    _toolchain("Haskell", ".ghcup .cabal .stack", "bin ghc env share packages store programs snapshots"),
    _toolchain("OCaml", ".opam", "", "OPAMROOT", "config"),
    _toolchain("Elixir and Erlang", ".mix .hex .kiex .kerl", "archives packages elixirs builds bin"),
    _toolchain("Dart", ".pub-cache", "bin hosted hosted-hashes git"),
    _toolchain("Julia", ".juliaup .julia", "bin juliaup packages compiled artifacts registries"),
    _toolchain(
        "Swift, Zig, Nim, Lean", ".swiftly .zvm .nimble .choosenim .elan", "bin toolchains pkgs pkgs2"
    ),
    _toolchain("version managers", ".asdf", "", "ASDF_DIR", "asdf.sh installs shims"),
    _toolchain("version managers", ".local/share/mise", "installs shims plugins"),
    _toolchain("version managers", ".proto .pixi .nix-profile", "bin shims tools envs share lib"),
    _toolchain("Homebrew", ".linuxbrew"),
    _toolchain("embedded", ".platformio .arduino15 .espressif", "packages platforms penv tools python_env"),
    _toolchain("browsers of test suites", ".cache/ms-playwright .cache/puppeteer .cache/Cypress"),
    _toolchain(
        "models and data",
        ".cache/huggingface .cache/torch nltk_data .nltk_data",
        "hub datasets corpora tokenizers",
    ),
    _toolchain("hooks of pre-commit", ".cache/pre-commit"),
)

TOOLCHAIN_VARIABLES = frozenset(one.variable for one in TOOLCHAINS if one.variable)

HARMLESS_FILES = table(
    """.inputrc .editorconfig .terminfo .tool-versions .python-version .node-version .nvmrc .ruby-version
    .java-version .gitignore .gitignore_global .gitattributes .config/git/ignore .config/git/attributes
    .clang-format .clang-tidy .rustfmt.toml .config/rustfmt .config/ruff .config/flake8 .config/pycodestyle
    .config/black .config/pylintrc .pylintrc .config/yamllint .config/fontconfig .config/matplotlib .fonts
    .local/share/fonts .prettierrc .stylelintrc .mailcap .mime.types .ripgreprc .config/fd .config/locale.conf
    Library/Fonts"""
)
"""Configuration without logins, relative to a home; files and folders."""
FILTERED_FILES = table(
    """.npmrc .yarnrc .yarnrc.yml .config/pip/pip.conf .pip/pip.conf .config/uv/uv.toml .cargo/config.toml
    .cargo/config .config/go/env .m2/settings.xml"""
)
"""Configuration that may hold logins: what is shown is a copy without them. Those of git are found by what
includes them (`configuration_copies`)."""
CACHES = table(".cache .npm .gradle .node-gyp Library/Caches")
"""Folders that programs write to whatever they do: commands use others instead (`project_caches`)."""
PREFIX_PARTS = table(
    """bin sbin lib lib32 lib64 libexec include share jre jmods conf release VERSION go.env pkg src api misc
    conda-meta ssl pyvenv.cfg platform"""
)
"""What belongs to a program in `bin`, beside that folder."""
OPEN_NAMES = table(
    """.git .forge .gitignore .gitattributes .gitmodules .github .venv .editorconfig .bashrc .bash_profile
    .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .inputrc .vimrc .vim
    .emacs .emacs.d .tmux.conf .pam_environment .xprofile .xinitrc .xsession"""
)
"""What a workspace that is, or contains, the home folder shows although its name begins with a dot: what
people work on there."""
