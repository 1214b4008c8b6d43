"""Foreign text that means harm: every trick by which text becomes markup, an escape or a broken row."""

from __future__ import annotations

import random

MARKUP = (
    "[bold]x[/bold]",
    "[/]",
    "[/nope]",
    "[red]x[/] [on blue]y[/]",
    "[@click=app.exit]x[/]",
    "[@click='app.exit()']x[/]",
    "[link=https://evil.example]x[/link]",
    '[link="javascript:1"]x[/]',
    "[$error]x[/]",
    "$accent {x} %s {0}",
    ":smile: :boom:",
    "[[x]] [x [y]",
    "\\[x] \\[/x]",
    "[not a tag",
)
"""Console and content markup; each is shown as it stands."""

ESCAPES = (
    "\x1b[2J\x1b[H",
    "\x1b[31;1mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x1b\\",
    "\x1b[c\x1b[>c\x1b[=c\x1b[6n\x1b[5n\x1b[?6n\x1b[x",
    "\x1bP+q544e\x1b\\",
    "\x1bPq#0;2;0;0;0#0~~@@vv\x1b\\",
    "\x1b_Gf=24,s=1,v=1;AAAA\x1b\\",
    "\x1b^private\x1b\\\x1bXstart\x1b\\",
    "\x1b[?1049l\x1b[?2004h\x1b[?1003h\x1bc\x1b[!p",
    "\x1b[20t\x1b[21t\x1b[8;1;1t",
    "\x1b(0lqk\x1b(B\x0e\x0f",
    "\x1b[3;5r\x1b[10S\x1b[10T\x1b[5L\x1b[5M\x1b[1000b",
    "\x9b31m\x9d0;x\x9c\x90q\x9c\x9f1\x9c\x84\x85\x8d",
    "a\rb\bc\x00d\x7fe\x0bf\x0cg\x07h\x1a",
    "\r\n\r\r\n\n",
    "\t\ttabs\t",
    "half \x1b",
    "\x1b[",
    "\x1b]",
)
"""What terminals obey."""

CHARACTERS = (
    "\u202egnp.exe\u202c\u2066x\u2069\u200e\u200f\u061c",
    "zero\u200bwidth\u2060join\ufeffbom\u00adhy",
    "❤\ufe0f ❤\ufe0e ⚠\ufe0f 1\ufe0f\u20e3 x\ufe0f\U000e0100",
    "👩\u200d👩\u200d👧\u200d👦" * 6,
    "🇩🇪🇫🇷🇩" * 3 + "👍🏽👍🏿",
    "\u200d\u200d👩\u200d\u200d",
    "\ud800 lone \udfff \udc80",
    "\ufffe\uffff\U0001ffff\ufdd0",
    "\U000e0041\U000e0042\U000e007f\U000e0001",
    "Z" + "\u0301\u0316\u0489\u20dd" * 60 + "algo",
    "\u0301\u0316 first",
    "\u2028\u2029\u0085line",
    "ﾊﾝｶｸ ＷＩＤＥ 日本語 ｶﾞ",
    "\ue000\uf8ff\U000f0000\U0010ffff",
    "\u115f\u1160\u3164\uffa0\u2800fill",
    "\ufff9a\ufffab\ufffb\u206a\u206f",
    "क्षि नमस्ते สวัสดี 한글 각",
    "שלום עולם مرحبا بالعالم",
    "\u3000\u2003\u00a0\u202f wide blanks",
)
"""What changes the width, the order or the look of text."""

LONG = ("x" * 3000, "日" * 900, "w " * 900, "🚀" * 400, "a/" * 400 + "b.py", "[" * 300, "\x1b[" * 300)

MARKDOWN = (
    "&#27;[31m &#x9b;31m &#x202e;x &NewLine; &Tab; &#0; &#xd800;",
    "[x](javascript:alert(1)) [y](file:///etc/passwd) [z](data:text/html,x)",
    "[x](https://e.example/\x1b]0;t\x07) [y](<https://e.example/a b>)",
    "[x](https://e.example/&#27;]0;t&#7;) ![i](https://e.example/\u202e.png)",
    "[a]: https://e.example/\x07\n\n[a] <https://e.example/\u200b\x1b> <mailto:x@y.z>",
    "<b>bold</b> <script>x</script> <a href='javascript:1'>y</a> <!-- c -->",
    "```\x1b[31m\n\x1b[0m\n```\n~~~[bold]\nx\n",
    "| \x1b | [x](javascript:1) |\n|---|---|\n| \x07 | \x1b]0;x\x07 |",
    "> " * 60 + "deep",
    "- " * 60 + "deep",
    "*_" * 80 + "[" * 80 + "](" * 80 + "`" * 80,
    "$\\ce{x}$ $$\x1b[2J$$ \\(a\\)",
    "# [bold]h[/] \x1b[31m\n\n---\n\n1. \x9b2J\n   - [ ] \u202etask",
)
"""What Markdown turns into something else."""

TRICKS = (*MARKUP, *ESCAPES, *CHARACTERS, *LONG, *MARKDOWN)


def random_text(chance: random.Random) -> str:
    """Bytes of any kind as the program reads them, or tricks strung together."""
    kind = chance.random()
    if kind < 0.3:
        pieces = [chance.choice(TRICKS)[: chance.randrange(1, 120)] for _ in range(chance.randint(1, 3))]
        return chance.choice((" ", "", "\n", "x")).join(pieces)
    if kind < 0.45:
        return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(1, 30)))
    if kind < 0.6:
        return "".join(chr(chance.randrange(0x20, 0x3000)) for _ in range(chance.randrange(1, 50)))
    raw = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 80)))
    if kind < 0.8:
        raw = raw.replace(bytes([chance.randrange(256)]), b"\x1b[")
    how = chance.choice(("replace", "surrogateescape", "backslashreplace"))
    return raw.decode(chance.choice(("utf-8", "utf-8", "latin-1")), errors=how)
