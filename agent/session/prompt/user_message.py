"""The user message that a prompt becomes, and the title of its session."""

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.agents import AgentInfo
from agent.records.ids import new_id
from agent.records.messages import (
    AgentPart,
    MessageWithParts,
    Part,
    Session,
    SubtaskPart,
    TextPart,
    UserMessage,
)
from agent.records.reminders import escape_reminders, reminder
from agent.session.api import PromptInput

DELEGATE = reminder(
    "The user mentioned the sub-agent {name}. Have it do what is asked above: call the task tool "
    "with a prompt that contains everything it needs to know."
)


def user_message(
    session: Session, prompt: PromptInput, default_model: str, now: float, agent: AgentInfo | None
) -> MessageWithParts:
    """Return the message that *prompt* becomes in *session*, whose *agent* is the prompt's. Missing
    values come from the session, then the agent, then the default."""
    own_model, own_effort = (agent.model, agent.effort) if agent is not None else (None, None)
    message = UserMessage(
        id=new_id("msg"),
        session_id=session.id,
        created=now,
        agent=session.agent,
        model=prompt.model or session.model or own_model or default_model,
        effort=prompt.effort or session.effort or own_effort,
        delivery=prompt.delivery,
    )
    return MessageWithParts(message, tuple(_parts(message, prompt, now)))


def _parts(message: UserMessage, prompt: PromptInput, now: float) -> Iterator[Part]:
    def text(words: str, *, synthetic: bool) -> TextPart:
        return TextPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=words,
            started=now,
            ended=now,
            synthetic=synthetic,
        )

    yield text(prompt.visible_text, synthetic=False)
    if prompt.subtask is not None:
        yield SubtaskPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            agent=prompt.subtask.agent,
            description=prompt.subtask.description,
            prompt=prompt.subtask.prompt,
        )
    elif prompt.display_text is not None:
        # A template of a command or an MCP server: no text in it is ours.
        yield text(escape_reminders(prompt.text), synthetic=True)
    if prompt.context:
        yield text(prompt.context, synthetic=True)
    for name in prompt.agents:
        yield AgentPart(
            id=new_id("prt"), session_id=message.session_id, message_id=message.id, name=name
        )
        yield text(DELEGATE.format(name=name), synthetic=True)
    for file in prompt.files:
        yield replace(file, id=new_id("prt"), session_id=message.session_id, message_id=message.id)


def session_after_prompt(
    session: Session, message: UserMessage, prompt: PromptInput, now: float
) -> Session:
    """Return *session* after a prompt: its title, and the settings that the next prompt
    inherits."""
    titled = replace(session, title=session.title or title_of(prompt.visible_text), updated=now)
    if prompt.one_off:
        return titled
    return replace(titled, agent=message.agent, model=message.model, effort=message.effort)


MAX_TITLE = 60
"""Characters of a title at most."""


def title_of(prompt: str) -> str:
    """Return the first words of *prompt* in one line, cut at a word where it is long."""
    text = " ".join(re.sub(r"[`*_#>\x00-\x1f\x7f-\x9f]+", " ", prompt).split())
    if len(text) <= MAX_TITLE:
        return text or "New session"
    cut = text[: MAX_TITLE - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[MAX_TITLE // 2 :] else cut) + "…"
