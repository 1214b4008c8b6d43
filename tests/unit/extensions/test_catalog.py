"""Which files define commands, skills, agents and styles, and which of several with one name counts."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.catalog import ExtensionCatalog, load_catalog, project_definitions
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import (
    MAX_FILES,
    MAX_FOLDERS,
    ExtensionKind,
    find_files,
    searched_folders,
)
from forge_core.runtime import load_session_config
from forge_core.workspace.trust import what_would_act

COMMAND, SKILL, AGENT, STYLE = ExtensionKind


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    (tmp_path / "work").mkdir()
    loaded = load_session_config(tmp_path / "work", trust=True)
    return dataclasses.replace(loaded, own_extensions=(tmp_path / "own", tmp_path / "claude"))


def write(path: Path, text: str = "Do it.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(catalog: ExtensionCatalog, kind: ExtensionKind) -> list[str]:
    return [one.name for one in catalog.of_kind(kind)]


def test_each_kind_is_found_in_its_folders(config: ForgeConfig, tmp_path: Path) -> None:
    work = config.working_dir
    write(work / ".claude/commands/git/review.md")
    write(work / ".agents/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Read PDFs\n---\nBody")
    write(work / ".claude/agents/tester.md", "---\nname: Test-Runner\ndescription: Runs tests\n---\n")
    write(tmp_path / "own/styles/short.md")
    write(tmp_path / "claude/output-styles/long.md")
    write(work / ".claude/commands/notes.txt")

    catalog = load_catalog(config)

    assert names(catalog, COMMAND) == ["git:review"]
    assert names(catalog, SKILL) == ["pdf"]
    assert names(catalog, AGENT) == ["Test-Runner"]
    assert names(catalog, STYLE) == ["long", "short"]
    assert catalog.problems == ()
    found = catalog.find(SKILL, "PDF")
    assert found is not None
    assert catalog.find(AGENT, "project:Test-Runner") is catalog.of_kind(AGENT)[0]
    assert (found.description, found.body, found.folder) == (
        "Read PDFs",
        "Body",
        work / ".agents/skills/pdf",
    )


def test_the_strongest_has_the_name_and_the_others_stay_reachable(
    config: ForgeConfig, tmp_path: Path
) -> None:
    write(config.working_dir / ".claude/commands/a.md", "of the project")
    write(tmp_path / "own/commands/a.md", "of the user")

    catalog = load_catalog(config)

    project, user = catalog.find(COMMAND, "a"), catalog.find(COMMAND, "user:a")
    assert project is not None
    assert user is not None
    assert (project.body, user.body) == ("of the project", "of the user")
    assert [one.body for one in catalog.shadowed(COMMAND)] == ["of the user"]


def test_the_nearest_folder_of_the_repository_is_the_strongest(config: ForgeConfig) -> None:
    root = config.working_dir
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    write(root / ".forge/commands/a.md", "above")
    write(root / "sub/.claude/commands/a.md", "near")

    catalog = load_catalog(dataclasses.replace(config, working_dir=root / "sub"))

    found = catalog.find(COMMAND, "a")
    assert found is not None
    assert found.body == "near"
    assert [one.body for one in catalog.shadowed(COMMAND)] == ["above"]


def test_nothing_of_an_untrusted_project_counts_and_the_question_names_it(config: ForgeConfig) -> None:
    write(config.working_dir / ".claude/commands/a.md")
    write(config.working_dir / ".claude/skills/s/SKILL.md", "---\ndescription: d\n---\n")
    untrusted = dataclasses.replace(config, is_trusted=False)

    assert load_catalog(untrusted).definitions == ()
    assert len([*project_definitions(config.working_dir)]) == 2
    assert what_would_act(config.working_dir) == (".claude/commands: a", ".claude/skills: s")


def test_safe_and_hermetic_starts_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    write(home / ".claude/commands/mine.md")
    write(tmp_path / "work/.claude/commands/theirs.md")

    def loaded(**options: object) -> list[str]:
        config = load_session_config(tmp_path / "work", trust=True, **options)  # type: ignore[arg-type]
        return names(load_catalog(config), COMMAND)

    assert loaded() == ["mine", "theirs"]
    assert loaded(flags={"safe": True}) == []
    assert loaded(is_hermetic=True) == ["theirs"]


def test_links_out_of_the_project_are_not_followed(config: ForgeConfig, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside/a.md")
    folder = config.working_dir / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "file.md").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent)
    (folder / "loop").symlink_to(folder)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/commands").symlink_to(outside.parent)

    assert names(load_catalog(config), COMMAND) == ["a"]  # by the user's own link


def test_a_link_that_replaces_a_file_after_it_was_found_is_not_read(
    config: ForgeConfig, tmp_path: Path
) -> None:
    file = write(config.working_dir / ".claude/commands/a.md")
    [folder] = [one for one in searched_folders(config, COMMAND) if one.path == file.parent]
    [found] = find_files(folder, COMMAND)
    file.unlink()
    file.symlink_to(write(tmp_path / "outside/secret.md"))

    with pytest.raises(OSError, match="symbolic links"):
        Definition.read(found.path, COMMAND, folder, found.real)


def test_one_unusable_file_hides_no_other(config: ForgeConfig) -> None:
    folder = config.working_dir / ".claude/commands"
    write(folder / "good.md")
    write(folder / "odd.md", "---\n- a\n---\nBody")
    os.mkfifo(folder / "pipe.md")
    (folder / "self.md").symlink_to("self.md")
    write(config.working_dir / ".claude/skills/mute/SKILL.md", "---\nname: mute\n---\nBody")

    catalog = load_catalog(config)

    assert names(catalog, COMMAND) == ["good", "odd"]
    assert names(catalog, SKILL) == []
    assert [problem.rpartition("/")[2] for problem in catalog.problems] == [
        "SKILL.md was skipped: it has no description.",
        "odd.md: the front matter is not valid YAML (it is no mapping); it was ignored.",
    ]


def test_the_search_is_bounded(config: ForgeConfig) -> None:
    folder = config.working_dir / ".claude/commands"
    write(folder / "a/b/c/d/deep.md")
    write(folder / "a/b/c/d/e/too-deep.md")
    for number in range(MAX_FOLDERS + 5):
        (folder / f"n{number:05}").mkdir()
    write(folder / f"n{MAX_FOLDERS + 4:05}/last.md")

    catalog = load_catalog(config)
    assert (names(catalog, COMMAND), catalog.problems) == ([], ())
    assert catalog.limits == (f"{folder}: only the first 2,000 folders below it were searched.",)

    for number in range(MAX_FOLDERS + 5):
        if number != MAX_FOLDERS + 4:
            (folder / f"n{number:05}").rmdir()

    catalog = load_catalog(config)
    assert names(catalog, COMMAND) == ["a:b:c:d:deep", f"n{MAX_FOLDERS + 4:05}:last"]
    assert catalog.limits == (f"{folder}: folders more than 4 levels below it were not searched.",)

    shutil.rmtree(folder / "a/b/c/d/e")
    for number in range(MAX_FILES - 1):
        (folder / f"{number}.md").touch()
    assert load_catalog(config).limits == (f"{folder}: only the first 5,000 files count.",)
    (folder / "0.md").unlink()
    assert load_catalog(config).limits == ()


def test_what_has_changed_between_two_readings_is_known(config: ForgeConfig) -> None:
    folder = config.working_dir / ".claude/commands"
    for name in "ab":
        write(folder / f"{name}.md")
    before = load_catalog(config)
    (folder / "a.md").unlink()
    write(folder / "b.md", "changed")
    write(folder / "c.md")

    after = load_catalog(config)

    assert [[one.name for one in some] for some in after.changes_since(before)] == [["c"], ["b"], ["a"]]
    assert after.changes_since(after) == ([], [], [])


def test_names_and_descriptions_are_safe_to_display(config: ForgeConfig) -> None:
    write(
        config.working_dir / ".claude/commands/a\x1b[31m b.md", "---\ndescription: x\u202ey \x07\n---\nBody"
    )

    (one,) = load_catalog(config).of_kind(COMMAND)

    assert "\x1b" not in one.name
    assert " " not in one.name
    assert not {"\u202e", "\x07"} & set(one.description)


def test_as_many_skills_as_folders_are_allowed_are_found(config: ForgeConfig) -> None:
    for number in range(MAX_FOLDERS):
        folder = config.working_dir / f".claude/skills/s{number:04}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\ndescription: One of many\n---\n")

    assert len(load_catalog(config).of_kind(SKILL)) == MAX_FOLDERS
