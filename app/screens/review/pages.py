"""The page of a review with the request of a past step."""

from collections.abc import Sequence

from textual.content import Content

from agent.records.messages import (
    AssistantMessage,
    MessageWithParts,
)
from app.screens.base.page import PageScreen
from app.text.sanitize import sanitize

MAX_SECTION = 60_000
"""Characters of a section that are shown, because a page is laid out as a whole."""

LEFT_OUT = (
    "The base system prompt and the tool definitions, the same in every session, are not shown."
)


class PastRequestScreen(PageScreen):
    """Shows the request that *message* responded to as the model got it, with secrets redacted."""

    def __init__(
        self,
        messages: Sequence[MessageWithParts],
        message: AssistantMessage,
        secrets: Sequence[str],
    ) -> None:
        from agent.session.review.past_request import past_request  # imports the provider's records

        sections = [
            Content.assemble((f"{heading}\n", "bold $tone-accent"), sanitize(_cut(text)))
            for heading, text in past_request(messages, message.id, secrets)
        ]
        facts = Content.styled(
            f"{message.model}   agent {message.agent}\n{LEFT_OUT}", "$tone-muted"
        )
        super().__init__(
            f"Request of step {message.step}", Content("\n\n").join([facts, *sections])
        )


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION:
        return text
    return f"{text[:MAX_SECTION]}\n… {len(text) - MAX_SECTION:,} more characters"
