"""What common programs do to files: the claims about their command lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.undo.expected_effects import Covers, FileEffect, Proof

Effects = set[tuple[FileEffect, str, Covers]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.py", "b.py", "fix.patch", "src/c.py", "README.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    return tmp_path


def effects(line: str, root: Path) -> Effects:
    return {(one.effect, one.path, one.covers) for one in expected_effects(line, root).claims}


def paths(line: str, root: Path, effect: FileEffect) -> set[str]:
    return {path for kind, path, _ in effects(line, root) if kind is effect}


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("git apply fix.patch", ""),
        ("git -C src apply ../fix.patch", "src"),
        ("git -c core.autocrlf=false -C src apply ../fix.patch", "src"),
        ("git --git-dir .git --work-tree . apply fix.patch", ""),
    ],
)
def test_git_applies_a_patch_in_the_folder_that_its_options_name(line: str, path: str, root: Path) -> None:
    assert (FileEffect.PATCH, path, Covers.BELOW) in effects(line, root)


def test_git_moves_and_removes_what_it_names(root: Path) -> None:
    moved = effects("git mv a.py src", root)
    assert (FileEffect.COPY, "src/a.py", Covers.BELOW) in moved
    assert (FileEffect.REMOVE, "a.py", Covers.BELOW) in moved
    assert paths("git rm '*.py'", root, FileEffect.REMOVE) == {"*.py"}


@pytest.mark.parametrize(
    ("line", "takes_untracked"),
    [("git clean -fd", True), ("git stash -u", True), ("git stash", False), ("git checkout .", False)],
)
def test_git_removes_untracked_files_only_with_an_option_for_it(
    line: str, takes_untracked: bool, root: Path
) -> None:
    [claim] = [one for one in expected_effects(line, root).claims if one.effect is FileEffect.GIT]
    assert bool(claim.details) is takes_untracked


@pytest.mark.parametrize("line", ["rm -r src a.py", "mv src a.py elsewhere/"])
def test_a_removal_is_claimed_once_with_what_is_below(line: str, root: Path) -> None:
    removed = {claim for claim in effects(line, root) if claim[0] is FileEffect.REMOVE}
    assert removed == {(FileEffect.REMOVE, name, Covers.BELOW) for name in ("src", "a.py")}


@pytest.mark.parametrize("line", ["rm -rf ./*", "rm -rf s*", "mv s* elsewhere/"])
def test_a_pattern_is_removed_with_everything_below_what_it_names(line: str, root: Path) -> None:
    about = expected_effects(line, root).about("src/c.py")
    assert FileEffect.REMOVE in {claim.effect for claim in about}
    assert not any(claim.is_about("unnamed/c.py") for claim in about if claim.path == "s*")


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("black a.py", FileEffect.FORMAT),
        ("ruff format a.py", FileEffect.FORMAT),
        ("ruff check --fix a.py", FileEffect.FIX),
        ("gofmt -w a.py", FileEffect.FORMAT),
        ("goimports -w a.py", FileEffect.FIX),
        ("npx prettier --write a.py", FileEffect.FORMAT),
        ("npm exec -- prettier --write a.py", FileEffect.FORMAT),
        ("uv run isort a.py", FileEffect.FIX),
    ],
)
def test_a_formatter_rewrites_the_files_that_it_names(line: str, effect: FileEffect, root: Path) -> None:
    assert paths(line, root, effect) == {"a.py"}


@pytest.mark.parametrize("line", ["black --check a.py", "ruff check a.py", "gofmt a.py", "prettier a.py"])
def test_a_formatter_that_only_checks_writes_nothing(line: str, root: Path) -> None:
    assert not {kind for kind, *_ in effects(line, root)} & {FileEffect.FORMAT, FileEffect.FIX}


@pytest.mark.parametrize(
    "line", ["fd missing", "grep -rn missing out.txt", "b2sum out.txt", "pytest tests/new.py", "echo out.txt"]
)
def test_the_operands_of_a_program_that_only_reads_are_no_outputs(line: str, root: Path) -> None:
    assert expected_effects(line, root).claims == ()


@pytest.mark.parametrize(
    ("line", "created"),
    [
        ("npm init -y", {"package.json"}),
        ("go mod tidy", {"go.mod", "go.sum", "vendor"}),
        ("cargo init", {"Cargo.toml", "src/main.rs", "src/lib.rs", ".gitignore"}),
        ("poetry add httpx", {"pyproject.toml"}),
        ("tsc --init", {"tsconfig.json"}),
    ],
)
def test_a_subcommand_creates_its_files(line: str, created: set[str], root: Path) -> None:
    assert created <= paths(line, root, FileEffect.WRITE)


def test_a_repeated_command_proves_no_number_of_writes(root: Path) -> None:
    lines = (
        "touch new.txt",
        "ls | xargs touch new.txt",
        "for f in *; do touch new.txt; done",
    )
    counts = {
        line: {claim.times for claim in expected_effects(line, root).claims if claim.path == "new.txt"} - {1}
        for line in lines
    }
    assert counts == {lines[0]: set(), **{line: {0} for line in lines[1:]}}


@pytest.mark.parametrize(
    ("line", "proof"),
    [
        ("touch new.txt", Proof.END),
        ("nice touch new.txt", Proof.END),
        ("sudo touch new.txt", Proof.END),
        ("chroot /srv touch new.txt", Proof.NONE),
    ],
)
def test_only_a_transparent_wrapper_keeps_the_proof_of_a_write(line: str, proof: Proof, root: Path) -> None:
    proofs = {one.proof for one in expected_effects(line, root).claims if one.effect is FileEffect.WRITE}
    assert proofs == {proof}
