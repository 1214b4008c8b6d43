"""Texts of the offline model: what several skills answer, what it says about itself, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MARK = "offline model"
"""Part of every text in which the model introduces itself."""
INTRO = (
    "*I am Forge's built-in offline model: rules, no AI. For a real one: `/connect` in the chat, or "
    "`export OPENROUTER_API_KEY=…`.*"
)
CONNECT = """\
I am the offline model: I follow rules and need no key and no network. To connect a real model, take \
one of these:

- **In the chat**: `/connect` asks for a provider and its key, and goes on in this session
- **OpenRouter** (hundreds of models, keys at <https://openrouter.ai/keys>): `export OPENROUTER_API_KEY=…`, \
then `forge chat`
- **Any server that speaks the OpenAI protocol** (OpenAI, vLLM, LM Studio, llama.cpp, Ollama): \
`forge chat --base-url http://localhost:1234/v1 --model NAME`

The tools, the permissions and this screen stay the same; only the answers get cleverer."""
WHO = """\
I am Forge's offline model: a set of rules, not a language model and not an AI. I run inside Forge, without \
a key and without a network, and serve plain requests about this folder with the same tools that a real \
model gets: search, read, outline, edit, run, git. What I tell you comes from what those tools returned; I \
cannot reason about code.

`help` shows what I understand, `connect` how to use a real model."""
GREETING = """\
Hello! Tell me what to do in this folder, for example:

1. `list the files`
2. `explain this project`
3. `what changed?`

`help` shows all I understand."""
ABILITIES = """\
Yes: I read, search and edit files and run commands, tests and git here; Forge asks you before a change or a \
command. I have no network. As the offline model I follow rules: `help` shows what I understand."""
THANKS = "You're welcome."
ACKNOWLEDGED = "All right. What should I do next? (`help` shows what I understand.)"
STOPPED = "All right, I have stopped. `/undo` reverts what the last turn changed."
BYE = "Goodbye. `/exit` or Ctrl+D leaves Forge."
NOTHING_BEFORE = "There is nothing to continue. `help` shows what I understand."
WHICH_ONE = "Which one? Answer `all`, or with a line (`line {line}`)."
WHAT_CONTENT = "What should be in `{path}`?"
_GIVEN_REASON = re.compile(r"They said: (['\"])(.*)\1\. Nothing was done", re.I)
_ADVICE_TO_MODELS = re.compile(r"\s*(?:Do not (?:re)?try the same|Nothing was done\. Do not).*$", re.I)
_OUTPUT_LINES = 60
_LINE_CHARS = 1_000


def seen(images: Sequence[str]) -> str:
    """Return what can be said of images without seeing them."""
    listed = "".join(f"\n\n- {image}" for image in images) if len(images) > 1 else f": {images[0]}"
    count = "an image" if len(images) == 1 else f"{len(images)} images:"
    blind = "I follow rules and see nothing; a real model can say what it shows."
    return f"Your message has {count}{listed}\n\n{blind}"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `2 files`, `no files`."""
    word = noun if number == 1 else plural or noun + "s"
    return f"{number:,} {word}" if number else f"no {word}"


def code(text: str) -> str:
    """Return `text` as inline code on one line, cut where it is long; safe whatever backticks it holds."""
    line = " ".join(text.split())
    line = line if len(line) <= 160 else line[:159] + "…"
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line or ' '}{pad}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a code block whose fence is longer than any inside it; very long lines are cut."""
    if len(text) > _LINE_CHARS:
        text = "\n".join(_clipped(line) for line in text.split("\n"))
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`{3,}", text)), default=0))
    return f"{ticks}{language}\n{text.rstrip(chr(10))}\n{ticks}"


def _clipped(line: str) -> str:
    rest = len(line) - _LINE_CHARS
    return line if rest <= 0 else f"{line[:_LINE_CHARS]} … ({rest:,} more characters)"


def block(text: str) -> str:
    """Return output as a code block, without its middle where it is long."""
    return fenced("\n".join(capped(text.strip("\n").split("\n"))))


def capped(lines: Sequence[str], limit: int = _OUTPUT_LINES) -> list[str]:
    """Return at most `limit` lines: the head, a line with the number of omitted ones, and the tail."""
    if len(lines) <= limit:
        return list(lines)
    head = limit // 3
    left_out = len(lines) - limit
    return [*lines[:head], f"… {left_out:,} lines left out …", *lines[len(lines) - (limit - head) :]]


def numbered(entries: Iterable[str]) -> str:
    return "\n".join(f"{position}. {entry}" for position, entry in enumerate(entries, 1))


def quoted(text: str) -> str:
    """Return `text` as a Markdown quote."""
    return "\n".join(f"> {line}" for line in text.split("\n"))


def one_of(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def without_error_mark(output: str) -> str:
    """Return a tool's words without the "Error:" at their start."""
    return re.sub(r"^\s*error:\s*", "", output, flags=re.I)


