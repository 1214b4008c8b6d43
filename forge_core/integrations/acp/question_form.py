"""Questions as a form of the client (elicitation), and what the user has filled in as the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from acp import schema

from forge_core.approval import Question, QuestionReply, QuestionRequest
from forge_core.sanitize import safe_line, safe_text

Field: TypeAlias = (
    schema.ElicitationStringPropertySchema
    | schema.ElicitationNumberPropertySchema
    | schema.ElicitationIntegerPropertySchema
    | schema.ElicitationMultiSelectPropertySchema
)
_OWN = "_own_words"
"""Follows the name of a field whose question also takes the user's own words."""
_FORMATS = ("email", "uri", "date", "date-time")


def form_of(request: QuestionRequest) -> schema.ElicitationSchema:
    """Return the form of a request: a field for each question, `q0` and so on."""
    fields: dict[str, Any] = {}
    required: list[str] = []
    for number, question in enumerate(request.questions):
        name = f"q{number}"
        fields[name] = _field(question)
        if question.options and question.words is not None:
            fields[name + _OWN] = schema.ElicitationStringPropertySchema(
                type="string",
                title=f"{safe_line(question.header)}: in your own words",
                default=question.draft or None,
            )
        elif question.is_required or not request.is_form:
            required.append(name)
    return schema.ElicitationSchema(properties=fields, required=required)


def message_of(request: QuestionRequest) -> str:
    """Return the text above the form."""
    if request.server:
        return f"The MCP server {safe_line(request.server)} asks:"
    if request.heading:
        return safe_line(request.heading)
    return safe_line(request.questions[0].text) if len(request.questions) == 1 else "Forge asks:"


def reply_of(request: QuestionRequest, content: Mapping[str, Any]) -> QuestionReply:
    """Return the reply that a form holds.

    Raises:
        ValueError: an answer is not what is wanted; the text says what is.
    """
    answers: list[tuple[str, ...]] = []
    for number, question in enumerate(request.questions):
        chosen = _texts(content.get(f"q{number}"))
        if question.options:
            labels = [one.label for one in question.options]
            chosen = [labels[int(one)] for one in chosen if one.isdecimal() and int(one) < len(labels)]
        if own := _texts(content.get(f"q{number}{_OWN}")):
            is_unchanged = own == _texts(question.draft)  # it was filled in before the user chose
            if not (chosen and is_unchanged):
                chosen = [*chosen, *own] if question.multi_select else own
        problem = question.problem(chosen)
        if problem or not (chosen or request.is_form):
            raise ValueError(problem or f"{question.header} needs an answer.")
        answers.append(tuple(chosen))
    return QuestionReply(tuple(answers))


def _field(question: Question) -> Field:
    about: dict[str, Any] = {
        "title": safe_line(question.header) or None,
        "description": safe_text(question.text),
    }
    if question.options:
        options = [
            schema.EnumOption(
                const=str(number),
                title=safe_line(one.label),
                description=safe_line(one.description) or None,
            )
            for number, one in enumerate(question.options)
        ]
        labels = [one.label for one in question.options]
        default = [str(labels.index(one)) for one in question.default if one in labels]
        if question.multi_select:
            return schema.ElicitationMultiSelectPropertySchema(
                type="array",
                items=schema.TitledMultiSelectItems(any_of=options),
                min_items=question.fewest,
                max_items=question.most,
                default=default or None,
                **about,
            )
        return schema.ElicitationStringPropertySchema(
            type="string", one_of=options, default=next(iter(default), None), **about
        )
    return _words_field(question, about)


def _words_field(question: Question, about: dict[str, Any]) -> Field:
    rule, default = question.words, next(iter(question.default), None)
    if rule is not None and rule.kind == "integer":
        return schema.ElicitationIntegerPropertySchema(
            type="integer",
            minimum=None if rule.least is None else int(rule.least),
            maximum=None if rule.most is None else int(rule.most),
            default=None if default is None else int(default),
            **about,
        )
    if rule is not None and rule.kind == "number":
        return schema.ElicitationNumberPropertySchema(
            type="number",
            minimum=rule.least,
            maximum=rule.most,
            default=None if default is None else float(default),
            **about,
        )
    return schema.ElicitationStringPropertySchema(
        type="string",
        min_length=None if rule is None or rule.least is None else int(rule.least),
        max_length=None if rule is None or rule.most is None else int(rule.most),
        format=rule.kind if rule is not None and rule.kind in _FORMATS else None,
        default=default,
        **about,
    )


def _texts(value: Any) -> list[str]:
    """Return what a field holds as texts; none if it is empty."""
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    return [_text(one) for one in values if one is not None and _text(one)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value).strip()
