"""python -m tests.bench.extensions [--skills 2000] [--rounds 5]

Measures what many skills of the user cost: reading them, and in the real program the first paint, a typed word,
and the time from Enter to the first request, which may wait 0.2 s for them. Rounds with and without skills take
turns.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from forge_core.extensions.catalog import load_catalog
from forge_core.extensions.locations import ExtensionKind
from forge_core.runtime import load_session_config
from tests.bench import starting
from tests.bench.chat import FORGE, Chat, chat_arguments, scratch
from tests.bench.figures import Figure, at_most, header
from tests.bench.server import Model

_BODY = "Read the input, check it, write the output beside it.\n" * 40


def add_skills(place: Path, count: int) -> None:
    """Write skills of common size below a folder that may hold definitions."""
    for number in range(count):
        folder = place / "skills" / f"skill-{number:04}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{number:04}\ndescription: Works with documents of kind {number}. Use when the user "
            f"mentions one, or asks to convert it.\nlicense: MIT\nallowed-tools: Read Bash(git log *)\n---\n{_BODY}"
        )


def reading_figures(place: Path, count: int, rounds: int) -> Iterator[Figure]:
    """CPU time, since others' work on the machine only shows in the clock."""
    config = dataclasses.replace(load_session_config(place), own_extensions=(place,))
    samples = []
    for _ in range(rounds):
        began = time.process_time()
        found = load_catalog(config).of_kind(ExtensionKind.SKILL)
        samples.append(time.process_time() - began)
        assert len(found) == count
    yield at_most(f"reading {count:,} skills, CPU (least)", min(samples), 0.4, "s")


def program_figures(model: Model, without: Path, having: Path, rounds: int) -> Iterator[Figure]:
    """The start and the first turn, with skills and without."""
    starts: dict[Path, list[starting.Start]] = {without: [], having: []}
    requests: dict[Path, list[float]] = {without: [], having: []}
    for number in range(rounds):
        for folder in (without, having)[:: 1 if number % 2 else -1]:
            starts[folder].append(starting.start([*FORGE, "chat", str(folder / "work")], folder))
            requests[folder].append(_first_request_ms(model, folder))
    # The least of each: others' work on the machine only adds to it.
    paints = [min(one.first_paint_s for one in ones) for ones in starts.values()]
    typed = [min(one.typed_word_s for one in ones) for ones in starts.values()]
    yield Figure("first paint without skills", f"{paints[0]:.3f} s")
    yield at_most("first paint with them, times that", paints[1] / paints[0], 1.15, "x")
    yield at_most("a typed word, times without", typed[1] / typed[0], 1.15, "x")
    first = [min(ones) for ones in requests.values()]
    yield Figure("Enter → first request without skills", f"{first[0]:.0f} ms")
    yield at_most("with them, later by", first[1] - first[0], 250, "ms")


def _first_request_ms(model: Model, folder: Path) -> float:
    chat = Chat(model, folder, [*FORGE, *chat_arguments(model.url, folder / "work")])
    with chat.program as program:
        program.wait_until_quiet(0.02, 5)
        return chat.turn("20 tokens at 0").request_ms


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    model = Model()
    print(header())
    with scratch() as base:
        without, having = Path(base) / "without", Path(base) / "with"
        for folder in (without, having):
            (folder / "work").mkdir(parents=True)
        add_skills(having / ".claude", options.skills)
        figures = [*reading_figures(having / ".claude", options.skills, options.rounds)]
        figures += program_figures(model, without, having, options.rounds)
    model.close()
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
