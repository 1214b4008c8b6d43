"""A saved session as one HTML page: no scripts, nothing loaded, every text escaped; details fold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from forge_core.redact import Redactor
from forge_core.sanitize import safe_line, safe_text
from forge_core.store.saved_session import SavedSession
from forge_core.store.transcript_parts import CallPart, Part, TextPart, parts_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; }}
header p, summary, .notice {{ color: #737373; }}
h2.user {{ font-size: 1rem; border-left: 3px solid #b45309; padding: .4rem .8rem; margin: 2.2rem 0 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; background: rgb(128 128 128 / .1); }}
pre {{ overflow-x: auto; padding: .6rem .8rem; background: rgb(128 128 128 / .1); font-size: .85rem; }}
code {{ font-size: .9em; overflow-wrap: anywhere; }}
details {{ margin: .5rem 0; }}
summary {{ cursor: pointer; }}
summary.inner {{ margin-left: 1.5rem; }}
summary.failed, .error {{ color: #b91c1c; }}
.added {{ color: #15803d; }} .removed {{ color: #b91c1c; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #a3a3a3; padding: .2rem .6rem; }}
@media print {{
  details::details-content {{ content-visibility: visible; height: auto; }}
  pre {{ white-space: pre-wrap; }}
}}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{about}</p>
</header>
{body}
</body>
</html>
"""


def html(saved: SavedSession, redact: Redactor) -> str:
    """Return the whole session as an HTML page; keys are redacted."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(saved.started))
    about = " · ".join(filter(None, (saved.working_dir, when, saved.model, saved.id)))
    body = "\n".join(_written(part, parser) for part in parts_of(saved, redact))
    title = _line(redact(saved.title or saved.id))
    return _PAGE.format(policy=_POLICY, title=title, about=_line(redact(about)), body=body)


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return a link in place of an image: not every reader obeys the policy."""
    token = tokens[index]
    source = escape(str(token.attrGet("src") or ""))
    text = escape(renderer.renderInlineAsText(token.children, options, env)) if token.children else source
    return f'<a href="{source}">{text}</a>'


def _written(part: Part, parser: MarkdownIt) -> str:
    match part:
        case CallPart():
            return _call(part)
        case TextPart("user", text):
            return f'<h2 class="user">{_text(text.strip())}</h2>'
        case TextPart("reasoning", text):
            return (
                f'<details class="reasoning"><summary>Reasoning</summary><pre>{_text(text)}</pre></details>'
            )
        case TextPart("answer", text):
            return f"<section>{parser.render(safe_text(text))}</section>"
        case TextPart("reset"):
            return "<hr>"
        case TextPart(kind, text):
            return f'<p class="{kind}">{_line(text)}</p>'


def _call(call: CallPart) -> str:
    summary = f" ({_line(call.summary)})" if call.summary else ""
    target = f" <code>{_line(call.target)}</code>" if call.target else ""
    body = _diff(call.body) if call.is_diff else _text(call.body)
    kind = ("call" if call.success else "failed") + " inner" * call.is_inner
    return _details(f"{_line(call.title)}{target}{summary}", body, kind)


def _details(heading: str, body: str, kind: str) -> str:
    """Return a part that folds; its texts are escaped."""
    return f'<details><summary class="{kind}">{heading}</summary><pre>{body}</pre></details>'


def _diff(body: str) -> str:
    lines = body.split("\n")
    return "\n".join(
        # The line before the first hunk names the file.
        _text(line) if line.startswith("--- ") and following.startswith("@@") else _diff_line(line)
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    )


def _diff_line(line: str) -> str:
    kind = {"+": "added", "-": "removed"}.get(line[:1], "")
    return f'<span class="{kind}">{_text(line)}</span>' if kind else _text(line)


def _line(text: str) -> str:
    return escape(safe_line(text))


def _text(text: str) -> str:
    return escape(safe_text(text))
