"""`forge auth`: keys of endpoints, saved for the user, checked before, and never printed."""

from __future__ import annotations

import asyncio
import os
import sys
from getpass import getpass
from typing import TYPE_CHECKING

from forge_core.commands.columns import columns
from forge_core.config.saved_keys import SavedKeys
from forge_core.errors import AuthenticationError, ConfigError, ProviderError
from forge_core.exit_codes import ExitCode
from forge_core.llm.account.key_check import check_key
from forge_core.llm.endpoints import (
    NAMED_KEY_VARIABLE,
    OPENROUTER_URL,
    PROVIDERS,
    clean_url,
    identify,
    shown_url,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path


def run_action(options: argparse.Namespace, state_dir: Path, ask: Callable[[str], str] | None = None) -> int:
    """Do what the options of `forge auth` say; return the exit code. `ask` reads a key without showing it.

    Raises:
        ConfigError: with what is wrong and what to do.
    """
    keys = SavedKeys(state_dir)
    if options.action == "status":
        print(status(keys))
        return ExitCode.COMPLETE
    url = clean_url(options.url or OPENROUTER_URL)
    provider = identify(url)
    if options.action == "logout":
        was_there = keys.remove(url)
        print(
            f"The key for {shown_url(url)} was removed."
            if was_there
            else f"No key is saved for {shown_url(url)}."
        )
        return ExitCode.COMPLETE
    key = (ask or _ask)(f"API key for {provider.label} (it is not shown): ").strip()
    if not key:
        raise ConfigError("No key was given, so that nothing was saved.")
    try:
        found = asyncio.run(check_key(url, key))
    except AuthenticationError as error:
        raise ConfigError(f"The key was not saved: {error}") from error
    except ProviderError as error:
        if not options.no_check:
            raise ConfigError(
                f"The key was not saved, as it could not be checked: {error} Add --no-check to save it "
                "nevertheless."
            ) from error
        found = "not checked"
    saved = keys.save(url, key)
    print(f"Saved for {shown_url(url)} ({found}), in {keys.name_of(saved.place)}")
    if saved.problem:
        print(f"forge: {saved.problem}", file=sys.stderr)
    return ExitCode.COMPLETE


def status(keys: SavedKeys) -> str:
    """Return which endpoints have a key, and where it is from; never a key."""
    rows = [(shown_url(url), f"saved in {keys.name_of(place)}") for url, place in keys.places().items()]
    variables = {NAMED_KEY_VARIABLE: "the endpoint that you name"}
    variables |= {one.key_variable: shown_url(one.base_url) for one in PROVIDERS.values() if one.key_variable}
    rows += [
        (url, f"in {name}, which comes before a saved key")
        for name, url in variables.items()
        if os.environ.get(name, "").strip()
    ]
    return columns(rows) if rows else "No key is saved or set. forge auth login saves one for OpenRouter."


def _ask(prompt: str) -> str:
    """Read a key: hidden at a terminal, else one line of standard input."""
    try:
        return getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    except EOFError:  # Ctrl+D
        return ""
