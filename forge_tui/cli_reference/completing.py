"""Prints what completes a command line, for the scripts of the shells."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from forge_tui.arguments import build_parser
from forge_tui.cli_reference.completion import CompletionItem, candidates


def print_candidates(words: Sequence[str]) -> int:
    """Print the candidates for the last of the words after `forge`; return the exit code."""
    sources = {
        "ID": _sessions,
        "SESSION": _sessions,
        "THEME": _themes,
        "SETTING": _settings,
        "MODEL": _models,
        "SERVER": _servers,
    }
    print(candidates(build_parser(), words, sources, default="chat").printed(), end="")
    return 0


def _sessions() -> Iterable[CompletionItem]:
    from forge_core.config.load import state_dir
    from forge_core.runtime import make_redactor
    from forge_core.session.saved_sessions import SavedSessions

    saved = SavedSessions(state_dir(os.environ), make_redactor())
    return [CompletionItem(one.id, one.title) for one in saved.list()]


def _themes() -> Iterable[CompletionItem]:
    from forge_core.config.checks import AUTO_THEME
    from forge_core.config.load import config_dir
    from forge_tui.theme_files import theme_names

    return map(CompletionItem, [AUTO_THEME, *theme_names(config_dir(os.environ) / "themes")])


def _settings() -> Iterable[CompletionItem]:
    from forge_core.config.settings import SETTINGS

    return [CompletionItem(name, setting.summary) for name, setting in SETTINGS.items()]


def _servers() -> Iterable[CompletionItem]:
    from forge_core.mcp.server_files import ServerScope, file_of, read_source
    from forge_core.runtime import load_session_config

    config = load_session_config()
    for source in (file_of(scope, config) for scope in (ServerScope.USER, ServerScope.PROJECT)):
        if source.path.exists():
            yield from (CompletionItem(one.name, source.label) for one in read_source(source).servers)


def _models() -> Iterable[CompletionItem]:
    return [CompletionItem("offline", "the built-in model")]
