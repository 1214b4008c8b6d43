"""What of a project counts after the user has trusted it: what was there then, and what they accept later."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.accepted import AcceptedDefinitions, record_file
from forge_core.extensions.catalog import ExtensionCatalog, load_catalog
from forge_core.runtime import load_session_config
from forge_core.workspace.trust import TrustStore


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeConfig:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "forge"))
    (tmp_path / "work").mkdir()
    config = load_session_config(tmp_path / "work")
    TrustStore(config.state_dir).decide(config.working_dir, True)
    return dataclasses.replace(config, own_extensions=(tmp_path / "own",))


def write(config: ForgeConfig, name: str, text: str) -> Path:
    path = config.working_dir / f".claude/commands/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def start(config: ForgeConfig) -> tuple[ExtensionCatalog, AcceptedDefinitions]:
    """What a session loads when it starts."""
    accepted = AcceptedDefinitions.load(config)
    return load_catalog(config, accepted), accepted


def names(catalog: ExtensionCatalog) -> list[str]:
    return [one.name for one in catalog.definitions]


def test_what_is_there_when_trust_is_given_counts_and_later_files_wait(config: ForgeConfig) -> None:
    write(config, "a", "---\ndescription: One\n---\nFirst line\nSecond line")
    first, _ = start(config)
    write(config, "a", "---\ndescription: Two\n---\nFirst line\n\x1b[31mOther line")
    write(config, "b", "New")

    later, accepted = start(config)

    assert names(first) == ["a"]
    assert names(later) == []
    assert later.pending_text == "command /a (changed), command /b (new)"
    changed, new = later.pending
    assert changed.differences == (
        "-description: One",
        "+description: Two",
        "-Second line",
        "+\u241b[31mOther line",
    )
    assert new.differences == ()
    accepted.accept(one.definition for one in later.pending)
    assert names(start(config)[0]) == ["a", "b"]


def test_contents_that_were_accepted_once_stay_accepted(config: ForgeConfig) -> None:
    """As when another branch is checked out, and the first one again."""
    for text in ("main", "branch"):
        write(config, "a", text)
        catalog, accepted = start(config)
        accepted.accept(one.definition for one in catalog.pending)

    for text in ("main", "branch"):
        write(config, "a", text)
        assert names(start(config)[0]) == ["a"]


def test_accepted_contents_count_only_in_their_file(config: ForgeConfig) -> None:
    path = write(config, "a", "text")
    start(config)
    path.rename(path.with_name("deploy.md"))

    assert start(config)[0].pending_text == "command /deploy (new)"


def test_with_trust_for_one_run_everything_counts_and_nothing_is_recorded(config: ForgeConfig) -> None:
    start(config)
    write(config, "a", "text")

    once = dataclasses.replace(config, trusts_this_run=True)
    assert names(start(once)[0]) == ["a"]
    assert names(start(config)[0]) == []


@pytest.mark.parametrize(
    "content", ["", "[]", '{"folder": "/elsewhere", "accepted": {}}', '{"accepted": {"x": 1}}', "[" * 100_000]
)
def test_nothing_is_accepted_by_a_record_that_cannot_be_read(config: ForgeConfig, content: str) -> None:
    write(config, "a", "text")
    start(config)
    record_file(config.state_dir, config.working_dir).write_text(content)

    catalog, _ = start(config)

    assert names(catalog) == []
    assert "cannot be read" in catalog.problems[0]
    assert catalog.pending_text == "command /a (new)"


def test_a_record_that_cannot_be_written_is_a_problem(config: ForgeConfig) -> None:
    write(config, "a", "text")
    (config.state_dir / "accepted").write_text("in the way")

    catalog, _ = start(config)

    assert names(catalog) == ["a"]
    assert catalog.problems[0].startswith("What you accepted was not saved")


def test_long_texts_are_not_kept(config: ForgeConfig) -> None:
    write(config, "a", "x" * 30_000)
    start(config)
    record = json.loads(record_file(config.state_dir, config.working_dir).read_text())
    write(config, "a", "y")

    assert "text" not in record["accepted"]["command .claude/commands/a.md"]
    assert start(config)[0].pending[0].differences == ()


def test_two_sessions_keep_what_the_other_has_accepted(config: ForgeConfig) -> None:
    start(config)[1].accept([])
    write(config, "a", "One")
    write(config, "b", "Two")
    (first_catalog, first), (second_catalog, second) = start(config), start(config)

    first.accept([one.definition for one in first_catalog.pending if one.definition.name == "a"])
    second.accept([one.definition for one in second_catalog.pending if one.definition.name == "b"])

    assert names(start(config)[0]) == ["a", "b"]
