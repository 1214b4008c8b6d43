"""The exceptions of tests/test_layout.py, each with its reason. One that is no longer needed fails the test."""

from __future__ import annotations

LONG_TABLES = {"forge_core.config.settings": "every setting, declared once"}
"""Modules that are longer than others: a table that is read from one place, and what it is made of."""

BASES_BY_DESIGN = {
    "forge_tui.terminal.caret.CaretTextArea": "keeps Textual's private parts out of the composer",
    "forge_tui.terminal.compositor.DirtyRegionScreen": "keeps Textual's private parts out of the screens",
    "forge_tui.terminal.output.RowDiffOutput": "keeps Textual's private parts out of the app",
}
"""Base classes with one subclass that stay: fences around private parts, and public extension points."""

REGISTRIES = {
    "forge_tui.widgets.transcript.transcript_builder": "one block for each kind of event",
}
"""Modules that list others in a table: what only they import is an entry, whatever its size."""

SMALL_BY_DESIGN: dict[str, str] = {}
"""Small modules that stay: they keep a public import path, or hold the constants of a package."""

SHARED_CLASS_NAMES: dict[str, str] = {}
"""Names of more than one public class that stay."""
