"""A look into a session before it is opened: where the hit stands, or how it began and ended."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from agent.records.errors import SessionNotFound
from agent.records.messages import MessageWithParts, TextPart, UserMessage
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # brings the harness
    from agent.store.store import Store

BEFORE, AFTER = 160, 600
"""Characters of a text that are shown around the first word that was searched for."""
NEWEST_MESSAGES = 12
"""Newest messages of a session that are looked at for its last answer."""


async def preview(store: "Store", key: str, typed: str) -> Content:
    """What is shown for the row *key* (see ``SessionsScreen``) while *typed* is searched for."""
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
        text = next((t for t in _texts(item) if _at(t, words) >= 0), "")
        who = "You" if item and isinstance(item.message, UserMessage) else "Agent"
        lines.append(_said(who, text_around(text, words), words))
    else:
        lines += _ends(await store.messages(session_id, limit=NEWEST_MESSAGES))
    return Content("\n").join(lines)


def _ends(messages: Sequence[MessageWithParts]) -> Iterator[Content]:
    """The newest prompt and the newest answer."""
    asked = answered = ""
    for item in reversed(messages):
        text = "\n".join(_texts(item)).strip()
        if isinstance(item.message, UserMessage):
            asked = asked or ("" if item.message.synthetic else text)
        else:
            answered = answered or text
    if asked:
        yield _said("You", single_line(asked, 200), ())
    if answered:
        yield _said("Agent", single_line(excerpt(answered), AFTER), ())


def _texts(item: MessageWithParts | None) -> list[str]:
    parts = item.parts if item is not None else ()
    return [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]


def _said(who: str, text: str, words: Sequence[str]) -> Content:
    tone = "$tone-blue" if who == "You" else "$tone-accent"
    return Content.assemble((f"{who}  ", f"bold {tone}"), highlight_words(text, words))


def text_around(text: str, words: Sequence[str]) -> str:
    """*text* around the first of *words*, on one line."""
    at = max(0, _at(text, words))
    start, end = max(0, at - BEFORE), at + AFTER
    cut = single_line(text[start:end], BEFORE + AFTER)
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def single_line(text: str, most: int) -> str:
    """At most *most* characters of *text*, with single blanks."""
    return " ".join(sanitize(text[: 4 * most]).split())[:most]


def _at(text: str, words: Iterable[str]) -> int:
    found = [at for word in words if (at := text.lower().find(word)) >= 0]
    return min(found, default=-1)


def highlight_words(text: str, words: Sequence[str]) -> Content:
    """*text* with every one of *words* set off."""
    content, lowered = Content(text), text.lower()
    for word in words if len(lowered) == len(text) else ():
        at = lowered.find(word)
        while at >= 0:
            content = content.stylize("bold $tone-accent", at, at + len(word))
            at = lowered.find(word, at + len(word))
    return content
