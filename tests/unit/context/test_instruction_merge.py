"""An AGENTS.md with the facts that it lacked."""

from __future__ import annotations

import random

import pytest

from forge_core.context.instruction_merge import merged_instructions

INITIAL = """\
# gopher

Digs.

Go 1.22, module `gopher` (`go.mod`).

## Layout

- `docs/`: documentation
- Other folders: `cmd/`, `pkg/`

## Commands

- `go build ./...` (go.mod)
- `go test ./...` (go.mod)

## Conventions

- Indentation: tabs (`.editorconfig`).
"""


def test_an_empty_file_gets_the_whole_text() -> None:
    assert merged_instructions("", INITIAL) == INITIAL
    assert merged_instructions("\r\n", INITIAL) == INITIAL.replace("\n", "\r\n")


def test_items_go_to_the_end_of_their_section_and_new_sections_to_the_end() -> None:
    text = "# Mine\n\nA Go program.\n\n## Useful commands\n\n- `go test ./...`: before each commit\n\n# Docs\nIn docs/."
    assert merged_instructions(text, INITIAL) == (
        "# Mine\n\nA Go program.\n\n## Useful commands\n\n- `go test ./...`: before each commit\n"
        "- `go build ./...` (go.mod)\n\n# Docs\nIn docs/.\n\n"
        "## Layout\n\n- Other folders: `cmd/`, `pkg/`\n\n"
        "## Conventions\n\n- Indentation: tabs (`.editorconfig`).\n"
    )


@pytest.mark.parametrize(
    "text", ["Use tabs.\n", "# A\r\n\r\n## Commands\r\nrun make\r\n", INITIAL, "x", "```\ny"]
)
def test_nothing_is_added_twice(text: str) -> None:
    once = merged_instructions(text, INITIAL)
    assert merged_instructions(once, INITIAL) == once
    assert merged_instructions(INITIAL, INITIAL) == INITIAL


def test_a_command_counts_as_known_only_as_a_whole() -> None:
    merged = merged_instructions("We use Go. Run mygo build ./... and go test ./...extra/\n", INITIAL)
    assert "- `go build ./...` (go.mod)" in merged and "## Stack" not in merged


def test_headings_in_code_are_none_and_an_open_block_is_closed_first() -> None:
    text = "Go\n```sh\n# Commands\nmake\n"
    merged = merged_instructions(text, INITIAL)
    assert merged.startswith(f"{text}```\n\n## Layout\n")
    closed = merged_instructions("Go\n```sh\n## Commands\n```\n", INITIAL)
    assert closed.count("## Commands") == 2 and closed.startswith("Go\n```sh\n## Commands\n```\n\n## Layout")


def test_the_terminators_of_the_file_are_used() -> None:
    merged = merged_instructions("# A\r\n\r\n## Commands\r\n\r\n- x", INITIAL)
    assert "\n" not in merged.replace("\r\n", "")


def test_every_line_of_any_file_is_kept() -> None:
    chance = random.Random(14)
    parts = [
        "# A",
        "## Commands",
        "## layout",
        "```",
        "~~~",
        "- `go build ./...`",
        "text",
        "",
        "  - x",
        "\x0c",
        "\u2028",
    ]
    for _ in range(300):
        lines = [chance.choice(parts) for _ in range(chance.randrange(12))]
        end = chance.choice(["\n", "\r\n"])
        text = end.join(lines) + chance.choice(["", end])
        merged = merged_instructions(text, INITIAL)
        found = iter(merged.splitlines())
        assert not text.strip() or all(line in found for line in text.splitlines()), text
        assert merged_instructions(merged, INITIAL) == merged, text
