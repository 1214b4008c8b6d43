"""Resources of servers in messages: `@SERVER:URI`, and the variables of templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from forge_core.sanitize import safe_line

_VARIABLE = re.compile(r"\{(?P<operator>[+#./;?&]?)(?P<name>[A-Za-z_][\w.]*)[^{}]*\}")
"""An expression of RFC 6570 with one variable, or the first of several. Only with `+` and `#` can a value
have a slash."""


@dataclass(frozen=True, slots=True)
class ResourceMention:
    """A resource that a message mentions."""

    server: str
    uri: str

    @property
    def place(self) -> str:
        """How it was written after the `@`."""
        return f"{self.server}:{self.uri}"


class ResourceOffer(NamedTuple):
    """One way to go on with a mention. Both texts are untrusted."""

    uri: str
    """A URI, or the beginning of the URIs of a template."""
    detail: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class OpenVariable:
    """The variable of a template that is being typed."""

    template: str
    name: str
    before: str
    """The URI up to the variable."""
    typed: str
    given: Mapping[str, str]
    """The variables before it."""


def offers(
    resources: Iterable[Mapping[str, Any]], templates: Iterable[Mapping[str, Any]], typed: str, most: int
) -> list[ResourceOffer]:
    """Return the listed resources and templates that match the beginning of a URI, best first: those whose
    URI begins with it, then those whose URI or name contains it."""
    wanted = typed.lower()
    ranked: list[tuple[bool, ResourceOffer]] = []
    for item in resources:
        uri, name = item.get("uri"), str(item.get("title") or item.get("name") or "")
        if isinstance(uri, str) and can_be_mentioned(uri):
            is_start = uri.lower().startswith(wanted)
            if is_start or wanted in f"{uri}\n{name}".lower():
                ranked.append((not is_start, ResourceOffer(uri, name)))
    for item in templates:
        template, name = item.get("uriTemplate"), str(item.get("title") or item.get("name") or "")
        if isinstance(template, str) and can_be_mentioned(template):
            fixed = template.partition("{")[0]
            if fixed.lower().startswith(wanted) and fixed != typed:
                ranked.append((False, ResourceOffer(fixed, f"{template} {name}".strip(), is_whole=False)))
    ranked.sort(key=lambda row: row[0])
    return [offer for _, offer in ranked[:most]]


def open_variables(templates: Iterable[Mapping[str, Any]], typed: str) -> Iterator[OpenVariable]:
    """Yield the variables of templates that the end of `typed` may be a value of."""
    for item in templates:
        template = item.get("uriTemplate")
        if isinstance(template, str) and (found := _open_variable(template, typed)) is not None:
            yield found


def is_listed(
    resources: Iterable[Mapping[str, Any]], templates: Iterable[Mapping[str, Any]], uri: str
) -> bool:
    """Return whether a URI is one of the resources, or begins as those of a template do."""
    if any(item.get("uri") == uri for item in resources):
        return True
    starts = (str(item.get("uriTemplate", "")).partition("{")[0] for item in templates)
    return any(start and uri.startswith(start) and uri != start for start in starts)


def can_be_mentioned(uri: str) -> bool:
    """Return whether a message can hold a URI as it is: without control and invisible characters, for one."""
    return uri.isprintable() and '"' not in uri and safe_line(uri) == uri


def _open_variable(template: str, typed: str) -> OpenVariable | None:
    """Match the fixed parts of a template one after the other; return the variable at the end."""
    given: dict[str, str] = {}
    at, end = 0, 0
    for found in _VARIABLE.finditer(template):
        fixed = template[end : found.start()]
        if not typed.startswith(fixed, at):
            return None
        at, end = at + len(fixed), found.end()
        following = template[end:].partition("{")[0]
        stop = typed.find(following, at) if following else -1
        if stop < 0:
            is_left = "/" in typed[at:] and found["operator"] not in ("+", "#")
            return None if is_left else OpenVariable(template, found["name"], typed[:at], typed[at:], given)
        given[found["name"]] = typed[at:stop]
        at = stop
    return None
