"""New files and folders; moving, copying and deleting files."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from forge_core.offline import phrases
from forge_core.offline.intents import Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory
from forge_core.offline.skills.file_lookup import listed_paths
from forge_core.offline.steps import Skill, ask, require

_PRINTS = re.compile(
    r"^(?:(?:just|simply|only)\s+)?(?:prints?|says?|outputs?|displays?|echo(?:es)?|shows?|writes?|logs?)\s+"
    r"(?:out\s+)?(?:the (?:text|words?|string|message)\s+)?(.+)$",
    re.I | re.DOTALL,
)
_VAGUE = re.compile(r"^(?:the|a|an|all|every|some|its?|my|each|numbers?|whether|if|how|what)\b", re.I)
_OPENING, _CLOSING = "\"'`“‘«„", "\"'`”’»“"
_PROGRAMS = {
    "py": "print({double})\n", "js": "console.log({double});\n", "ts": "console.log({double});\n",
    "sh": "#!/bin/sh\necho {shell}\n", "rb": "puts {double}\n",
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {{\n\tfmt.Println({double})\n}}\n',
    "c": "#include <stdio.h>\n\nint main(void) {{\n    puts({double});\n    return 0;\n}}\n",
}  # fmt: skip


def create(request: Request, memory: Memory) -> Skill:
    """Create a file with the given content; ask for the content where there is none."""
    path = request.get("file")
    content = _content(request, path)
    if content is None:
        purpose = request.get("purpose")
        why = f"Writing code that {code(purpose)} takes a real model. " if purpose else ""
        question = phrases.WHAT_CONTENT.format(path=path)
        return f"{why}{question} Send the text, best in a block between two lines of three backticks."
    return (yield from write_new(path, content))


def write_new(path: str, content: str) -> Skill:
    """Write a file that is not there yet; one that is there stays as it is."""
    seen = yield from ask("glob", pattern=path)
    if path in listed_paths(seen):
        return (
            f"{code(path)} exists already, so I leave it. Change it with `replace X by Y in {path}` "
            f"or `add the line '…' to {path}`, or choose another name."
        )
    yield from require(f"{code(path)} could not be written", "write", file_path=path, content=content)
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    created = f"Created {code(path)} ({phrases.count(lines, 'line') if content else 'empty'})."
    runs = PurePosixPath(path).suffix in (".py", ".sh", ".js", ".rb")
    return f"{created} Say `run it` to try it." if runs and content else created


def _content(request: Request, path: str) -> str | None:
    if request.get("empty"):
        return ""
    content = request.get("content")
    if content:
        return content if content.endswith("\n") else content + "\n"
    purpose = request.get("purpose")
    return program(path, purpose) if purpose else None


def program(path: str, purpose: str) -> str | None:
    """Return a program that prints one fixed text; None for anything cleverer."""
    pure = PurePosixPath(path)
    template = _PROGRAMS.get(pure.suffix.lstrip("."))
    wanted = _PRINTS.match(purpose)
    if template is None or wanted is None:
        return None
    text = wanted[1].strip()
    is_quoted = len(text) > 1 and text[0] in _OPENING and text[-1] in _CLOSING
    text = text[1:-1] if is_quoted else text
    if not text.strip() or "\n" in text or (_VAGUE.match(text) and not is_quoted):
        return None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("#", "\\#") if pure.suffix == ".rb" else escaped
    return template.format(double=f'"{escaped}"', shell=shlex.quote(text), stem=pure.stem)


def make_folder(request: Request, memory: Memory) -> Skill:
    path = request.get("path")
    done = f"Made the folder {code(path)}."
    return (yield from _shell(f"mkdir -p -- {shlex.quote(path)}", f"Make the folder {path}", done))


def move(request: Request, memory: Memory) -> Skill:
    """Move, rename or copy a file."""
    source, aim = memory.path_of(request.get("file")), request.get("other")
    if not source or not aim:
        return phrases.needs_target("rename")
    verb, done = ("cp", "Copied") if request.get("copy") else ("mv", "Moved")
    command = f"{verb} -- {shlex.quote(source)} {shlex.quote(aim)}"
    success = f"{done} {code(source)} to {code(aim)}."
    return (yield from _shell(command, f"{verb} {source}", success))


def delete(request: Request, memory: Memory) -> Skill:
    path = memory.path_of(request.get("file"))
    if not path:
        return phrases.needs_target("delete")
    done = f"Deleted {code(path)}."
    return (yield from _shell(f"rm -- {shlex.quote(path)}", f"Delete {path}", done))


def _shell(command: str, description: str, success: str) -> Skill:
    problem = f"{code(command)} did not work"
    yield from require(problem, "bash", command=command, description=description)
    return success
