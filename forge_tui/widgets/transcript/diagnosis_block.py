"""The report of `/doctor`: what was found, section by section, each problem with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment

from forge_core.commands.diagnosis import verdict
from forge_core.commands.findings import Finding, Level
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len
from forge_tui.widgets.blockview.blocks import GUTTER, Block, estimate_rows

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.rows import Canvas
    from forge_tui.widgets.blockview.styles import TranscriptStyles

_NAME_CELLS = 16
"""Of the column with the names, the space after it included."""
_SIGNS = {Level.OK: "✓", Level.WARNING: "!", Level.PROBLEM: "✗"}


class DiagnosisBlock(Block):
    """A card of findings, which hold no secrets."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__()
        self._findings = tuple(findings)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        colours = {Level.OK: styles.success, Level.WARNING: styles.warning, Level.PROBLEM: styles.error}
        with canvas.indented(GUTTER):
            canvas.text([("Doctor", styles.heading)])
        section = ""
        for finding in self._findings:
            if finding.section != section:
                section = finding.section
                with canvas.indented(GUTTER):
                    canvas.text([(safe_line(section), styles.strong)])
            self._draw_finding(
                canvas, styles, finding, Segment(_SIGNS[finding.level], colours[finding.level])
            )

        # Last, where it is in view: the card is longer than many terminals.
        worst = max((finding.level for finding in self._findings), key=[*_SIGNS].index, default=Level.OK)
        where = dict.fromkeys(safe_line(one.section) for one in self._findings if one.level is not Level.OK)
        sections = f": {', '.join(where)}" if where else ""
        with canvas.indented(
            [*GUTTER, Segment("  ")], [*GUTTER, Segment(_SIGNS[worst], colours[worst]), Segment(" ")]
        ):
            canvas.text([(verdict(self._findings), styles.strong), (sections, styles.muted)])

    @staticmethod
    def _draw_finding(canvas: Canvas, styles: TranscriptStyles, finding: Finding, sign: Segment) -> None:
        name = safe_line(finding.name)
        name += " " * max(_NAME_CELLS - cell_len(name), 1)
        below = [*GUTTER, Segment("  ")]
        with canvas.indented(below, [*GUTTER, sign, Segment(" ")]):
            text = safe_line(finding.text)
            canvas.text([(name, styles.muted), (text, styles.text)], hanging=_NAME_CELLS)
        if finding.advice:
            indent = [*below, Segment(" " * _NAME_CELLS)]
            with canvas.indented([*indent, Segment("  ")], [*indent, Segment("→ ", sign.style)]):
                canvas.text([(safe_line(finding.advice), styles.text)])

    def estimate(self, width: int) -> int:
        texts = [text for one in self._findings for text in (one.text, one.advice) if text]
        sections = len({one.section for one in self._findings})
        return self.gap + 2 + sections + estimate_rows(texts, width - _NAME_CELLS)
