"""Tool adapters both ways. The agreed scenarios' titles are in the docstrings."""

from __future__ import annotations

import asyncio
import threading
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import InjectedToolCallId, StructuredTool, Tool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.langchain.callbacks import LoggingCallback
from forge_core.langchain.tools import (
    ForgeToolAdapter,
    LangChainToolAdapter,
    adapt_tools_for_forge,
    adapt_tools_for_langchain,
)
from forge_core.tools.base import BaseTool, ExecutionContext, ToolError, ToolParameter, ToolResult
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.read import ReadTool
from forge_core.tools.executor import ToolExecutor


class Recorder(BaseTool):
    """Notes what it is called with and answers it."""

    name = "recorder"
    description = "Notes its arguments."
    parameters = (
        ToolParameter("file_path", "string", "Path to the file"),
        ToolParameter("encoding", "string", "File encoding", required=False),
    )

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.contexts: list[ExecutionContext] = []
        self.threads: list[int] = []

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.seen.append(params)
        self.contexts.append(context)
        self.threads.append(threading.get_ident())
        return ToolResult(True, output=repr(params))


class Strange(Recorder):
    """Has parameters whose names pydantic or Python would not take, and every kind of type."""

    name = "strange"
    parameters = (
        ToolParameter("schema", "string"),
        ToolParameter("class", "string", required=False),
        ToolParameter("_private", "integer", required=False),
        ToolParameter("model_name", "string", required=False),
        ToolParameter("self", "string", required=False),
        ToolParameter("config", "string", required=False),
        ToolParameter("run_manager", "string", required=False),
        ToolParameter("with-dash", "boolean", required=False),
    )


class Typed(Recorder):
    name = "typed"
    parameters = (
        ToolParameter("mode", "string", "How", enum=("fast", "slow")),
        ToolParameter("count", "integer", "How often", required=False, default=3, minimum=1, maximum=10),
        ToolParameter("ratio", "number", required=False),
        ToolParameter("force", "boolean", required=False, default=False),
        ToolParameter(
            "edits",
            "array",
            required=False,
            items={
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
            },
        ),
        ToolParameter("options", "object", required=False, properties={"depth": {"type": "integer"}}),
    )


class Broken(BaseTool):
    name = "broken"
    description = "Fails."

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        raise ToolError("it is broken")


