"""Generate the tables in the documentation from the code: `python -m tests.generate_docs`.

A page marks the place of a table by `<!-- generated: NAME -->` and `<!-- end -->`. Whatever stands between
them is replaced. `tests/test_docs.py` fails while a page differs from what this program writes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from forge_core import errors, events
from forge_core.approval import Effect, ToolKind
from forge_core.commands.command_spec import Tier
from forge_core.commands.permission_commands import mode_summary
from forge_core.commands.specs import SPECS
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import SETTINGS
from forge_core.exit_codes import ExitCode, exit_code_for
from forge_core.llm.account.catalog import bundled, bundled_date
from forge_core.llm.endpoints import NAMED_KEY_VARIABLE, PROVIDERS
from forge_core.offline.intents import TABLE
from forge_core.permissions.programs.program_catalog import (
    HAS_OUTPUT_OPERAND,
    RISKY_EVERYWHERE,
    RISKY_OPTIONS,
    RISKY_OPTIONS_OF_OTHERS,
    RISKY_WORDS,
)
from forge_core.permissions.rules.extra_arguments import risky_arguments
from forge_core.permissions.sandbox.shown_at_home import CACHES, FILTERED_FILES, HARMLESS_FILES, TOOLCHAINS
from forge_core.permissions.tool_files import TOOL_FILES
from forge_core.result import StoppedReason
from forge_core.tools.base import BaseTool, ToolParameter
from forge_core.tools.registry import builtin_tools
from forge_tui.keymap import KeyContext
from forge_tui.keys.assignment import FIXED_CONTEXTS
from forge_tui.keys.effective import EffectiveKeys, default_keys

_OF_ALL = ("timestamp", "parent_id")
"""Fields that all events have."""
ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

_TIERS = {
    Tier.ALWAYS: "at any time",
    Tier.INTERRUPTS: "at any time; interrupts the turn",
    Tier.IDLE: "between turns",
}
_PERMISSIONS = {
    Effect.READ: "runs without asking inside the folder",
    Effect.WRITE: "asks",
    Effect.RUN: "asks, unless the line only reads",
    Effect.NETWORK: "asks",
}
_PROJECT_ACCESS = {"always": "yes", "trusted": "once trusted", "never": "no"}
_STOPPED: Mapping[str, str] = {
    "complete": "The model has finished its answer.",
    "stop_tool": "A tool of `stop_tools` was called (library only).",
    "max_iterations": "The limit of model calls per turn was reached.",
    "timeout": "The run took longer than its time limit (`--time-limit`; in the library `timeout`).",
    "budget": "A [limit](models.md#limits) of cost, tokens, calls or time was reached.",
    "loop": "The model repeated the same step without progress.",
    "length": "The answer was cut off at the model's output limit.",
    "refusal": "The model declined to answer.",
    "denied": "The last round of tool calls was denied, and the model stopped there.",
    "cancelled": "The run was interrupted.",
    "error": "The provider failed; `error` holds the reason.",
}
"""What each stopped reason means; a new one is a KeyError here."""


def pages() -> list[Path]:
    """Every page of the documentation."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def rendered(text: str) -> str:
    """The page's text with its tables generated anew. Raises KeyError for a table that does not exist."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", text)


def main() -> int:
    """Rewrite the pages whose tables are out of date."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        if (new := rendered(old)) != old:
            page.write_text(new, encoding="utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
    return 0


def keys() -> str:
    """A table of keys for each part of the screen, with the ids for `keys.toml`."""
    parts = []
    for context in KeyContext:
        is_fixed = context in FIXED_CONTEXTS
        rows = [
            (row.label, row.summary, *(() if is_fixed else (_ids(row.ids),)))
            for row in EffectiveKeys().rows(context)
        ]
        columns = ("key", "action") if is_fixed else ("key", "action", "id")
        parts.append(f"## {context.value}\n\n{_table(columns, rows)}")
    return "\n\n".join(parts)


def _ids(ids: Sequence[str]) -> str:
    usual = default_keys()
    return ", ".join(_code(key_id) for key_id in ids if key_id in usual)


def commands() -> str:
    rows = []
    for spec in SPECS:
        also = ", ".join(_code(f"/{alias}") for alias in spec.aliases)
        forms = "<br>".join(_code(f"/{spec.name} {form.replace('...', '')}") for form in spec.accepts)
        rows.append((_code(f"/{spec.name}"), spec.summary, forms, also, _TIERS[spec.tier]))
    return _table(("command", "what it does", "arguments", "alias", "available"), rows)


def modes() -> str:
    rows = [(_code(mode), mode_summary(mode, is_sandboxed=True)) for mode in PermissionMode]
    return _table(("mode", "meaning"), rows)


def home_folder() -> str:
    """What a sandboxed command sees of a home folder."""
    rows: dict[str, tuple[list[str], list[str]]] = {}
    for one in TOOLCHAINS:
        places, variables = rows.setdefault(one.name, ([], []))
        places += [_code(f"~/{folder}") for folder in one.folders]
        variables += [_code(one.variable)] if one.variable else []
    names = sorted(rows, key=str.casefold)
    table = _table(
        ("for", "from", "or from the folder that this names"),
        [(name, ", ".join(rows[name][0]), ", ".join(rows[name][1])) for name in names],
    )
    parts = [
        ("As they are", HARMLESS_FILES),
        ("Without the lines that may hold a login", {*FILTERED_FILES, ".gitconfig", ".config/git/config"}),
        ("Writable, empty at first, and separate for every folder that Forge works in", CACHES),
    ]
    lists = [f"{title}: {', '.join(_code(f'~/{name}') for name in sorted(names))}." for title, names in parts]
    return "\n\n".join([table, *(textwrap.fill(one, 120, break_long_words=False) for one in lists)])


def tool_files() -> str:
    rows = [(entry.program, ", ".join(map(_code, entry.names.split()))) for entry in TOOL_FILES]
    return _table(("acted on by", "files and folders"), rows)


def risky_options() -> str:
    """What asks despite a rule for a program, by program and for all of them."""
    rows: dict[str, list[str]] = {}
    for name in sorted({*RISKY_OPTIONS, *RISKY_WORDS, *HAS_OUTPUT_OPERAND}):
        found = ", ".join(
            _code(one) if one.startswith("-") else one.replace("+", "`+`") for one in risky_arguments(name)
        )
        if found:
            rows.setdefault(found, []).append(_code(name))
    table = _table(
        ("program", "asks with"), sorted((", ".join(names), options) for options, names in rows.items())
    )
    rest = (
        f"In every program: {_listed(RISKY_EVERYWHERE)}; in those that are neither listed nor only read also "
        f"{_listed(RISKY_OPTIONS_OF_OTHERS)}."
    )
    return f"{table}\n\n{textwrap.fill(rest, 120, break_long_words=False, break_on_hyphens=False)}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(_code(one) for one in sorted(words))


def settings() -> str:
    rows = []
    for name, setting in SETTINGS.items():
        options = ", ".join(
            _code(one) for one in (setting.short_option, setting.option, setting.alias) if one
        )
        variable = _code(setting.variable) if setting.variable else ""
        default = _code(str(setting.default)) if setting.default not in (None, ()) else ""
        meaning = setting.summary.partition(" (default: ")[0] if default else setting.summary
        if setting.choices and not all(choice in meaning for choice in setting.choices):
            meaning += f" ({', '.join(_code(choice) for choice in setting.choices)})"
        rows.append(
            (
                _code(name),
                meaning,
                default,
                options,
                variable,
                _PROJECT_ACCESS[setting.project],
            )
        )
    head = ("setting", "meaning", "default", "flag", "variable", "project file")
    return _table(head, rows)


def exit_codes() -> str:
    docs = member_docs(ExitCode)
    rows = [(_code(str(code.value)), docs.get(code.name, code.name.capitalize() + ".")) for code in ExitCode]
    return _table(("code", "meaning"), [*rows, ("`128+n`", "Ended by signal n.")])


def stopped_reasons() -> str:
    rows = [
        (_code(one), _STOPPED[one], _code(str(exit_code_for(one).value))) for one in get_args(StoppedReason)
    ]
    return _table(("`stopped_reason`", "meaning", "exit code"), rows)


def event_types() -> str:
    rows = []
    for event in _event_classes():
        names = ", ".join(_code(one.name) for one in dataclasses.fields(event) if one.name not in _OF_ALL)
        rows.append((_code(str(event.type)), _code(event.__name__), names))
    return _table(("`type`", "class", "fields of `data`"), rows)


def endpoints() -> str:
    rows = [
        (one.label, _code(one.base_url), _code(one.key_variable) if one.key_variable else "none")
        for one in PROVIDERS.values()
    ]
    other = ("any other", "what you name", _code(NAMED_KEY_VARIABLE))
    return _table(("provider", "base URL", "variable of its key"), [*rows, other])


def models() -> str:
    rows = []
    for model in bundled().values():
        window = f"{model.context_length:,}" if model.context_length else "unknown"
        given, made = model.prices.prompt, model.prices.completion
        prices = [f"${float(one * 1_000_000):g}" if one is not None else "unknown" for one in (given, made)]
        rows.append((_code(model.id), window, *prices))
    head = ("model", "window, tokens", "input, per million", "output, per million")
    return f"As of {bundled_date()}:\n\n{_table(head, rows)}"


def tools() -> str:
    rows = [(_code(tool.name), _first_sentence(tool), _permission(tool)) for tool in builtin_tools()]
    return _table(("tool", "what it does", "in mode `ask`"), rows)


def _permission(tool: BaseTool) -> str:
    return "runs without asking" if tool.kind is ToolKind.SESSION else _PERMISSIONS[tool.effect]


def tool_parameters() -> str:
    parts = []
    for tool in builtin_tools():
        head = ("parameter", "type", "meaning")
        parts.append(f"### {tool.name}\n\n{_table(head, [_parameter(one) for one in tool.parameters])}")
    return "\n\n".join(parts)


def offline_requests() -> str:
    groups: dict[str, list[str]] = {}
    for row in TABLE:
        if row.example:
            groups.setdefault(row.group, []).append(row.example)
    order = [group for group in groups if group != "More"]
    rows = [(group, "<br>".join(_code(one) for one in groups[group])) for group in [*order, "More"]]
    return _table(("group", "examples"), rows)


def error_tree() -> str:
    text = inspect.getdoc(errors) or ""
    return f"```text\n{text.partition(chr(10) * 2)[2].strip()}\n```"


def layers() -> str:
    """The order of the packages, as import-linter checks it: a package imports only what is below it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    lines = []
    for contract in settings["contracts"]:
        if contract["type"] == "layers":
            lines += [contract["containers"][0], *(f"    {layer}" for layer in contract["layers"])]
    return "```text\n" + "\n".join(lines) + "\n```"


def modules() -> str:
    """Every package with its modules and the first sentence of their docstrings."""
    parts = []
    for top in ("forge_core", "forge_tui"):
        for init in sorted((ROOT / top).rglob("__init__.py")):
            folder = init.parent
            rows = [(f"`{one.name}`", _subject(one)) for one in sorted(folder.glob("*.py")) if one != init]
            if rows:
                summary = _subject(init)
                heading = f"## {folder.relative_to(ROOT).as_posix()}\n\n"
                parts.append(
                    heading + (f"{summary}\n\n" if summary else "") + _table(("module", "subject"), rows)
                )
    return "\n\n".join(parts)


def _subject(module: Path) -> str:
    text = " ".join((ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "").split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", text)[0]


TABLES: Mapping[str, Callable[[], str]] = {
    "keys": keys,
    "commands": commands,
    "modes": modes,
    "home-folder": home_folder,
    "risky-options": risky_options,
    "tool-files": tool_files,
    "settings": settings,
    "exit-codes": exit_codes,
    "stopped-reasons": stopped_reasons,
    "events": event_types,
    "endpoints": endpoints,
    "models": models,
    "tools": tools,
    "tool-parameters": tool_parameters,
    "offline-requests": offline_requests,
    "errors": error_tree,
    "layers": layers,
    "modules": modules,
}
"""What a page can hold, by name."""


def member_docs(owner: type) -> dict[str, str]:
    """The text under each member of a class, as one line. Python itself does not keep it."""
    body = ast.parse(inspect.getsource(owner)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for node, following in zip(body.body, body.body[1:], strict=False):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_text:
            found[node.targets[0].id] = " ".join(str(following.value.value).split())  # type: ignore[attr-defined]
    return found


def _event_classes() -> Iterator[type[events.AgentEvent]]:
    for found in vars(events).values():
        if (
            isinstance(found, type)
            and issubclass(found, events.AgentEvent)
            and found is not events.AgentEvent
        ):
            yield found


def _first_sentence(tool: BaseTool) -> str:
    """The beginning of its description, which is written for the model."""
    return re.split(r"\.\s|:\s|\s\(", tool.description.strip(), maxsplit=1)[0].removesuffix(".") + "."


def _parameter(parameter: ToolParameter) -> tuple[str, str, str]:
    name = _code(parameter.name) + ("" if parameter.required else " (optional)")
    return name, parameter.type, parameter.description


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(head), *(tuple(row) for row in rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines)


def _cell(text: str) -> str:
    """The text on one line, with what Markdown would take for its own outside code."""
    parts = re.split(r"(``.+?``|`[^`]+`|<br>)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([*<\\])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
