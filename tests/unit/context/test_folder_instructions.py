"""Instructions of sub-folders: given once, when a tool first visits them, and only in a trusted project."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.context.folder_instructions import FolderInstructions
from forge_core.runtime import load_session_config
from forge_core.tools import ReadTool
from forge_core.tools.base import BaseTool
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.edit import EditTool
from forge_core.tools.builtin.grep import GrepTool
from forge_core.tools.builtin.ls import LsTool
from forge_core.tools.builtin.write import WriteTool
from forge_core.workspace.trust import TrustStore
from tests.support.scripted_llm import Call
from tests.support.sessions import scripted_session


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "web/forms").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Top.")
    (root / "web/AGENTS.md").write_text("Use TypeScript. @forms/more.md")
    (root / "web/forms/more.md").write_text("More.")
    (root / "web/forms/CLAUDE.md").write_text("Label each field.")
    (root / "web/forms/a.ts").write_text("const a = 1;\n")
    return root


def instructions(project: Path, *, trusted: bool = True) -> FolderInstructions:
    config = load_session_config(project)
    TrustStore(config.state_dir).decide(project, trusted)
    return FolderInstructions(config)


def test_the_folders_down_to_the_file_give_their_instructions_once(project: Path) -> None:
    given = instructions(project)
    assert given.for_path(project / "AGENTS.md") == ""
    text = given.for_path(project / "web/forms/a.ts")
    assert text.index("Use TypeScript") < text.index("More.") < text.index("Label each field.")
    assert "Top." not in text and 'path="web/forms/CLAUDE.md"' in text
    assert given.for_path(project / "web/forms/a.ts") == ""
    assert [one.path for one in given.given] == ["web/AGENTS.md", "web/forms/more.md", "web/forms/CLAUDE.md"]
    given.forget()
    assert "Use TypeScript" in given.for_path(project / "web/x.ts")


def test_an_untrusted_project_gives_none_until_it_is_trusted(project: Path) -> None:
    given = instructions(project, trusted=False)
    assert given.for_path(project / "web/x.ts") == ""
    TrustStore(load_session_config(project).state_dir).decide(project, True)
    assert "Use TypeScript" in given.for_path(project / "web/x.ts")


def test_a_file_outside_the_folder_gives_none(project: Path) -> None:
    (project.parent / "other").mkdir()
    (project.parent / "other/AGENTS.md").write_text("Elsewhere.")
    assert instructions(project).for_path(project.parent / "other/x.py") == ""


async def test_instructions_follow_the_frame_of_what_was_read(project: Path) -> None:
    read = Call("read", {"file_path": "web/forms/a.ts"})
    session = scripted_session(project, [[read], [read], ["Done."]], tools=[ReadTool()])
    session._environment.folder_instructions = instructions(project)
    async for _ in session.send("go"):
        pass
    first, second = (one.text for one in session._agent.memory.get_history() if one.tool_call_id)
    output, _, after = first.partition("</tool-output")
    assert "const a" in output and "Label each field." not in output
    assert "Label each field." in after
    assert "Label each field." not in second and second.rstrip().endswith(">")
    await session.reset()
    assert session._environment.given_instructions == ()
    await session.aclose()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (EditTool(), {"file_path": "web/forms/a.ts", "old_string": "1", "new_string": "2"}),
        (WriteTool(), {"file_path": "web/forms/new.ts", "content": "x"}),
        (LsTool(), {"path": "web/forms"}),
        (GrepTool(), {"pattern": "const", "path": "web/forms"}),
    ],
    ids=lambda value: value.name if isinstance(value, BaseTool) else "",
)
async def test_the_first_call_that_visits_a_folder_gives_its_instructions(
    project: Path, tool: BaseTool, arguments: dict[str, str]
) -> None:
    assert "Label each field." in await result_of(project, tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (GrepTool(), {"pattern": "const"}),
        (EditTool(), {"file_path": "web/forms/a.ts", "old_string": "absent", "new_string": "2"}),
        (BashTool(), {"command": "cat web/forms/a.ts"}),
    ],
    ids=["search of everything", "failed edit", "command"],
)
async def test_other_calls_give_none(project: Path, tool: BaseTool, arguments: dict[str, str]) -> None:
    assert "Label each field." not in await result_of(project, tool, arguments)


async def result_of(project: Path, tool: BaseTool, arguments: dict[str, str]) -> str:
    """Return the text that the model gets for one call."""
    session = scripted_session(project, [[Call(tool.name, arguments)], ["Done."]], tools=[tool])
    session.set_mode(PermissionMode.YOLO)
    session._environment.folder_instructions = instructions(project)
    async for _ in session.send("go"):
        pass
    (result,) = [one.text for one in session._agent.memory.get_history() if one.tool_call_id]
    await session.aclose()
    return result
