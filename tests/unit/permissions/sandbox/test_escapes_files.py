"""Ways out through the file system, each tried for real and judged from outside.

Every attempt is shown to work without the sandbox too: one that can't work proves nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.permissions.sandbox.world import SECRET, World, everything_in

pytestmark = pytest.mark.slow


EVIL = "#!/bin/sh\\ntouch owned\\n"
FSMONITOR = "[core]\\n\\tfsmonitor = touch owned\\n"


@dataclass(frozen=True)
class Attempt:
    """A command, and how the host tells that it worked."""

    name: str
    command: str
    worked: Callable[[World, str], bool]
    """Given the world and the command's output."""
    prepare: Callable[[World], object] = lambda world: None
    only_root: bool = False
    """Without the sandbox, root alone could do it; the sandbox is tried as everybody."""
    clean: Callable[[World], object] = lambda world: None


def exists(*names: str) -> Callable[[World, str], bool]:
    return lambda world, _: any((world.base / name).exists() for name in names)


def holds(name: str, text: str) -> Callable[[World, str], bool]:
    return lambda world, _: text in (world.base / name).read_text()


def holds_owned(name: str) -> Callable[[World, str], bool]:
    return lambda world, _: "owned" in _text(world.work / name)


def said(text: str) -> Callable[[World, str], bool]:
    return lambda _, output: text in output


def mark(folder: str) -> Path:
    return Path(folder) / f"forge-test-{os.getpid()}"


def system_file(folder: str) -> Attempt:
    return Attempt(
        f"a file in {folder}",
        f"echo x > {mark(folder)}",
        lambda *_: mark(folder).exists(),
        only_root=True,
        clean=lambda _: mark(folder).unlink(missing_ok=True),
    )


def submodule(world: World) -> None:
    git_dir = world.work / ".git/modules/lib/core"
    world.write(git_dir / "HEAD", "ref: refs/heads/main\n")
    world.write(git_dir / "config", "[core]\n\tbare = false\n")
    world.write(git_dir / "hooks" / "README", "none\n")


def linked_hooks(world: World) -> None:
    with (world.work / ".git/config").open("a") as config:
        config.write("[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.gitconfig\n")


def linked_worktree(world: World) -> None:
    """One outside the workspace, with a submodule."""
    assert world.bare('git worktree add -q "$OUTSIDE/linked" -b linked').code == 0
    git_dir = world.work / ".git/worktrees/linked/modules/lib"
    world.write(git_dir / "HEAD", "ref: refs/heads/main\n")
    world.write(git_dir / "config", "[core]\n\tbare = false\n")
    world.write(git_dir / "hooks" / "README", "none\n")


def nested_repository(world: World) -> None:
    for name in ("HEAD", "config", "hooks/a"):
        world.write(world.work / "sub/.git" / name, "x")