def tool_call(name: str, args: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


class TestForgeToolForLangChain:
    def test_the_adapter_is_a_langchain_tool(self) -> None:
        """Scenario: Adapt Forge tool to LangChain."""
        read_tool = ReadTool()
        adapter = LangChainToolAdapter(forge_tool=read_tool)
        assert isinstance(adapter, LangChainTool)
        assert adapter.name == read_tool.name
        assert adapter.description == read_tool.description

    def test_the_args_schema_follows_the_parameters(self) -> None:
        """Scenario: Generate args schema from Forge parameters."""
        schema = LangChainToolAdapter(forge_tool=Recorder()).args_schema
        assert isinstance(schema, type)
        assert issubclass(schema, BaseModel)
        path, encoding = schema.model_fields["file_path"], schema.model_fields["encoding"]
        assert path.is_required()
        assert path.annotation is str
        assert path.description == "Path to the file"
        assert not encoding.is_required()
        assert encoding.annotation == str | None

    def test_an_adapted_tool_reads_a_file(self, tmp_path: Path) -> None:
        """Scenario: Execute adapted tool."""
        (tmp_path / "test.txt").write_text("file contents here\n")
        text = LangChainToolAdapter(forge_tool=ReadTool()).invoke({"file_path": str(tmp_path / "test.txt")})
        assert isinstance(text, str)
        assert "file contents here" in text

    def test_a_failure_is_text_that_begins_with_error(self) -> None:
        """Scenario: Handle tool execution error."""
        text = LangChainToolAdapter(forge_tool=ReadTool()).invoke({"file_path": "/nonexistent"})
        assert text.startswith("Error:")

    def test_a_list_of_tools_is_adapted(self) -> None:
        """Scenario: Convert batch of tools."""
        tools = adapt_tools_for_langchain([ReadTool(), Recorder(), Typed()])
        assert len(tools) == 3
        assert all(isinstance(adapter, LangChainToolAdapter) for adapter in tools)
        assert [convert_to_openai_tool(adapter)["function"]["name"] for adapter in tools] == [
            "read",
            "recorder",
            "typed",
        ]

    @pytest.mark.parametrize("forge_tool", [ReadTool(), Recorder(), Strange(), Typed(), Broken()])
    def test_the_model_receives_exactly_the_schema_of_the_tool(self, forge_tool: BaseTool) -> None:
        adapter = LangChainToolAdapter(forge_tool=forge_tool)
        assert convert_to_openai_tool(adapter) == forge_tool.to_openai_schema()
        assert adapter.args == forge_tool.json_schema()["properties"]

    def test_unusual_parameter_names_cause_no_warning(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            adapter = LangChainToolAdapter(forge_tool=Strange())
        assert adapter.name == Strange().name

    def test_unusual_parameter_names_are_passed_unchanged(self) -> None:
        strange = Strange()
        args = {
            "schema": "a",
            "class": "b",
            "_private": 1,
            "model_name": "c",
            "self": "d",
            "config": "e",
            "run_manager": "f",
            "with-dash": True,
        }
        LangChainToolAdapter(forge_tool=strange).invoke(args)
        asyncio.run(LangChainToolAdapter(forge_tool=strange).ainvoke(args))
        assert strange.seen == [args, args]

    def test_omitted_optional_arguments_are_not_passed(self) -> None:
        recorder = Recorder()
        LangChainToolAdapter(forge_tool=recorder).invoke({"file_path": "a"})
        LangChainToolAdapter(forge_tool=recorder).invoke({"file_path": "a", "encoding": None})
        assert recorder.seen == [{"file_path": "a"}] * 2

    def test_values_are_validated_coerced_and_defaulted(self) -> None:
        typed = Typed()
        adapter = LangChainToolAdapter(forge_tool=typed)
        edits = [{"old": "a", "new": "b"}]
        adapter.invoke({"mode": "fast", "count": "5", "edits": edits, "options": {"depth": 2}})
        expected = {"mode": "fast", "count": 5, "force": False, "edits": edits, "options": {"depth": 2}}
        assert typed.seen == [expected]

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ({}, "mode"),
            ({"mode": "other"}, "mode"),
            ({"mode": "fast", "count": 11}, "count"),
            ({"mode": "fast", "count": 0}, "count"),
            ({"mode": "fast", "count": "many"}, "count"),
            ({"mode": "fast", "edits": "no list"}, "edits"),
            ({"mode": "fast", "edits": [{"old": "a"}]}, "edits"),
            ({"mode": "fast", "options": 3}, "options"),
            ({"mode": "fast", "unknown": 3}, "unknown"),
        ],
    )
    def test_unusable_arguments_are_an_error_and_run_nothing(
        self, arguments: dict[str, Any], named: str
    ) -> None:
        typed = Typed()
        message = LangChainToolAdapter(forge_tool=typed).invoke(tool_call("typed", arguments))
        assert isinstance(message, ToolMessage)
        assert message.status == "error"
        assert str(message.content).startswith("Error:")
        assert named in str(message.content)
        assert typed.seen == []

    def test_a_tool_call_is_answered_by_a_tool_message(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("text")
        adapter = LangChainToolAdapter(forge_tool=ReadTool(), context=ExecutionContext(working_dir=tmp_path))
        good = adapter.invoke(tool_call("read", {"file_path": "a.txt"}, "call_7"))
        assert (good.status, good.tool_call_id, good.name) == ("success", "call_7", "read")
        bad = asyncio.run(adapter.ainvoke(tool_call("read", {"file_path": "missing.txt"}, "call_8")))
        assert (bad.status, bad.tool_call_id) == ("error", "call_8")
        assert bad.content.startswith("Error:")

    def test_direct_method_calls_return_text(self) -> None:
        adapter = LangChainToolAdapter(forge_tool=Broken())
        assert adapter._run() == "Error: it is broken"
        assert asyncio.run(adapter._arun()) == "Error: it is broken"

    def test_a_tool_failure_can_be_raised(self) -> None:
        adapter = LangChainToolAdapter(forge_tool=Broken(), handle_tool_error=False)
        with pytest.raises(ToolException, match="it is broken"):
            adapter.invoke({})

    async def test_invoke_works_inside_a_running_loop(self) -> None:
        recorder = Recorder()
        text = LangChainToolAdapter(forge_tool=recorder).invoke({"file_path": "a"})
        assert text == "{'file_path': 'a'}"
        assert recorder.threads != [threading.get_ident()]

    async def test_ainvoke_runs_on_the_loop_of_the_caller(self) -> None:
        recorder = Recorder()
        await LangChainToolAdapter(forge_tool=recorder).ainvoke({"file_path": "a"})
        assert recorder.threads == [threading.get_ident()]

    async def test_a_child_process_runs_from_inside_a_running_loop(self, tmp_path: Path) -> None:
        context = ExecutionContext(working_dir=tmp_path)
        adapter = LangChainToolAdapter(forge_tool=BashTool(), context=context)
        assert "from a child" in adapter.invoke({"command": "echo from a child", "description": "say a word"})

    def test_a_single_text_is_the_first_argument(self) -> None:
        recorder = Recorder()
        LangChainToolAdapter(forge_tool=recorder).invoke("a.txt")
        assert recorder.seen == [{"file_path": "a.txt"}]

    async def test_parallel_calls_share_file_state_but_not_call_ids(self, tmp_path: Path) -> None:
        recorder = Recorder()
        context = ExecutionContext(working_dir=tmp_path, call_id="shared")
        adapter = LangChainToolAdapter(forge_tool=recorder, context=context)
        calls = [tool_call("recorder", {"file_path": "a"}, f"call_{number}") for number in range(3)]
        await asyncio.gather(*(adapter.ainvoke(call) for call in calls))
        assert sorted(seen.call_id for seen in recorder.contexts) == ["call_0", "call_1", "call_2"]
        assert all(seen.files is context.files for seen in recorder.contexts)
        await adapter.ainvoke({"file_path": "a"})
        assert recorder.contexts[-1].call_id not in ("", "shared")

    async def test_a_tool_that_calls_another_directly_gets_its_text(self) -> None:
        inner = LangChainToolAdapter(forge_tool=Broken())

        class Outer(BaseTool):
            name = "outer"
            description = "Calls another tool."

            async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
                return ToolResult(True, output=f"inner said {await inner._arun()}")

        message = await LangChainToolAdapter(forge_tool=Outer()).ainvoke(tool_call("outer", {}))
        assert message.content == "inner said Error: it is broken"
        assert message.status == "success"

    def test_policy_and_approver_of_the_executor_apply(self, tmp_path: Path) -> None:
        from forge_core.permissions.policy import PermissionPolicy

        asked: list[ApprovalRequest] = []

        async def deny(request: ApprovalRequest) -> ApprovalReply:
            asked.append(request)
            return ApprovalReply(Answer.NO, "not now")

        class Writer(Recorder):
            name = "writer"
            effect = Effect.WRITE

        writer = Writer()
        executor = ToolExecutor(PermissionPolicy(tmp_path, PermissionMode.ASK, (), ()), deny)
        adapter = LangChainToolAdapter(
            forge_tool=writer, executor=executor, context=ExecutionContext(working_dir=tmp_path)
        )
        message = adapter.invoke(tool_call("writer", {"file_path": "a"}))
        assert message.status == "error"
        assert "not now" in message.content
        assert len(asked) == 1
        assert writer.seen == []

    def test_callbacks_receive_the_tool_run_and_its_failure(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", logger="forge.llm")
        adapter = LangChainToolAdapter(forge_tool=Broken())
        adapter.invoke(tool_call("broken", {}), config={"callbacks": [LoggingCallback()]})
        assert caplog.messages[0] == "Tool start: broken"
        assert caplog.messages[1].startswith("Tool end: duration=")
        assert caplog.messages[1].endswith("status=error")

    def test_name_and_description_may_be_replaced(self) -> None:
        adapter = LangChainToolAdapter(forge_tool=Recorder(), name="other", description="Another.")
        function = convert_to_openai_tool(adapter)["function"]
        assert (function["name"], function["description"]) == ("other", "Another.")


class Edit(BaseModel):
    old: str = Field(description="before")
    new: str


class EditArgs(BaseModel):
    path: str
    edits: list[Edit]
    mode: Literal["fast", "slow"] = "fast"
    limit: Optional[int] = Field(None, ge=1)  # noqa: UP045  # the spelling that makes an anyOf


@tool(args_schema=EditArgs)
def edit(path: str, edits: list[Edit], mode: str = "fast", limit: int | None = None) -> str:
    """Edits a file."""
    return f"{path} {[type(one).__name__ for one in edits]} {mode} {limit}"


@tool
def where() -> str:
    """Tells its thread."""
    return str(threading.get_ident())


@tool
async def where_async() -> str:
    """Tells its thread."""
    return str(threading.get_ident())


@tool
def refuses(reason: str) -> str:
    """Refuses."""
    raise ToolException(reason)


@tool
def crashes() -> str:
    """Crashes."""
    raise KeyError("key")


class Node(BaseModel):
    value: int
    children: list[Node] = []


class TestLangChainToolForForge:
    async def test_any_langchain_tool_becomes_a_forge_tool(self) -> None:
        """Scenario: Adapt LangChain tool to Forge."""

        @tool
        def lookup(query: str) -> str:
            """Looks something up."""
            return f"about {query}"

        adapter = ForgeToolAdapter(langchain_tool=lookup)
        assert isinstance(adapter, BaseTool)
        assert (adapter.name, adapter.description) == ("lookup", "Looks something up.")
        result = await adapter.execute({"query": "ants"}, ExecutionContext())
        assert result == ToolResult(True, output="about ants")

    async def test_synchronous_tools_run_in_a_thread_and_asynchronous_tools_are_awaited(self) -> None:
        here = str(threading.get_ident())
        context = ExecutionContext()
        assert (await ForgeToolAdapter(where).execute({}, context)).output != here
        assert (await ForgeToolAdapter(where_async).execute({}, context)).output == here

    async def test_nested_models_are_described_and_passed(self) -> None:
        adapter = ForgeToolAdapter(edit)
        schema = adapter.json_schema()
        assert schema["properties"]["edits"]["items"]["properties"]["old"]["description"] == "before"
        assert schema["required"] == ["path", "edits"]
        kinds = {parameter.name: parameter.type for parameter in adapter.parameters}
        assert kinds == {"path": "string", "edits": "array", "mode": "string", "limit": "integer"}
        params = {"path": "a", "edits": [{"old": "x", "new": "y"}], "limit": 2}
        result = await ToolExecutor().execute(adapter, params, ExecutionContext())
        assert result.output == "a ['Edit'] fast 2"

    @pytest.mark.parametrize("langchain_tool", [edit, where, where_async, refuses])
    def test_the_model_receives_the_schema_that_langchain_would_send(
        self, langchain_tool: LangChainTool
    ) -> None:
        told = ForgeToolAdapter(langchain_tool).to_openai_schema()["function"]
        expected = convert_to_openai_tool(langchain_tool)["function"]
        assert told["parameters"]["properties"] == expected["parameters"]["properties"]
        assert (told["name"], told["description"]) == (expected["name"], expected["description"])

    async def test_a_schema_given_as_a_dict_is_kept(self) -> None:
        schema = {
            "type": "object",
            "properties": {"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}},
            "required": ["tags"],
            "additionalProperties": False,
        }

        async def act(tags: list[str]) -> str:
            return ",".join(tags)

        dicted = StructuredTool(name="tags", description="Tags.", args_schema=schema, coroutine=act)
        adapter = ForgeToolAdapter(dicted)
        assert adapter.json_schema()["properties"] == schema["properties"]
        assert adapter.json_schema()["additionalProperties"] is False
        assert (await adapter.execute({"tags": ["a"]}, ExecutionContext())).output == "a"

    def test_the_widest_of_several_types_is_used(self) -> None:
        @tool
        def vague(
            a: int | str, b: int | float, c: list[int] | None = None, d: Any = None, e: bool | None = None
        ) -> str:
            """Takes this or that."""
            return ""

        kinds = {parameter.name: parameter.type for parameter in ForgeToolAdapter(vague).parameters}
        assert kinds == {"a": "string", "b": "number", "c": "array", "d": "string", "e": "boolean"}

    async def test_a_tool_with_one_string_argument_works(self) -> None:
        shout = Tool(name="shout", description="Shouts.", func=str.upper)
        adapter = ForgeToolAdapter(shout)
        name = adapter.parameters[0].name
        assert (await adapter.execute({name: "hi"}, ExecutionContext())).output == "HI"

    def test_a_recursive_schema_does_not_hang(self) -> None:
        class Node(BaseModel):
            value: int
            children: list[Node] = []

        @tool(args_schema=Node)
        def walk(value: int, children: list[Any]) -> str:
            """Walks."""
            return str(value)

        adapter = ForgeToolAdapter(walk)
        assert {parameter.name for parameter in adapter.parameters} == {"value", "children"}
        LangChainToolAdapter(forge_tool=adapter)

    @pytest.mark.parametrize(
        ("langchain_tool", "params", "error"),
        [
            (refuses, {"reason": "closed today"}, "closed today"),
            (crashes, {}, "KeyError: 'key'"),
            (refuses, {}, "reason"),
        ],
    )
    async def test_a_failure_is_a_result(
        self, langchain_tool: LangChainTool, params: dict[str, Any], error: str
    ) -> None:
        result = await ForgeToolAdapter(langchain_tool).execute(params, ExecutionContext())
        assert not result.success
        assert error in (result.error or "")

    async def test_an_error_that_the_tool_handled_is_still_a_failure(self) -> None:
        @tool
        def handled() -> str:
            """Fails politely."""
            raise ToolException("Error: no luck")

        handled.handle_tool_error = True
        result = await ForgeToolAdapter(handled).execute({}, ExecutionContext())
        assert result.for_model() == "Error: no luck"

    async def test_artifacts_and_blocks_are_kept(self) -> None:
        @tool(response_format="content_and_artifact")
        def chart() -> tuple[list[dict[str, Any]], dict[str, int]]:
            """Draws."""
            return [{"type": "text", "text": "a chart"}, {"type": "image", "url": "x"}], {"points": 3}

        result = await ForgeToolAdapter(chart).execute({}, ExecutionContext())
        assert result.output == "a chart\n(image)"
        assert result.metadata["artifact"] == {"points": 3}

    async def test_a_structured_answer_is_json(self) -> None:
        @tool
        def data() -> dict[str, Any]:
            """Gives data."""
            return {"a": [1, 2]}

        assert (await ForgeToolAdapter(data).execute({}, ExecutionContext())).output == '{"a": [1, 2]}'

    async def test_a_non_message_result_becomes_text(self) -> None:
        class Command(ToolOutputMixin):
            def __str__(self) -> str:
                return "go to the next step"

        @tool
        def command() -> Any:
            """Commands a graph."""
            return Command()

        assert (
            await ForgeToolAdapter(command).execute({}, ExecutionContext())
        ).output == "go to the next step"

    async def test_the_call_id_reaches_the_tool(self) -> None:
        @tool
        def who(call_id: Annotated[str, InjectedToolCallId]) -> str:
            """Tells its call."""
            return call_id

        adapter = ForgeToolAdapter(who)
        assert adapter.parameters == ()
        result = await adapter.execute({}, ExecutionContext(call_id="call_9"))
        assert result.output == "call_9"

    def test_a_tool_with_unknown_effect_counts_as_running_a_program(self) -> None:
        use = ForgeToolAdapter(refuses).describe_use({"reason": "x" * 1000}, ExecutionContext())
        assert use.effect is Effect.RUN
        assert use.target.startswith("refuses(reason='xxx")
        assert len(use.target) == 200
        assert ForgeToolAdapter(refuses, effect=Effect.READ).effect is Effect.READ

    async def test_cancelling_reaches_an_asynchronous_tool(self) -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        @tool
        async def wait() -> str:
            """Waits."""
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return "never"

        task = asyncio.create_task(ForgeToolAdapter(wait).execute({}, ExecutionContext()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()


class TestMixedLists:
    def test_list_adapters_keep_matching_tools_and_adapt_the_rest(self) -> None:
        read, recorder = ReadTool(), Recorder()
        for_langchain = adapt_tools_for_langchain([read, where])
        assert isinstance(for_langchain[0], LangChainToolAdapter)
        assert for_langchain[1] is where
        for_forge = adapt_tools_for_forge([recorder, where])
        assert for_forge[0] is recorder
        assert isinstance(for_forge[1], ForgeToolAdapter)

    def test_adapted_tools_share_executor_and_context(self) -> None:
        first, second = adapt_tools_for_langchain([ReadTool(), Recorder()])
        assert isinstance(first, LangChainToolAdapter)
        assert isinstance(second, LangChainToolAdapter)
        assert first.executor is second.executor
        assert first.context is second.context

    async def test_an_adapter_of_an_adapter_works(self) -> None:
        recorder = Recorder()
        twice = adapt_tools_for_forge(adapt_tools_for_langchain([recorder]))[0]
        assert twice.json_schema() == recorder.json_schema()
        result = await ToolExecutor().execute(twice, {"file_path": "a"}, ExecutionContext())
        assert result.output == "{'file_path': 'a'}"
        broken = adapt_tools_for_forge(adapt_tools_for_langchain([Broken()]))[0]
        assert (await broken.execute({}, ExecutionContext())).for_model() == "Error: it is broken"

    def test_a_non_tool_is_rejected(self) -> None:
        def function() -> None: ...

        for adapt in (adapt_tools_for_langchain, adapt_tools_for_forge):
            with pytest.raises(TypeError, match=r"langchain_core\.tools\.tool"):
                adapt([function])
