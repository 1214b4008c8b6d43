"""The text of a file with everything needed to write it back byte for byte: encoding, BOM, line ends."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass

from forge_core.errors import ToolError

TERMINATOR = re.compile(r"\r\n|\n|\r")
"""A line terminator. Form feed, NEL and U+2028 are none, unlike for `str.splitlines`."""

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UTF32_LE = codecs.BOM_UTF32_LE
_ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}


@dataclass(frozen=True, slots=True)
class FileText:
    """A decoded file. `bom + text.encode(encoding, errors)` is the file again, byte for byte."""

    text: str
    encoding: str
    bom: bytes = b""
    errors: str = "strict"

    @property
    def readable(self) -> str:
        """The text with bytes that are not valid shown as replacement characters."""
        return self.text if self.errors == "strict" else replace_bad_bytes(self.text)

    def encode(self, text: str) -> bytes:
        """Return `text` in the file's encoding, without BOM; raise ToolError naming the character it
        lacks."""
        try:
            return text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            bad = text[error.start]
            shown = bad if bad.isprintable() else repr(bad)
            raise ToolError(
                f"The file is {_ENCODING_NAMES[self.encoding]} and cannot represent {shown} "
                f"(U+{ord(bad):04X}). Nothing was written. Use a character that this encoding has, or "
                "convert the file to UTF-8 first."
            ) from error


def replace_bad_bytes(text: str) -> str:
    """Return a decoded text with replacement characters for bytes that are not valid."""
    return _SURROGATE.sub("\ufffd", text)


_SURROGATE = re.compile("[\ud800-\udfff]")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_binary(data: bytes) -> bool:
    """Return whether the bytes are no text: a NUL where no UTF-16 byte order mark explains it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(_UTF32_LE):
        return False
    return b"\0" in data


def decode(data: bytes) -> FileText:
    """Decode so that encoding gives the same bytes again. Raise ToolError for binary content.

    UTF-8 with a few bad bytes keeps those aside; text that is not UTF-8 at all is read as Windows-1252, else
    as Latin-1.
    """
    if is_binary(data):
        raise ToolError("The file is binary (it contains NUL bytes), not text.")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            decoded = _strict(data[len(bom) :], encoding)
            if decoded is not None:
                return FileText(decoded, encoding, bom)
    decoded = _strict(data, "utf-8")
    if decoded is not None:
        return FileText(decoded, "utf-8")
    lenient = data.decode("utf-8", "surrogateescape")
    bad = len(_SURROGATE.findall(lenient))
    good = sum(1 for char in lenient if char > "\x7f") - bad
    if good > bad:
        return FileText(lenient, "utf-8", errors="surrogateescape")
    decoded = _strict(data, "cp1252")
    return FileText(decoded, "cp1252") if decoded is not None else FileText(data.decode("latin-1"), "latin-1")


def split_keeping_ends(text: str) -> list[str]:
    """Return the lines with their terminators; their concatenation is `text`."""
    bare, ends = split_lines(text)
    lines = [line + end for line, end in zip(bare, [*ends, ""], strict=True)]
    return lines if lines[-1] else lines[:-1]


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """Return the contents of the lines and the terminators, one fewer: "a\\nb\\n" has three contents."""
    if "\r" not in text:
        parts = text.split("\n")
        return parts, ["\n"] * (len(parts) - 1)
    return TERMINATOR.split(text), TERMINATOR.findall(text)


def line_number(text: str, index: int) -> int:
    """Return the number, from 1, of the line that holds position `index`."""
    head = text[:index]
    return head.count("\n") + head.count("\r") - head.count("\r\n") + 1


def with_newlines(text: str) -> str:
    """Return `text` with every terminator as \\n."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def dominant_terminator(text: str) -> str:
    """Return the most frequent terminator of `text`; "\\n" when it has none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    best = max(counts, key=lambda end: counts[end])
    return best if counts[best] else "\n"


def _strict(data: bytes, encoding: str) -> str | None:
    """Return the text, or None when it would not give the same bytes again."""
    try:
        text = data.decode(encoding)
        # of UTF-8 there is one way to write a text: what is read is what will be written
        return text if encoding == "utf-8" or text.encode(encoding) == data else None
    except UnicodeError:
        return None
