"""What `forge doctor` finds about the commands, skills, agents and styles that come from files."""

from __future__ import annotations

from collections.abc import Iterator

from forge_core.commands.extension_names import renamed_definitions
from forge_core.commands.findings import Finding, Level
from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.accepted import AcceptedDefinitions
from forge_core.extensions.agents import agents_of
from forge_core.extensions.catalog import ExtensionCatalog, listed, load_catalog
from forge_core.extensions.custom_commands import grant_problems
from forge_core.extensions.locations import ExtensionKind
from forge_core.extensions.skills import LIST_SHARE, skill_list, skills_for_model
from forge_core.sanitize import safe_line

_SECTION = "Extensions"
_MAX_PROBLEMS = 10


def extension_findings(config: ForgeConfig) -> Iterator[Finding]:
    """Yield what counts, and what is wrong with it; one line where nothing comes from files."""
    accepted = AcceptedDefinitions.load(config)
    catalog = load_catalog(config, None if accepted.accepts_all else accepted)  # writes no record
    yield from _counts(catalog)
    yield from _skill_list(catalog, config)
    yield from _renamed(catalog)
    if catalog.pending:
        advice = "Look at them with /extensions, and accept them with /reload accept."
        yield Finding(_SECTION, "left out", catalog.pending_text, Level.WARNING, advice)
    for limit in catalog.limits:
        advice = "Remove files and folders that you do not use."
        yield Finding(_SECTION, "limit", limit, Level.WARNING, advice)
    problems = problems_of(catalog)
    for problem in problems[:_MAX_PROBLEMS]:
        yield Finding(_SECTION, "problem", problem, Level.WARNING, "Correct the file that is named.")
    if len(problems) > _MAX_PROBLEMS:
        more = f"{len(problems) - _MAX_PROBLEMS} more"
        yield Finding(_SECTION, "problem", more, Level.WARNING, "/extensions lists them.")


def problems_of(catalog: ExtensionCatalog) -> list[str]:
    """Return what is wrong with the files, as sentences; safe to display."""
    return [*catalog.problems, *grant_problems(catalog), *_agent_problems(catalog)]


def _agent_problems(catalog: ExtensionCatalog) -> Iterator[str]:
    agents = agents_of(catalog)
    for one in catalog.definitions:
        agent = agents.find(one.qualified_name) if one.kind is ExtensionKind.AGENT else None
        yield from (f"{safe_line(str(one.path))}: {text}." for text in (agent.problems if agent else ()))


def _counts(catalog: ExtensionCatalog) -> Iterator[Finding]:
    if not catalog.definitions:
        yield Finding(_SECTION, "files", "none in use")
    for kind in ExtensionKind:
        count, shadowed = len(catalog.of_kind(kind)), catalog.shadowed(kind)
        hidden = f"; shadowed: {listed([one.qualified_name for one in shadowed])}" if shadowed else ""
        if count:
            yield Finding(_SECTION, f"{kind}s", f"{count:,} in use{hidden}")


def _renamed(catalog: ExtensionCatalog) -> Iterator[Finding]:
    renamed = [*renamed_definitions(catalog)]
    for one in renamed[:_MAX_PROBLEMS]:
        text = f"{one.reason}, so the {one.definition.kind} in {one.definition.path} is reached as {one.name}"
        yield Finding(_SECTION, "name", text, Level.WARNING, "Give it another name.")
    if len(renamed) > _MAX_PROBLEMS:
        more = f"{len(renamed) - _MAX_PROBLEMS} more"
        yield Finding(_SECTION, "name", more, Level.WARNING, "/extensions lists them.")


def _skill_list(catalog: ExtensionCatalog, config: ForgeConfig) -> Iterator[Finding]:
    found = skill_list(skills_for_model(catalog), _window(config))
    if not found.shortened:
        return
    how = "left out" if found.has_only_names else "cut"
    text = (
        f"the descriptions of {found.shortened:,} of {found.total:,} skills are {how}, so that the list "
        f"takes at most {LIST_SHARE:.0%} of the model's window"
    )
    if found.unlisted:
        text += f"; {found.unlisted:,} names are left out too"
    advice = "Remove skills that you do not use, or shorten their descriptions."
    yield Finding(_SECTION, "skill list", text, Level.WARNING, advice)


def _window(config: ForgeConfig) -> int | None:
    """Return the context window of the configured model; None where it is not known without asking."""
    from forge_core.llm.account.catalog import lookup_at
    from forge_core.llm.endpoints import PROVIDERS, identify
    from forge_core.offline.protocol import CONTEXT_LENGTH

    kind, url = config.endpoint.kind, config.endpoint.base_url
    if config.context_window or kind == "offline":
        return config.context_window or CONTEXT_LENGTH
    found = lookup_at(PROVIDERS.get(kind) or identify(url), config.model)
    return None if found is None else found.context_length
