"""The page on fallback models."""

from typing import TYPE_CHECKING

from textual.content import Content

from agent.records.errors import NothingToDo
from app.text.sanitize import sanitize_line
from app.text.units import duration

if TYPE_CHECKING:  # imports the agent
    from agent.session.fallback import FallbackMode, Fallbacks

MODES: "dict[FallbackMode, str]" = {
    "ask": "You are asked before another model continues.",
    "auto": "Another model continues without asking.",
    "off": "Fallback is off: no other model continues.",
}
NONE = (
    "No fallback models are set. List them in your settings: "
    '"fallback": {"models": ["provider/model"]}.'
)
HOW = "/fallback ask, auto or off changes this; /fallback retry tries failed models again."
RETRY = "retry"


def fallback_text(fallbacks: "Fallbacks", model: str, now: float) -> Content:
    """Return the page for a session that uses *model*."""
    lines = [Content.styled(MODES[fallbacks.mode], "bold"), Content("")]
    for name in dict.fromkeys((model, *fallbacks.models)):
        lines.append(Content(sanitize_line(name)))
        if (until := fallbacks.failed_until(name)) is not None:
            reason = sanitize_line(fallbacks.reason(name))
            state = f"  failed, tried again in {duration(until - now)}: {reason}"
            lines.append(Content.styled(state, "$tone-warn"))
    if not fallbacks.models:
        lines += [Content(""), Content.styled(NONE, "$tone-muted")]
    return Content("\n").join([*lines, Content(""), Content.styled(HOW, "$tone-muted")])


def change_fallback(fallbacks: "Fallbacks", argument: str) -> str:
    """Change the mode until the program ends, or try failed models again; return a sentence.

    Raises ``NothingToDo`` for another argument.
    """
    word = argument.strip().lower()
    if word == RETRY:
        fallbacks.forget_failures()
        return "Every model is tried again with the next message."
    for mode, sentence in MODES.items():
        if mode == word:
            fallbacks.mode = mode
            return sentence
    raise NothingToDo(f"There is no mode {sanitize_line(word)}. {HOW}")
