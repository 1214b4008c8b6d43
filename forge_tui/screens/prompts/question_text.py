"""What a questionnaire says on the screen, as text safe to show."""

from __future__ import annotations

from textual.content import Content

from forge_core.approval import Question
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui.screens.prompts.answer_sheet import AnswerSheet
from forge_tui.widgets.choices import Choice

OTHER = "Other…"
SEND = "Send these answers"
NO_ANSWER = "no answer"
REVIEW = "Send"
READY = "These are your answers."
NOT_ALL = "These are your answers. What has none, the model decides itself."


def option_rows(sheet: AnswerSheet, at: int) -> list[Choice]:
    """The options of a question, and the row for own words."""
    question = sheet.questions[at]
    rows = [
        _row(number, safe_line(option.label), safe_line(option.description), sheet, at)
        for number, option in enumerate(question.options, 1)
    ]
    words = safe_line(sheet.words(at))
    number = len(question.options) + 1
    sign = _box(bool(words)) if question.multi_select else ""
    mine = f"Other: {words}" if words else OTHER
    return [*rows, Choice(f"{sign}{number} {mine}", "✓" if words and not question.multi_select else "")]


def _row(number: int, label: str, description: str, sheet: AnswerSheet, at: int) -> Choice:
    is_marked = sheet.is_marked(at, number - 1)
    if sheet.questions[at].multi_select:
        return Choice(f"{_box(is_marked)}{number} {label}", detail=description)
    return Choice(f"{number} {label}", "✓" if is_marked else "", description)


def _box(is_marked: bool) -> str:
    return "[x] " if is_marked else "[ ] "


def option_detail(question: Question, index: int, *, is_label_cut: bool, is_description_cut: bool) -> str:
    """All of an option that its own row cannot hold; else empty."""
    if index >= len(question.options) or not (is_label_cut or is_description_cut):
        return ""
    option = question.options[index]
    label, description = safe_line(option.label), safe_line(option.description)
    return ": ".join(text for text in (label if is_label_cut else "", description) if text)


def review_rows(sheet: AnswerSheet) -> list[Choice]:
    """Sending, and each question with its answer."""
    rows = [Choice(f"1 {SEND}")]
    for at, question in enumerate(sheet.questions):
        answer = ", ".join(safe_line(text) for text in sheet.answer(at)) or NO_ANSWER
        rows.append(Choice(f"{at + 2} {safe_line(question.header)}", detail=answer))
    return rows


def tabs(sheet: AnswerSheet, at: int, width: int) -> Content:
    """One word per question, the one that shows standing out, and the review."""
    count = len(sheet.questions)
    room = max((width - 3 * count - 4) // (count + 1) - 2, 4)
    parts: list[Content] = []
    for index in range(count + 1):
        is_review = index == count
        name = REVIEW if is_review else clip(safe_line(sheet.questions[index].header), room)
        sign = "→" if is_review else "✓" if sheet.answer(index) else "○"
        text = f"{sign} {name}"
        parts.append(Content.styled(text, "bold $accent") if index == at else Content(text))
    return Content("   ").join(parts)
