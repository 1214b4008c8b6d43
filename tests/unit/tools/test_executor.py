import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.events import AgentEvent, Notice, Permission
from forge_core.permissions import Decision, PermissionPolicy, Verdict
from forge_core.tools import (
    ApplyPatchTool,
    BaseTool,
    BashTool,
    EditTool,
    ExecutionContext,
    GlobTool,
    ReadTool,
    ToolExecutor,
    ToolParameter,
    ToolResult,
    ToolUse,
    WriteTool,
)
from forge_core.undo import CommandEffects
from tests.support.promptness import assert_prompt


class Faulty(BaseTool):
    """Does what it is made with, whatever that raises."""

    name = "faulty"
    description = "Fails in every way."
    parameters = (ToolParameter("x", "integer", required=False),)
    effect = Effect.WRITE

    def __init__(self, act: Callable[[], Any], timeout_s: float | None = None) -> None:
        self._act = act
        self.timeout_s = timeout_s

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        value = self._act()
        return await value if asyncio.iscoroutine(value) else value


class Person:
    """Answers with what it was given, and remembers what it was asked."""

    def __init__(self, *replies: ApprovalReply, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.requests: list[ApprovalRequest] = []
        self._replies = list(replies)
        self._meanwhile = meanwhile

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        self.requests.append(request)
        self._meanwhile()
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


YES, SESSION = ApprovalReply(Answer.ONCE), ApprovalReply(Answer.SESSION)


def fail(error: BaseException) -> Any:
    raise error


async def run(tool: BaseTool, params: object, context: ExecutionContext | None = None) -> ToolResult:
    return await ToolExecutor().execute(tool, params, context or ExecutionContext())


async def test_an_executor_without_a_policy_reads_any_file(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("hello\nworld\n")
    result = await run(ReadTool(), {"file_path": str(tmp_path / "test.txt")})
    assert result.success
    assert "hello" in result.output
    assert "world" in result.output


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: fail(ValueError("boom")), "ValueError: boom"),
        (lambda: fail(KeyError("k")), "KeyError"),
        (lambda: fail(RecursionError()), "RecursionError"),
        (lambda: fail(SystemExit(3)), "SystemExit"),
        (lambda: fail(asyncio.CancelledError()), "cancelled itself"),
        (lambda: None, "returned NoneType"),
        (lambda: 42, "returned int"),
    ],
)
async def test_every_tool_exception_becomes_a_result(act: Callable[[], Any], words: str) -> None:
    result = await run(Faulty(act), {})
    assert not result.success
    assert words in (result.error or "")
    assert result.for_model().startswith("Error:")


async def test_bad_arguments_never_reach_the_tool() -> None:
    reached: list[int] = []
    result = await run(Faulty(lambda: reached.append(1)), {"x": "no number"})
    assert not result.success
    assert "'x'" in (result.error or "")
    assert (result.outcome, result.summary) == ("failed", "")
    assert not reached


async def test_a_tool_that_exceeds_its_timeout_is_stopped() -> None:
    ended: list[str] = []

    async def slow() -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")
        return ToolResult(True)

    result = await run(Faulty(slow, timeout_s=0.05), {})
    assert "took longer than 0.05 s" in (result.error or "")
    assert result.outcome == "timed_out"
    assert ended == ["cleaned up"]


async def test_an_interrupt_ends_an_uncooperative_tool_within_200_ms() -> None:
    async def attempt() -> float:
        context = ExecutionContext(interrupted=asyncio.Event())

        async def deaf() -> ToolResult:
            assert context.interrupted is not None
            context.interrupted.set()
            await asyncio.Event().wait()
            return ToolResult(True)

        started = time.perf_counter()
        result = await run(Faulty(deaf), {}, context)
        assert (result.error, result.outcome) == ("interrupted by the user", "interrupted")
        return time.perf_counter() - started

    await assert_prompt(0.2, attempt)


