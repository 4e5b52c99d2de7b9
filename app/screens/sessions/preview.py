"""A preview of a session: the text around a search hit, or its newest prompt and response."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from agent.records.errors import SessionNotFound
from agent.records.messages import MessageWithParts, TextPart, UserMessage
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.store.store import Store

BEFORE, AFTER = 160, 600
"""Characters shown before and after the first search word."""
NEWEST_MESSAGES = 12
"""Messages of a session that are searched for its last response."""


async def preview(store: "Store", key: str, typed: str) -> Content:
    """Return the preview for the row *key* (see ``SessionsScreen``) while *typed* is searched
    for."""
    session_id, _, message_id = key.partition(" ")
    try:
        session = await store.session(session_id)
    except SessionNotFound:
        return Content("")
    head = Content.styled(
        sanitize_line(f"{session.directory}   {session.model or ''}   {session.agent}"),
        "$tone-faint",
    )
    lines: list[Content] = [head]
    if message_id:
        item = await store.message(message_id)
        words = typed.lower().split()
        text = next((t for t in _texts(item) if _first_position(t, words) >= 0), "")
        who = "You" if item and isinstance(item.message, UserMessage) else "Agent"
        lines.append(_speaker_line(who, text_around(text, words), words))
    else:
        lines += _newest_exchange(await store.messages(session_id, limit=NEWEST_MESSAGES))
    return Content("\n").join(lines)


def _newest_exchange(messages: Sequence[MessageWithParts]) -> Iterator[Content]:
    """Yield the newest prompt and the newest response."""
    prompt = response = ""
    for item in reversed(messages):
        text = "\n".join(_texts(item)).strip()
        if isinstance(item.message, UserMessage):
            prompt = prompt or ("" if item.message.synthetic else text)
        else:
            response = response or text
    if prompt:
        yield _speaker_line("You", single_line(prompt, 200), ())
    if response:
        yield _speaker_line("Agent", single_line(excerpt(response), AFTER), ())


def _texts(item: MessageWithParts | None) -> list[str]:
    parts = item.parts if item is not None else ()
    return [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]


def _speaker_line(who: str, text: str, words: Sequence[str]) -> Content:
    tone = "$tone-blue" if who == "You" else "$tone-accent"
    return Content.assemble((f"{who}  ", f"bold {tone}"), highlight_words(text, words))


def text_around(text: str, words: Sequence[str]) -> str:
    """Return *text* around the first of *words*, on one line."""
    at = max(0, _first_position(text, words))
    start, end = max(0, at - BEFORE), at + AFTER
    cut = single_line(text[start:end], BEFORE + AFTER)
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def single_line(text: str, max_length: int) -> str:
    """Return at most *most* characters of *text* with single spaces."""
    return " ".join(sanitize(text[: 4 * max_length]).split())[:max_length]


def _first_position(text: str, words: Iterable[str]) -> int:
    found = [at for word in words if (at := text.lower().find(word)) >= 0]
    return min(found, default=-1)


def highlight_words(text: str, words: Sequence[str]) -> Content:
    """Return *text* with all occurrences of *words* highlighted."""
    content, lower = Content(text), text.lower()
    for word in words if len(lower) == len(text) else ():
        at = lower.find(word)
        while at >= 0:
            content = content.stylize("bold $tone-accent", at, at + len(word))
            at = lower.find(word, at + len(word))
    return content
