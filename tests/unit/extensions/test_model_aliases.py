"""The models that files name."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.extensions.model_aliases import NamedModel, named_model
from forge_core.runtime import load_session_config

UNSET = "No model is set for {!r}, so the current one is used. Set it with /config model_aliases.{} MODEL."


@pytest.mark.parametrize(
    ("name", "known", "model"),
    [
        ("", (), NamedModel(None)),
        ("inherit", (), NamedModel(None)),
        ("haiku", (), NamedModel("own/small")),
        ("Haiku", (), NamedModel("own/small")),
        ("claude-3-5-haiku-20241022", ("a/b",), NamedModel("own/small")),
        ("claude-haiku-4-5", ("claude-haiku-4-5",), NamedModel("claude-haiku-4-5")),
        ("sonnet", (), NamedModel(None, UNSET.format("sonnet", "sonnet"))),
        ("sonnet[1m]", ("a/b",), NamedModel(None, UNSET.format("sonnet[1m]", "sonnet"))),
        (
            "anthropic/claude-sonnet-4.5",
            ("anthropic/claude-sonnet-4.5",),
            NamedModel("anthropic/claude-sonnet-4.5"),
        ),
        ("a/b", (), NamedModel("a/b")),
        (
            "a/c",
            ("a/b",),
            NamedModel(None, "There is no model 'a/c' at this endpoint, so the current one is used."),
        ),
    ],
)
def test_a_name_is_an_id_or_maps_to_one(
    name: str, known: tuple[str, ...], model: NamedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text('[model_aliases]\nhaiku = "own/small"\n')

    assert named_model(name, load_session_config(tmp_path), known) == model
