"""The skills of one session: those that are available, and those that the model has loaded."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from forge_core.errors import ConfigError, ToolError
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.custom_commands import CustomCommand
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind
from forge_core.extensions.skills import (
    SkillList,
    similar_skills,
    skill_list,
    skill_message,
    skill_text,
    skills_for_model,
)
from forge_core.llm.models import Message
from forge_core.permissions.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill as it was sent to the model."""

    name: str
    digest: str
    """Of its file at that time."""
    arguments: str
    text: str
    """What a message of the conversation holds, word for word."""


class SessionSkills:
    """Implements `SkillSource`. The texts of loaded skills are pinned facts: a compaction repeats them as
    they were given, with the arguments that were put in then."""

    def __init__(self, allow: Callable[[Rule], None] = lambda rule: None) -> None:
        """`allow` is called with the rules that a loaded skill grants until the turn ends."""
        self._allow = allow
        self._catalog = ExtensionCatalog()
        self._for_model: list[Definition] = []
        self._list: tuple[int | None, SkillList] | None = None
        self._loaded: dict[str, LoadedSkill] = {}

    @property
    def has_any(self) -> bool:
        return bool(self._for_model)

    @property
    def loaded(self) -> tuple[LoadedSkill, ...]:
        """The skills that the conversation holds, in the order in which they were loaded."""
        return tuple(self._loaded.values())

    def use(self, catalog: ExtensionCatalog) -> None:
        """Use the skills of another catalog from now on. Loaded ones stay as they are until they are loaded
        again."""
        self._catalog, self._for_model, self._list = catalog, skills_for_model(catalog), None

    def listing(self, window: int | None) -> SkillList:
        """Return the section of the system prompt for a model with a window of so many tokens. It is made
        once for each catalog and window."""
        if self._list is None or self._list[0] != window:
            self._list = window, skill_list(self._for_model, window)
        return self._list[1]

    def load(self, name: str, arguments: str) -> str:
        """Return the instructions of a skill; empty if the model has them already. Reads the skill's folder.

        Raises:
            ToolError: there is no such skill for the model, or it cannot take these arguments.
        """
        skill, arguments = self._catalog.find(ExtensionKind.SKILL, name), arguments.strip()
        if skill is None or not (skill.is_for_model or skill.name in self._loaded):
            raise ToolError(self._unknown(name))
        for rule in CustomCommand.of(skill).grants()[0]:
            self._allow(rule)
        known = self._loaded.get(skill.name)
        if known is not None and (known.digest, known.arguments) == (skill.digest, arguments):
            return ""
        try:
            return self._given(skill, arguments, skill_text(skill, arguments))
        except ConfigError as error:
            raise ToolError(str(error)) from error

    def run(self, skill: Definition, arguments: str, body: str) -> str:
        """Return the message that runs a skill for the user, also if it is loaded; `body` is its text with
        the arguments in it. Reads its folder."""
        return self._given(skill, arguments.strip(), skill_message(skill, arguments, body))

    def _given(self, skill: Definition, arguments: str, text: str) -> str:
        self._loaded.pop(skill.name, None)
        self._loaded[skill.name] = LoadedSkill(skill.name, skill.digest, arguments, text)
        return text

    def _unknown(self, name: str) -> str:
        names = [one.name for one in self._for_model]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        found = dict.fromkeys([*near, *similar_skills(self._for_model, name)])
        hint = f" Similar: {', '.join(found)}." if found else " Use one that the system message lists."
        return f"there is no skill {name!r}.{hint}"

    def keep(self, texts: Collection[str]) -> None:
        """Forget the skills whose texts are not among those that the conversation still holds."""
        self._loaded = {name: one for name, one in self._loaded.items() if one.text in texts}

    def fresh(self) -> Self:
        """Return the same skills for another conversation, which has none of them loaded."""
        other = type(self)(self._allow)
        other.use(self._catalog)
        return other

    def forget(self) -> None:
        """Forget what was loaded: the conversation is gone."""
        self._loaded.clear()

    def state(self) -> list[dict[str, Any]]:
        """Return what the journal records of loaded skills."""
        return [asdict(one) for one in self._loaded.values()]

    def restore(self, state: Iterable[Mapping[str, Any]], messages: Iterable[Message]) -> None:
        """Replace what is loaded by what was recorded, as far as the messages hold it: a kill may have come
        before its message was recorded."""
        self.forget()
        recorded = [_restored(one) for one in state]
        texts = [message.text for message in messages] if recorded else []
        self._loaded = {
            one.name: one for one in recorded if one.text and any(one.text in text for text in texts)
        }


def _restored(record: Mapping[str, Any]) -> LoadedSkill:
    return LoadedSkill(
        **{name: str(record.get(name, "")) for name in ("name", "digest", "arguments", "text")}
    )
