"""Inline Markdown (emphasis, code, links) as styled spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from forge_core.sanitize import safe_line
from forge_tui.widgets.transcript.styles import TranscriptStyles
from forge_tui.widgets.transcript.wrapping import Span

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEMES = ("http://", "https://", "mailto:")
"""Only these become links that the terminal may open; any other target is shown as text."""


def inline_lines(tokens: Sequence[Token], styles: TranscriptStyles, under: Style) -> list[list[Span]]:
    """The lines of an inline token's children: a line end in the source is one here, as models mean it."""
    return _Inline(styles, under).run(tokens)


class _Inline:
    def __init__(self, styles: TranscriptStyles, under: Style) -> None:
        self._styles = styles
        self._stack = [under]
        self._targets: list[str] = []
        self._link_text: list[str] = []
        self.lines: list[list[Span]] = [[]]

    def run(self, tokens: Sequence[Token]) -> list[list[Span]]:
        for token in tokens:
            self._token(token)
        return self.lines

    def _token(self, token: Token) -> None:
        styles = self._styles
        match token.type:
            case "text" | "text_special" | "html_inline":
                self._add(token.content, self._stack[-1])
            case "code_inline":
                self._add(token.content, self._stack[-1] + styles.inline_code)
            case "softbreak" | "hardbreak":
                self.lines.append([])
            case "strong_open":
                self._push(styles.strong)
            case "em_open":
                self._push(styles.emphasis)
            case "s_open":
                self._push(styles.strike)
            case "strong_close" | "em_close" | "s_close":
                self._stack.pop()
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "image":
                source = safe_line(str(token.attrs.get("src", "")))
                self._add(f"[image: {token.content or source}]", self._stack[-1] + styles.muted)
            case _:
                self._add(token.content, self._stack[-1])

    def _add(self, text: str, style: Style) -> None:
        # Entities (&#27;) are decoded by the parser: what was safe in the source may not be safe here.
        text = safe_line(text)
        if text:
            self.lines[-1].append((text, style))
            self._link_text.append(text)

    def _push(self, style: Style) -> None:
        self._stack.append(self._stack[-1] + style)

    def _open_link(self, target: str) -> None:
        self._targets.append(safe_line(target))
        self._link_text = []
        link = Style(link=self._targets[-1]) if self._targets[-1].startswith(_SCHEMES) else Style.null()
        self._push(self._styles.link + link)

    def _close_link(self) -> None:
        self._stack.pop()
        target = self._targets.pop() if self._targets else ""
        shown = "".join(self._link_text)
        if target and target.removeprefix("mailto:") != shown and not target.startswith("#"):
            self.lines[-1].append((f" ({target})", self._stack[-1] + self._styles.muted))
