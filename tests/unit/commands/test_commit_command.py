"""`/commit`: real repositories, real hooks, and a scripted model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.commands.result import CommandNotice, CommandResult, Failure
from forge_core.config.forge_config import Endpoint
from forge_core.errors import ProviderError
from forge_core.events import AgentEnd, ToolEnd
from forge_core.session.session import ForgeSession
from tests.support.repositories import Choosing, do, git, make_repository, write_files
from tests.support.scripted_llm import Piece, ScriptedLLM
from tests.support.sessions import scripted_session

LOG = ("Add a parser", "Read dates", "Start")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", *LOG)


def opened(repo: Path, user: Choosing, *replies: list[Piece], offline: bool = False) -> ForgeSession:
    session = scripted_session(repo, replies, questioner=user)
    if offline:
        session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    return session


def hook(repo: Path, name: str, script: str) -> None:
    path = repo / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def text(results: list[CommandResult]) -> str:
    [result] = results
    assert isinstance(result, CommandNotice | Failure)
    return result.text


def sent(session: ForgeSession) -> str:
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return "\n".join(str(message.content) for call in llm.seen for message in call)


async def test_what_is_staged_is_committed_with_the_message_that_the_user_saw(repo: Path) -> None:
    write_files(repo, parser="x = 1", other="y = 1")
    git(repo, "add", "parser.py")
    user = Choosing("Commit")
    session = opened(repo, user, ["```\nAdd a table of dates\nThe old one ", "was wrong.\n```"])
    results, events = await do(session, "/commit mention dates")
    assert text(results) == "Committed: Add a table of dates"
    assert git(repo, "log", "-1", "--format=%B") == "Add a table of dates\n\nThe old one was wrong."
    assert git(repo, "log", "-1", "--format=%an <%ae> %cn") == "Ada <ada@example.org> Ada"
    assert git(repo, "status", "--porcelain") == "?? other.py"  # nothing else was added
    assert user.texts[0].startswith(
        "Add a table of dates\n\nThe old one was wrong.\n\nparser.py · +1 −0 · on main"
    )
    request = sent(session)
    assert all(one in request for one in (*LOG, "+x = 1", "mention dates")) and "y = 1" not in request
    assert session.status.usage.total_tokens > 0 and isinstance(events[-1], AgentEnd)
    [card] = [event for event in events if isinstance(event, ToolEnd)]
    assert card.success and "1 file changed" in card.result


async def test_the_message_can_be_edited_and_is_shown_again_before_it_counts(repo: Path) -> None:
    write_files(repo, parser="x = 1")
    git(repo, "add", "parser.py")
    user = Choosing("# Mine\n\nwith a body", "Commit")
    await do(opened(repo, user, ["Add x"]), "/commit")
    assert git(repo, "log", "-1", "--format=%B") == "# Mine\n\nwith a body"
    assert user.asked[0].questions[0].draft == "Add x" and user.texts[1].startswith("# Mine\n")
    assert "Edited by you." in user.texts[1]


@pytest.mark.parametrize("answer", [None, "Do not commit"])
async def test_a_refusal_leaves_everything_as_it_is(repo: Path, answer: str | None) -> None:
    write_files(repo, parser="x = 1")
    git(repo, "add", "parser.py")
    results, _ = await do(opened(repo, Choosing(answer), ["Add x"]), "/commit")
    assert "Nothing was committed" in text(results)
    assert git(repo, "status", "--porcelain") == "A  parser.py"
    assert git(repo, "rev-list", "--count", "HEAD") == "3"


ODD = ("with space.txt", "line\nbreak.txt", "esc\x1b[31m.txt", "-A", ":(top)x", 'quo"te', "*", "é.txt")


async def test_only_the_chosen_files_are_staged_whatever_their_names(repo: Path) -> None:
    for name in (*ODD, "left.txt", "All 10 files"):
        (repo / name).write_text("x\n")
    (repo / os.fsdecode(b"bad\xff")).write_text("x\n")
    user = Choosing(None)
    await do(opened(repo, user), "/commit")
    [question] = user.asked[0].questions
    labels = [option.label for option in question.options]
    assert question.multi_select and question.words is None and len({*labels}) == len(labels) == 12
    assert all(label.isprintable() for label in labels)
    wanted = tuple(label for label in labels[1:] if label not in ("left.txt", "All 10 files"))
    user = Choosing(wanted, "Commit")
    results, _ = await do(opened(repo, user, ["Add odd names"]), "/commit")
    assert text(results) == "Committed: Add odd names"
    assert git(repo, "ls-files", "-z").split("\0")[:-1] == sorted(
        (*ODD, os.fsdecode(b"bad\xff")), key=os.fsencode
    )
    assert git(repo, "status", "--porcelain", "-z") == "?? All 10 files\0?? left.txt\0"


async def test_all_listed_files_can_be_chosen_at_once_and_deletions_too(repo: Path) -> None:
    write_files(repo, gone="x = 1", kept="y = 1")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Add two")
    (repo / "gone.py").unlink()
    write_files(repo, kept="y = 2")
    user = Choosing(("All 2 files",), "Commit")
    await do(opened(repo, user, offline=True), "/commit")
    assert (
        git(repo, "show", "--name-status", "--format=%s")
        == "Update gone.py and kept.py\n\nD\tgone.py\nM\tkept.py"
    )


async def test_nothing_chosen_and_nothing_changed_commit_nothing(repo: Path) -> None:
    results, _ = await do(opened(repo, Choosing()), "/commit")
    assert "There is nothing to commit" in text(results)
    write_files(repo, parser="x = 1")
    results, _ = await do(opened(repo, Choosing(None)), "/commit")
    assert text(results) == "Nothing was staged or committed."
    assert git(repo, "status", "--porcelain") == "?? parser.py"


async def test_hooks_run_are_named_and_their_refusal_comes_back_as_text(repo: Path) -> None:
    hook(repo, "pre-commit", "echo 'lint: \x1b[31mline 3 is too long'; exit 1")
    hook(repo, "commit-msg", "echo checked")
    (repo / ".git" / "hooks" / "pre-push.sample").write_text("")
    write_files(repo, parser="x = 1")
    git(repo, "add", "parser.py")
    user = Choosing("My own words", "Commit", "Commit")
    session = opened(repo, user, ["Add x"])
    results, events = await do(session, "/commit")
    assert "git runs pre-commit, commit-msg (.git/hooks). This folder is not trusted." in user.texts[0]
    assert "git made no commit" in text(results)
    card = next(event for event in events if isinstance(event, ToolEnd))
    assert not card.success and "lint: line 3 is too long" in card.result and "\x1b" not in card.result
    assert git(repo, "rev-list", "--count", "HEAD") == "3"
    hook(repo, "pre-commit", "exit 0")
    results, events = await do(session, "/commit")  # the message is not lost, and no model is asked again
    assert user.texts[2].startswith("My own words\n") and text(results) == "Committed: My own words"
    assert any("checked" in event.result for event in events if isinstance(event, ToolEnd))


async def test_a_hook_that_hangs_ends_with_an_interrupt(repo: Path) -> None:
    started = repo.parent / "started"
    os.mkfifo(started)
    hook(repo, "pre-commit", f"echo x > {started}\nexec sleep 600")
    write_files(repo, parser="x = 1")
    git(repo, "add", "parser.py")
    session = opened(repo, Choosing("Commit"), ["Add x"])

    async def interrupt() -> None:
        await asyncio.to_thread(started.read_text)
        session.interrupt()

    (results, events), _ = await asyncio.gather(do(session, "/commit"), interrupt())
    end = events[-1]
    assert results == [] and isinstance(end, AgentEnd) and end.result.stopped_reason == "cancelled"
    assert not (repo / ".git" / "index.lock").exists() and git(repo, "rev-list", "--count", "HEAD") == "3"


SECRETS = {
    "settings.py": (
        "x = 1\ntoken = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'",
        "settings.py:2 (a key or token)",
    ),
    "id.txt": (
        "a\n-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 + "\n-----END RSA PRIVATE KEY-----",
        "id.txt:2 (a private key)",
    ),
    ".env": ("A=1\nDB_PASSWORD=hunter2hunter2", ".env:2 (a password)"),
    "odd\nname.py": ("k = 'AKIAABCDEFGHIJKLMNOP'", '"odd\\nname.py":1 (a key or token)'),
}


@pytest.mark.parametrize("name", SECRETS)
async def test_a_secret_stops_the_commit_and_its_line_is_named(repo: Path, name: str) -> None:
    content, where = SECRETS[name]
    (repo / name).write_text(f"{content}\n")
    git(repo, "add", "--", name)
    session = opened(repo, Choosing(), ["Never asked"])
    results, _ = await do(session, "/commit")
    assert where in text(results) and "Nothing was committed" in text(results)
    assert sent(session) == "" and git(repo, "rev-list", "--count", "HEAD") == "3"


def zero_byte(repo: Path) -> None:
    (repo / "conf.py").write_bytes(b"\0\n" + (repo / "conf.py").read_bytes())


def binary_attribute(repo: Path) -> None:
    (repo / ".gitattributes").write_text("* binary\n")


def attribute_of_the_git_directory(repo: Path) -> None:
    (repo / ".git/info/attributes").write_text("* -diff\n")


def binary_driver(repo: Path) -> None:
    (repo / ".gitattributes").write_text("* diff=own\n")
    git(repo, "config", "diff.own.binary", "true")


def low_threshold(repo: Path) -> None:
    git(repo, "config", "core.bigFileThreshold", "1")


@pytest.mark.parametrize(
    "make_binary",
    [zero_byte, binary_attribute, attribute_of_the_git_directory, binary_driver, low_threshold],
)
async def test_a_secret_is_found_in_a_file_that_git_takes_for_binary(
    repo: Path, make_binary: Callable[[Path], None]
) -> None:
    write_files(repo, conf="x = 1\nk = 'AKIAABCDEFGHIJKLMNOP'")
    make_binary(repo)
    git(repo, "add", ".")
    session = opened(repo, Choosing(), ["Never asked"])
    results, _ = await do(session, "/commit")
    assert "conf.py:" in text(results) and "(a key or token)" in text(results) and sent(session) == ""


async def test_the_model_is_not_sent_the_keys_of_lines_that_stay_or_go(repo: Path) -> None:
    write_files(repo, conf="k = 'AKIAABCDEFGHIJKLMNOP'\nx = 1\ny = 'AKIAZYXWVUTSRQPONMLK'")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "A mistake")
    write_files(repo, conf="x = 2\ny = 'AKIAZYXWVUTSRQPONMLK'")
    git(repo, "add", ".")
    session = opened(repo, Choosing("Commit"), ["Change x"])
    await do(session, "/commit")
    assert "+x = 2" in sent(session) and "AKIA" not in sent(session)


async def test_the_model_is_not_sent_the_former_content_of_a_file_that_it_may_not_read(repo: Path) -> None:
    names = "".join(f"LONG_NAME_{number}=value\n" for number in range(20))
    (repo / ".env").write_text(f"{names}DB_PASSWORD=hunter2hunter2\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "A mistake")
    git(repo, "mv", ".env", "names.txt")
    (repo / "names.txt").write_text(names)
    git(repo, "add", ".")
    session = opened(repo, Choosing("Commit"), ["Move names"])
    await do(session, "/commit")
    assert "LONG_NAME_3" in sent(session) and "hunter2" not in sent(session)


async def test_examples_code_about_passwords_and_removed_secrets_pass(repo: Path) -> None:
    (repo / "old.py").write_text("k = 'AKIAABCDEFGHIJKLMNOP'\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "A mistake")
    (repo / "old.py").write_text("+++ b/.env\n")
    (repo / ".env.example").write_text("PASSWORD=change-me-please\n")
    write_files(repo, login="def login(password: str = 'unset-value'): ...")
    git(repo, "add", ".")
    results, _ = await do(opened(repo, Choosing("Commit"), ["Remove a key"]), "/commit")
    assert text(results) == "Committed: Remove a key"


def stage_more(repo: Path) -> None:
    git(repo, "add", "later.py")


def switch_branch(repo: Path) -> None:
    git(repo, "checkout", "-qb", "other")


def begin_merge(repo: Path) -> None:
    (repo / ".git/MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD~1") + "\n")


def add_hook(repo: Path) -> None:
    hook(repo, "pre-commit", "exit 0")


@pytest.mark.parametrize("change", [stage_more, switch_branch, begin_merge, add_hook])
async def test_what_the_user_has_not_seen_is_not_committed(
    repo: Path, change: Callable[[Path], None]
) -> None:
    write_files(repo, parser="x = 1", later="y = 1")
    git(repo, "add", "parser.py")

    class Changing(Choosing):
        async def __call__(self, request):  # type: ignore[no-untyped-def]
            change(repo)
            return await super().__call__(request)

    results, _ = await do(opened(repo, Changing("Commit"), ["Add x"]), "/commit")
    assert "what was shown has changed" in text(results)
    assert git(repo, "rev-list", "--count", "HEAD") == "3"


async def test_programs_that_the_repository_sets_are_named_before_git_runs_them(repo: Path) -> None:
    settings = {
        "filter.own.clean": "./clean",
        "filter.own.process": "./process",
        "gc.recentObjectsHook": "./recent",
        "core.fsmonitor": "./monitor",
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "gpg.ssh.defaultKeyCommand": "./key",
    }
    for name, program in settings.items():
        git(repo, "config", name, program)
    hook(repo, "pre-auto-gc", "exit 0")
    write_files(repo, parser="x = 1")
    chooses, confirms = Choosing(None), Choosing(None)
    await do(opened(repo, chooses), "/commit")
    git(repo, "-c", "core.fsmonitor=", "add", "parser.py")
    await do(opened(repo, confirms, ["Add x"]), "/commit")
    for shown in (*chooses.texts, *confirms.texts):
        named = ["pre-auto-gc", "ssh-keygen", *(one for one in settings.values() if one.startswith("./"))]
        assert [one for one in named if one not in shown] == [] and "not trusted" in shown


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ([ProviderError("no credit", status=402)], "no credit"),
        ([""], "the model gave none"),
        (None, "offline"),
    ],
)
async def test_without_the_model_a_plain_message_in_the_style_of_the_log(
    tmp_path: Path, reply: list[Piece] | None, reason: str
) -> None:
    repo = make_repository(tmp_path / "repo", "feat: parse dates", "fix(io): close files")
    (repo / "guide.md").write_text("# x\n")
    git(repo, "add", "guide.md")
    user = Choosing("Commit", "Commit")
    session = opened(repo, user, *([reply] if reply else []), offline=reply is None)
    await do(session, "/commit")
    assert git(repo, "log", "-1", "--format=%s") == "docs: add guide.md" and reason in user.texts[0]
    if reply is None:
        (repo / "guide.md").write_text("# y\n")
        git(repo, "add", "guide.md")
        await do(session, "/commit fix: a typo")
        assert git(repo, "log", "-1", "--format=%s") == "fix: a typo"


CREDITS = """Add x

