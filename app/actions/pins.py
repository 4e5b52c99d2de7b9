"""Pinning messages: what is pinned survives every summary word for word (spec 2, C4)."""

from app.actions.session import NONE_OPEN
from app.commands.context import Context
from app.commands.registry import action
from app.screens.base.picker import Picker, Row
from app.text.excerpt import excerpt
from app.toolkit.tasks import show_dialog

SHOWN = 200
"""Characters of a message that its row begins with, more than fit one line."""


@action("session.pin", "Pin a message, or no longer", "Session", slash=("pin", "unpin"))
async def pin(context: Context, argument: str) -> None:
    """List what can be pinned, the newest first; pinned ones stand on top."""
    from agent.session.context import pins  # brings the harness

    del argument
    session = context.live.session
    if session is None:
        context.tell(NONE_OPEN)
        return
    store = context.live.runtime.store
    found = {p.message_id: p for p in reversed(pins.pinnable(await store.messages(session.id)))}
    rows = [
        Row(
            each.message_id,
            _beginning(each.text if each.role == "user" else excerpt(each.text)),
            group="Pinned" if each.pinned else "Not pinned",
            right="you" if each.role == "user" else "the agent",
        )
        for each in sorted(found.values(), key=lambda each: not each.pinned)
    ]
    chosen = await show_dialog(
        context.app, Picker("Pin a message", rows, empty="Nothing was said yet")
    )
    if chosen is None:
        return
    pinned = not found[chosen].pinned
    await pins.pin(store, chosen, pinned=pinned)
    context.tell("Pinned: every summary keeps it word for word." if pinned else "No longer pinned.")


def _beginning(text: str) -> str:
    words = " ".join(text[: 4 * SHOWN].split())
    return words if len(words) <= SHOWN else f"{words[: SHOWN - 1].rstrip()}…"
