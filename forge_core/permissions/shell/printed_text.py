"""What a command prints, where that can be determined from its words: `echo`, `printf`, here-documents, and
the usual decoders behind them."""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Callable, Sequence
from itertools import islice, takewhile

from forge_core.permissions.shell.shell_words import ansi_c, in_double_quotes

_DIRECTIVE = re.compile(r"%[-+ #0]*(?:\*|\d{0,4})(?:\.(?:\*|\d{0,4}))?([a-zA-Z%])")
_MAX_ROUNDS = 50
"""So often a format of printf is repeated for the words that are left."""
_DECODES = re.compile(r"-\w*[dD]\w*|--decode|--d\w*")
_CLASSES = {
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "digit": string.digits,
    "alpha": string.ascii_uppercase + string.ascii_lowercase,
}


def printed_by(program: str, words: Sequence[str], fed: Sequence[str] = ()) -> list[str]:
    """Return what the program may print, each text once. `words` are its arguments, `fed` its here-documents
    and here-strings."""
    texts: list[str] = []
    for text in fed:
        texts += [in_double_quotes(text), text]
    if program in ("echo", "yes"):
        said = " ".join(words[sum(1 for _ in takewhile(re.compile(r"-[neE]+").fullmatch, words)) :])
        texts += [said, ansi_c(said)]
    elif program == "printf":
        texts.append(_formatted(words))
    return list(dict.fromkeys(text for text in texts if text.strip()))


def decoded_by(program: str, words: Sequence[str], text: str) -> str | None:
    """Return what the program makes of `text` as its input; None when it is no decoder, or fails."""
    decoder = _DECODERS.get(program)
    try:
        return decoder(words, text) if decoder is not None else None
    except (ValueError, binascii.Error):
        return None


def _formatted(words: Sequence[str]) -> str:
    """Return what printf prints."""
    rest = list(words[1:] if words[:1] == ["--"] else words)
    if not rest:
        return ""
    form, values = ansi_c(rest[0]), rest[1:]

    def value(found: re.Match[str]) -> str:
        if found[1] == "%":
            return "%"
        given = values.pop(0) if values else ""
        return ansi_c(given) if found[1] == "b" else given

    result = _DIRECTIVE.sub(value, form)
    for _ in range(_MAX_ROUNDS):
        left = len(values)
        if not left:
            break
        result += _DIRECTIVE.sub(value, form)
        if len(values) == left:
            break
    return result


def _base64(words: Sequence[str], text: str) -> str | None:
    if not any(_DECODES.fullmatch(word) for word in words):
        return None
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/"))
    return base64.b64decode(letters + "=" * (-len(letters) % 4)).decode(errors="replace")


def _base32(words: Sequence[str], text: str) -> str | None:
    if not any(_DECODES.fullmatch(word) for word in words):
        return None
    letters = re.sub(r"[^A-Z2-7]", "", text)
    return base64.b32decode(letters + "=" * (-len(letters) % 8)).decode(errors="replace")


def _basenc(words: Sequence[str], text: str) -> str | None:
    if "--base16" in words:
        return _from_hex(words, text)
    return _base32(words, text) if "--base32" in words else _base64(words, text)


def _openssl(words: Sequence[str], text: str) -> str | None:
    is_base64 = not {"base64", "-base64", "-a"}.isdisjoint(words)
    return _base64(words, text) if is_base64 and "-d" in words else None


def _python(words: Sequence[str], text: str) -> str | None:
    return _base64(words, text) if "base64" in words else None


def _from_hex(words: Sequence[str], text: str) -> str | None:
    digits = re.sub(r"[^0-9A-Fa-f]", "", text)
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode(errors="replace")


def _xxd(words: Sequence[str], text: str) -> str | None:
    letters = "".join(word for word in words if word.startswith("-"))
    return _from_hex(words, text) if "r" in letters and "p" in letters else None


def _rev(words: Sequence[str], text: str) -> str:
    return "\n".join(line[::-1] for line in text.split("\n"))


def _tac(words: Sequence[str], text: str) -> str:
    return "\n".join(reversed(text.split("\n")))


def _tr(words: Sequence[str], text: str) -> str | None:
    sets = [_characters(word) for word in words if not re.match(r"-[a-zA-Z]", word)]
    if not sets or not sets[0]:
        return None
    if any(re.fullmatch(r"-\w*d\w*|--delete", word) for word in words):
        return text.translate(dict.fromkeys(map(ord, sets[0])))
    if len(sets) < 2 or not sets[1]:
        return None
    to = sets[1] + sets[1][-1] * (len(sets[0]) - len(sets[1]))
    return text.translate({ord(one): other for one, other in zip(sets[0], to, strict=False)})


def _characters(written: str) -> str:
    """Return the characters of a set of tr: `a-z`, `[:upper:]`."""
    written = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], ""), ansi_c(written))
    ranges = re.finditer(r"(.)-(.)|(.)", written, re.DOTALL)
    return "".join(
        one[3] or "".join(map(chr, range(ord(one[1]), min(ord(one[2]), ord(one[1]) + 255) + 1)))
        for one in islice(ranges, 300)
    )


_DECODERS: dict[str, Callable[[Sequence[str], str], str | None]] = {
    "base64": _base64,
    "gbase64": _base64,
    "base32": _base32,
    "basenc": _basenc,
    "openssl": _openssl,
    "python": _python,
    "python3": _python,
    "xxd": _xxd,
    "rev": _rev,
    "tac": _tac,
    "tr": _tr,
}
