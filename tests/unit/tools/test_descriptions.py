"""What a model is told of the tools must be what the tools do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.approval import MAX_PLAN_CHARS, ToolKind
from forge_core.tools import BaseTool, ExecutionContext, ToolRegistry, builtin_tools
from forge_core.tools.builtin import ask_user as ask_user_module
from forge_core.tools.builtin import bash as bash_module
from forge_core.tools.builtin import glob as glob_module
from forge_core.tools.builtin import grep as grep_module
from forge_core.tools.builtin import job_output as job_output_module
from forge_core.tools.builtin import ls as ls_module
from forge_core.tools.builtin import multi_edit as multi_edit_module
from forge_core.tools.builtin import read as read_module
from forge_core.tools.builtin import todo as todo_module
from forge_core.tools.output import OUTPUT_LIMIT

TOOLS = {tool.name: tool for tool in builtin_tools()}


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("read", [read_module.MAX_LINES, read_module.MAX_BYTES // 1024, read_module.MAX_LINE_CHARS]),
        ("glob", [glob_module.MAX_RESULTS]),
        ("grep", [grep_module.DEFAULT_HEAD_LIMIT, grep_module.MAX_CONTEXT]),
        ("ls", [ls_module.DEFAULT_DEPTH, ls_module.MAX_DEPTH, ls_module.MAX_ENTRIES]),
        ("bash", [bash_module.DEFAULT_TIMEOUT_S, bash_module.MAX_TIMEOUT_S, OUTPUT_LIMIT]),
        ("bash", [bash_module.BACKGROUND_AFTER_S]),
        ("multi_edit", [multi_edit_module.MAX_EDITS]),
        ("job_output", [job_output_module.MAX_WAIT_S, OUTPUT_LIMIT]),
        ("todo", [todo_module.MAX_ITEMS, todo_module.MAX_CONTENT_CHARS]),
        ("ask_user", [ask_user_module.MAX_QUESTIONS, ask_user_module.MAX_OPTIONS]),
        ("exit_plan_mode", [MAX_PLAN_CHARS]),
    ],
)
def test_descriptions_state_every_limit(name: str, figures: list[int]) -> None:
    told = TOOLS[name].description + " ".join(parameter.description for parameter in TOOLS[name].parameters)
    for figure in figures:
        assert f"{figure}" in told or f"{figure:,}" in told


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_descriptions_state_the_bounds_and_defaults_of_the_schema(tool: BaseTool) -> None:
    for parameter in tool.parameters:
        assert parameter.description, parameter.name
        if parameter.maximum is not None:
            assert (
                f"{parameter.maximum:g}" in parameter.description
                or f"{parameter.maximum:,}" in parameter.description
            )
        if parameter.default not in (None, 0, False):
            assert str(parameter.default) in parameter.description


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_every_description_refers_to_a_better_tool_for_other_tasks(tool: BaseTool) -> None:
    others = TOOLS.keys() - {tool.name}
    assert "Use " in tool.description
    assert any(name in tool.description.replace(",", " ").replace(";", " ").split() for name in others)
    assert len(tool.description) < 800


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_the_schema_is_json_and_lists_required_parameters(tool: BaseTool) -> None:
    schema = json.loads(json.dumps(tool.to_openai_schema()))
    parameters = schema["function"]["parameters"]
    assert parameters["additionalProperties"] is False
    assert set(parameters["required"]) == {one.name for one in tool.parameters if one.required}


def test_built_in_tools_have_the_expected_kinds() -> None:
    kinds = {kind: {name for name, tool in TOOLS.items() if tool.kind is kind} for kind in ToolKind}
    assert kinds == {
        ToolKind.LOOK: {"read", "glob", "grep", "ls"},
        ToolKind.WRITE: {"write", "edit", "multi_edit", "apply_patch"},
        ToolKind.RUN: {"bash"},
        ToolKind.SESSION: {
            *("todo", "ask_user", "exit_plan_mode", "job_output", "job_stop", "skill"),
            *("tool_search", "tool_run"),
        },
        ToolKind.AGENT: {"task"},
        ToolKind.USER: set(),
        ToolKind.OTHER: set(),
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "..",
        "~",
        "/",
        "a\0b",
        pytest.param("x" * 10_000, id="long"),
        "\ud800",
        "\x1b[2J",
        "//etc//passwd",
    ],
)
def test_describing_a_call_never_fails_and_touches_no_file(
    tool: BaseTool, value: str, tmp_path: Path
) -> None:
    params = {parameter.name: value for parameter in tool.parameters if parameter.type == "string"}
    use = tool.describe_use(params | {"timeout_s": 5}, ExecutionContext(tmp_path))
    assert use.effect is tool.effect
    assert all(path.is_absolute() for path in use.paths)
    assert use.paths or tool.kind in (ToolKind.RUN, ToolKind.SESSION, ToolKind.AGENT)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_tool_name_gets_the_nearest_one_suggested() -> None:
    registry = ToolRegistry(builtin_tools())
    result = registry.unknown("raed")
    assert not result.success
    assert "Did you mean 'read'?" in (result.error or "")
    assert all(name in (result.error or "") for name in TOOLS)
    assert registry.get("raed") is None


def test_a_tool_name_cannot_be_registered_twice() -> None:
    registry = ToolRegistry(builtin_tools())
    with pytest.raises(ValueError, match="'bash' is registered already"):
        registry.add(TOOLS["bash"])
    assert len(registry) == len(TOOLS)
    assert "bash" in registry


def test_importing_the_package_loads_no_tool() -> None:
    program = (
        "import sys, forge_core.tools, forge_core.permissions, forge_core.workspace\n"
        "heavy = {'asyncio', 'subprocess', 'difflib', 'forge_core.tools.base', 'pathspec', 'pydantic', 'httpx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "from forge_core.tools import builtin_tools\n"
        "builtin_tools()\n"
        "more = {'pathspec', 'pydantic', 'httpx', 'langchain_core', 'textual', 'rich'}\n"
        "assert not more & set(sys.modules), more & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_deferred_tool_is_called_by_name_but_not_listed() -> None:
    registry = ToolRegistry([TOOLS["read"]], deferred=[TOOLS["grep"], TOOLS["multi_edit"]])
    assert [tool.name for tool in registry] == ["read"]
    assert "grep" in registry and registry.get("grep") is TOOLS["grep"]
    assert registry.find("Multi Edit") is TOOLS["multi_edit"] and registry.find("Read") is None
    assert "Did you mean 'grep'?" in (registry.unknown("grpe").error or "")
    assert "The tools are: read." in (registry.unknown("grpe").error or "")