async def test_an_interrupted_tool_can_return_a_partial_result() -> None:
    context = ExecutionContext(interrupted=asyncio.Event())

    async def polite() -> ToolResult:
        assert context.interrupted is not None
        context.interrupted.set()
        await asyncio.sleep(0)
        return ToolResult(True, "half of it")

    assert (await run(Faulty(polite), {}, context)).output == "half of it"


async def test_after_an_interrupt_nothing_starts() -> None:
    context = ExecutionContext(interrupted=asyncio.Event())
    assert context.interrupted is not None
    context.interrupted.set()
    reached: list[int] = []
    result = await run(Faulty(lambda: reached.append(1)), {}, context)
    assert not result.success
    assert result.outcome == "interrupted"
    assert not reached


async def test_a_hard_cancel_is_propagated_and_ends_the_tool() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> ToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ToolResult(True)

    call = asyncio.ensure_future(run(Faulty(wait), {}))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ended.is_set()


async def test_a_long_output_keeps_head_and_tail_and_is_saved_to_a_private_file() -> None:
    text = "first\n" + "x" * 100_000 + "\nlast"
    executor = ToolExecutor()
    result = await executor.execute(Faulty(lambda: ToolResult(True, text)), {}, ExecutionContext())
    assert len(result.output) < 31_000
    assert result.output.startswith("first")
    assert result.output.endswith("last")
    folder = executor.outputs.folder
    assert folder is not None
    (kept,) = folder.iterdir()
    assert str(kept) in result.output
    assert kept.read_text() == text
    assert kept.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_saved_output_can_be_read_without_asking(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["faulty"])
    executor = ToolExecutor(policy)
    tool = Faulty(lambda: ToolResult(True, "x" * 100_000))
    await executor.execute(tool, {}, ExecutionContext(tmp_path))
    folder = executor.outputs.folder
    assert folder is not None
    (kept,) = folder.iterdir()
    result = await executor.execute(ReadTool(), {"file_path": str(kept)}, ExecutionContext(tmp_path))
    assert result.success


async def test_a_long_error_is_truncated() -> None:
    result = await run(Faulty(lambda: ToolResult(False, error="e" * 100_000)), {})
    assert len(result.error or "") < 31_000


