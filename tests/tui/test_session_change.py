"""Continuing, starting and leaving sessions in the running app, with real sessions and journals."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.approval import Answer, Responder
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.redact import Redactor
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.session.draft_keeper import newest_draft
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import Journal, journal_path
from forge_tui import garbage_collection
from forge_tui.app import ForgeApp
from forge_tui.pastes.folded_text import folded
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.shell_lines import PASTED
from forge_tui.submitted_line import UserText
from forge_tui.terminal.clipboard import Route
from tests.support.chat_app import say, shown, type_text, until
from tests.support.sessions import Answering
from tests.support.sse_server import SseServer, answer, tool_answer

pytestmark = pytest.mark.slow

SIZE = (100, 30)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def config_for(root: Path, server: SseServer) -> ForgeConfig:
    return dataclasses.replace(
        load_session_config(root, flags={"model": "offline"}),
        endpoint=Endpoint("custom", server.base_url, "sk-test-1", "FORGE_API_KEY"),
        model="test/model",
        state_dir=root.parent / "state",
        config_dir=root.parent / "config",
        sandbox="off",
        permission_mode=PermissionMode.ACCEPT_EDITS,
        origins={},
    )


def app_for(config: ForgeConfig, resume: str | None = None) -> ForgeApp:
    def make(config: ForgeConfig, resume: str | None, responder: Responder) -> ForgeSession:
        return build_session(config, responder, responder, resume=resume)

    environment = Environment(
        branch=lambda folder: "main", clipboard=lambda folder: Route("terminal", is_obeyed=True)
    )
    return ForgeApp(config, make, resume=resume, environment=environment)


async def saved_session(
    config: ForgeConfig, *texts: str, draft: str = "", queue: tuple[str, ...] = ()
) -> str:
    """Run a session to its end; return its id."""
    session = build_session(config, Answering(Answer.ONCE))
    for text in texts:
        async for _ in session.send(text):
            pass
    session.save_input(draft=draft, queue=queue)
    await session.aclose()
    return session.id


async def opened(pilot: Pilot[None], app: ForgeApp) -> None:
    await until(pilot, lambda: app.session is not None)


async def idle(pilot: Pilot[None], app: ForgeApp, text: str) -> None:
    await until(pilot, lambda: text in shown(app) and not app.chat.has_turn, text)


async def test_a_continued_session_shows_its_conversation_and_goes_on(root: Path) -> None:
    with SseServer(answer("It is **blue**."), answer("Green."), answer("Red.")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "What colour?", "And that?")
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "Green.")
            text = shown(app)
            assert text.index("What colour?") < text.index("It is blue.") < text.index("And that?")
            assert not app.chat.welcome.display
            assert [one.source for one in app.chat.transcript.answers] == ["It is **blue**.", "Green."]
            await say(pilot, "Third?")
            await idle(pilot, app, "Red.")
            await pilot.press("up", "up")
            assert app.chat.composer.text == "And that?"
        sent = [one["content"] for one in server.requests[-1].json["messages"]][1:]
        assert sent == ["What colour?", "It is **blue**.", "And that?", "Green.", "Third?"]


async def test_a_paste_in_a_continued_session_is_folded_and_comes_back_as_a_chip(root: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(20))
    with SseServer(answer("Read.")) as server:
        config = config_for(root, server)
        session = build_session(config, Answering(Answer.ONCE))
        async for _ in session.send(f"see {lines} now", folded=[(4, 4 + len(lines))]):
            pass
        await session.aclose()
        app = app_for(config, session.id)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "see [Pasted text #1 +19 lines] now")
            assert "line 10" not in shown(app)
            await pilot.press("up")
            assert app.chat.composer.typed == f"see {folded(lines)} now"


async def test_the_welcome_continues_the_last_session_with_two_keys(root: Path) -> None:
    with SseServer(answer("Blue.")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "What colour?")
        app = app_for(config, None)
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: "› Continue: What colour? (now, 1 turn)" in shown(app))
            await pilot.press("down", "enter")
            await idle(pilot, app, "Blue.")
            assert app.chat.session_id == saved and not app.chat.welcome.display


async def test_the_draft_and_the_queue_are_back_and_the_queue_waits(root: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "first", draft="half a sen\x1b[31m", queue=("next", "/mode plan"))
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "2 queued · paused")
            assert app.chat.composer.text.startswith("half a sen") and "\x1b" not in app.chat.composer.text
            app.chat.composer.replace_text("")
            await pilot.press("enter")
            await idle(pilot, app, "two")
            await until(pilot, lambda: app.session is not None and app.session.status.mode == "plan")
        again = SavedSessions(config.state_dir, Redactor()).load(saved)
        assert (again.draft, again.queue, again.mode) == ("", [], "plan")


async def test_what_comes_back_with_a_session_does_not_run_in_the_shell(root: Path) -> None:
    with SseServer(answer("one")) as server:
        config = config_for(root, server)
        app = app_for(config, await saved_session(config, "!echo message", draft="!echo draft"))
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "one")
            await pilot.press("enter")
            await until(pilot, lambda: app.chat.activity.note_text == PASTED)
            await pilot.press("up")
            assert app.chat.composer.text == " !echo message"


async def test_what_was_typed_before_the_session_was_ready_is_sent(root: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        app = app_for(config, await saved_session(config, "first"))
        app.take_typed_text("early")
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("enter")
            await idle(pilot, app, "two")
        assert server.requests[-1].json["messages"][-1]["content"] == "early"


async def test_a_draft_does_not_come_back_after_a_message_was_sent(root: Path) -> None:
    """The user is typing the next message by then, which would be appended to the draft."""
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        app = app_for(config, await saved_session(config, "first", draft="half a sentence"))
        app.take_typed_text("early")
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("enter")
            await idle(pilot, app, "two")
            assert app.chat.composer.is_blank
            await pilot.press("up")
            assert app.chat.composer.text == "half a sentence"


async def test_a_crash_keeps_the_draft_of_a_continued_session(root: Path) -> None:
    with SseServer(answer("one")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "first", draft="half", queue=("next",))
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "1 queued · paused")
            on_disk = SavedSessions(config.state_dir, Redactor()).load(saved)
            assert (on_disk.draft, on_disk.queue) == ("half", ["next"])


async def test_the_draft_is_on_the_disk_while_it_is_typed(root: Path) -> None:
    """As a kill would leave it: nothing is saved at the end."""
    with SseServer(answer("one")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "first")
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "one")
            await type_text(pilot, "half a sentence")
            sessions = SavedSessions(config.state_dir, Redactor())
            await until(pilot, lambda: newest_draft(sessions.load(saved)) == "half a sentence")
            assert sessions.load(saved).draft == ""
            copy = shutil.copytree(config.state_dir, root.parent / "copy")
    killed = build_session(dataclasses.replace(config, state_dir=copy), Answering(Answer.ONCE), resume=saved)
    assert killed.restored is not None and killed.restored.draft == "half a sentence"
    await killed.aclose()
    assert SavedSessions(copy, Redactor()).load(saved).draft == "half a sentence"


async def test_what_was_typed_before_the_first_message_is_restored_by_the_next_session(root: Path) -> None:
    with SseServer(answer("one")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "first")
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await type_text(pilot, "never sent")
            drafts = config.state_dir / "sessions" / "drafts"
            await until(pilot, lambda: any("never sent" in one.read_text() for one in drafts.glob("*.json")))
        again = app_for(config, saved)
        async with again.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: again.chat.composer.text == "never sent")
        assert not any(drafts.iterdir())


async def test_garbage_is_collected_only_if_a_conversation_is_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collections: list[bool] = []
    monkeypatch.setattr(garbage_collection, "collect_all", lambda: collections.append(True))
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        saved, other = await saved_session(config, "first"), await saved_session(config, "second")
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await say(pilot, f"/resume {saved}")
            await until(pilot, lambda: "first" in shown(app))
            assert collections == []
            await say(pilot, f"/resume {other}")
            await until(pilot, lambda: collections == [True])


async def test_new_starts_an_empty_session_and_what_is_sent_after_it_goes_there(root: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, app)
            await say(pilot, "first")
            await idle(pilot, app, "one")
            before = app.chat.session_id
            await say(pilot, "/new")
            await say(pilot, "second")
            await idle(pilot, app, "two")
            assert app.chat.session_id != before and "first" not in shown(app)
        assert [one["content"] for one in server.requests[-1].json["messages"]][1:] == ["second"]
        sessions = SavedSessions(config.state_dir, Redactor())
        assert [one.preview for one in sessions.list()] == ["second", "first"]


async def test_lines_that_wait_stay_with_the_session_that_is_left(root: Path) -> None:
    with SseServer(answer("one")) as server:
        config = config_for(root, server)
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, app)
            await say(pilot, "first")
            await idle(pilot, app, "one")
            before = app.chat.session_id
            app.chat.sending.queue.put_back([UserText("later")])
            await say(pilot, "/new")
            await until(pilot, lambda: app.chat.session_id != before)
            assert "queued" not in shown(app)
            await say(pilot, f"/resume {before}")
            await until(pilot, lambda: app.chat.session_id == before)
            await idle(pilot, app, "1 queued · paused")
            assert "one" in shown(app)


@pytest.mark.parametrize("how", ["missing", "in use", "later version"])
async def test_a_session_that_cannot_be_opened_leaves_everything_as_it_was(root: Path, how: str) -> None:
    with SseServer(answer("other"), answer("one"), answer("two")) as server:
        config = config_for(root, server)
        other = await saved_session(config, "other session")
        path = journal_path(config.state_dir, other)
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, app)
            await say(pilot, "first")
            await idle(pilot, app, "one")
            before = app.chat.session_id
            app.chat.sending.queue.put_back([UserText("later")])
            held = Journal(path, Redactor())
            if how == "in use":
                held.claim()
            elif how == "later version":
                path.write_text(path.read_text().replace('"v":2', '"v":99'))
            name = "nothing" if how == "missing" else other
            await say(pilot, f"/resume {name}")
            words = {"missing": "There is no session", "in use": "open in another Forge"}
            await idle(pilot, app, words.get(how, "later version"))
            held.close()
            assert app.chat.session_id == before and "first" in shown(app)
            assert "1 queued · paused" in shown(app)
            await pilot.press("enter")
            await idle(pilot, app, "two")
        assert server.requests[-1].json["messages"][-1]["content"] == "later"


async def test_a_start_with_a_session_in_use_offers_another_one(root: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "first")
        held = Journal(journal_path(config.state_dir, saved), Redactor())
        held.claim()
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: "/new starts a new one" in shown(app))
            await say(pilot, "refused")
            await say(pilot, "/new")
            await opened(pilot, app)
            await say(pilot, "second")
            await idle(pilot, app, "two")
        held.close()
        assert [one["content"] for one in server.requests[-1].json["messages"]][1:] == ["second"]


async def test_the_open_session_is_not_opened_again(root: Path) -> None:
    with SseServer(answer("one")) as server:
        app = app_for(config_for(root, server))
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, app)
            await say(pilot, "first")
            await idle(pilot, app, "one")
            session = app.session
            await say(pilot, "/resume first")
            await until(pilot, lambda: "open already" in shown(app))
            assert app.session is session


async def test_a_copy_leaves_the_session_as_it_is(root: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server:
        config = config_for(root, server)
        app = app_for(config)
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, app)
            await say(pilot, "first")
            await idle(pilot, app, "one")
            before = app.chat.session_id
            await say(pilot, "/resume")
            await until(pilot, lambda: "open · 1 turn" in shown(app))
            await pilot.press("ctrl+f")
            await until(pilot, lambda: app.chat.session_id != before)
            await say(pilot, "second")
            await idle(pilot, app, "two")
        turns = {one.id: one.turns for one in SavedSessions(config.state_dir, Redactor()).list()}
        assert turns == {before: 1, app.chat.session_id: 2}


async def test_undo_works_on_the_files_of_a_continued_session(root: Path) -> None:
    (root / "a.txt").write_text("before\n")
    steps = (
        tool_answer(("c1", "read", {"file_path": "a.txt"})),
        tool_answer(("c2", "write", {"file_path": "a.txt", "content": "after\n"})),
        answer("done"),
    )
    with SseServer(*steps) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "change it")
        assert (root / "a.txt").read_text() == "after\n"
        app = app_for(config, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "done")
            await say(pilot, "/undo")
            await until(pilot, lambda: (root / "a.txt").read_text() == "before\n")
            await say(pilot, "/redo")
            await until(pilot, lambda: (root / "a.txt").read_text() == "after\n")


async def test_a_list_of_tasks_and_the_mode_show_again(root: Path) -> None:
    todo = {"items": [{"content": "Fix it", "status": "in_progress", "active_form": "Fixing it"}]}
    with SseServer(tool_answer(("c1", "todo", todo)), answer("done")) as server:
        config = config_for(root, server)
        saved = await saved_session(config, "plan it")
        plain = dataclasses.replace(config, permission_mode=PermissionMode.ASK)
        app = app_for(plain, saved)
        async with app.run_test(size=SIZE) as pilot:
            await idle(pilot, app, "done")
            await until(pilot, lambda: "Fix it" in shown(app) or "Fixing it" in shown(app))
            assert "accept-edits" in shown(app)
            await say(pilot, "/new")
            await until(pilot, lambda: app.chat.welcome.display)
            assert not app.chat.todos.todos
            await type_text(pilot, "x")
