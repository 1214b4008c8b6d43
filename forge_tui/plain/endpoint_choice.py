"""`/connect` in lines: asks for the endpoint, its key, which is not shown, and its model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from forge_core.config.saved_keys import SavedKeys, remember_entered
from forge_core.errors import AuthenticationError, ConfigError, ProviderError
from forge_core.runtime.connecting import name_of, offered, prepare, resolve_with_key, url_of
from forge_core.runtime.endpoint_list import check, endpoint_at, known_endpoints
from forge_core.sanitize import safe_line
from forge_tui.plain.labelled_output import ERROR, NOTICE, QUESTION, STATUS, LabelledOutput

if TYPE_CHECKING:
    from forge_tui.plain.plain_chat import PlainChat

SHOWN_MODELS = 20
OTHER_URL = "Another URL"


class EndpointChoice:
    """Asks in lines what `/connect` needs; what is left empty changes nothing."""

    def __init__(self, chat: PlainChat, out: LabelledOutput) -> None:
        self._chat = chat
        self._out = out

    async def ask(self, base_url: str) -> None:
        """Ask for what is open, and connect; `base_url` is that of an endpoint that is chosen already."""
        try:
            url, is_ready = (base_url, False) if base_url else await self._url()
            if url is None or not (is_ready or await self._has_key(url)):
                return
            model = await self._model(url)
        except ConfigError as error:
            self._out.say(ERROR, str(error))
            return
        if model is not None:
            await self._chat.run_by_name(f"connect {name_of(url)} {model}".rstrip())

    async def _url(self) -> tuple[str | None, bool]:
        """Return the URL of the chosen endpoint, and whether it needs no key."""
        self._out.say(STATUS, "Looking for model servers on this machine.")
        listed = await asyncio.to_thread(known_endpoints, self._chat.session.config)
        rows = [*(f"{one.label}, {one.note or 'needs a key'}" for one in listed), OTHER_URL]
        at = await self._chat.prompts.choose("Connect to which endpoint?", rows, none="stay")
        if at is None:
            return None, False
        if at < len(listed):
            return listed[at].base_url, listed[at].is_ready
        typed = await self._chat.prompts.line("URL (empty: stay): ")
        return (url_of(typed.strip()) if typed and typed.strip() else None), False

    async def _has_key(self, url: str) -> bool:
        """Ask for a key if there is none; return whether the endpoint can be used."""
        endpoint = await asyncio.to_thread(endpoint_at, self._chat.session.config, url)
        if endpoint.is_ready or endpoint.key_source is not None:
            return True
        optional = "" if endpoint.needs_key else ", empty: none"
        typed = await self._chat.prompts.secret(f"API key for {endpoint.label} (it is not shown{optional}): ")
        key = (typed or "").strip()
        if not key:
            return not endpoint.needs_key and typed is not None
        remember_entered(key)
        self._chat.learn_secret(key)
        if (found := await self._checked(url, key)) is None:
            return False
        keys = SavedKeys(self._chat.session.config.state_dir)
        saved = await asyncio.to_thread(keys.save, url, key)
        where = f"The key was saved for {url} ({found}), in {keys.name_of(saved.place)}."
        self._out.say(NOTICE, f"{where} {saved.problem}".rstrip())
        return True

    async def _checked(self, url: str, key: str) -> str | None:
        """Return what the endpoint says of the key; None if it must not be saved."""
        self._out.say(STATUS, "Checking the key.")
        try:
            return await check(self._chat.session.config, url, key)
        except AuthenticationError as error:
            self._out.say(ERROR, f"The key was refused, and not saved: {error}")
        except ProviderError as error:
            self._out.say(ERROR, f"The key could not be checked: {error}")
            at = await self._chat.prompts.choose("Save it?", ["Save it unchecked"], none="do not save it")
            return "not checked" if at is not None else None
        return None

    async def _model(self, url: str) -> str | None:
        """Ask for a model unless the endpoint has a default: then it is empty. None for no change."""
        session = self._chat.session
        if endpoint_at(session.config, url).picks_model:
            return ""
        connection = prepare(session, await asyncio.to_thread(resolve_with_key, session.config, url))
        try:
            known = await offered(connection)
        except ProviderError as error:
            self._out.say(ERROR, f"The endpoint did not list its models. {error}")
            known = ()
        finally:
            await connection.close()
        return await self._choose_model(known)

    async def _choose_model(self, known: tuple[str, ...]) -> str | None:
        found = known
        while True:
            listed = found[:SHOWN_MODELS]
            self._out.say(QUESTION, f"Which model? {len(found):,} of {len(known):,}:")
            for number, name in enumerate(listed, 1):
                self._out.line(f"{number} {safe_line(name)}")
            typed = await self._chat.prompts.line("Answer (a number, a name or its letters, empty: stay): ")
            word = (typed or "").strip()
            if not word:
                return None
            if word.isdecimal() and 1 <= int(word[:6]) <= len(listed):
                return listed[int(word) - 1]
            matching = tuple(name for name in known if word.lower() in name.lower())
            if word in known or not matching:
                return word
            found = matching
