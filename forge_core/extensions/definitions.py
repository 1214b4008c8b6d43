"""What the files of users define: commands, skills, agents and styles."""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from forge_core.extensions.front_matter import MAX_BYTES, MarkdownFile, parse_markdown_file
from forge_core.extensions.locations import ExtensionKind, ExtensionScope, SearchedFolder
from forge_core.sanitize import safe_line

MAX_DESCRIPTION = 1_024
"""Characters of a description that count (https://agentskills.io/specification)."""
MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class Definition:
    """One file. All text in it is untrusted."""

    kind: ExtensionKind
    name: str
    """Safe to display."""
    scope: ExtensionScope
    path: Path
    file: MarkdownFile
    digest: str
    """sha256 of the file's bytes, in hex."""
    problems: tuple[str, ...] = ()
    """What is wrong with it, each a clause that follows its path."""
    description: str = ""
    """The field `description`, else the first line of the body; one line, safe to display."""
    real: Path = Path()
    """`path` with all links resolved."""
    root: Path = Path()
    """The folder in which it was searched."""

    @property
    def qualified_name(self) -> str:
        """The name by which it can always be reached."""
        return f"{self.scope}:{self.name}"

    @property
    def title(self) -> str:
        """Its kind and name, as it is displayed: "command /a", "skill pdf"."""
        return self.title_as(self.name)

    def title_as(self, name: str) -> str:
        """Return the title with another name that reaches it."""
        return f"{self.kind} {'/' if self.kind is ExtensionKind.COMMAND else ''}{name}"

    @property
    def is_for_model(self) -> bool:
        """Whether the model may use it by itself."""
        return not self.file.flag("disable-model-invocation", default=False)

    @property
    def is_for_user(self) -> bool:
        """Whether the user can run it by `/name`."""
        return self.file.flag("user-invocable", default=True)

    @property
    def body(self) -> str:
        return self.file.body

    @property
    def folder(self) -> Path:
        return self.path.parent

    @classmethod
    def read(cls, path: Path, kind: ExtensionKind, folder: SearchedFolder, real: Path | None = None) -> Self:
        """Return what a file defines. `real` is its real path, if that is known. Raises OSError when it
        cannot be read or is no regular file."""
        data = _read(path if folder.boundary is None else real or path.resolve(), folder.boundary is not None)
        file = parse_markdown_file(data)
        name, problems = _name(path, kind, folder.path, file)
        digest = hashlib.sha256(data).hexdigest()
        problems = [*file.problems, *problems]
        return cls(
            kind,
            name,
            folder.scope,
            path,
            file,
            digest,
            tuple(problems),
            _description(file),
            real=real or path.resolve(),
            root=folder.path,
        )


def _read(path: Path, is_real: bool) -> bytes:
    """Return the first bytes of a regular file, one more than count; never blocks on a FIFO. A real path is
    refused if a link has taken the file's place since it was resolved."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if is_real else 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(MAX_BYTES + 1)


def _name(path: Path, kind: ExtensionKind, root: Path, file: MarkdownFile) -> tuple[str, list[str]]:
    """Return the name, and what is wrong with it: of a command the path (`a/b.md` is `a:b`), of the others
    the field `name`, else that of the folder or the file."""
    if kind is ExtensionKind.COMMAND:
        return _clean(":".join(path.relative_to(root).with_suffix("").parts)), []
    by_path = path.parent.name if kind is ExtensionKind.SKILL else path.stem
    # YAML reads `name: on` as a boolean.
    given = "" if isinstance(file.fields.get("name"), bool) else file.text("name")
    problems = _skill_problems(given, by_path, file) if kind is ExtensionKind.SKILL else []
    return _clean(given or by_path), problems


def _skill_problems(given: str, by_path: str, file: MarkdownFile) -> list[str]:
    """Return what in the name and the description of a skill is not as the standard has it."""
    name = unicodedata.normalize("NFKC", given or by_path)
    problems = []
    if name != unicodedata.normalize("NFKC", by_path):
        problems.append(
            f"its name is {safe_line(given)[:MAX_NAME]!r}, but its folder is {safe_line(by_path)!r}"
        )
    if not all(character.isalnum() or character == "-" for character in name) or name != name.lower():
        problems.append(
            f"its name {safe_line(name)[:MAX_NAME]!r} has other characters than lower-case letters, digits "
            "and hyphens"
        )
    elif not all(name.split("-")):
        problems.append(f"its name {safe_line(name)[:MAX_NAME]!r} has a hyphen too many")
    if len(name) > MAX_NAME:
        problems.append(f"its name is longer than {MAX_NAME} characters")
    if len(file.text("description")) > MAX_DESCRIPTION:
        problems.append(f"its description is longer than {MAX_DESCRIPTION:,} characters; the rest is ignored")
    return problems


def _description(file: MarkdownFile) -> str:
    text = file.text("description")
    if not text:
        lines = (line.strip().lstrip("#").strip() for line in file.body.splitlines())
        text = next((line for line in lines if line), "")
    return safe_line(text)[:MAX_DESCRIPTION]


def _clean(name: str) -> str:
    """Return a name without blanks, safe to display."""
    return "-".join(safe_line(name).split())[:MAX_NAME]
