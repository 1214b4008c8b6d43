"""Programs that run what their arguments name: the command behind sudo, env, timeout, xargs, find -exec …,
and the texts that shells, editors, git and interpreters run in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from forge_core.permissions.programs.program_catalog import (
    FD_RUNNERS,
    FIND_RUNNERS,
    INPUT_FEEDERS,
    INTERPRETERS,
    SCRIPT_OPTIONS,
    SHELLS,
    WRAPPERS,
)
from forge_core.permissions.programs.records.program import Wrapper
from forge_core.permissions.programs.remote_commands import remote_command
from forge_core.permissions.shell.run_texts import called
from forge_core.permissions.shell.shell_words import Word

_LOADER = re.compile(r"ld-linux.*|ld-musl.*|ld\.so.*|ld64\.so.*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_CALL = re.compile(
    r"(?:(?:^|[!;{ ])!\s*|(?:^|\s)e |\bsystem\s+|\bshell\s+|EXEC:|SYSTEM:|\\x)(\S[^\n]{0,500})"
)
"""How editors, debuggers and similar programs call a program: `!ls`, `e ls`, `shell ls`, `EXEC:ls`."""
_RUN_WHAT_THEY_GET = SHELLS | {".", "source", "eval"}
_LITERAL = re.compile(r"'((?:\\.|[^'\\]){1,2000})'|\"((?:\\.|[^\"\\]){1,2000})\"|`([^`]{1,2000})`", re.DOTALL)


@dataclass(slots=True)
class Unwrapped:
    """The command that is run."""

    words: tuple[Word, ...]
    wrappers: tuple[str, ...] = ()
    scripts: list[tuple[str, bool]] = field(default_factory=list)
    """Shell texts run in turn, and whether each is known word for word."""
    calls: list[str] = field(default_factory=list)
    """Texts that a program in another language passes to a function which runs them."""
    remote: list[str] = field(default_factory=list)
    """Texts that are run elsewhere."""
    commands: list[tuple[Word, ...]] = field(default_factory=list)
    """Commands among the arguments: those of `find -exec`."""
    is_opaque: bool = False
    """What it runs cannot be determined from the line."""


def program_of(words: Sequence[Word]) -> str:
    return words[0].text.rpartition("/")[2] if words else ""


def unwrap(words: tuple[Word, ...]) -> Unwrapped:
    """Remove wrappers from the front, and find what the rest would run besides itself."""
    wrappers: list[str] = []
    scripts: list[tuple[str, bool]] = []
    is_opaque = False
    while words:
        program = program_of(words)
        wrapper = Wrapper() if _LOADER.fullmatch(program) else WRAPPERS.get(program)
        if wrapper is None or (
            program == "flock" and any(word.text in ("-c", "--command") for word in words)
        ):
            break
        is_opaque = is_opaque or (program in ("xargs", "gxargs") and _names_program(words, wrapper))
        if program == "env":
            scripts += _string_scripts("env", words)
        rest = _behind(words, wrapper)
        # Without a command they do something themselves: env prints the environment, xargs runs echo.
        if not rest and program in ("env", "xargs", "exec", "time"):
            break
        # `command -v NAME` only looks the name up.
        if program == "command" and any(re.fullmatch(r"-[pvV]*[vV]", word.text) for word in words[1:2]):
            break
        wrappers.append(program)
        words = rest
    found = Unwrapped(words, tuple(wrappers), scripts, is_opaque=is_opaque)
    if words:
        _look_into(found, program_of(words))
        found.is_opaque = found.is_opaque or (
            program_of(words) in _RUN_WHAT_THEY_GET and not INPUT_FEEDERS.isdisjoint(wrappers)
        )
    return found


def _behind(words: tuple[Word, ...], wrapper: Wrapper) -> tuple[Word, ...]:
    """Return the command after a wrapper's options and its own words."""
    program, rest = program_of(words), list(words[1:])
    while rest and (rest[0].text.startswith(("-", "+")) or _ASSIGNMENT.fullmatch(rest[0].text)):
        option = rest.pop(0).text
        if option == "--":
            break
        if option in wrapper.value_options.split() and rest:
            rest.pop(0)
    while rest and _ASSIGNMENT.fullmatch(rest[0].text):
        rest.pop(0)
    rest = rest[wrapper.operands :]
    if program == "coproc" and rest[1:2] and rest[1].text in ("{", "("):
        rest = rest[1:]
    return tuple(rest)


def _names_program(words: tuple[Word, ...], wrapper: Wrapper) -> bool:
    """Return whether xargs puts its input in the place of the program."""
    rest = _behind(words, wrapper)
    texts = [word.text for word in words]
    marks = [after for before, after in pairwise(texts) if before == "-I"]
    marks += [text[2:] for text in texts if re.match(r"-I.", text)]
    marks += [text.partition("=")[2] for text in texts if text.startswith("--replace=")]
    return bool(rest) and any(mark and mark in rest[0].text for mark in marks)