def tool_missing(names: Sequence[str]) -> str:
    tools = one_of([f"`{name}`" for name in names])
    plural = "s" if len(names) > 1 else ""
    return f"That takes the {tools} tool{plural}, which this session does not offer, so I can't do it here."


def denied(tool: str, command: str, result: str) -> str:
    """Return the answer to a refusal: who refused, and why. `command` is that of the shell, else empty."""
    what = f"{code(tool)} ({code(command)})" if command else code(tool)
    words = " ".join(without_error_mark(result).split())
    given = _GIVEN_REASON.search(words)
    if given:
        return f"You did not allow {what}, so I leave it. You said:\n\n> {given[2][:400]}"
    if "gave no reason" in words:
        return f"You did not allow {what}, so I leave it and have not tried again."
    reason = _ADVICE_TO_MODELS.sub("", words)[:400]
    return f"That was not allowed, so I leave it and have not tried again.\n\n> {reason}"


def failed(what: str, result: str, advice: str = "") -> str:
    """Return the answer to a failure: what failed, the tool's words, and what to do next."""
    words = without_error_mark(result.strip())
    lines = capped(words.split("\n"), 20)
    body = fenced("\n".join(lines)) if len(lines) > 1 else f"> {lines[0][:500]}"
    return f"{what}:\n\n{body}" + (f"\n\n{advice}" if advice else "")


def refused(path: str, result: str) -> str:
    return failed(f"The edit of {code(path)} was refused", result, f"`read {path}` shows how it is now.")


def too_many_calls(made: int) -> str:
    calls = count(made, "tool call")
    return f"I stop here: this took {calls} already, my limit for one message. Ask for a smaller piece."


def left_undone(steps: Sequence[str]) -> str:
    return "Left undone: " + "; ".join(code(step) for step in steps) + "."


def not_understood(text: str) -> str:
    shown = code(text) if 0 < len(text) <= 200 and "\n" not in text else "that"
    return (
        f"I don't understand {shown}: I am the offline model, rules and not a language model.\n"
        "`help` lists what I can do here, `connect` says how to use a real model."
    )


def beyond(text: str) -> str:
    shown = code(text) if 0 < len(text) <= 200 and "\n" not in text else "That"
    return (
        f"{shown} takes judgement, and I am the offline model: I only follow rules, so I cannot do it.\n"
        "`connect` says how to use a real model, `help` lists what I can do."
    )


def cannot_use_skill(name: str) -> str:
    return (
        f"I cannot use the skill {code(name)}: its instructions are for a language model, and I am the "
        "offline model, which only follows rules.\n`connect` says how to use a real model."
    )


def no_such_file(path: str, near: Sequence[str]) -> str:
    if not near:
        return f"There is no {code(path)} here. `list the files` shows what is here."
    return f"There is no {code(path)}. Did you mean:\n\n" + numbered(code(name) for name in near)


def needs_target(verb: str) -> str:
    return f"What should I {verb}? Name a file, for example `{verb} README.md`."


def module_missing(module: str, python: str, install: str) -> str:
    return (
        f"So the tests could not run: {code(python)} has no module `{module}`. What they need must be "
        "installed first; this may do it (it downloads packages):\n\n"
        f"1. `run {install}`\n\nThen `run the tests` again."
    )


def warning(result: str) -> str:
    """Return the warnings in an edit's result, for the user to see."""
    lines = [line for line in result.split("\n")[1:6] if re.match(r"\W{0,3}(?:warning|note)\b", line, re.I)]
    return "".join(f"\n\n> {line}" for line in lines)
