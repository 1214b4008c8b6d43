"""`forge batch`: runs the tasks that have not ended, and prints how they ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.batch.batch_log import BatchLog, BatchState
from forge_core.batch.driver import BatchDriver, BatchOptions
from forge_core.batch.engine import Engine
from forge_core.batch.progress import Progress, open_output
from forge_core.batch.results import TABLE_FILES, ResultRow, is_ended, row_of, summary
from forge_core.batch.task_file import BatchTask
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line
from forge_core.workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

_SHOWN_WORKTREES = 10


def print_plan(tasks: Sequence[BatchTask], batch: BatchOptions) -> int:
    """Print what would be done, and return the exit code. Raises ConfigError if the record cannot be read."""
    print("\n".join(_plan(tasks, batch)), file=open_output())
    return int(ExitCode.COMPLETE)


def _plan(tasks: Sequence[BatchTask], batch: BatchOptions) -> Iterator[str]:
    try:
        state = BatchState.read(batch.out)
    except OSError as error:
        raise ConfigError(f"{str(batch.out)!r} cannot be read: {error.strerror}.") from error
    starting = 0
    for task in tasks:
        one = state.task(task.id)
        is_done = is_ended(task, one) and not (batch.retry_failed and not row_of(task, one).is_fine)
        starting += not is_done
        what = (
            f"is {one.end['status']} already"
            if is_done and one.end
            else f"starts, attempt {one.attempts + 1}"
        )
        yield safe_line(f"{task.id}  {what}  {task.repo} at {task.ref}, {task.model or 'your model'}")
    yield f"{starting} of {len(tasks)} tasks would start. ${state.spent_usd:.4f} are spent."


def run_batch(tasks: Sequence[BatchTask], batch: BatchOptions, config: ForgeConfig, engine: Engine) -> int:
    """Run the tasks that have not ended; return the exit code.

    Raises:
        ConfigError: the folder of the results cannot be used or is in use, or the engine cannot.
    """
    try:
        make_private_folder(batch.out)
    except OSError as error:
        raise ConfigError(f"{str(batch.out)!r} cannot be written to: {error.strerror}.") from error
    log = BatchLog(batch.out)
    if (count := sum(not task.model for task in tasks)) and config.endpoint.kind == "offline":
        which = "1 task names no model and runs" if count == 1 else f"{count} tasks name no model and run"
        print(f"forge: {which} on the built-in offline model, which is no AI", file=sys.stderr)
    if batch.max_cost_usd is None and batch.max_cost_each_usd is None and batch.max_tokens is None:
        print("forge: there is no limit of cost: see --max-cost, --max-tokens", file=sys.stderr)
    worktrees = Worktrees(config.state_dir)
    driver = BatchDriver(tasks, log, engine, batch, worktrees, Progress(open_output()))
    try:
        code = asyncio.run(driver.run())
    except BrokenPipeError:  # nobody reads what is printed
        raise
    except OSError as error:
        raise ConfigError(
            f"The batch was stopped, as {str(batch.out)!r} cannot be written to: {error.strerror}."
        ) from error
    finally:
        log.close()
    for line in _report(driver.rows(), log.state, batch.out):
        driver.progress.say(line)
    return code


def _report(rows: Sequence[ResultRow], state: BatchState, out: Path) -> Iterator[str]:
    yield f"{summary(rows)}. ${state.spent_usd:.4f} spent. Results: {safe_line(str(out / TABLE_FILES[2]))}"
    if any(row.status.is_open for row in rows):
        yield "Run the same command again to continue."
    kept = [path for row in rows for path in row.worktrees]
    if kept:
        head = "1 worktree with work in it was" if len(kept) == 1 else f"{len(kept)} worktrees with work were"
        yield f"{head} kept (`git worktree remove` removes one):"
        yield from (f"  {safe_line(path)}" for path in kept[:_SHOWN_WORKTREES])
        if len(kept) > _SHOWN_WORKTREES:
            yield f"  and {len(kept) - _SHOWN_WORKTREES} more, in {safe_line(str(out / TABLE_FILES[0]))}"
