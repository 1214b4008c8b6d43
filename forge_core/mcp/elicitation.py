"""Questions of servers to the user: a form, or a page to open in the browser.

https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from forge_core.approval import (
    AnswerRule,
    Question,
    Questioner,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
)
from forge_core.mcp.server_questions import ServerQuestion
from forge_core.sanitize import safe_line

MAX_FIELDS = 40
MAX_MESSAGE_CHARS = 4_000
_MAX_OPTIONS = 500
_MAX_LABEL_CHARS = 100
_MAX_HEADER_CHARS = 16
_MAX_TITLE_CHARS = 200
_MAX_DEFAULT_CHARS = 1_000
_MAX_URL_CHARS = 4_000
_YES_NO = {"Yes": True, "No": False}
_FORMATS = ("email", "uri", "date", "date-time")
OPEN, DO_NOT_OPEN = "Open it in the browser", "Do not open it"
ACCEPT, DECLINE = "Yes", "No"
Value: TypeAlias = str | int | float | bool | list[str]

CANCEL: Mapping[str, Any] = {"action": "cancel"}


class UnaskableError(ValueError):
    """A question that cannot be put to the user; the text says why."""


async def answer_to(
    asked: ServerQuestion,
    ask: Questioner,
    open_page: Callable[[str], Awaitable[bool]],
    report: Callable[[str], None],
) -> Mapping[str, Any]:
    """Ask the user, and return the result for the server, as in the protocol. What cannot be asked is
    cancelled; `report` says why, and which page could not be opened."""
    try:
        if asked.params.get("mode") == "url":
            request, url = page_request(asked)
            reply = await ask(request)
            if reply.declined:
                return CANCEL if reply.cancelled else {"action": "decline"}
            if reply.answers != ((OPEN,),):
                return {"action": "decline"}
            if not await open_page(url):
                report(f"No browser could be opened here. Open this page yourself: {url}")
            return {"action": "accept"}
        form = Form.read(asked)
        return form.result(await ask(form.request))
    except UnaskableError as error:
        report(f"The MCP server {asked.server.name!r} was not answered: {error}.")
        return CANCEL


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form."""

    name: str
    question: Question
    values: Mapping[str, Any]
    """Label of an option → its value for the server."""

    def value(self, answer: Sequence[str]) -> Value:
        """Return the value of an answer in which the question finds no problem."""
        found = [self.values.get(text, text) for text in answer]
        if self.question.multi_select:
            return found
        [text] = found
        rule = self.question.words
        if rule is not None and rule.kind in ("number", "integer"):
            return int(text) if rule.kind == "integer" or text.lstrip("+-").isdecimal() else float(text)
        value: Value = text
        return value


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a server."""

    request: QuestionRequest
    fields: tuple[Field, ...]

    @classmethod
    def read(cls, asked: ServerQuestion) -> Form:
        """Return the form of a question of mode `form`. Raises UnaskableError."""
        schema = asked.params.get("requestedSchema")
        schema = schema if isinstance(schema, dict) else {}
        properties, required = schema.get("properties"), schema.get("required")
        properties = properties if isinstance(properties, dict) else {}
        required = required if isinstance(required, list) else []
        if len(properties) > MAX_FIELDS:
            raise UnaskableError(f"its form has {len(properties)} fields; at most {MAX_FIELDS} are shown")
        message = _message(asked)
        fields = []
        for name, property_ in properties.items():
            field = _field(name, property_, message, is_required=name in required)
            if field is not None:
                fields.append(field)
            elif name in required:
                raise UnaskableError(f"the field {name!r} of its form is of a type that Forge does not know")
        if not fields:
            question = Question(
                message, "Confirm", (QuestionOption(DECLINE), QuestionOption(ACCEPT)), words=None
            )
            return cls(QuestionRequest(asked.call_id, (question,), asked.server.name), ())
        questions = tuple(field.question for field in fields)
        request = QuestionRequest(asked.call_id, questions, asked.server.name, is_form=True)
        return cls(request, tuple(fields))

    def result(self, reply: QuestionReply) -> Mapping[str, Any]:
        """Return the result for the server."""
        if reply.declined:
            return CANCEL if reply.cancelled else {"action": "decline"}
        if not self.fields:
            is_accepted = reply.answers == ((ACCEPT,),)
            return {"action": "accept", "content": {}} if is_accepted else {"action": "decline"}
        given = zip(self.fields, reply.answers, strict=False)
        content = {field.name: field.value(answer) for field, answer in given if answer}
        return {"action": "accept", "content": content}


def page_request(asked: ServerQuestion) -> tuple[QuestionRequest, str]:
    """Return the question about a page, of mode `url`, and its URL. Raises UnaskableError."""
    url = str(asked.params.get("url", ""))
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host += f":{parts.port}" if parts.port else ""
    except ValueError:
        host = ""
    is_plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _MAX_URL_CHARS
    if not host or not is_plain or parts.scheme not in ("https", "http") or "@" in parts.netloc:
        raise UnaskableError(f"it asks to open {url[:200]!r}, which is no URL of a web page that Forge opens")
    warning = "" if parts.scheme == "https" else "\nThe connection to it is not encrypted."
    text = f"{_message(asked)}\n\nIt wants you to open a page of {host}{warning}\n{url}"
    options = (QuestionOption(DO_NOT_OPEN), QuestionOption(OPEN, host))
    question = Question(text, "Page", options, words=None)
    return QuestionRequest(asked.call_id, (question,), asked.server.name), url


def _message(asked: ServerQuestion) -> str:
    text = str(asked.params.get("message", "")).strip()
    return text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]}… (shortened)"


def _field(name: str, schema: Any, message: str, *, is_required: bool) -> Field | None:
    """Return a field; None for one of an unknown type."""
    if not isinstance(schema, dict):
        return None
    title = safe_line(str(schema.get("title") or name)[:_MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]
    values, several, rule = _kind(schema)
    if not values and rule is None:
        return None
    about = [title, str(schema.get("description") or "").strip()[:MAX_MESSAGE_CHARS]]
    if rule is not None and rule != AnswerRule():
        about.append(f"Wanted: {rule.wanted}.")
    if isinstance(pattern := schema.get("pattern"), str) and rule is not None:
        about.append(f"Of the form {pattern[:200]}")  # a foreign expression may take for ever to match
    if not is_required:
        about.append("It can be left out.")
    question = Question(
        "\n\n".join(filter(None, [message, "\n".join(filter(None, about))])),
        title if len(title) <= _MAX_HEADER_CHARS else f"{title[: _MAX_HEADER_CHARS - 1]}…",
        tuple(map(QuestionOption, values)),
        several,
        rule,
        _default(schema.get("default"), values, several, rule),
        is_required,
        _count(schema.get("minItems")) if several else None,
        _count(schema.get("maxItems")) if several else None,
    )
    return Field(name, question, values)


def _kind(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool, AnswerRule | None]:
    """Return the options of a field, whether several may be chosen, and what own words must be."""
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array" and isinstance(items, dict):
        return _labelled(items), True, None
    if kind == "boolean":
        return _YES_NO, False, None
    if options := _labelled(schema):
        return options, False, None
    if kind in ("number", "integer"):
        rule = AnswerRule(kind=kind, least=_number(schema, "minimum"), most=_number(schema, "maximum"))
        return {}, False, rule
    if kind == "string":
        format_ = schema.get("format")
        is_known = format_ in _FORMATS
        rule = AnswerRule(
            kind=_text_kind(format_) if is_known else "text",
            least=_number(schema, "minLength"),
            most=_number(schema, "maxLength"),
        )
        return {}, False, rule
    return {}, False, None


def _text_kind(name: Any) -> Literal["email", "uri", "date", "date-time"]:
    kind: Literal["email", "uri", "date", "date-time"] = name
    return kind


def _labelled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an enumeration, each with a label of its own."""
    found: dict[str, Any] = {}
    for title, value in _options(schema):
        name = label = safe_line(title[:_MAX_LABEL_CHARS])[:_MAX_LABEL_CHARS] or "(empty)"
        number = 2
        while label in found:
            label = f"{name} ({number})"
            number += 1
        found[label] = value
    return found