def _look_into(found: Unwrapped, program: str) -> None:
    words = found.words
    texts = [word.text for word in words]
    first = words[0]
    if first.is_dynamic or first.has_glob or "{}" in first.text:
        found.is_opaque = True
    if program == "eval":
        found.scripts.append((" ".join(texts[1:]), not any(word.is_dynamic for word in words[1:])))
    elif program in INPUT_FEEDERS or program in ("watch", "trap", "alias", "batch", "at", "entr"):
        operands = [word for word in words[1:] if not word.text.startswith("-")]
        found.scripts.append(
            (" ".join(word.text for word in operands), not any(w.is_dynamic for w in operands))
        )
        found.scripts += [(word.text.partition("=")[2] or word.text, False) for word in operands[:20]]
        found.is_opaque = found.is_opaque or program in INPUT_FEEDERS or program in ("batch", "at")
    elif program in SHELLS:
        _shell(found)
    elif program in ("find", "gfind", "fd", "fdfind"):
        found.commands += _executed(words)
    elif program in (".", "source"):
        found.is_opaque = any(word.is_dynamic or word.text.startswith("/dev/") for word in words[1:2])
    elif program in ("make", "gmake"):
        found.scripts += [
            (text.partition("=")[2], False) for text in texts[1:20] if re.match(r"\w+[:?+]?=", text)
        ]
    elif program == "git":
        found.scripts += _git(words)
        found.is_opaque = found.is_opaque or any(text.startswith("--config-env") for text in texts)
    elif program in INTERPRETERS or re.match(r"(?:python|perl|ruby|php|lua)[\d.]+$", program):
        found.scripts += _literals(words)
        found.calls += [text for word in words[1:20] for text in called(program, word.text)]
    found.remote += remote_command(program, texts[1:]) or ()
    found.scripts += _string_scripts(program, words)
    # A text that is empty or begins with an expansion names its program only when it runs.
    for text, is_known in found.scripts:
        found.is_opaque = found.is_opaque or (not is_known and bool(re.match(r"\s*(?:[$`]|$)", text)))


def _shell(found: Unwrapped) -> None:
    """`sh -c text`, `sh file`, or a shell that reads what it is fed."""
    words = list(found.words[1:])
    is_text = reads_input = False
    while words and re.match(r"[-+].", words[0].text):
        option = words.pop(0).text
        is_text = is_text or bool(re.fullmatch(r"-\w*c\w*|--command", option))
        reads_input = reads_input or bool(re.fullmatch(r"-\w*s\w*", option))
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") and words:
            words.pop(0)
        if option == "--":
            break
    if is_text:
        # Only the first operand of `-c` is certainly run; the others are its parameters, which it may run.
        found.scripts += [(word.text, not at and not word.is_dynamic) for at, word in enumerate(words[:20])]
        found.is_opaque = found.is_opaque or any(word.is_dynamic for word in words[:1])
    elif program_of(found.words) != "su" and (
        reads_input or not words or words[0].is_dynamic or words[0].text in ("-", "/dev/stdin", "/dev/fd/0")
    ):
        found.is_opaque = True
    else:
        found.scripts += [(word.text, False) for word in words[:20] if " " in word.text]


def _executed(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield the commands of `find -exec … ;` and similar programs."""
    for at, word in enumerate(words):
        if word.text in FIND_RUNNERS | FD_RUNNERS:
            end = at + 1
            while end < len(words) and words[end].text not in (";", "+"):
                end += 1
            yield words[at + 1 : end]


def _git(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    """Yield texts that git hands to a shell: aliases, pagers, helpers set with -c, and its running
    subcommands."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        value = text.partition("=")[2].removeprefix("!")
        if at and "config" in texts[:at] and not text.startswith("-"):
            yield text.removeprefix("!"), False
        if value and (re.match(r"-c.", text) or (at and texts[at - 1] == "-c")):
            yield value, not words[at].is_dynamic
        elif text.startswith(("!", "ext::")):
            yield re.sub(r"^(?:!|ext::)", "", text).replace("% ", " "), not words[at].is_dynamic
        elif text in ("foreach", "run", "--exec", "-x") and at + 1 < len(texts):
            rest = [one for one in texts[at + 1 :] if one not in ("--recursive", "--quiet")]
            yield " ".join(rest), not any(word.is_dynamic for word in words[at + 1 :])
            yield rest[0] if rest else "", not words[at + 1].is_dynamic


def _literals(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    """Yield what interpreters may hand to a shell: what `literals` finds in their words."""
    for word in words[1:20]:
        yield from ((one, False) for one in literals(word.text))
        bare = re.sub(r"^[+!:]+!?|^-e|^-c", "", word.text)
        if bare != word.text:
            yield bare, False


def literals(text: str) -> list[str]:
    """Return the strings in a program's text, one by one and joined, and what it calls in the ways of
    editors."""
    found = [next(filter(None, one), "") for one in _LITERAL.findall(text)][:50]
    joined = [" ".join(found)] if len(found) > 1 else []
    return [one for one in (*found, *joined, *_CALL.findall(text)[:10]) if one.strip()]


def _string_scripts(program: str, words: tuple[Word, ...]) -> list[tuple[str, bool]]:
    """Return the values of options that name a command to run."""
    pattern = SCRIPT_OPTIONS.get({"gtar": "tar", "bsdtar": "tar", "fdfind": "fd"}.get(program, program))
    scripts: list[tuple[str, bool]] = []
    if pattern is None:
        return scripts
    for at, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        if equals and pattern.fullmatch(name):
            scripts.append((re.sub(r"^(?:exec=|.*ProxyCommand=)", "", value), not word.is_dynamic))
        elif pattern.fullmatch(word.text) and at + 1 < len(words):
            value = re.sub(r"^(?:exec=|.*(?:ProxyCommand|LocalCommand)[= ])", "", words[at + 1].text)
            scripts.append((value, not words[at + 1].is_dynamic))
        elif re.match(r"-\w.", word.text):
            # A value joined to a short option: the shortest prefix that is an option ends where the value
            # begins.
            cuts = (cut for cut in range(2, min(len(word.text), 6)) if pattern.fullmatch(word.text[:cut]))
            scripts += [(word.text[cut:], not word.is_dynamic) for cut in islice(cuts, 1)]
    return scripts