Why.

Generated with [Claude Code](https://claude.ai)
Co-Authored-By: Claude <noreply@anthropic.com>
Assisted-by: Claude:opus
Co-authored-by: Bob <bob@example.org>
Reviewed-by: Eve <eve@example.org>"""


@pytest.mark.parametrize(
    ("attribution", "trailer"),
    [
        ("off", ""),
        ("assisted-by", "\nAssisted-by: Forge:scripted/model"),
        ("co-authored-by", "\nCo-authored-by: Forge (scripted/model) <noreply@forge.invalid>"),
    ],
)
async def test_the_setting_alone_decides_who_is_credited(repo: Path, attribution: str, trailer: str) -> None:
    write_files(repo, parser="x = 1")
    git(repo, "add", "parser.py")
    user = Choosing("Commit")
    session = opened(repo, user, [CREDITS])
    session.config = replace(session.config, git_attribution=attribution)  # type: ignore[arg-type]
    await do(session, "/commit with Bob <bob@example.org>")
    people = "Co-authored-by: Bob <bob@example.org>\nReviewed-by: Eve <eve@example.org>"
    assert git(repo, "log", "-1", "--format=%B") == f"Add x\n\nWhy.\n\n{people}{trailer}"
    assert (
        git(repo, "log", "-1", "--format=%an <%ae> %cn <%ce>")
        == "Ada <ada@example.org> Ada <ada@example.org>"
    )


async def test_a_merge_is_concluded_with_the_message_of_git_once_no_conflict_is_left(repo: Path) -> None:
    write_files(repo, parser="x = 1")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Add x")
    git(repo, "checkout", "-qb", "side", "HEAD~1")
    write_files(repo, parser="x = 2")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Add another x")
    git(repo, "merge", "main", check=False)
    user = Choosing("Commit")
    session = opened(repo, user, ["Never asked"])
    results, _ = await do(session, "/commit")
    assert "parser.py has conflicts" in text(results)
    write_files(repo, parser="x = 3")
    git(repo, "add", "parser.py")
    results, _ = await do(session, "/commit")
    assert user.asked[0].heading == "Commit 1 file and conclude a merge" and sent(session) == ""
    assert git(repo, "log", "-1", "--format=%s %P").startswith("Merge branch 'main' into side ")
    assert len(git(repo, "log", "-1", "--format=%P").split()) == 2


async def test_detached_heads_first_commits_binaries_and_submodules_are_committed(tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", "Inner")
    repo = make_repository(tmp_path / "repo")
    (repo / "image.bin").write_bytes(bytes(range(256)) * 100)
    (repo / "big.txt").write_text("word " * 400_000)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "inner")
    git(repo, "add", ".")
    user = Choosing("Commit", "Commit")
    session = opened(repo, user, ["Start with\x1b[31m a submodule"], ["Update inner"])
    results, _ = await do(session, "/commit")
    assert git(repo, "log", "--format=%s") == "Start with␛[31m a submodule"
    assert "on main" in user.texts[0] and len(sent(session)) < 100_000
    assert "binary" in sent(session) and "Subproject commit" in sent(session)
    git(repo, "checkout", "-q", "--detach")
    git(repo / "inner", "commit", "-q", "--allow-empty", "-m", "More")
    git(repo, "add", "inner")
    results, _ = await do(session, "/commit")
    assert text(results) == "Committed: Update inner" and "HEAD is detached" in user.texts[1]


async def test_where_there_is_no_repository_or_no_user_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    results, _ = await do(opened(tmp_path / "plain", Choosing()), "/commit")
    assert "is in no git repository" in text(results)
    repo = make_repository(tmp_path / "repo", "Start")
    write_files(repo, parser="x = 1")
    git(repo, "add", ".")
    session = opened(repo, Choosing(), ["Add x"])
    session.is_away = True
    results, _ = await do(session, "/commit")
    assert "Nothing was committed" in text(results)