class TestAsking:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "a.txt"
        path.write_text("one\ntwo\n")
        return path

    @pytest.fixture
    def events(self) -> list[AgentEvent]:
        return []

    def context(self, file: Path, events: list[AgentEvent], **extra: Any) -> ExecutionContext:
        return ExecutionContext(file.parent, emit=events.append, call_id="c1", **extra)

    EDIT: ClassVar[dict[str, str]] = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}

    async def test_the_user_sees_the_diff_before_anything_is_written(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        seen: list[str] = []
        person = Person(YES, meanwhile=lambda: seen.append(file.read_text()))
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert result.success
        assert file.read_text() == "1\ntwo\n"
        assert seen == ["one\ntwo\n"]
        (request,) = person.requests
        assert (request.diffs[0].added, request.diffs[0].removed) == (1, 1)
        assert "-one\n+1" in request.diffs[0].diff
        assert request.target == "a.txt"
        assert events == [
            Permission(
                call_id="c1",
                decision="allow",
                rule="it changes a file",
                by="person",
                timestamp=events[0].timestamp,
            )
        ]

    async def test_a_denial_quotes_the_reason_and_forbids_a_retry(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        person = Person(ApprovalReply(Answer.NO, "use the other file"))
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert not result.success
        assert (result.outcome, result.summary) == ("denied", "refused")
        assert "'use the other file'" in (result.error or "")
        assert "Do not retry the same call" in (result.error or "")
        assert file.read_text() == "one\ntwo\n"
        assert [
            (event.decision, event.by, event.reason) for event in events if isinstance(event, Permission)
        ] == [("deny", "person", "use the other file")]

    async def test_a_call_that_would_fail_anyway_does_not_ask(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        person = Person(YES)
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(
            EditTool(), {**self.EDIT, "old_string": "missing"}, self.context(file, events)
        )
        assert "not found" in (result.error or "")
        assert person.requests == []

    async def test_a_session_approval_asks_only_once(self, file: Path, events: list[AgentEvent]) -> None:
        person = Person(SESSION)
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        result = await executor.execute(
            EditTool(),
            {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
            self.context(file, events),
        )
        assert result.success
        assert len(person.requests) == 1

    async def test_a_rule_widened_by_the_user_is_the_one_granted(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        (file.parent / "b.txt").write_text("one\n")
        person = Person(ApprovalReply(Answer.SESSION, rule="edit(*.txt)"))
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        result = await executor.execute(
            EditTool(), {**self.EDIT, "file_path": "b.txt"}, self.context(file, events)
        )
        assert result.success
        assert len(person.requests) == 1
        assert [event.rule for event in events if isinstance(event, Permission)] == ["edit(*.txt)"] * 2

    async def test_an_invalid_rule_approves_only_this_call_with_a_notice(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        person = Person(ApprovalReply(Answer.SESSION, rule="edit(*.txt"))
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert result.success
        (notice,) = [event for event in events if isinstance(event, Notice)]
        assert "Allowed this once only. Rule 'edit(*.txt' cannot be read." in notice.text

    async def test_parallel_calls_ask_concurrently_and_a_session_rule_answers_the_others(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        standing, all_there, withdrawn = 0, asyncio.Event(), 0

        async def person(request: ApprovalRequest) -> ApprovalReply:
            nonlocal standing, withdrawn
            standing += 1
            if standing == 3:
                all_there.set()
                return SESSION
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                withdrawn += 1
                raise
            return YES

        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        tool = BashTool()
        results = await asyncio.gather(
            *(
                executor.execute(tool, {"command": "eval echo hi"}, self.context(file, events))
                for _ in range(3)
            )
        )
        assert all_there.is_set()
        assert withdrawn == 2
        assert all(result.success for result in results)
        decided_by = [event.by for event in events if isinstance(event, Permission)]
        assert sorted(decided_by) == ["person", "rule", "rule"]

    async def test_a_session_rule_keeps_pending_prompts_it_does_not_cover(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        policy = PermissionPolicy(file.parent)
        is_asking = asyncio.Event()

        async def person(request: ApprovalRequest) -> ApprovalReply:
            if request.target == "eval echo hi":
                await is_asking.wait()
                return SESSION
            is_asking.set()
            while not policy.rules():
                await asyncio.sleep(0)
            for _ in range(20):  # rounds of the loop in which a withdrawal would come
                await asyncio.sleep(0)
            return YES

        executor = ToolExecutor(policy, person)
        results = await asyncio.gather(
            *(
                executor.execute(BashTool(), {"command": command}, self.context(file, events))
                for command in ("eval echo hi", "eval echo other")
            )
        )
        assert [result.output.split("\n")[0] for result in results] == ["hi", "other"]
        assert [event.by for event in events if isinstance(event, Permission)] == ["person", "person"]

    @pytest.mark.parametrize("answer", [Answer.ONCE, Answer.SESSION, Answer.ALWAYS])
    async def test_a_rule_that_the_prompt_does_not_offer_is_not_granted(
        self, file: Path, events: list[AgentEvent], answer: Answer
    ) -> None:
        policy = PermissionPolicy(file.parent, ask=["bash(true)"])  # asks each time, and offers no rule
        person = Person(ApprovalReply(answer, rule="bash(=eval echo hi)"))
        result = await ToolExecutor(policy, person).execute(
            BashTool(), {"command": "true"}, self.context(file, events)
        )
        assert result.success
        assert [entry.rule for entry in policy.rules()] == ["bash(true)"]

    async def test_a_rule_edited_in_the_prompt_is_bound_to_the_scripts_that_it_names(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        saved: list[tuple[str, Scripts]] = []
        (file.parent / "build.sh").write_text("echo one\n")
        policy = PermissionPolicy(file.parent, save_rule=lambda rule, scripts: saved.append((rule, scripts)))
        person = Person(ApprovalReply(Answer.ALWAYS, rule="bash(sh build.sh)"))
        await ToolExecutor(policy, person).execute(
            BashTool(), {"command": "mkdir made"}, self.context(file, events)
        )
        assert person.requests[0].always_rule == "bash(mkdir:*)"
        ((rule, scripts),) = saved
        assert rule == "bash(sh build.sh)"
        assert [name for name, _ in scripts] == ["build.sh"]

    async def test_after_an_interrupt_no_prompt_opens(self, file: Path, events: list[AgentEvent]) -> None:
        interrupted = asyncio.Event()
        interrupted.set()
        person = Person(YES)
        context = self.context(file, events, interrupted=interrupted)
        result = await ToolExecutor(PermissionPolicy(file.parent), person).execute(
            EditTool(), self.EDIT, context
        )
        assert result.outcome == "interrupted"
        assert person.requests == []

    async def test_a_listing_leaves_out_the_files_of_a_deny_rule(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        (file.parent / "b.txt").write_text("x\n")
        policy = PermissionPolicy(file.parent, deny=["read(b.txt)"])
        result = await ToolExecutor(policy).execute(
            GlobTool(), {"pattern": "*.txt"}, self.context(file, events)
        )
        assert "a.txt" in result.output
        assert "b.txt" not in result.output

    async def test_a_withdrawn_question_denies_the_call(self, file: Path, events: list[AgentEvent]) -> None:
        async def withdrawn(request: ApprovalRequest) -> ApprovalReply:
            raise asyncio.CancelledError

        executor = ToolExecutor(PermissionPolicy(file.parent), withdrawn)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert "the question was withdrawn" in (result.error or "")
        assert file.read_text() == "one\ntwo\n"

    @pytest.mark.parametrize("name", ["a.txt", ".git/config"])
    async def test_only_what_undo_covers_is_shown_as_undoable(
        self, file: Path, events: list[AgentEvent], name: str
    ) -> None:
        (file.parent / ".git").mkdir()
        (file.parent / ".git/config").write_text("one\n")
        policy = PermissionPolicy(file.parent, ask=["edit(**)", "edit(.git/**)"], edit_tools={"edit"})
        person = Person(ApprovalReply(Answer.NO))
        context = self.context(file, events, before_images=Images())
        await ToolExecutor(policy, person).execute(EditTool(), {**self.EDIT, "file_path": name}, context)
        assert [request.is_undoable for request in person.requests] == [name == "a.txt"]

    async def test_a_deletion_is_not_shown_as_undoable(self, file: Path, events: list[AgentEvent]) -> None:
        person = Person(ApprovalReply(Answer.NO))
        context = self.context(file, events, before_images=Images())
        patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"
        await ToolExecutor(PermissionPolicy(file.parent), person).execute(
            ApplyPatchTool(), {"patch": patch}, context
        )
        assert [request.is_undoable for request in person.requests] == [False]

    @pytest.mark.parametrize("asks", [True, False])
    async def test_what_is_allowed_runs_without_the_repositorys_programs(
        self, file: Path, events: list[AgentEvent], asks: bool
    ) -> None:
        allowed = Verdict(Decision.ALLOW, "a rule", switches_git_off=True)
        verdicts = [Verdict(Decision.ASK, "why"), allowed] if asks else [allowed]

        class Prepared(PermissionPolicy):
            def decide(self, tool_name: str, use: ToolUse) -> Verdict:
                return verdicts.pop(0)

        context = self.context(file, events)
        executor = ToolExecutor(Prepared(file.parent), Person(YES))
        await executor.execute(BashTool(), {"command": "true"}, context)
        assert context.switches_git_off

    async def test_without_a_user_the_answer_is_no(self, file: Path, events: list[AgentEvent]) -> None:
        executor = ToolExecutor(PermissionPolicy(file.parent))
        result = await executor.execute(BashTool(), {"command": "cp x y"}, self.context(file, events))
        assert not result.success
        assert "no user is available" in (result.error or "")
        assert "--allow 'bash(cp x y)'" in (result.error or "")
        assert "the user did not allow" not in (result.error or "")
        assert not (file.parent / "y").exists()
        assert [event.by for event in events if isinstance(event, Permission)] == ["policy"]

    async def test_the_event_loop_runs_on_while_a_command_line_is_decided(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        released = threading.Event()

        class ReadsALongHistory(PermissionPolicy):
            def decide(self, tool_name: str, use: ToolUse) -> Verdict:
                assert released.wait(5), "the event loop waits for the decision"
                return super().decide(tool_name, use)

        asyncio.get_running_loop().call_soon(released.set)
        executor = ToolExecutor(ReadsALongHistory(file.parent, allow=["bash(true)"]))
        result = await executor.execute(BashTool(), {"command": "true"}, self.context(file, events))
        assert result.success, result.error

    async def test_a_failing_approver_denies_the_call(self, file: Path, events: list[AgentEvent]) -> None:
        async def broken(request: ApprovalRequest) -> ApprovalReply:
            raise RuntimeError("no screen")

        executor = ToolExecutor(PermissionPolicy(file.parent), broken)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert "no screen" in (result.error or "")
        assert file.read_text() == "one\ntwo\n"

    async def test_an_interrupt_during_a_prompt_is_not_a_denial(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        interrupted = asyncio.Event()
        closed: list[bool] = []

        async def thinking(request: ApprovalRequest) -> ApprovalReply:
            interrupted.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.append(True)
            return YES

        executor = ToolExecutor(PermissionPolicy(file.parent), thinking)
        context = self.context(file, events, interrupted=interrupted)
        result = await executor.execute(EditTool(), self.EDIT, context)
        assert result.error == "interrupted by the user before it was allowed"
        assert events == []
        assert closed == [True]
        assert file.read_text() == "one\ntwo\n"

    async def test_time_spent_waiting_for_the_user_is_counted_separately(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        async def slow(request: ApprovalRequest) -> ApprovalReply:
            await asyncio.sleep(0.1)
            return YES

        context = self.context(file, events)
        await ToolExecutor(PermissionPolicy(file.parent), slow).execute(EditTool(), self.EDIT, context)
        assert 0.1 <= context.waited_s < 30

    async def test_a_file_changed_during_the_prompt_is_not_written(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        person = Person(YES, meanwhile=lambda: file.write_text("zero\none\ntwo\n"))
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(EditTool(), self.EDIT, self.context(file, events))
        assert not result.success
        assert "no longer what the user agreed to" in (result.error or "")
        assert file.read_text() == "zero\none\ntwo\n"

    async def test_a_path_that_became_a_link_out_during_the_prompt_is_not_written(
        self, file: Path, events: list[AgentEvent], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        outside = tmp_path_factory.mktemp("outside") / "b.txt"

        def swap() -> None:
            (file.parent / "new.txt").symlink_to(outside)

        executor = ToolExecutor(PermissionPolicy(file.parent), Person(YES, meanwhile=swap))
        params = {"file_path": "new.txt", "content": "x"}
        result = await executor.execute(WriteTool(), params, self.context(file, events))
        assert not result.success
        assert not outside.exists()

    async def test_a_denied_call_states_the_reason_and_alternatives(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        person = Person(YES)
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(BashTool(), {"command": "rm -rf /"}, self.context(file, events))
        assert "never runs" in (result.error or "")
        assert "another way" in (result.error or "")
        assert person.requests == []

    async def test_a_tool_that_cannot_describe_its_use_is_rejected(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        class Mute(Faulty):
            def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
                raise RuntimeError("don't know")

        person = Person(YES)
        executor = ToolExecutor(PermissionPolicy(file.parent), person)
        result = await executor.execute(Mute(lambda: ToolResult(True)), {}, self.context(file, events))
        assert "could not be determined" in (result.error or "")
        assert person.requests == []

    @pytest.mark.parametrize("name", ["../there.txt", "../absent.txt", "../folder"])
    async def test_errors_outside_the_workspace_are_not_revealed_before_approval(
        self, file: Path, events: list[AgentEvent], name: str
    ) -> None:
        root = file.parent / "project"
        root.mkdir()
        (file.parent / "there.txt").write_text("x")
        (file.parent / "folder").mkdir()
        person = Person(ApprovalReply(Answer.NO))
        context = ExecutionContext(root, emit=events.append)
        result = await ToolExecutor(PermissionPolicy(root), person).execute(
            ReadTool(), {"file_path": name}, context
        )
        assert len(person.requests) == 1
        assert (result.error or "").startswith("the user did not allow this call of read")

    async def test_errors_outside_the_workspace_are_reported_after_approval(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        root = file.parent / "project"
        root.mkdir()
        person = Person(YES)
        result = await ToolExecutor(PermissionPolicy(root), person).execute(
            ReadTool(), {"file_path": "../absent.txt"}, ExecutionContext(root)
        )
        assert len(person.requests) == 1
        assert "does not exist" in (result.error or "")

    async def test_an_outside_edit_whose_diff_was_not_shown_is_not_applied(
        self, file: Path, events: list[AgentEvent]
    ) -> None:
        root = file.parent / "project"
        root.mkdir()
        person = Person(YES, meanwhile=lambda: file.write_text("late\n"))
        result = await ToolExecutor(PermissionPolicy(root), person).execute(
            EditTool(),
            {"file_path": "../a.txt", "old_string": "late", "new_string": "1"},
            ExecutionContext(root),
        )
        assert not result.success
        assert file.read_text() == "late\n"


class Images:
    """Before-images that only note what they are told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def capture(self, path: Path) -> None:
        self.told.append(f"capture {path.name}")

    async def before_command(self) -> object:
        return None

    async def after_command(self, watch: object) -> CommandEffects:
        raise NotImplementedError

    async def settle(self) -> None:
        self.told.append("settle")


async def test_file_states_after_a_call_are_recorded_even_if_it_failed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    images = Images()
    executor = ToolExecutor()

    def context() -> ExecutionContext:
        return ExecutionContext(tmp_path, before_images=images)

    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    await executor.execute(EditTool(), edit, context())
    await executor.execute(EditTool(), {**edit, "old_string": "missing"}, context())
    await executor.execute(ReadTool(), {"file_path": "a.txt"}, context())
    assert images.told == ["capture a.txt", "settle", "settle"]


async def test_an_executor_without_a_policy_has_no_approved_paths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    context = ExecutionContext(tmp_path, agreed=frozenset({tmp_path / "elsewhere"}))
    await ToolExecutor().execute(ReadTool(), {"file_path": "a.txt"}, context)
    assert context.agreed is None


async def test_a_folder_that_became_a_link_while_the_user_was_asked_is_not_written_through(
    tmp_path: Path,
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("same\n")

    def swap() -> None:
        (root / "sub").rename(root / "old")
        (root / "sub").symlink_to(outside)

    executor = ToolExecutor(PermissionPolicy(root), Person(YES, meanwhile=swap))
    params = {"file_path": "sub/a.txt", "old_string": "same", "new_string": "other"}
    result = await executor.execute(EditTool(), params, ExecutionContext(root))
    assert "no longer what the user agreed to" in (result.error or "")
    assert (outside / "a.txt").read_text() == (root / "old" / "a.txt").read_text() == "same\n"


class LinkedMeanwhile(EditTool):
    """Edits, after something has put a link in place of the folder `sub`."""

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        (context.root / "sub").rename(context.root / "old")
        (context.root / "sub").symlink_to("other")
        return await super().execute(params, context)


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.ACCEPT_EDITS])
async def test_only_the_file_that_was_approved_is_written(tmp_path: Path, mode: PermissionMode) -> None:
    for name in ("sub", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("same\n")
    policy = PermissionPolicy(tmp_path, mode, edit_tools={"edit"})
    params = {"file_path": "sub/a.txt", "old_string": "same", "new_string": "new"}
    result = await ToolExecutor(policy, Person(YES)).execute(
        LinkedMeanwhile(), params, ExecutionContext(tmp_path)
    )
    assert "is not what was approved" in (result.error or "")
    assert (tmp_path / "other" / "a.txt").read_text() == "same\n"