W = "home/my work"
ATTEMPTS = [
    Attempt("a file at home", 'echo x > "$HOME/new"', exists("home/new")),
    Attempt("a line in .bashrc", 'echo "touch owned" >> "$HOME/.bashrc"', exists("home/.bashrc")),
    Attempt("the folder above", "echo x > ../new; echo x > ../../new", exists("home/new", "new")),
    system_file("/etc"),
    system_file("/usr/bin"),
    system_file("/var/lib"),
    Attempt("the outside", 'echo x >> "$OUTSIDE/file"', holds("outside/file", "x\n")),
    Attempt("deleting outside", 'rm -rf "$OUTSIDE"', lambda world, _: not world.outside.exists()),
    Attempt("a mode outside", 'chmod 777 "$OUTSIDE/file"', lambda w, _: (w.outside / "file").stat().st_mode & 2 > 0),
    Attempt("a symbolic link out", 'ln -s "$OUTSIDE" out; echo x > out/new', exists("outside/new")),
    Attempt("a hard link", 'ln "$OUTSIDE/file" hard && echo x >> hard', holds("outside/file", "x\n")),
    Attempt("a move out", 'mv README.md "$OUTSIDE/moved" 2>/dev/null || cp README.md "$OUTSIDE/moved"', exists("outside/moved")),
    Attempt("the root of process 1", 'for p in 1 self $PPID; do echo x > "/proc/$p/root$OUTSIDE/new"; done', exists("outside/new")),
    Attempt("the old working folder", 'echo x > "/proc/self/cwd/../../outside/new"', exists("outside/new")),
    Attempt("git's config", "printf '[core]\\n\\tfsmonitor = touch owned\\n' >> .git/config", holds(f"{W}/.git/config", "owned")),
    Attempt("git's config by git", "git config core.fsmonitor 'touch owned'", holds(f"{W}/.git/config", "owned")),
    Attempt("git's config replaced", "printf '[core]\\n\\tfsmonitor = owned\\n' > c; mv -f c .git/config", holds(f"{W}/.git/config", "owned")),
    Attempt("git's config through a hard link", "ln -f .git/config c; printf '[core]\\n\\tfsmonitor = owned\\n' >> c", holds(f"{W}/.git/config", "owned")),
    Attempt("a bare repository where there was none", "mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n' > config; git rev-parse --git-dir", lambda _, output: output.splitlines()[-1:] == ["."], lambda w: shutil.rmtree(w.work / ".git")),
    Attempt("a hook", f"mkdir -p .git/hooks; printf '{EVIL}' > .git/hooks/pre-commit", exists(f"{W}/.git/hooks/pre-commit")),
    Attempt("the hooks folder replaced", "rm -rf .git/hooks; mkdir -p new/; touch new/pre-commit; mv new .git/hooks; touch .git/hooks/pre-commit", exists(f"{W}/.git/hooks/pre-commit")),
    Attempt("a hook through a link", "ln -s .git/hooks h; mkdir -p .git/hooks; touch h/pre-push", exists(f"{W}/.git/hooks/pre-push")),
    Attempt("another common directory", "mkdir evil; echo ../evil > .git/commondir", lambda w, _: "evil" in _text(w.work / ".git/commondir")),
    Attempt("the working tree's config, new", f"printf '{FSMONITOR}' > .git/config.worktree", holds_owned(".git/config.worktree")),
    Attempt("the working tree's config, there", f"printf '{FSMONITOR}' > .git/config.worktree", holds_owned(".git/config.worktree"), lambda w: w.write(w.work / ".git/config.worktree", "")),
    Attempt("the working tree's config moved in", f"printf '{FSMONITOR}' > c; mv -f c .git/config.worktree", holds_owned(".git/config.worktree")),
    Attempt("hooks that the working tree's config names", "mkdir -p tools/hooks; touch tools/hooks/pre-commit", exists(f"{W}/tools/hooks/pre-commit"), lambda w: w.write(w.work / ".git/config.worktree", "[core]\n\thooksPath = tools/hooks\n")),
    Attempt("the config of a linked working tree", f"printf '{FSMONITOR}' > .git/worktrees/linked/config.worktree", holds_owned(".git/worktrees/linked/config.worktree"), linked_worktree),
    Attempt("the config of a linked working tree's submodule", f"printf '{FSMONITOR}' > .git/worktrees/linked/modules/lib/config", holds_owned(".git/worktrees/linked/modules/lib/config"), linked_worktree),
    Attempt("a hook of a linked working tree's submodule", "touch .git/worktrees/linked/modules/lib/hooks/post-checkout", exists(f"{W}/.git/worktrees/linked/modules/lib/hooks/post-checkout"), linked_worktree),
    Attempt("the .git folder renamed", "mv .git .git2; mkdir -p .git/hooks; touch .git/hooks/pre-commit", exists(f"{W}/.git/hooks/pre-commit")),
    Attempt("the .git folder removed", "rm -rf .git; mkdir -p .git/hooks; touch .git/hooks/pre-commit; git init -q; printf owned >> .git/config", holds(f"{W}/.git/config", "owned")),
    Attempt("the .git folder exchanged", "cp -r .git g; touch g/owned; $PYTHON -c \"import ctypes,os; ctypes.CDLL(None).syscall({'x86_64':316}.get(os.uname().machine,276), -100, b'g', -100, b'.git', 2)\"; true", exists(f"{W}/.git/owned")),
    Attempt("the workspace renamed", 'cd ..; mv "my work" other; mkdir "my work"; touch "my work/owned"', exists("home/other")),
    Attempt("Forge's config, new", "mkdir -p .forge; echo 'allow = [\"*\"]' > .forge/config.toml", exists(f"{W}/.forge/config.toml")),
    Attempt("Forge's config, there", "echo owned >> .forge/config.toml", holds(f"{W}/.forge/config.toml", "owned"), lambda w: w.write(w.work / ".forge/config.toml", "x = 1\n")),
    Attempt("Forge's folder renamed", "mv .forge f; mkdir .forge; echo owned > .forge/config.toml", holds(f"{W}/.forge/config.toml", "owned"), lambda w: w.write(w.work / ".forge/config.toml", "x = 1\n")),
    Attempt("Forge's folder as a link", "mkdir f; ln -s f .forge; echo owned > .forge/config.toml", exists(f"{W}/.forge/config.toml")),
    Attempt("a submodule's hook", "touch .git/modules/lib/core/hooks/post-checkout", exists(f"{W}/.git/modules/lib/core/hooks/post-checkout"), submodule),
    Attempt("a submodule's parent renamed", "cd .git; for d in modules modules/lib modules/lib/core; do mv $d old; mkdir -p modules/lib/core/hooks; touch modules/lib/core/hooks/post-checkout; done", exists(f"{W}/.git/modules/lib/core/hooks/post-checkout"), submodule),
    Attempt("a submodule's config for its working tree", f"printf '{FSMONITOR}' > .git/modules/lib/core/config.worktree", holds_owned(".git/modules/lib/core/config.worktree"), submodule),
    Attempt("hooks that the config names", "mkdir -p tools/hooks; touch tools/hooks/pre-commit", exists(f"{W}/tools/hooks/pre-commit"), linked_hooks),
    Attempt("a config that the config includes", "echo '[alias] st = !owned' > shared.gitconfig", lambda w, _: "owned" in _text(w.work / "shared.gitconfig"), linked_hooks),
    Attempt("a nested repository's hook", "touch sub/.git/hooks/pre-commit", exists(f"{W}/sub/.git/hooks/pre-commit"), nested_repository),
    Attempt("a nested repository's config for its working tree", f"printf '{FSMONITOR}' > sub/.git/config.worktree", holds_owned("sub/.git/config.worktree"), nested_repository),
    Attempt("a private key", 'cat "$HOME/.ssh/id_ed25519"', said(SECRET)),
    Attempt("a key through a link", 'ln -s "$HOME/.ssh" s; cat s/id_ed25519', said(SECRET)),
    Attempt("a key that a link at home leads to", 'cat "$OUTSIDE/netrc"', said(SECRET), lambda w: [w.write(w.outside / "netrc"), (w.home / ".netrc").symlink_to(w.outside / "netrc")]),
    Attempt("Forge's own state", 'cat "$STATE/session"', said(SECRET)),
    Attempt("the environment file", "cat .env", said(SECRET), lambda w: w.write(w.work / ".env", f"KEY={SECRET}\n")),
    Attempt("an environment file further down", "cat apps/web/.env.local", said(SECRET), lambda w: w.write(w.work / "apps/web/.env.local")),
    Attempt("an environment file far down", "grep -r . a", said(SECRET), lambda w: w.write(w.work / "a/b/c/d/e/f/g/h/.env")),
    Attempt("an environment file in a build", "cat dist/.env", said(SECRET), lambda w: w.write(w.work / "dist/.env")),
    Attempt("keys in many folders", "cat k/*/.env", said(SECRET), lambda w: [w.write(w.work / f"k/{n}/.env") for n in range(60)]),
    Attempt("an environment file moved", "mv .env e; cat e", said(SECRET), lambda w: w.write(w.work / ".env")),
    Attempt("an environment file linked", "ln .env e; cat e", said(SECRET), lambda w: w.write(w.work / ".env")),
    Attempt("a key file's folder moved", "mv conf c; cat c/server.key", said(SECRET), lambda w: w.write(w.work / "conf/server.key", f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n")),
    Attempt("the password file", "cat /etc/shadow", said("root:"), only_root=True),
    Attempt("other programs' temporary files", "cat /tmp/forge-test-*/other", said(SECRET), lambda w: _other(w), clean=lambda w: _no_other(w)),
]  # fmt: skip


def _other(world: World) -> None:
    world.write(Path(f"/tmp/forge-test-{os.getpid()}/other"))


def _no_other(world: World) -> None:
    folder = Path(f"/tmp/forge-test-{os.getpid()}")
    (folder / "other").unlink()
    folder.rmdir()


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def held(world: World) -> dict[str, str]:
    """Everything that git and Forge would act on."""
    git = ("hooks", "config", "commondir", "modules/lib/core/hooks", "modules/lib/core/config", "worktrees")
    names = (".forge", "sub/.git", *(f".git/{name}" for name in git))
    everything = everything_in(world.work)
    return {path: bytes_ for path, bytes_ in everything.items() if path.startswith(names)}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_a_file_system_escape_is_blocked(world: World, attempt: Attempt) -> None:
    attempt.prepare(world)
    before = held(world)
    try:
        confined = world.run(attempt.command)
        assert "bwrap:" not in confined.output, confined
        assert not attempt.worked(world, confined.output), f"with the sandbox {confined}"
        assert held(world) == before, "something was changed, or left behind"
        if world.person.uid == 0 or not attempt.only_root:
            bare = world.bare(attempt.command)
            assert attempt.worked(world, bare.output), f"without the sandbox {bare}"
    finally:
        attempt.clean(world)


FORGED = """
for descriptor in /proc/[0-9]*/fd/* /proc/[0-9]*/task/*/fd/*; do
    [ -f "$descriptor" ] || continue
    printf '+%s\\0' "$OUTSIDE/empty" "$OUTSIDE/folder" > "$descriptor"
    chmod 0 "$descriptor"
done 2>/dev/null
true
"""


def test_files_that_bubblewrap_holds_open_control_nothing(world: World) -> None:
    """Its first process holds a lock, whose file any command can write to through /proc."""
    world.write(world.outside / "empty", "")
    (world.outside / "folder").mkdir()
    world.own(world.outside)
    before = everything_in(world.work)
    assert world.run(FORGED).code == 0
    assert everything_in(world.work) == before, "placeholders stayed"
    assert world.run("touch made").code == 0, "the lock can't be taken any more"
    assert sorted(everything_in(world.outside)) == ["empty", "file", "folder"], (
        "Forge was made to remove them"
    )
    assert everything_in(world.work) == {**before, "made": ""}