def _options(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = schema.get("enumNames")
    if isinstance(values := schema.get("enum"), list):
        names = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = islice(zip(names, values, strict=True), _MAX_OPTIONS)
        yield from ((str(title), str(value)) for title, value in pairs)
        return
    choices = schema.get("oneOf") or schema.get("anyOf")
    for one in choices[:_MAX_OPTIONS] if isinstance(choices, list) else ():
        if isinstance(one, dict) and "const" in one:
            yield str(one.get("title") or one["const"]), str(one["const"])


def _default(
    default: Any, values: Mapping[str, Any], several: bool, rule: AnswerRule | None
) -> tuple[str, ...]:
    """Return the answer that a form begins with; empty if the default is no answer."""
    wanted = default if several and isinstance(default, list) else [default]
    if values:
        found = [label for label, value in values.items() if any(value == one for one in wanted)]
        return tuple(found if several else found[:1])
    if rule is None or default is None or isinstance(default, bool | list | dict):
        return ()
    is_whole = isinstance(default, float) and default.is_integer()
    text = safe_line(str(int(default) if is_whole else default)[: _MAX_DEFAULT_CHARS + 1])
    return (text,) if len(text) <= _MAX_DEFAULT_CHARS and rule.accepts(text) else ()


def _number(schema: Mapping[str, Any], key: str) -> float | None:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= sys.float_info.max else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
