"""Writes to files that have further names, which may be outside the folder: they ask, and what becomes such a
file after it was judged is not written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools import (
    ApplyPatchTool,
    EditTool,
    ExecutionContext,
    MultiEditTool,
    ToolExecutor,
    ToolResult,
    WriteTool,
)
from forge_core.tools.base import BaseTool, ToolUse
from forge_core.tools.editing.text import sha256

REASON = "has 2 links: it may change a file outside the folder"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside.md").write_text("old\n")
    (root / "plain.md").write_text("old\n")
    os.link(tmp_path / "outside.md", root / "linked.md")
    (root / "alias.md").symlink_to("linked.md")
    return root


def calls(name: str) -> list[tuple[BaseTool, dict[str, Any]]]:
    edit = {"file_path": name, "old_string": "old", "new_string": "new"}
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-old\n+new\n*** End Patch\n"
    return [
        (WriteTool(), {"file_path": name, "content": "new\n"}),
        (EditTool(), edit),
        (MultiEditTool(), {"edits": [edit]}),
        (ApplyPatchTool(), {"patch": patch}),
    ]


class Asked:
    """Answers every prompt in the same way, and keeps the requests."""

    def __init__(self, answer: Answer = Answer.NO, then: Callable[[], object] = lambda: None) -> None:
        self.answer = answer
        self.then = then
        self.requests: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        self.requests.append(request)
        self.then()
        return ApprovalReply(self.answer)


async def run(policy: PermissionPolicy, asked: Asked, tool: BaseTool, params: object) -> ToolResult:
    context = ExecutionContext(policy.root)
    for name in ("plain.md", "linked.md"):  # the model has read them
        context.files[str(policy.root / name)] = sha256(b"old\n")
    return await ToolExecutor(policy, asked).execute(tool, params, context)


@pytest.mark.parametrize("name", ["linked.md", "alias.md"])
@pytest.mark.parametrize("number", range(4))
async def test_a_write_to_a_file_with_two_links_asks_in_every_mode_but_yolo(
    root: Path, name: str, number: int
) -> None:
    tool, params = calls(name)[number]
    for policy in (
        PermissionPolicy(root),
        PermissionPolicy(root, PermissionMode.ACCEPT_EDITS),
        PermissionPolicy(root, PermissionMode.AUTO, sandbox="full"),
        PermissionPolicy(root, allow=["edit(**)", f"edit({name})", "*"]),
    ):
        asked = Asked()
        assert not (await run(policy, asked, tool, params)).success
        assert [request.session_rule for request in asked.requests] == [""]
        assert REASON in asked.requests[0].reason
        assert asked.requests[0].is_destructive
    assert (root.parent / "outside.md").read_text() == "old\n"
    yolo = Asked()
    assert (await run(PermissionPolicy(root, PermissionMode.YOLO), yolo, tool, params)).success
    assert yolo.requests == []


async def test_an_approved_write_reaches_all_links(root: Path) -> None:
    for tool, params in calls("linked.md"):
        (root / "linked.md").write_text("old\n")
        asked = Asked(Answer.ONCE)
        result = await run(PermissionPolicy(root, PermissionMode.ACCEPT_EDITS), asked, tool, params)
        assert result.success, result.error
        assert (root.parent / "outside.md").read_text() == "new\n"
        assert len(asked.requests) == 1


async def test_a_file_that_becomes_a_hard_link_while_the_user_thinks_is_not_written(root: Path) -> None:
    def link() -> None:
        (root / "plain.md").unlink()
        os.link(root.parent / "outside.md", root / "plain.md")

    for answer in (Answer.ONCE, Answer.SESSION, Answer.ALWAYS):
        for tool, params in calls("plain.md"):
            (root / "plain.md").unlink()
            (root / "plain.md").write_text("old\n")
            result = await run(PermissionPolicy(root), Asked(answer, then=link), tool, params)
            assert not result.success
            assert (root.parent / "outside.md").read_text() == "old\n", (tool.name, answer)


async def test_a_file_that_becomes_a_hard_link_after_the_decision_is_not_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.YOLO):
        for tool, params in calls("plain.md"):
            (root / "plain.md").unlink()
            (root / "plain.md").write_text("old\n")
            policy = PermissionPolicy(root, mode)
            decide = policy.decide

            def decide_then_link(*arguments: Any, decide: Any = decide) -> Any:
                verdict = decide(*arguments)
                (root / "plain.md").unlink()
                os.link(root.parent / "outside.md", root / "plain.md")
                return verdict

            monkeypatch.setattr(policy, "decide", decide_then_link)
            result = await run(policy, Asked(), tool, params)
            assert not result.success
            assert "links since it was checked" in (result.error or "")
            assert (root.parent / "outside.md").read_text() == "old\n"


def test_deleting_a_link_and_moving_it_change_no_other_file(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["apply_patch(**)"])
    for section in ("*** Delete File: linked.md\n", "*** Update File: linked.md\n*** Move to: moved.md\n"):
        params = {"patch": f"*** Begin Patch\n{section}*** End Patch\n"}
        use = ApplyPatchTool().use(params, ExecutionContext(root))
        assert policy.decide("apply_patch", use).decision is Decision.ALLOW


def test_reading_a_file_with_two_links_does_not_ask(root: Path) -> None:
    use = ToolUse(Effect.RUN, "cat linked.md")
    assert PermissionPolicy(root, sandbox="full").decide("bash", use).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "echo x > linked.md",
        "echo x >> alias.md",
        "cat plain.md | tee linked.md",
        "cp plain.md linked.md",
        "truncate -s 0 linked.md",
        "dd if=plain.md of=linked.md",
        "sort -o linked.md plain.md",
        "sort --output=linked.md plain.md",
        "sort -olinked.md plain.md",
        "f=linked.md; echo x > $f",
        'f=linked.md && echo x > "$f"',
        "for f in linked.md; do echo x > $f; done",
        "echo x > linke?.md",
        "tee linke*.md",
        "echo linked.md | xargs tee",
        "black linked.md",
        "prettier --write linked.md",
        "gofmt -w linked.md",
        "uniq plain.md linked.md",
        "tar cf linked.md plain.md",
        "tar --file=linked.md -c plain.md",
        "cp -t . a/linked.md",
        "cp a/linked.md .",
        "gcc -olinked.md a.c",
        "pandoc -o linked.md plain.md",
        "strace -o linked.md ls",
        "sed -n 'w linked.md' plain.md",
        "awk '{print > \"linked.md\"}' plain.md",
        "ed linked.md",
        "rsync --inplace plain.md linked.md",
        "rsync -a --inplace a/linked.md .",
        "sqlite3 linked.md 'insert into t values (1)'",
    ],
)
def test_a_command_that_overwrites_a_file_with_two_links_asks(root: Path, line: str) -> None:
    for policy in (
        PermissionPolicy(root, PermissionMode.AUTO, sandbox="full"),
        PermissionPolicy(root, allow=["bash"]),
    ):
        verdict = policy.decide("bash", ToolUse(Effect.RUN, line))
        assert verdict.decision is Decision.ASK
        assert REASON in verdict.reason


@pytest.mark.parametrize(
    "line",
    [
        "cp linked.md copy.md",
        "mv linked.md moved.md",
        "rm linked.md",
        "echo x > plain.md",
        "grep -o x linked.md",
        "prettier --check linked.md",
        "gcc -o plain.md linked.md",
        "tar cf plain.md linked.md",
        "python3 linked.md",
        "f=plain.md; echo x > $f",
        "perl -pi -e s/a/b/ linked.md",
        "rsync plain.md linked.md",
        "rsync --inplace linked.md copy.md",
    ],
)
def test_a_command_that_does_not_overwrite_it_does_not_ask_for_its_links(root: Path, line: str) -> None:
    verdict = PermissionPolicy(root, allow=["bash"]).decide("bash", ToolUse(Effect.RUN, line))
    assert verdict.decision is Decision.ALLOW
