"""Pins: text that a compaction keeps word for word.

The session's first request, messages that the user pinned, the to-do list, loaded skills. The
project's instructions are restated with the session block of the system prompt.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Literal

from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.messages import Completed, FilePart, MessageWithParts, TextPart, ToolPart
from agent.session.context.budget import estimate_tokens
from agent.session.context.compaction_markers import is_request
from agent.store.store import Store

MIN_PIN_TOKENS = 60
"""Tokens that a pin gets, however many there are."""

MAX_LATE_PIN_TOKENS = 2_000
"""Tokens at most of a message that is pinned after its compaction."""

CUT = "[… {left_out:,} characters are omitted here. The full text is in {where} …]"
TODO_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


@frozen
class Pin:
    heading: str
    text: str


def collect_pins(
    messages: Sequence[MessageWithParts],
    pinned: AbstractSet[str],
    todos: Sequence[TodoItem],
    tail: AbstractSet[str],
) -> tuple[Pin, ...]:
    """Return the pins of *messages*, which contain at least those that a compaction preserves
    (``Store.preserved_messages``). *pinned* are the ids of messages that the user pinned, *tail*
    those of messages that are kept as they are."""
    pins: list[Pin] = []
    first = next((item for item in messages if is_request(item)), None)
    if first is not None and first.message.id not in tail and (text := _message_text(first)):
        pins.append(Pin("The user's first request, word for word", text))
    for item in messages:
        message = item.message
        if message.id in pinned - tail and item is not first and (text := _message_text(item)):
            who = "The user" if message.role == "user" else "You"
            pins.append(Pin(f"{who} said this, and the user pinned it", text))
    if todos:
        lines = [f"{TODO_MARKS[todo.status]} {todo.content} ({todo.priority})" for todo in todos]
        pins.append(Pin("The to-do list", "\n".join(lines)))
    skills = dict(_loaded_skills(messages))
    shown = {name for name, part in skills.items() if part.message_id in tail}
    for name, part in skills.items():
        if name not in shown and isinstance(part.state, Completed):
            pins.append(Pin(f"The skill {name}, which you loaded", part.state.output))
    return tuple(pins)


@frozen
class PinnableMessage:
    """A message that the user can pin, with its *text*."""

    message_id: str
    role: Literal["user", "assistant"]
    text: str
    pinned: bool


def pinnable_messages(messages: Sequence[MessageWithParts]) -> tuple[PinnableMessage, ...]:
    """Return the messages that the user can pin: finished ones with text."""
    return tuple(
        PinnableMessage(item.message.id, item.message.role, text, item.message.pinned)
        for item in messages
        if (is_request(item) or getattr(item.message, "completed", None))
        and (text := _message_text(item))
    )


async def set_pinned(store: Store, message_id: str, *, pinned: bool) -> None:
    """Pin a finished message, or unpin it; does nothing if it is gone."""
    stored = await store.message(message_id)
    if stored is not None:
        await store.save(replace(stored.message, pinned=pinned))


def late_pins(messages: Iterable[MessageWithParts], save: Callable[[str], str]) -> dict[str, str]:
    """Return the texts of *messages*, which the user pinned after their compaction, by id. A long
    one is cut in the middle; *save* stores the whole and returns the file."""
    return {
        item.message.id: _fit(_message_text(item), MAX_LATE_PIN_TOKENS, save) for item in messages
    }


def _message_text(item: MessageWithParts) -> str:
    texts = [part.text for part in item.parts if isinstance(part, TextPart) and not part.synthetic]
    named = [f"[attached: {p.path}]" for p in item.parts if isinstance(p, FilePart) and p.path]
    return "\n".join([*texts, *named]).strip()


def _loaded_skills(messages: Sequence[MessageWithParts]) -> Iterator[tuple[str, ToolPart]]:
    """Yield the loaded skills by name; the later call of one that was loaded again."""
    for item in messages:
        for part in item.parts:
            if isinstance(part, ToolPart) and part.tool == "skill":
                state = part.state
                name = state.label.object if isinstance(state, Completed) else ""
                if name:
                    yield name, part


def pinned_text(pins: Sequence[Pin], max_tokens: float, save: Callable[[str], str]) -> str:
    """Return *pins* under their headings in some *max_tokens* estimated tokens. One that does not
    fit is cut in the middle; *save* stores the whole and returns the file."""
    shares = _shares([estimate_tokens(pin.text) for pin in pins], max_tokens)
    sections = [
        f"# {pin.heading}\n\n{_fit(pin.text, share, save)}"
        for pin, share in zip(pins, shares, strict=True)
    ]
    return "\n\n".join(sections)


def _shares(sizes: Sequence[int], most: float) -> list[float]:
    """Return the tokens of each pin: small ones are whole, the large ones share the rest."""
    shares = [0.0] * len(sizes)
    left = most
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, index in enumerate(order):
        shares[index] = min(float(sizes[index]), max(MIN_PIN_TOKENS, left / (len(order) - done)))
        left -= shares[index]
    return shares


def _fit(text: str, share: float, save: Callable[[str], str]) -> str:
    size = estimate_tokens(text)
    if size <= share:
        return text
    chars = max(0, int(len(text) * share / size))
    head, tail = chars * 2 // 3, chars // 3
    notice = CUT.format(left_out=len(text) - head - tail, where=save(text))
    return f"{text[:head]}\n{notice}\n{text[len(text) - tail :]}"
