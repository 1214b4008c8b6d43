"""Definitions of agents, built in or from files: the instructions and the tools of a sub-agent.

A file never grants more than the session has: the tools are a subset of the session's, and the permission
mode applies only where it is stricter.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forge_core.approval import ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.claude_rules import forge_names
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind
from forge_core.permissions.rules.rule import SERVER_PREFIX
from forge_core.sanitize import safe_line
from forge_core.tools.base import BaseTool
from forge_core.tools.builtin.skill import SkillTool
from forge_core.tools.builtin.task import DEFAULT_AGENT
from forge_core.tools.registry import builtin_tools

BUILT_IN = "built-in"
"""The origin of an agent that comes with Forge; that of others is the scope of their file."""
_ALL_TOOLS = "*"
_INHERIT = "inherit"
_OTHER_NAMES = {"general-purpose": DEFAULT_AGENT}
"""Names of Claude Code's own agents, which the model may use."""
_MODES: Mapping[str, PermissionMode] = {
    **{str(mode): mode for mode in PermissionMode},
    "default": PermissionMode.ASK,
    "acceptedits": PermissionMode.ACCEPT_EDITS,
    "bypasspermissions": PermissionMode.YOLO,
}
"""Claude Code's names, in lower case, and Forge's."""
AGENT_COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")
"""The colours of Claude Code, which a theme has its own tones for."""
_WORKTREE = "worktree"
_NOT_RUN = {
    "hooks": "its hooks are not run",
    "mcpServers": "its MCP servers are not started",
}
"""Fields that Forge does not support, and the consequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """One agent. The texts of a file are untrusted."""

    name: str
    """Safe to display."""
    description: str
    """When to use it, for the model; one line."""
    prompt: str
    """Added to the system prompt."""
    origin: str
    """`BUILT_IN`, or the scope of its file."""
    tools: tuple[str, ...] | None = None
    """The names of its tools in Claude Code or Forge; None: all."""
    disallowed_tools: tuple[str, ...] = ()
    kinds: frozenset[ToolKind] | None = None
    """The kinds of its tools; None: all."""
    model: str = ""
    """Empty: that of the session."""
    is_small: bool = False
    """Whether it uses the setting `small_model`, if that is set."""
    max_turns: int | None = None
    """Model calls; None: as many as a turn of the session."""
    mode: PermissionMode | None = None
    """Applies where it is stricter than that of the session."""
    skills: tuple[str, ...] = ()
    color: str = ""
    """One of `AGENT_COLORS`; empty: none."""
    is_isolated: bool = False
    """Whether it works in a git worktree of its own."""
    problems: tuple[str, ...] = ()
    """What is wrong with the file or ignored, each a clause that follows its name."""

    def select(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        """Return those of the session's tools that it may use; one with skills can load them."""
        given = [tool for tool in tools if tool.for_agents]
        names = (*(self.tools or ()), *([SkillTool.name] if self.skills else ()))
        chosen = given if self.tools is None else _named(names, given)
        refused = {tool.name for tool in _named(self.disallowed_tools, given)}
        return [
            tool
            for tool in chosen
            if tool.name not in refused and (self.kinds is None or tool.kind in self.kinds)
        ]


_EXPLORE = """\
You answer questions about the code and change nothing. Search broadly first, then read the parts that \
matter; send independent searches and reads together. Stop as soon as the question is answered. Report \
the answer first, then each place that supports it as `path:line` with what is there, then what you \
looked for and did not find."""
_VERIFY = """\
You check whether something works, and change no file. Find out how this project is tested, run the \
tests and programs that concern the question, and read what they print. Report evidence only: each \
command exactly as you ran it, its exit code, and the relevant lines of its output. Then say which claims \
hold, which do not, and which you could not check and why. Never report a result that you have not seen."""
_GENERAL = """\
You complete one task without help. Do all of it, and nothing beyond it. Report what you did, which files \
you changed, how you checked it and how the check ended, and what is left open."""

BUILT_IN_AGENTS = (
    AgentDefinition(
        name="explore",
        description="Answers a question about the code by searching and reading; changes nothing.",
        prompt=_EXPLORE,
        origin=BUILT_IN,
        kinds=frozenset({ToolKind.LOOK}),
        is_small=True,
        mode=PermissionMode.PLAN,
    ),
    AgentDefinition(
        name="verify",
        description="Runs the tests or the program and reports the evidence; edits no file.",
        prompt=_VERIFY,
        origin=BUILT_IN,
        kinds=frozenset({ToolKind.LOOK, ToolKind.RUN, ToolKind.SESSION}),
    ),
    AgentDefinition(
        name=DEFAULT_AGENT,
        description="Completes a task of several steps with all tools.",
        prompt=_GENERAL,
        origin=BUILT_IN,
    ),
)


