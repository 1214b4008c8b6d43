"""`/review`: findings about changes or a file, each checked once against the file before it is shown.

Nothing is written, and the model has no tools: it sees the lines that are reviewed, and in the check those
around each finding.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from forge_core.commands.git.review_findings import (
    CHECK,
    REVIEW,
    ReviewFinding,
    check_request,
    confirmed,
    numbered,
    read_findings,
    review_request,
)
from forge_core.commands.result import CommandNotice, CommandResult, Document, Failure, RunWork, ShowResult
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.private_keys import hide_private_keys
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.tools.hidden_paths import hidden_paths
from forge_core.untrusted import frame_text
from forge_core.workspace.change_source import quoted
from forge_core.workspace.patch_lines import text_lines
from forge_core.workspace.review_source import ReviewedFile, ReviewSource, review_source

LEAST_PIECE_CHARS, MOST_PIECE_CHARS = 8_000, 60_000
"""Of the lines in one request, between a small window and a large one."""
MAX_PIECES = 8
"""Requests for findings; the files of further ones are not reviewed, and the result says so."""
_NAMED = 5
_TICKS = re.compile("`+")


async def review(argument: str, session: ForgeSession) -> CommandResult:
    """Review the changes that are not committed, those of a range or since a commit, or a file."""
    if session.config.endpoint.kind == "offline":
        return Failure("/review needs a model: the offline one cannot judge code. /connect chooses another.")
    source = await review_source(session.config.working_dir, argument.strip())
    return RunWork(_Review(session, source).run, "Reviewing")


@dataclass(slots=True)
class _Review:
    """One review, from the reading of files to the findings that hold."""

    session: ForgeSession
    source: ReviewSource

    async def run(self, events: EventSink, show: ShowResult) -> None:
        show(await self._run())

    async def _run(self) -> CommandResult:
        files = await self.source.read()
        shown = [path for file in files for path in (file.path, file.old_path) if path]
        hidden = {*await hidden_paths(self.session.policy, self.source.top, shown)}
        left_out = [file.path for file in files if hidden & {file.path, file.old_path}]
        allowed = [file for file in files if file.path not in left_out]
        if not allowed:
            what = "no file that Forge may read" if left_out else "nothing"
            return CommandNotice(f"Review of {self.source.title}: there is {what} to review.")
        pieces, late = await asyncio.to_thread(self._pieces, allowed)
        paths = {safe_line(quoted(file.path)): file.path for file in allowed}
        found: list[ReviewFinding] = []
        for piece in pieces:
            question = review_request(piece, self.source.title)
            found += read_findings(await self.session.work.model.ask(REVIEW, question, "review"), paths)
        kept = await self._checked(found)
        return self._result(kept, len(found) - len(kept), len(allowed) - len(late), [*left_out, *late])

    def _pieces(self, files: Sequence[ReviewedFile]) -> tuple[list[str], list[str]]:
        """Return the numbered lines in pieces, one a request, and the paths of files beyond the last one."""
        window = self.session.work.model.context_window or MOST_PIECE_CHARS
        room = max(LEAST_PIECE_CHARS, min(MOST_PIECE_CHARS, window * 2))
        redact = make_redactor(self.session.config)
        pieces: list[str] = [""]
        late: list[str] = []
        for file in files:
            text = redact(hide_private_keys(numbered(file)))
            if len(text) > room:
                text = f"{text[:room]}\n      [… the rest of this file is left out]\n"
            if pieces[-1] and len(pieces[-1]) + len(text) > room:
                pieces.append("")
            if len(pieces) > MAX_PIECES:
                late.append(file.path)
            else:
                pieces[-1] += text
        return [piece for piece in pieces[:MAX_PIECES] if piece], late

    async def _checked(self, findings: Sequence[ReviewFinding]) -> list[ReviewFinding]:
        """Return the findings that hold: their line is in the file, and a second look confirms them."""
        redact = make_redactor(self.session.config)
        kept: list[ReviewFinding] = []
        ordered = sorted(findings, key=lambda one: (one.path, one.line))
        for path, group in groupby(ordered, lambda one: one.path):
            lines = text_lines(await self.source.content(path) or "")
            placed = [one for one in group if 1 <= one.line <= len(lines)]
            if placed:
                hidden = hide_private_keys("\n".join(lines), keeps_lines=True).split("\n")
                question = check_request(path, [redact(line) for line in hidden], placed)
                kept += confirmed(await self.session.work.model.ask(CHECK, question, "review"), placed)
        return sorted(kept, key=lambda one: (one.severity, one.path, one.line))

    def _result(
        self, findings: Sequence[ReviewFinding], dropped: int, files: int, left_out: Sequence[str]
    ) -> CommandResult:
        about = f"{files} file{'s'[: files != 1]} reviewed"
        if dropped:
            about += f", {dropped} finding{'s'[: dropped != 1]} dropped by the check against the file"
        if left_out:
            named = ", ".join(safe_line(quoted(path)) for path in left_out[:_NAMED])
            more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
            about += f"; not reviewed: {named}{more}"
        if not findings:
            return CommandNotice(f"Review of {self.source.title}: no findings. {about}.")
        listing = "\n".join(map(str, findings))
        self.session.inform_model(
            f"The user ran /review on {self.source.title}. The findings, by a model without tools, each "
            f"checked once against its file:\n{frame_text('review', listing)}"
        )
        count = f"{len(findings)} finding{'s'[: len(findings) != 1]}"
        body = "\n".join([*map(_row, findings), "", f"{about}."])
        return Document(body, f"Review of {self.source.title}: {count}")


def _row(finding: ReviewFinding) -> str:
    """Return a finding as an item of a Markdown list."""
    where = safe_line(f"{quoted(finding.path)}:{finding.line}")
    longest = max(map(len, _TICKS.findall(where)), default=0)
    ticks, gap = "`" * (longest + 1), " " if longest else ""  # a code span that nothing in it ends
    return f"- {ticks}{gap}{where}{gap}{ticks} **{finding.severity.name.lower()}** {finding.claim}"
