"""Repositories that want to run something when Forge asks git about them: none of it runs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.workspace.git import reading_variables, run_git
from tests.unit.workspace.test_git import git

pytestmark = pytest.mark.slow


CALLS = (
    ("status", "--porcelain"),
    ("status", "--porcelain=v2", "-v", "--untracked-files=all"),
    ("diff",),
    ("diff", "--stat", "HEAD"),
    ("diff", "--cached"),
    ("diff-files", "-p"),
    ("diff-index", "-p", "HEAD"),
    ("log", "-p", "--show-signature"),
    ("log", "-1", "--format=%G? %GS"),
    ("show",),
    ("show", "HEAD:a.txt"),
    ("ls-files", "-m", "-o", "--exclude-standard"),
    ("rev-parse", "HEAD"),
    ("blame", "a.txt"),
)


class Trap:
    """A repository with a program that leaves a trace when anything starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.trace = folder / "ran"
        self.canary = folder / "canary.sh"
        self.canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.trace}\n')
        self.canary.chmod(0o755)
        self.folder.mkdir()
        git(self.folder, "init", "-q", "-b", "main")
        (self.folder / "a.txt").write_text("one\n")
        git(self.folder, "add", "a.txt")
        git(self.folder, "commit", "-q", "-m", "first")
        (self.folder / "a.txt").write_text("two\n")
        (self.folder / "new.txt").write_text("new\n")

    def set(self, *keys: str, value: str | None = None) -> None:
        for key in keys:
            git(self.folder, "config", key, value or str(self.canary))

    def attributes(self, line: str) -> None:
        (self.folder / ".gitattributes").write_text(line + "\n")

    async def spring(self) -> None:
        """Asks git all that Forge may ask."""
        for call in CALLS:
            await run_git(self.folder, *call)
        assert not self.trace.exists(), self.trace.read_text()

    def sings(self, *arguments: str) -> None:
        """The same trap does go off for a plain git, or else it proves nothing."""
        subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=60
        )
        assert self.trace.exists(), "the canary must be able to sing"


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def fsmonitor(trap: Trap) -> None:
    trap.set("core.fsmonitor")


def external_diff(trap: Trap) -> None:
    trap.set("diff.external")


def diff_driver(trap: Trap) -> None:
    trap.set("diff.evil.command")
    trap.attributes("* diff=evil")


def text_conversion(trap: Trap) -> None:
    trap.set("diff.evil.textconv")
    trap.attributes("* diff=evil")


def clean_filter(trap: Trap) -> None:
    trap.set("filter.evil.clean")
    trap.set("filter.evil.required", value="true")
    trap.attributes("* filter=evil")


def filter_process(trap: Trap) -> None:
    trap.set("filter.evil.process")
    trap.attributes("* filter=evil")


def filter_with_an_equals_sign(trap: Trap) -> None:
    """`git -c filter.ev=il.clean=` would set something else."""
    trap.set("filter.ev=il.clean")
    trap.attributes("* filter=ev=il")


def filter_with_odd_characters(trap: Trap) -> None:
    trap.set('filter.Ev."il\t].clean')
    trap.attributes('* filter=Ev."il\t]'.replace("\t", "\t"))
    trap.set("filter.\u00e9\u2028x.clean")
    trap.attributes("a.txt filter=\u00e9\u2028x")


def filter_from_an_included_file(trap: Trap) -> None:
    evil = trap.folder / "evil.config"
    evil.write_text(f'[filter "evil"]\n\tclean = {trap.canary}\n[core]\n\tfsmonitor = {trap.canary}\n')
    git(trap.folder, "config", f"includeIf.gitdir:{trap.folder}/.path", str(evil))
    trap.attributes("* filter=evil")


def filter_of_a_worktree(trap: Trap) -> None:
    trap.set("extensions.worktreeConfig", value="true")
    git(trap.folder, "config", "--worktree", "filter.evil.clean", str(trap.canary))
    trap.attributes("* filter=evil")


