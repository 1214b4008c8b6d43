"""python -m tests.bench [--quick] [--only start,session,later,agents,history] [--peer 'codex=codex -c …']

Prints every figure with its bar, measured on a terminal of 120 by 40 cells against a model on loopback.
Compare figures of one run only: machines differ, ratios count. Others' work on the machine shows in the
latencies; on a busy one run it as root with `chrt -f 50` in front.

--peer NAME=COMMAND measures another program beside Forge: its first paint, a typed word, echo and stream. In the
command {url} stands for the model's address (chat completions or responses) and {home} for a fresh folder.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import agents, history, session, starting
from tests.bench.chat import scratch
from tests.bench.figures import Figure, header
from tests.bench.peers import peer_figures
from tests.bench.server import Model

_PARTS = ("start", "session", "later", "agents", "history")


def groups(
    model: Model, folder: Path, *, is_quick: bool, peers: dict[str, list[str]]
) -> Iterator[tuple[str, Callable[[], Iterator[Figure]]]]:
    """The parts of the run, by name."""
    rounds = 2 if is_quick else 5
    lengths = session.QUICK if is_quick else session.FULL
    sizes = (10, 10_000) if is_quick else (10, 1_000, 10_000)
    yield "start", lambda: starting.start_figures(folder, rounds, peers)
    yield "start", lambda: starting.fresh_figures(model, folder, 1 if is_quick else 3)
    yield "session", lambda: session.session_figures(model, folder, lengths)
    if lengths.turns_before:
        yield "later", lambda: session.later_figures(model, folder, lengths)
    yield "agents", lambda: agents.agent_figures(model, folder, 4, 1 if is_quick else 6)
    yield "history", lambda: history.history_figures(model, folder, sizes, 1 if is_quick else 4)
    for name, command in peers.items():
        yield "session", lambda name=name, command=command: peer_figures(model, folder, name, command)  # type: ignore[misc]


def measured(name: str, make: Callable[[], Iterator[Figure]]) -> Iterator[Figure]:
    """The figures of one part; what cannot be measured is a row, not the end of the run."""
    try:
        yield from make()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        yield Figure(f"{name}: the rest could not be measured", type(error).__name__, "", False)


def main() -> int:
    options = _options()
    parts = options.only.split(",")
    began = time.monotonic()
    missed = 0
    model = Model()
    try:
        with scratch() as name:
            folder = Path(name)
            (folder / "a.py").write_text("x = 1\n")
            peers = {
                peer: [
                    part.replace("{url}", model.url).replace("{home}", name) for part in shlex.split(command)
                ]
                for peer, _, command in (one.partition("=") for one in options.peer)
            }
            print(header(), flush=True)
            for part, make in groups(model, folder, is_quick=options.quick, peers=peers):
                for figure in measured(part, make) if part in parts else ():
                    print(figure, flush=True)
                    missed += figure.is_met is False
    finally:
        model.close()
    print(f"\n{missed} bars missed" if missed else "\nall bars met", end="")
    load = os.getloadavg()[0]
    print(f"; {time.monotonic() - began:.0f} s; load {load:.1f} on {os.cpu_count()} cores")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a minute and a half, with fewer rounds")
    parser.add_argument("--only", default=",".join(_PARTS), help="parts, separated by commas")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
