"""The console script `forge`: arguments, start-up order and exit codes. Imports nothing heavy."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # importing typing for it would cost 10 ms of a --version
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from forge_core.config.forge_config import ForgeConfig
    from forge_tui.first_frame import FirstFrame


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"], ["-v"]):  # without importing argparse
        from forge_core import __version__

        print(f"forge {__version__}")
        return 0
    try:
        return _dispatch(arguments)
    except BrokenPipeError:
        _silence_stdout()
        return 128 + 13
    except KeyboardInterrupt:
        from forge_core.exit_codes import ExitCode

        return ExitCode.INTERRUPTED if arguments[:1] == ["run"] else 128 + 2
    finally:
        # Otherwise Python traverses all objects several times at exit: 0.1 s, and 2 s on a busy machine.
        gc.freeze()


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["tau2"]:
        from forge_core.integrations.tau2 import main as tau2

        return tau2(arguments[1:])
    if arguments[:2] == ["completion", "--words"]:  # any words, which the parser would take for options
        from forge_tui.cli_reference.completing import print_candidates

        return print_candidates(arguments[2:])
    from forge_tui.arguments import parse

    parsed = parse(arguments, is_terminal=os.isatty(1))
    if isinstance(parsed, int):
        return parsed
    from forge_core.errors import ForgeError

    try:
        program = _PROGRAMS[parsed.command]
        if getattr(parsed, "worktree", None) is None:
            return program(parsed)
        from forge_core.headless.worktree_session import in_worktree

        return in_worktree(parsed, program)
    except ForgeError as error:
        return _fail(str(error))


def _run(options: argparse.Namespace) -> int:
    import asyncio
    import signal
    from pathlib import Path

    from forge_core.exit_codes import ExitCode

    # Exit at once until the run handles it itself: modules that are being imported may turn
    # KeyboardInterrupt into another exception.
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitCode.INTERRUPTED))
    if sys.stdout is None:
        return _fail("Standard output is closed, so there is nowhere to print the answer.")
    from forge_core.errors import ForgeError
    from forge_tui.arguments import read_prompt

    prompt = read_prompt(options)
    config = _session_config(options, options.cwd)
    if refusal := _strict_refusal(config):
        return refusal
    from forge_core.lazy import trim_imports

    trim_imports()
    gc.disable()  # as for a chat; the run enables it again
    from forge_core.headless.printers import OutputError
    from forge_core.headless.run import RunOptions, run_prompt
    from forge_core.headless.structured import AnswerSchema

    run_options = RunOptions(
        output=options.output,
        output_dir=Path(options.output_dir).expanduser() if options.output_dir else None,
        resume=_saved_session(options, config),
        schema=AnswerSchema.read(options.json_schema) if options.json_schema else None,
        reads_stream=options.input == "stream-json",
        required_servers=tuple(options.require_mcp),
    )
    try:
        return asyncio.run(run_prompt(config, prompt, run_options))
    except OutputError as error:
        _silence_stdout()
        return _fail(str(error), ExitCode.PROVIDER)
    except (ForgeError, BrokenPipeError):
        raise
    except Exception as error:
        return _crash(config, error)


def _batch(options: argparse.Namespace) -> int:
    """Run the tasks of a file."""
    import signal

    from forge_core.exit_codes import ExitCode

    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitCode.INTERRUPTED))  # as for `forge run`
    from forge_core.batch.batch_command import print_plan, run_batch
    from forge_core.batch.task_file import read_tasks
    from forge_core.runtime import load_session_config
    from forge_tui.batch_arguments import batch_engine, batch_options

    batch = batch_options(options)
    tasks = read_tasks(options.tasks, runs_here=options.engine == "local")
    if options.dry_run:
        return print_plan(tasks, batch)
    config = load_session_config()
    engine = batch_engine(options, batch, config)
    return _strict_refusal(config) or run_batch(tasks, batch, config, engine)


def _sessions(options: argparse.Namespace) -> int:
    """List or change saved sessions."""
    from forge_core.headless.session_actions import run_action
    from forge_core.runtime import load_session_config

    return run_action(options, load_session_config())


def _usage(options: argparse.Namespace) -> int:
    """Print what all sessions have used."""
    from forge_core.headless.usage_action import run_action
    from forge_core.runtime import load_session_config

    return run_action(options, load_session_config())


def _chat(options: argparse.Namespace) -> int:
    """Load the settings, paint the first frame, then import and run the app."""
    gc.disable()  # during imports it finds nothing and costs 10 %; the app enables it again
    from forge_tui.terminal.terminal_check import is_dumb_terminal, terminal_problem

    config = _session_config(options, options.path, needs_write=True)
    message = _first_message(options.prompt, _piped_text())
    if options.plain or config.plain or is_dumb_terminal():
        return _strict_refusal(config) or _plain(options, config, message)
    if problem := terminal_problem("forge chat", 'forge chat --plain, or forge run "your request"'):
        return _fail(problem)
    from forge_tui.first_frame import FirstFrame

    def run() -> int:
        from forge_core.lazy import trim_imports
        from forge_tui.app import run_chat

        trim_imports()
        return run_chat(
            config,
            resume=_saved_session(options, config),
            picks_session=options.resume == "",
            first_message=message,
            continue_plain=_continue_plain,
        )

    return _strict_refusal(config) or _show(config, FirstFrame(config), run, message)


def _session_config(
    options: argparse.Namespace, folder: str | Path | None, *, needs_write: bool = False
) -> ForgeConfig:
    """Return the settings of a session in a folder, with all that the command line says."""
    from forge_core.runtime import load_session_config
    from forge_tui.arguments import config_flags

    config = load_session_config(
        folder,
        flags=config_flags(options),
        needs_write=needs_write,
        trust=options.trust,
        worktree_of=getattr(options, "worktree_of", None),
        is_hermetic=getattr(options, "hermetic", False),
    )
    return _for_this_run(options, config)


def _for_this_run(options: argparse.Namespace, config: ForgeConfig) -> ForgeConfig:
    """Return the settings with what the command line approves and declares for this run."""
    approved, files = getattr(options, "approve", None), getattr(options, "mcp_config", None)
    if not (approved or files):
        return config
    from dataclasses import replace
    from pathlib import Path

    from forge_core.errors import ConfigError

    paths = [Path(one).expanduser().absolute() for one in files or ()]
    if missing := next((one for one in paths if not one.is_file()), None):
        raise ConfigError(f"--mcp-config: there is no file {str(missing)!r}.")
    return replace(config, approved_programs=tuple(approved or ()), mcp_config=tuple(map(str, paths)))


def _hooks(options: argparse.Namespace) -> int:
    """List the hooks, or run those of an event."""
    from forge_core.headless.hook_actions import run_action
    from forge_core.runtime import load_session_config

    config = load_session_config(getattr(options, "cwd", None), trust=getattr(options, "trust", False))
    return run_action(options, _for_this_run(options, config))


def _mcp(options: argparse.Namespace) -> int:
    """List or change MCP servers, or start some as a test."""
    from forge_core.headless.mcp_actions import run_action
    from forge_core.runtime import load_session_config

    config = load_session_config(options.cwd, trust=options.trust)
    return run_action(options, _for_this_run(options, config))


def _piped_text() -> str:
    """Return what was piped into the chat; the keys come from the terminal then."""
    from forge_tui.terminal.piped_text import PipedTextError, is_piped, take_piped_text

    if not is_piped():
        return ""
    try:
        return take_piped_text()
    except PipedTextError as error:
        from forge_core.errors import ConfigError

        raise ConfigError(str(error)) from error


def _first_message(prompt: str | None, piped: str) -> str:
    """Return the message to begin with, in which what was piped is folded; empty if there is none."""
    if prompt is None and not piped.strip():
        return ""
    from forge_tui.pastes.folded_text import with_piped
    from forge_tui.screens.chat.first_message import safe_message

    message = "" if prompt is None else safe_message(prompt)
    if prompt is not None and not message:
        from forge_core.errors import ConfigError

        raise ConfigError("The prompt is empty.")
    return with_piped(message, safe_message(piped))


def _continue_plain(config: ForgeConfig, resume: str | None) -> int:
    """Go on as lines of text after the app has ended."""
    from forge_tui.plain.plain_chat import run_plain
    from forge_tui.terminal.first_paint import launcher

    launcher.restore()
    return run_plain(config, resume=resume)


def _plain(options: argparse.Namespace, config: ForgeConfig, message: str) -> int:
    """Run the conversation as lines of text."""
    from forge_core.errors import ForgeError
    from forge_tui.plain.plain_chat import run_plain

    gc.enable()
    try:
        return run_plain(
            config,
            resume=_saved_session(options, config),
            picks_session=options.resume == "",
            first_message=message,
        )
    except (ForgeError, BrokenPipeError):
        raise
    except Exception as error:
        return _crash(config, error)


def _replay(options: argparse.Namespace) -> int:
    """Play a saved session: as `_chat`, with another app."""
    gc.disable()
    from forge_tui.terminal.terminal_check import terminal_problem

    if problem := terminal_problem("forge replay", "forge sessions show ID"):
        return _fail(problem)
    from forge_core.runtime import load_session_config
    from forge_tui.first_frame import FirstFrame

    config = load_session_config()

    def run() -> int:
        from forge_core.runtime import make_redactor
        from forge_core.session.playback import Playback, load_recording
        from forge_core.session.saved_sessions import SavedSessions
        from forge_tui.replay import run_replay

        saved = load_recording(options.id, SavedSessions(config.state_dir, make_redactor(config)))
        return run_replay(config, Playback(saved, until=options.until), speed=options.speed)

    return _show(config, FirstFrame(config, is_replay=True), run)


def _saved_session(options: argparse.Namespace, config: ForgeConfig) -> str | None:
    """Return the id of the session to continue; None for a new one."""
    if not (options.continues or options.resume):
        if options.fork:
            from forge_core.errors import ConfigError

            raise ConfigError("--fork needs a session to copy: add --continue, or --resume ID.")
        return None
    from forge_core.runtime import make_redactor
    from forge_core.session.saved_sessions import SavedSessions

    sessions = SavedSessions(config.state_dir, make_redactor(config))
    is_latest = options.continues
    found = sessions.latest(config.working_dir).id if is_latest else sessions.id_of(options.resume)
    return sessions.fork(found) if options.fork else found


def _strict_refusal(config: ForgeConfig) -> int:
    """Return the exit code if the sandbox is required and unavailable; otherwise 0."""
    if config.sandbox != "strict":
        return 0
    from forge_core.exit_codes import ExitCode
    from forge_core.runtime import strict_sandbox_problem

    problem = strict_sandbox_problem(config)
    return _fail(problem, ExitCode.PROVIDER) if problem else 0


def _show(config: ForgeConfig, first_frame: FirstFrame, run: Callable[[], int], text: str = "") -> int:
    """Paint the first frame, with `text` in its input line, and run an app; restore the terminal however it
    ends."""
    from forge_tui.pastes.folded_text import with_labels
    from forge_tui.terminal.first_paint import launcher

    launcher.paint(first_frame, with_labels(text))
    from forge_core.errors import ForgeError

    try:
        return run()
    except ForgeError:
        launcher.restore()
        raise
    except Exception as error:
        launcher.restore()
        return _crash(config, error)
    finally:
        launcher.restore()


def _config(options: argparse.Namespace) -> int:
    """List or change settings."""
    from forge_core.headless.config_actions import run_action
    from forge_core.runtime import load_session_config
    from forge_tui.theme_files import theme_names

    config = load_session_config()
    return run_action(options, config, lambda: theme_names(config.config_dir / "themes"))


def _auth(options: argparse.Namespace) -> int:
    """Save or remove a key, or list the endpoints that have one."""
    from forge_core.config.load import state_dir
    from forge_core.headless.auth_actions import run_action

    return run_action(options, state_dir(os.environ))


def _doctor(options: argparse.Namespace) -> int:
    """Check what Forge needs; also with settings that cannot be loaded."""
    from forge_core.errors import ForgeError
    from forge_core.headless.doctor import run_doctor
    from forge_core.runtime import load_session_config
    from forge_tui.terminal.colours import detect

    if options.path == "keys":
        from forge_tui.keys.echo import run_key_echo

        return run_key_echo(load_session_config().config_dir)
    config, problem = None, ""
    try:
        config = load_session_config(options.path)
    except ForgeError as error:
        problem = str(error)
    colours = detect(os.environ).name.lower().replace("_", " ")
    return run_doctor(config, problem, colours=colours, background=_background(), as_json=options.json)


def _background() -> str:
    """Ask the terminal for its background; return "" if there is none that can be asked."""
    from forge_tui.terminal.background import ask_terminal, can_ask

    if not (os.isatty(0) and os.isatty(1) and can_ask(os.environ)):
        return ""
    return str(ask_terminal() or "not known: the terminal does not say")


def _completion(options: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    from forge_tui.cli_reference.completion import script

    print(script(options.shell), end="")
    return 0


def _man(options: argparse.Namespace) -> int:
    """Print the manual page."""
    from forge_core import __version__
    from forge_core.config.settings import SETTINGS
    from forge_tui.arguments import build_parser
    from forge_tui.cli_reference.man_page import man_page

    variables = {one.variable: one.summary for one in SETTINGS.values() if one.variable}
    print(man_page(build_parser(), __version__, variables), end="")
    return 0


def _acp(options: argparse.Namespace) -> int:
    """Serve an editor."""
    from forge_core.integrations.acp.program import run_acp

    return run_acp(lambda folder: _session_config(options, folder))


_PROGRAMS = {
    "chat": _chat,
    "run": _run,
    "batch": _batch,
    "sessions": _sessions,
    "replay": _replay,
    "usage": _usage,
    "config": _config,
    "auth": _auth,
    "hooks": _hooks,
    "mcp": _mcp,
    "doctor": _doctor,
    "completion": _completion,
    "man": _man,
    "acp": _acp,
}


def _fail(text: str, code: int | None = None) -> int:
    """Print `text` as an error and return `code`, by default that of a usage error."""
    import contextlib

    from forge_core.exit_codes import ExitCode
    from forge_core.runtime import make_redactor
    from forge_core.sanitize import safe_line

    with contextlib.suppress(OSError):  # the terminal has been closed
        print(f"forge: {safe_line(make_redactor()(text))}", file=sys.stderr)
    return ExitCode.USAGE if code is None else code


def _crash(config: ForgeConfig, error: Exception) -> int:
    """Write the traceback to a private file; print one line that names it."""
    from forge_core.exit_codes import ExitCode
    from forge_core.runtime import make_redactor
    from forge_tui.crash import write_crash_report

    redact = make_redactor(config)
    where = write_crash_report(config.state_dir, error, redact)
    words = redact(f"{type(error).__name__}: {error}")
    return _fail(f"Forge failed: {words}. The details are in {where}", ExitCode.CRASH)


def _silence_stdout() -> None:
    # The reader of our output has exited; Python would report that again when it flushes at exit.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
