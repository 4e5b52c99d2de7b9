"""The page on fallback models."""

from typing import TYPE_CHECKING

from textual.content import Content

from app.text.sanitize import sanitize_line
from app.text.units import duration

if TYPE_CHECKING:  # imports the agent
    from agent.session.fallback import FallbackState

NONE = (
    "No fallback models are set. List them in your settings: "
    '"fallback": {"models": ["provider/model"]}.'
)


def fallback_text(found: "FallbackState", model: str, now: float) -> Content:
    """Return the page for a session that uses *model*."""
    from agent.session.fallback import HOW, MODES  # loads the agent package

    lines = [Content.styled(MODES[found.mode], "bold"), Content("")]
    for name in dict.fromkeys((model, *found.models)):
        lines.append(Content(sanitize_line(name)))
        if name in found.failures:
            until, reason = found.failures[name]
            again = duration(until - now)
            state = f"  failed, tried again in {again}: {sanitize_line(reason)}"
            lines.append(Content.styled(state, "$tone-warn"))
    if not found.models:
        lines += [Content(""), Content.styled(NONE, "$tone-muted")]
    return Content("\n").join([*lines, Content(""), Content.styled(HOW, "$tone-muted")])
