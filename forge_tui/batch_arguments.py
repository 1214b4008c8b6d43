"""The options of `forge batch`, and their checks."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost 10 ms
if TYPE_CHECKING:
    import argparse
    from decimal import Decimal

    from forge_core.batch.driver import BatchOptions
    from forge_core.batch.engine import Engine
    from forge_core.config.forge_config import ForgeConfig

MAX_PARALLEL = 256
ENGINES = ("local", "ray")


def add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("tasks", nargs="?", metavar="FILE", help="the tasks: one JSON object a line")
    parser.add_argument(
        "-o",
        "--out",
        metavar="DIR",
        help="the folder of the record and the results; with that of an earlier call, its tasks go on",
    )
    parser.add_argument(
        "--parallel", metavar="N", default="8", help="how many tasks run at once (default: 8)"
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="where the tasks run: on this machine, or on a Ray cluster (default: local)",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="the Ray cluster: auto, the one that runs on this machine (default); HOST:PORT; or local, to "
        "start one for the batch",
    )
    parser.add_argument("--max-cost", metavar="USD", help="the most that all tasks may cost together")
    parser.add_argument(
        "--max-cost-each",
        metavar="USD",
        help="the most that a task may cost (default: --max-cost, divided by --parallel)",
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        help="the most tokens that each task may use; for models whose price is unknown",
    )
    parser.add_argument(
        "--retries",
        metavar="N",
        default="2",
        help="how often a task is started again when the provider has failed (default: 2)",
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="start tasks again that have ended, but not well"
    )
    parser.add_argument(
        "--trust", action="store_true", help="apply the repositories' own rules and instructions"
    )
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="check all lines, print what would start, and end"
    )


def batch_options(options: argparse.Namespace) -> BatchOptions:
    """Return the checked options. Raises ConfigError for one that is missing or cannot be used."""
    from pathlib import Path

    from forge_core.batch.driver import BatchOptions
    from forge_core.errors import ConfigError

    if options.tasks is None or options.out is None:
        raise ConfigError("Name the file of tasks and the folder of the results: forge batch FILE --out DIR")
    whole = _dollars("--max-cost", options.max_cost)
    each = _dollars("--max-cost-each", options.max_cost_each)
    if whole is not None and each is not None and each > whole:
        raise ConfigError(f"--max-cost-each {each} is more than --max-cost {whole}: no task could start.")
    return BatchOptions(
        out=Path(options.out).expanduser().absolute(),
        parallel=_count("--parallel", options.parallel, 1, MAX_PARALLEL),
        max_cost_usd=whole,
        max_cost_each_usd=each,
        max_tokens=None if options.max_tokens is None else _count("--max-tokens", options.max_tokens, 1),
        retries=_count("--retries", options.retries, 0, 10),
        retry_failed=options.retry_failed,
        trust=options.trust,
    )


def batch_engine(options: argparse.Namespace, batch: BatchOptions, config: ForgeConfig) -> Engine:
    """Return what runs the tasks. Raises ConfigError if it needs a package that is not installed."""
    import sys

    from forge_core.batch.local_engine import LocalEngine
    from forge_core.errors import ConfigError

    # -P: the folder in which a task starts is not searched for modules.
    arguments = ("-P", "-m", "forge_tui.cli")
    if options.engine == "local":
        if options.address is not None:
            raise ConfigError(f"--address {options.address} needs --engine ray.")
        return LocalEngine((sys.executable, *arguments), config)
    from forge_core.integrations.ray.cluster import require_ray
    from forge_core.integrations.ray.ray_engine import RayEngine

    require_ray()
    return RayEngine(
        arguments,
        config,
        address=options.address or "auto",
        parallel=batch.parallel,
        notify=lambda text: print(f"forge: {text}", file=sys.stderr, flush=True),
    )


def _dollars(name: str, text: str | None) -> Decimal | None:
    from decimal import Decimal, InvalidOperation

    from forge_core.errors import ConfigError

    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise ConfigError(f"{name} is {text!r}: it must be an amount of US dollars, as 2.50.")
    return amount


def _count(name: str, text: str, least: int, most: int | None = None) -> int:
    from forge_core.errors import ConfigError

    if (
        not (text.isascii() and text.isdigit())
        or int(text) < least
        or (most is not None and int(text) > most)
    ):
        to = "" if most is None else f" to {most}"
        raise ConfigError(f"{name} is {text!r}: it must be a whole number from {least}{to}.")
    return int(text)
