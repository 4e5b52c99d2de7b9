"""A prompt on its way into the store: the message it becomes (spec 1, L3)."""

from dataclasses import replace

from agent.ids import new_id
from agent.model import MessageWithParts, Session, TextPart, UserMessage
from agent.session.title import title_of
from agent.session.view import PromptInput


def user_message(
    session: Session, prompt: PromptInput, default_model: str, now: float
) -> MessageWithParts:
    """The message that *prompt* becomes in *session*; what it leaves open the session says."""
    message = UserMessage(
        id=new_id("msg"),
        session_id=session.id,
        created=now,
        agent=prompt.agent or session.agent,
        model=prompt.model or session.model or default_model,
        effort=prompt.effort or session.effort,
        delivery=prompt.delivery,
    )
    text = TextPart(
        id=new_id("prt"),
        session_id=session.id,
        message_id=message.id,
        text=prompt.text,
        started=now,
        ended=now,
    )
    attached = tuple(
        replace(f, id=new_id("prt"), session_id=session.id, message_id=message.id)
        for f in prompt.files
    )
    return MessageWithParts(message, (text, *attached))


def remembered(session: Session, message: UserMessage, text: str, now: float) -> Session:
    """*session* as it stands after a prompt: its title, and what the next prompt takes over."""
    return replace(
        session,
        title=session.title or title_of(text),
        agent=message.agent,
        model=message.model,
        effort=message.effort,
        updated=now,
    )