def hook(trap: Trap) -> None:
    for name in (
        "post-index-change",
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        path = trap.folder / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(trap.canary.read_text())
        path.chmod(0o755)


def hooks_elsewhere(trap: Trap) -> None:
    hooks = trap.folder / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").write_text(trap.canary.read_text())
    (hooks / "post-index-change").chmod(0o755)
    trap.set("core.hooksPath", value=str(hooks))


def signatures(trap: Trap) -> None:
    signed = git(trap.folder, "cat-file", "commit", "HEAD").split("\n\n", 1)
    armour = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    commit = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=trap.folder,
        input=f"{signed[0]}\n{armour}\n\n{signed[1]}",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    git(trap.folder, "update-ref", "HEAD", commit)
    trap.set("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program")
    trap.set("log.showSignature", value="true")


def promised_objects(trap: Trap) -> None:
    """A blob that is missing is fetched from the remote that promised it, by the program that its URL names."""
    blob = git(trap.folder, "rev-parse", "HEAD:a.txt").strip()
    (trap.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    trap.set("core.repositoryFormatVersion", value="1")
    trap.set("extensions.partialClone", value="origin")
    trap.set("remote.origin.promisor", "protocol.ext.allow", value="true")
    trap.set("protocol.ext.allow", value="always")
    trap.set("remote.origin.url", value=f"ext::{trap.canary} %S")


def promised_objects_nearby(trap: Trap) -> None:
    blob = git(trap.folder, "rev-parse", "HEAD:a.txt").strip()
    (trap.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    trap.set("core.repositoryFormatVersion", value="1")
    trap.set("extensions.partialClone", value="origin")
    trap.set("remote.origin.promisor", value="true")
    trap.set("remote.origin.url", value=str(trap.folder))
    trap.set("protocol.file.allow", value="always")
    trap.set("remote.origin.uploadpack")


def submodule(trap: Trap) -> None:
    """A submodule is asked too, and has a config of its own."""
    inner = trap.folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "b.txt").write_text("one\n")
    git(inner, "add", "b.txt")
    git(inner, "commit", "-q", "-m", "inner")
    git(trap.folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./inner", "inner")
    git(inner, "config", "filter.deep.clean", str(trap.canary))
    git(inner, "config", "core.fsmonitor", str(trap.canary))
    (inner / ".gitattributes").write_text("* filter=deep\n")
    (inner / "b.txt").write_text("two\n")
    trap.set("submodule.inner.ignore", value="none")
    trap.set("diff.submodule", value="diff")
    trap.set("status.submoduleSummary", value="true")


HOSTILE: list[tuple[Callable[[Trap], None], tuple[str, ...]]] = [
    (fsmonitor, ("status",)),
    (external_diff, ("diff",)),
    (diff_driver, ("diff",)),
    (text_conversion, ("diff",)),
    (clean_filter, ("diff",)),
    (filter_process, ("diff",)),
    (filter_with_an_equals_sign, ("diff",)),
    (filter_with_odd_characters, ("diff",)),
    (filter_from_an_included_file, ("diff",)),
    (filter_of_a_worktree, ("diff",)),
    (hook, ("update-index", "--force-write-index")),
    (hooks_elsewhere, ("update-index", "--force-write-index")),
    (signatures, ("log", "--show-signature")),
    (promised_objects, ("show", "HEAD:a.txt")),
    (promised_objects_nearby, ("show", "HEAD:a.txt")),
    (submodule, ("status",)),
]


@pytest.mark.parametrize(("arm", "plain"), HOSTILE, ids=lambda one: getattr(one, "__name__", " "))
async def test_nothing_that_a_repository_names_is_run(
    trap: Trap, arm: Callable[[Trap], None], plain: tuple[str, ...]
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    await trap.spring()
    trap.sings(*plain)


async def test_helpers_pagers_editors_and_aliases_are_not_run(trap: Trap) -> None:
    """A plain git runs these only on a terminal, on the network, or for commands of other names."""
    trap.set(
        *("core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("sequence.editor", "credential.helper", "credential.https://example.org.helper"),
        *("core.alternateRefsCommand", "interactive.diffFilter", "uploadpack.packObjectsHook"),
        *("pager.diff", "pager.log", "pager.show", "pager.status", "web.browser", "man.viewer"),
    )
    trap.set("alias.status", "alias.diff", "alias.log", "alias.show", value=f"!{trap.canary}")
    await trap.spring()


async def test_git_environment_variables_are_not_inherited(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"):
        monkeypatch.setenv(name, str(trap.canary))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.canary))
    await trap.spring()
    answer = await run_git(trap.folder, "diff")
    assert "+two" in answer.stdout
    assert os.environ["GIT_DIR"] == "/nowhere"


@pytest.mark.parametrize("set_program", [external_diff, diff_driver, text_conversion])
async def test_a_diff_is_shown_without_the_repository_s_program(
    trap: Trap, set_program: Callable[[Trap], None]
) -> None:
    set_program(trap)
    (trap.folder / "a.txt").write_text("changed $(touch no) `x`\n")
    done = subprocess.run(
        ["git", "--no-pager", "diff", "--", "a.txt"],
        cwd=trap.folder,
        env={**os.environ, **await reading_variables([trap.folder])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "+changed $(touch no) `x`" in done.stdout
    assert not trap.trace.exists()


async def test_hooks_of_the_config_are_switched_off(trap: Trap) -> None:
    """git 2.54 and later run them: they are in no folder that core.hooksPath could replace."""
    trap.set("hook.evil=1.command", "hook.other.command")
    trap.set("hook.evil=1.event", "hook.only event.event", value="post-checkout")
    output = await run_git(trap.folder, "config", "--null", "--get-regexp", r"^hook\..*\.enabled$")
    assert {*output.stdout.split("\0")} - {""} == {
        f"hook.{name}.enabled\nfalse" for name in ("evil=1", "other", "only event")
    }
    variables = await reading_variables([trap.folder])
    assert "hook.other.enabled" in variables.values()
