"""Inline Markdown (emphasis, code, links) as styled spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from forge_core.sanitize import safe_line
from forge_tui.terminal.editor_links import Links
from forge_tui.widgets.blockview.rows import StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.path_links import with_links

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEMES = ("http://", "https://", "mailto:")
"""Only these become links that the terminal may open; other targets are shown as text."""
_LONGEST_LINK = 2_000
"""Characters; longer targets are shown, but not linked: some terminals fail on them."""
_ADDRESS = re.compile(
    r"(?<![\w/@.])https?://[^\s<>\"`|\\^{}\u3000-\u3020\uff01-\uff1f\u2400-\u2426]+", re.IGNORECASE
)
_AFTER = re.compile(r"[.,;:!?'*_~]+\Z")
"""Punctuation after an address that belongs to the sentence."""


def inline_lines(
    tokens: Sequence[Token], styles: TranscriptStyles, under: Style, links: Links
) -> list[list[StyledSpan]]:
    """Return the lines of an inline token's children. A newline in the source is one here, as models intend
    it."""
    inline = _Inline(styles, under)
    for token in tokens:
        inline.add(token)
    return [with_links(line, links) for line in inline.lines] if links else inline.lines


class _Inline:
    def __init__(self, styles: TranscriptStyles, under: Style) -> None:
        self._styles = styles
        self._stack = [under]
        self._targets: list[str] = []
        self._link_text: list[str] = []
        self.lines: list[list[StyledSpan]] = [[]]

    def add(self, token: Token) -> None:
        styles = self._styles
        match token.type:
            case "code_inline":
                self._add(token.content, self._stack[-1] + styles.inline_code)
            case "softbreak" | "hardbreak":
                self.lines.append([])
            case "strong_open" | "em_open" | "s_open":
                emphasis = {"strong": styles.strong, "em": styles.emphasis, "s": styles.strike}
                self._push(emphasis[token.tag])
            case "strong_close" | "em_close" | "s_close":
                self._stack.pop()
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "image":
                self._image(token)
            case _:  # text, or what the parser leaves as it is
                self._add_text(token.content)

    def _add_text(self, text: str) -> None:
        """Add text, with its web addresses as links."""
        if self._targets or "://" not in text:
            self._add(text, self._stack[-1])
            return
        at = 0
        for match in _ADDRESS.finditer(text):
            address = _trimmed(match.group())
            self._add(text[at : match.start()], self._stack[-1])
            self._add(address, self._stack[-1] + self._styles.link + _opening(address))
            at = match.start() + len(address)
        self._add(text[at:], self._stack[-1])

    def _add(self, text: str, style: Style) -> None:
        # The parser decodes entities (&#27;): what was safe in the source may not be safe here.
        text = safe_line(text, keep_invisible=True)
        if text:
            self.lines[-1].append((text, style))
            self._link_text.append(text)

    def _push(self, style: Style) -> None:
        self._stack.append(self._stack[-1] + style)

    def _open_link(self, target: str) -> None:
        self._targets.append(safe_line(target))
        self._link_text = []
        self._push(self._styles.link + _opening(self._targets[-1]))

    def _close_link(self) -> None:
        self._stack.pop()
        target = self._targets.pop() if self._targets else ""
        shown = "".join(self._link_text)
        if target and not target.startswith("#") and not _is_same(target, shown):
            self.lines[-1].append((f" ({target})", self._stack[-1] + self._styles.muted + _opening(target)))

    def _image(self, token: Token) -> None:
        """Add an image's description and target."""
        target = safe_line(str(token.attrs.get("src", "")))
        style = self._stack[-1] + self._styles.muted
        self._add(f"[image: {token.content}]" if token.content else "[image]", style)
        if target and not self._targets:
            self._add(f" ({target})", style + _opening(target))


def _opening(target: str) -> Style:
    """Return the style that lets the terminal open `target`; a null style if it is not a web address."""
    if not target.lower().startswith(_SCHEMES) or len(target) > _LONGEST_LINK:
        return Style.null()
    if target.isascii():
        return Style(link=target)
    from markdown_it.common.normalize_url import normalizeLink

    return Style(link=safe_line(normalizeLink(target)))


def _trimmed(address: str) -> str:
    """Return an address found in text without the punctuation and brackets of the sentence around it."""
    while True:
        shorter = _AFTER.sub("", address)
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(opening) < shorter.count(closing):
                shorter = shorter[:-1]
        if shorter == address:
            return address
        address = shorter


def _is_same(target: str, shown: str) -> bool:
    """Return whether the text of a link shows its target already."""
    from urllib.parse import unquote

    return shown in (target, target.removeprefix("mailto:"), unquote(target))