@dataclass(frozen=True, slots=True)
class AgentCatalog:
    """The agents of a session: the built-in ones, then those from files, sorted by name.

    A file does not replace a built-in agent: it is reached as `user:explore`.
    """

    agents: tuple[AgentDefinition, ...] = BUILT_IN_AGENTS
    _others: Mapping[str, AgentDefinition] = field(default_factory=dict)
    """Every file's agent by its qualified name."""

    def find(self, name: str) -> AgentDefinition | None:
        """Return the agent of this name or qualified name; case is ignored."""
        wanted = name.strip().lower()
        found = next((one for one in self.agents if one.name.lower() == wanted), None)
        if found is None and wanted in _OTHER_NAMES:
            return self.find(_OTHER_NAMES[wanted])
        return found or self._others.get(wanted)

    def nearest(self, name: str) -> str:
        """Return the name that is most similar; empty if none is."""
        names = [one.name for one in self.agents]
        return next(iter(difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)), "")


def agents_of(catalog: ExtensionCatalog) -> AgentCatalog:
    """Return the built-in agents and those of files."""
    taken = {one.name.lower() for one in BUILT_IN_AGENTS}
    kind = ExtensionKind.AGENT
    named = [
        (one, one.qualified_name if one.name.lower() in taken else one.name) for one in catalog.of_kind(kind)
    ]
    hidden = [(one, one.qualified_name) for one in catalog.shadowed(kind)]
    known = builtin_tools()
    agents = {one.qualified_name.lower(): _agent_of(one, name, known) for one, name in [*hidden, *named]}
    shown = (agents[one.qualified_name.lower()] for one, _ in named)
    return AgentCatalog((*BUILT_IN_AGENTS, *shown), agents)


def _agent_of(definition: Definition, name: str, known: Sequence[BaseTool]) -> AgentDefinition:
    """Return the agent that a file defines, under this name; `known` are the tools that exist."""
    file = definition.file
    problems = [meaning for key, meaning in _NOT_RUN.items() if file.fields.get(key)]
    mode = _mode(file.text("permissionMode"), problems)
    tools = _tools(file.fields.get("tools"), file.words("tools"), known, problems)
    if not file.is_readable:
        problems.append("its front matter cannot be read, so it has no tools")
        tools = ()
    max_turns = file.number("maxTurns")
    if max_turns is None and "maxTurns" in file.fields:
        given = safe_line(str(file.fields["maxTurns"]))
        problems.append(f"its maxTurns {given!r} is no whole number above 0")
    isolation = file.text("isolation").lower()
    if isolation not in ("", _WORKTREE):
        problems.append(f"its isolation {safe_line(isolation)!r} is unknown: it gets a worktree")
    model, color = file.text("model"), file.text("color").lower()
    if not definition.body:
        problems.append("it has no text after the front matter, so nothing is added to the system prompt")
    return AgentDefinition(
        name=name,
        description=_one_line(definition.description),
        prompt=definition.body,
        origin=str(definition.scope),
        tools=tools,
        disallowed_tools=file.words("disallowedTools"),
        model="" if model.lower() == _INHERIT else safe_line(model),
        max_turns=max_turns,
        mode=mode,
        skills=tuple(map(safe_line, file.words("skills"))),
        color=color if color in AGENT_COLORS else "",
        is_isolated=bool(isolation),
        problems=tuple(problems),
    )


def _one_line(description: str) -> str:
    r"""Return a description in which Claude Code has written line breaks as `\n`."""
    return " ".join(description.replace("\\n", " ").split())


def _mode(text: str, problems: list[str]) -> PermissionMode | None:
    if not text:
        return None
    mode = _MODES.get(text.lower())
    if mode is None:
        problems.append(f"its permissionMode {safe_line(text)!r} is unknown; ask is used")
    return mode or PermissionMode.ASK


def _tools(
    given: Any, names: tuple[str, ...], known: Sequence[BaseTool], problems: list[str]
) -> tuple[str, ...] | None:
    """Return the names of the tools that exist; None where the file names none or all. What cannot be
    translated grants nothing."""
    if given is None or _ALL_TOOLS in names:
        return None
    if not isinstance(given, str | list):
        problems.append("its tools are no list of names, so it has none")
    kept = []
    for name in names:
        if "(" in name:
            problems.append(f"the tool {safe_line(name)!r} was left out: tools of agents take no pattern")
        elif name.startswith(SERVER_PREFIX) or forge_names(name, known):
            kept.append(name)
        else:
            problems.append(f"the tool {safe_line(name)!r} was left out: Forge does not have it")
    return tuple(kept)


def _named(names: Collection[str], tools: list[BaseTool]) -> list[BaseTool]:
    """Return the tools that these names mean; a pattern counts for the whole tool."""
    if _ALL_TOOLS in names:
        return tools
    wanted = {tool for name in names for tool in forge_names(name.partition("(")[0], tools)}
    return [tool for tool in tools if tool.name in wanted]
