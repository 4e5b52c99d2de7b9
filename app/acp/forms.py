"""The model's questions as forms (``elicitation/create``), for clients that show them: options of
which several may be chosen, and room for an answer in one's own words (spec 11, F3)."""

from typing import cast

from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    TitledMultiSelectItems,
)

from agent.records.requests import Question, QuestionReply
from app.text.sanitize import sanitize, sanitize_line

CHOICE, TEXT = "choice", "text"


async def ask(client: Client, session_id: str, question: Question) -> QuestionReply:
    """Show *question* as a form of a session and wait for what the person says.

    Raises ``RequestError`` where the client cannot show it.
    """
    mode = ElicitationFormSessionMode(session_id=session_id, requested_schema=_schema(question))
    answer = await client.create_elicitation(message=sanitize(question.text), mode=mode)
    if not isinstance(answer, AcceptElicitationResponse):
        return QuestionReply(dismissed=True)
    return _reply(question, answer.content or {})


def _schema(question: Question) -> ElicitationSchema:
    words = ElicitationStringPropertySchema(type="string", title="Your answer")
    if not question.options:
        return ElicitationSchema(properties={TEXT: words}, required=[TEXT])
    options = [
        EnumOption(
            const=str(number),
            title=sanitize_line(option.label),
            description=sanitize_line(option.description) or None,
        )
        for number, option in enumerate(question.options)
    ]
    title = sanitize_line(question.header) or "Your choice"
    words.title = "Or in your own words"
    choice: ElicitationMultiSelectPropertySchema | ElicitationStringPropertySchema
    if question.multiple:
        items = TitledMultiSelectItems(any_of=options)
        choice = ElicitationMultiSelectPropertySchema(type="array", title=title, items=items)
    else:
        choice = ElicitationStringPropertySchema(type="string", title=title, one_of=options)
    return ElicitationSchema(properties={CHOICE: choice, TEXT: words})


def _reply(question: Question, content: dict[str, object]) -> QuestionReply:
    """What was chosen and written; dismissed where that is nothing."""
    chosen = content.get(CHOICE)
    ids = cast("list[object]", chosen) if isinstance(chosen, list) else [chosen]
    labels = tuple(
        option.label for number, option in enumerate(question.options) if str(number) in ids
    )
    written = content.get(TEXT)
    text = written.strip() if isinstance(written, str) else ""
    return QuestionReply(labels, text, dismissed=not (labels or text))
