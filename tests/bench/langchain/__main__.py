"""python -m tests.bench.langchain [--quick] [--only streaming,agent,memory,imports]

Prints every figure with its bar, and those of the peers that are installed beside them. All but latency is
CPU time of this process, which a busy machine disturbs little; still compare figures of one run only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from tests.bench.langchain import agent_loop, imports, memory, streaming
from tests.bench.langchain.figures import HEAD, Figure
from tests.bench.langchain.server import ModelProcess

_PACKAGES = ("langchain-core", "httpx", "langchain-openai", "langchain-openrouter", "langchain")


def versions() -> str:
    """What is measured."""
    found = [f"Python {sys.version.split()[0]}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)


def groups(parts: list[str], is_quick: bool) -> Iterator[Iterator[Figure]]:
    if "streaming" in parts:
        with ModelProcess() as server:
            yield streaming.figures(server, is_quick)
    if "agent" in parts:
        yield agent_loop.figures(is_quick)
    if "memory" in parts:
        yield memory.figures(is_quick)
    if "imports" in parts:
        yield imports.figures(is_quick)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="streaming,agent,memory,imports")
    options = parser.parse_args()
    print(f"{versions()}\n\n{HEAD}")
    missed = 0
    for group in groups(options.only.split(","), options.quick):
        for figure in group:
            print(figure, flush=True)
            missed += figure.is_met is False
    print(f"\n{missed} bars missed" if missed else "\nall bars met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
