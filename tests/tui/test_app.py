"""The app around a session: warm-up, turns, the queue, interrupts, errors, leaving."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.widgets import Static

from forge_core.commands.command_spec import Tier
from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ConfigError, ForgeError
from forge_core.events import Error, LLMChunk, LLMStart, Notice, ToolEnd
from forge_tui import workers
from forge_tui.submitted_line import Command
from tests.support.chat_app import make_app, make_config, ready, say, say_until, shown, type_text, until
from tests.support.scripted_session import Gate, ScriptedSession, Step, answer, end_of_turn
from tests.support.tool_events import tool_start
from tests.tui.conftest import OpenChat


async def test_a_message_is_answered_in_the_transcript(chat: OpenChat) -> None:
    async with chat(answer("The parser lives in cli.py.")) as (app, pilot):
        await say(pilot, "where is the parser?")
        await until(pilot, lambda: "The parser lives in cli.py." in shown(app))
        assert "where is the parser?" in shown(app)
        assert app.scripted.sent == ["where is the parser?"]
        assert app.chat.composer.text == ""


async def test_a_message_sent_before_the_session_is_ready_is_queued_and_sent_later(
    config: ForgeConfig,
) -> None:
    may_build = threading.Event()

    def slowly(approver: object, session: ScriptedSession) -> ScriptedSession:
        assert may_build.wait(60)
        return session

    app = make_app(config, [answer("Hello.")], make_session=slowly)
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "hi")
        await type_text(pilot, "half a th")
        assert "Forge is starting · 1 queued" in shown(app)
        assert app.scripted.sent == []
        may_build.set()
        await until(pilot, lambda: app.scripted.sent == ["hi"])
        assert app.chat.composer.text == "half a th"
        assert "queued" not in shown(app)


async def test_a_session_may_be_built_by_a_coroutine(config: ForgeConfig) -> None:
    async def build(session: ScriptedSession) -> ScriptedSession:
        return session

    app = make_app(config, make_session=lambda approver, session: build(session))
    async with app.run_test() as pilot:
        await ready(pilot)
        assert app.session is not None


async def test_a_session_that_cannot_be_built_is_reported_and_the_app_continues(config: ForgeConfig) -> None:
    def fail(approver: object, session: ScriptedSession) -> ScriptedSession:
        raise ConfigError("base_url 'ftp://x' is no web address. Set FORGE_BASE_URL.")

    app = make_app(config, make_session=fail)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "is no web address" in shown(app))
        await say(pilot, "hello")
        await pilot.pause()
        assert shown(app).count("is no web address") == 2
        await say(pilot, "/cost")
        await pilot.pause()
        assert shown(app).count("is no web address") == 3
        await say(pilot, "/help")
        await until(pilot, lambda: "Commands" in shown(app))
        assert app.crash is None


async def test_a_command_of_the_screen_runs_only_when_its_tier_allows(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([LLMStart(iteration=1, model="m"), gate, *answer("one")]) as (app, pilot):
        await say_until(pilot, "first", gate)
        spec = CommandTable().find("help")
        assert spec is not None
        await app.chat.sending.commands.run(Command(replace(spec, tier=Tier.IDLE), "", "/help"))
        assert "/help works between turns" in shown(app)
        assert app.screen is app.chat
        gate.open()


async def test_enter_while_a_turn_runs_queues_and_the_queue_is_sent_in_order(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([LLMStart(iteration=1, model="m"), gate, *answer("one")]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, "second")
        await say(pilot, "third")
        await pilot.pause()
        assert "2 queued" in shown(app)
        assert app.scripted.sent == ["first"]
        gate.open()
        await until(pilot, lambda: app.scripted.sent == ["first", "second", "third"])
        await until(pilot, lambda: "queued" not in shown(app))


async def test_up_on_the_empty_composer_recalls_the_newest_queued_message(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, "second")
        await say(pilot, "third")
        await pilot.press("up")
        assert app.chat.composer.text == "third"
        await pilot.pause()
        assert "1 queued" in shown(app)


async def test_a_recalled_message_that_looks_like_a_command_is_still_a_message(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, " /reset is what I typed")
        await pilot.press("up")
        await until(pilot, lambda: "/reset" in app.chat.composer.text)
        await pilot.press("enter")
        await until(pilot, lambda: "1 queued" in shown(app))
        gate.open()
        await until(pilot, lambda: app.scripted.sent == ["first", "/reset is what I typed"])
        assert app.scripted.resets == 0


async def test_escape_interrupts_keeps_the_partial_answer_and_pauses_the_queue(chat: OpenChat) -> None:
    gate = Gate()
    script: list[Step] = [LLMStart(iteration=1, model="m"), LLMChunk(text="The beginning of"), gate]
    async with chat(script) as (app, pilot):
        await say_until(pilot, "tell me", gate)
        await until(pilot, lambda: "Esc to interrupt" in shown(app))
        await say(pilot, "next")
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.has_turn)
        assert "The beginning of" in shown(app)
        assert "1 queued · paused" in shown(app)
        assert app.scripted.sent == ["tell me"]
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["tell me", "next"])


async def test_a_message_typed_after_an_interrupt_goes_before_the_paused_queue(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, "second")
        await say(pilot, "third")
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.has_turn)
        await say(pilot, "no, like this")
        await until(pilot, lambda: app.scripted.sent == ["first", "no, like this"])
        await until(pilot, lambda: not app.chat.has_turn)
        assert "2 queued · paused" in shown(app)
        assert app.scripted.sent == ["first", "no, like this"]
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent[2:] == ["second", "third"])
        await until(pilot, lambda: "queued" not in shown(app))


async def test_streaming_tool_arguments_show_progress(chat: OpenChat) -> None:
    gate, second = Gate(), Gate()
    pieces: list[Step] = [LLMChunk(text="x" * 30, kind="tool_args") for _ in range(80)]
    script: list[Step] = [LLMStart(iteration=1, model="m"), *pieces, gate, *answer("done")[1:], second]
    async with chat(script) as (app, pilot):
        await say_until(pilot, "write it", gate)
        await until(pilot, lambda: "Writing a call · 2.4k characters · 0 s · Esc to interrupt" in shown(app))
        gate.open()
        await until(pilot, second.reached.is_set)
        await until(pilot, lambda: "Working · 0 s" in shown(app))
        assert "Working · 0 s" in shown(app)


async def test_an_error_of_the_provider_is_shown_verbatim_and_the_session_continues(
    chat: OpenChat,
) -> None:
    words = "401 from OpenRouter: No auth credentials found"
    failing = [Error(error=words, kind="AuthenticationError", recoverable=False), end_of_turn("error", words)]
    async with chat(failing, answer("Now it works.")) as (app, pilot):
        await say(pilot, "hello")
        await until(pilot, lambda: words in shown(app))
        await say(pilot, "again")
        await until(pilot, lambda: "Now it works." in shown(app))
        assert "Now it works." in shown(app)


async def test_a_session_error_is_shown_as_a_notice_and_the_next_message_works(chat: OpenChat) -> None:
    async with chat([ForgeError("The journal cannot be written: disk full.")], answer("fine")) as (
        app,
        pilot,
    ):
        await say(pilot, "hello")
        await until(pilot, lambda: "disk full" in shown(app))
        await say(pilot, "again")
        await until(pilot, lambda: "fine" in shown(app))
        assert "fine" in shown(app)


async def test_an_internal_error_ends_the_app_and_is_kept_for_the_report(config: ForgeConfig) -> None:
    app = make_app(config, [[RuntimeError("a bug")]])
    with pytest.raises(RuntimeError, match="a bug"):
        async with app.run_test() as pilot:
            await ready(pilot)
            await say(pilot, "hello")
            await until(pilot, lambda: app.crash is not None)
    assert isinstance(app.crash, RuntimeError)
    assert app.return_code == 70
    assert app.scripted.is_closed


async def test_the_session_is_closed_when_the_app_ends(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        await say(pilot, "/exit")
    assert app.scripted.is_closed
    assert app.crash is None


async def test_exiting_during_a_turn_closes_the_session(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([LLMStart(iteration=1, model="m"), gate]) as (app, pilot):
        await say_until(pilot, "hello", gate)
        await pilot.press("ctrl+d")
    assert app.scripted.is_closed
    assert app.crash is None


async def test_an_event_too_late_to_be_shown_is_not_a_crash(config: ForgeConfig) -> None:
    """Textual refuses to mount anything as soon as it has been told to leave."""
    app = make_app(config)
    has_come = asyncio.Event()

    async def comes_late() -> None:
        app.exit(return_code=129)
        has_come.set()
        app.chat.mount(Static("too late"))

    async with app.run_test() as pilot:
        await ready(pilot)
        workers.start(app.chat, comes_late, "late")
        await has_come.wait()
    assert app.crash is None
    assert app.return_code == 129


async def test_a_notice_outside_a_turn_reaches_the_transcript(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        app.scripted.notify(Notice(level="warning", text="the catalogue is old"))
        await until(pilot, lambda: "the catalogue is old" in shown(app))
        assert "the catalogue is old" in shown(app)


async def test_settings_notices_are_shown_at_startup(config: ForgeConfig, tmp_path) -> None:  # type: ignore[no-untyped-def]
    app = make_app(make_config(tmp_path, notices=("project setting base_url ignored",)))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert "project setting base_url ignored" in shown(app)


async def test_the_key_used_for_a_custom_endpoint_is_shown_at_startup(tmp_path: Path) -> None:
    about_key = "The API key in FORGE_API_KEY is sent to https://llm.example/v1."
    endpoint = Endpoint("custom", "https://llm.example/v1", "k", "FORGE_API_KEY", about_key)
    app = make_app(make_config(tmp_path, endpoint=endpoint))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert about_key in shown(app)


async def test_the_status_bar_follows_the_turn(chat: OpenChat) -> None:
    async with chat(answer("Hello."), size=(120, 30)) as (app, pilot):
        await say(pilot, "hello")
        await until(pilot, lambda: "$0.0021" in shown(app))
        bar = shown(app).splitlines()[-1]
        for part in ("test/model", "▰▱▱▱▱▱▱▱▱▱ <1%", "$0.0021", "ask", "sandbox: on"):
            assert part in bar
        assert "~/src/engine" in bar and "main" in bar


async def test_tokens_are_estimated_with_a_tilde_while_the_answer_streams(chat: OpenChat) -> None:
    gate = Gate()
    async with chat(
        [LLMStart(iteration=1, model="m"), LLMChunk(text="x" * 400), gate, *answer("y")], size=(120, 30)
    ) as (app, pilot):
        await say_until(pilot, "hello", gate)
        await until(pilot, lambda: "~65 out" in shown(app), "the estimate")
        gate.open()
        await until(pilot, lambda: "▰▱▱▱▱▱▱▱▱▱ <1% · $0.0021 " in shown(app), "its count")
        assert " out" not in shown(app).splitlines()[-1]


async def test_a_tool_call_shows_as_a_card(config: ForgeConfig) -> None:
    app = make_app(
        config,
        [
            [
                tool_start("1", "grep", {"pattern": "def main"}),
                ToolEnd(
                    call_id="1",
                    name="grep",
                    result="cli.py:7: def main():",
                    success=True,
                    duration_s=0.2,
                    summary="1 match",
                ),
                *answer("There."),
            ]
        ],
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "find main")
        await until(pilot, lambda: "There." in shown(app))
        assert "def main" in shown(app) and "1 match" in shown(app)


async def test_a_mode_chosen_before_the_session_is_ready_is_applied(config: ForgeConfig) -> None:
    may_build = threading.Event()

    def slowly(approver: object, session: ScriptedSession) -> ScriptedSession:
        assert may_build.wait(60)
        return session

    app = make_app(config, make_session=slowly)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("shift+tab")
        may_build.set()
        await ready(pilot)
        assert app.scripted.status.mode is PermissionMode.ACCEPT_EDITS
        assert "accept-edits" in shown(app).splitlines()[-1]


async def test_brackets_and_escapes_in_any_text_are_shown_literally(chat: OpenChat) -> None:
    async with chat(answer("see [/some/x] and [bold]this[/bold]")) as (app, pilot):
        await say(pilot, "[red]x[/] [/y]")
        await until(pilot, lambda: "see [/some/x] and [bold]this[/bold]" in shown(app))
        assert "[red]x[/] [/y]" in shown(app)
        assert app.crash is None


async def test_the_second_of_two_simultaneous_copies_wins(chat: OpenChat) -> None:
    async with chat() as (app, pilot):
        app.copy_to_clipboard("one")
        app.copy_to_clipboard("second")
        await until(pilot, lambda: bool(app.chat.activity.note_text))
        assert "6 characters" in app.chat.activity.note_text
        assert app.clipboard == "second"


async def test_the_arguments_of_work_are_not_formatted(chat: OpenChat) -> None:
    done: list[bool] = []

    class Large:
        """A session of many megabytes."""

        def __repr__(self) -> str:
            raise AssertionError("formatted")

    async def show(large: Large) -> None:
        done.append(True)

    async with chat() as (app, pilot):
        workers.start(app.chat, partial(show, Large()), "work")
        await until(pilot, lambda: done == [True])
