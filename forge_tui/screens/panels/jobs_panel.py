"""The panel of `/jobs`: the background commands, and the end of the output of the selected one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from forge_core.sanitize import safe_line, safe_text
from forge_core.text_width import clip, clip_middle
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.job_log import JobLog, read_end
from forge_tui.screens.panels.overlay import FRAME_CELLS, PANEL_CELLS, Overlay
from forge_tui.screens.panels.second_press import SecondPress
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.tools.shell.job import Job
    from forge_core.tools.shell.job_table import JobTable

REFRESH_S = 0.5
"""Time between two looks at the jobs while the panel is open."""
TAIL_BYTES = 16 * 1024
MOST_JOBS = 8
"""Rows of the list, which scrolls; on a small terminal a quarter of it."""
_OTHER_ROWS = 4
"""Rows of the panel for its frame and the line about the chosen job, with the blank one before it."""
_COMMAND_CHARACTERS = 400
_STOP = "jobs.stop"
_NO_JOBS = "No command is running in the background"
_NO_OUTPUT = "No output yet"


class JobsPanel(workers.WorkerErrorsEndApp, Overlay[None]):
    """Shows the jobs of a session while it is open; closed, it does nothing."""

    DEFAULT_CSS = """
    JobsPanel .about { color: $forge-muted; height: 1; margin-top: 1; text-wrap: nowrap; }
    JobsPanel .tail { height: auto; text-wrap: nowrap; text-overflow: clip; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.JOBS)]

    def __init__(self, jobs: JobTable, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` measures the time between keys."""
        super().__init__()
        self._stopping = SecondPress(_STOP, clock)
        self._jobs = jobs
        listed = jobs.list()
        running = [job for job in listed if _is_running(job)]
        self._chosen_id = (running or listed)[-1].id if listed else 0
        self._shown: tuple[Choice, ...] = ()
        self._tail = ""
        self._most_rows = MOST_JOBS
        self._about = Static("", classes="about", markup=False)
        self._output = Static("", classes="tail", markup=False)

    def compose(self) -> ComposeResult:
        self._most_rows = min(MOST_JOBS, max(self.app.size.height // 4, 2))
        self._list = ChoiceList([], max_rows=self._most_rows, label_share=None)
        with Vertical(classes="panel"):
            yield self._list
            yield self._about
            yield self._output

    def on_mount(self) -> None:
        self._show()
        self._timer = self.set_interval(REFRESH_S, self.refresh_jobs)
        self.call_later(self.refresh_jobs)

    def on_screen_suspend(self) -> None:
        self._timer.pause()

    def on_screen_resume(self) -> None:
        self._timer.resume()

    def on_resize(self) -> None:
        self._show()

    # What shows

    async def refresh_jobs(self) -> None:
        """Look at the jobs again, and show what has changed."""
        job = self._chosen()
        path = None if job is None else job.capture.kept_in
        tail = "" if path is None else await asyncio.to_thread(read_end, path, TAIL_BYTES)
        if self.is_attached and job is self._chosen():
            self._tail = tail
            self._show()

    def _show(self) -> None:
        jobs, panel = self._jobs.list(), self.query_one(".panel")
        rows = tuple(map(_row, jobs)) or (Choice(_NO_JOBS),)
        chosen = next((at for at, job in enumerate(jobs) if job.id == self._chosen_id), len(jobs) - 1)
        if rows != self._shown:
            self._shown = rows
            self._list.show([*rows], chosen if jobs else NONE_CHOSEN)
        running = self._jobs.running_count
        panel.border_title = f"Background commands ({running} running)" if running else "Background commands"
        job = self._chosen()
        self.show_keys(self._keys(job))
        width = max(min(self.size.width, PANEL_CELLS) - FRAME_CELLS, 8)
        self._about.update(Content(_facts(job, width)))
        count = self.list_rows(self.size.height, _OTHER_ROWS + min(len(rows), self._most_rows))
        self._output.update(Content(_last_lines(self._tail, count, width)))

    def _keys(self, job: Job | None) -> str:
        stop = effective_keys().hint("X", _STOP)
        if job is not None and self._stopping.row == job.id and _is_running(job):
            return f"{stop} again stops job {job.id} · Esc close"
        keys = [f"{stop} stop"] if job is not None and _is_running(job) else []
        keys = ["Enter full output", *keys] if job is not None else []
        return " · ".join([*keys, "Esc close"])

    def _chosen(self) -> Job | None:
        jobs = self._jobs.list()
        return next((job for job in jobs if job.id == self._chosen_id), jobs[-1] if jobs else None)

    # Keys

    def action_move(self, by: int) -> None:
        jobs = self._jobs.list()
        if jobs and self._list.chosen != NONE_CHOSEN:
            self._list.move(by)
            self._choose(jobs[min(self._list.chosen, len(jobs) - 1)])

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        jobs = self._jobs.list()
        if event.index < len(jobs):
            event.choices.choose(event.index)
            self._choose(jobs[event.index])

    def _choose(self, job: Job) -> None:
        self._stopping.forget()
        if job.id != self._chosen_id:
            self._chosen_id, self._tail = job.id, ""
            self.call_later(self.refresh_jobs)
        self._show()

    def action_stop(self) -> None:
        """Stop the chosen job at the second press."""
        job = self._chosen()
        if job is None or not _is_running(job):
            return
        if self._stopping.press(job.id):
            workers.start(self, partial(self._stop, job.id), "stop")
        self._show()

    async def _stop(self, job_id: int) -> None:
        await self._jobs.stop(job_id)
        await self.refresh_jobs()

    def action_read(self) -> None:
        """Show all output of the chosen job."""
        if (job := self._chosen()) is not None:
            self._stopping.forget()
            self._show()
            self.app.push_screen(JobLog(safe_line(job.label), job.capture.kept_in))


def _is_running(job: Job) -> bool:
    return job.state == "running"


def _row(job: Job) -> Choice:
    has_succeeded = job.state == "exited" and job.process.exit_code == 0
    mark = "●" if _is_running(job) else "✓" if has_succeeded else "✗"
    command = safe_line(" ".join(job.spec.command[:_COMMAND_CHARACTERS].split()))
    return Choice(f"{mark} {job.id} {command}", detail=safe_line(job.outcome))


def _facts(job: Job | None, width: int) -> str:
    """Return where all output of a job is, in so many cells."""
    if job is None:
        return ""
    path = job.capture.kept_in
    if path is None:
        return clip("Its output could not be kept in a file", width)
    return clip_middle(f"Output, all of it in {safe_line(str(path))}", width)


def _last_lines(text: str, count: int, width: int) -> str:
    lines = safe_text(text, keep_invisible=True).expandtabs(8).rstrip("\n").split("\n")
    shown = "\n".join(clip(line, width) for line in lines[-count:])
    return shown if shown.strip() else _NO_OUTPUT
