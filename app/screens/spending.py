"""The page on spending: what is used of the caps, and what is left at the providers."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import set_cell_size
from textual.content import Content

from agent.records.amounts import duration, tokens
from agent.records.spending import RateLimit, SpendingCap
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.folder_controls import SpendingState

NAMES = {"session": "This session", "day": "Today, all sessions"}
NAME_CELLS, BAR_CELLS = 22, 10
FULL, EMPTY = "█", "░"
HOW = "/budget session $5 or /budget day 2M tokens sets a cap; /budget day off removes it."
_WINDOW = re.compile(r"\d+[hd]")
"""The name of a limit that is a time window: ``5h``."""
NO_LIMITS = "No provider has reported a limit yet."


def spending_text(
    caps: Sequence[SpendingCap],
    limits: Mapping[str, tuple[float, tuple[RateLimit, ...]]],
    now: float,
    width: int,
    *,
    name_of: Callable[[str], str] = str,
) -> Content:
    """Return the whole page, at most *width* cells wide. *name_of* gives a provider's name."""
    lines = [Content.styled("Spending caps", "bold"), *map(_cap_line, caps)]
    lines += [Content(""), Content.styled(HOW, "$tone-muted")]
    for provider, (received, found) in limits.items():
        title = f"Rate limits of {sanitize_line(name_of(provider))}"
        age = f"   {duration(now - received)} ago"
        lines += [Content(""), Content.assemble((title, "bold"), (age, "$tone-muted"))]
        lines += [_limit_line(limit, now) for limit in found]
    if not limits:
        lines += [Content(""), Content.styled(NO_LIMITS, "$tone-muted")]
    wrapped = (part for line in lines for part in (line.wrap(width) or [line]))
    return Content("\n").join(wrapped)


def _cap_line(cap: SpendingCap) -> Content:
    name = set_cell_size(NAMES[cap.scope], NAME_CELLS)
    if cap.amount is None:
        return Content.assemble(name, (f"{cap.format(cap.used)}, no cap", "$tone-muted"))
    used = cap.used / cap.amount
    tone = "$tone-err" if cap.reached else "$tone-warn" if cap.nearly_reached else "$tone-accent"
    spent = cap.format(cap.used).removesuffix(" tokens")
    text = f"  {used:4.0%}   {spent} of {cap.format(cap.amount)}"
    return Content.assemble(name, *_bar(used, tone), text)


def _limit_line(limit: RateLimit, now: float) -> Content:
    pieces: list[str] = []
    if limit.remaining is not None:
        most = f" of {_amount(limit.limit)}" if limit.limit is not None else ""
        pieces.append(f"{_amount(limit.remaining)}{most} left")
    if limit.resets is not None and limit.resets > now:
        pieces.append(f"resets in {duration(limit.resets - now)}")
    name = set_cell_size(sanitize_line(_WINDOW.sub(r"\g<0> window", limit.name)), NAME_CELLS)
    text = ", ".join(pieces)
    if limit.share is None:
        return Content.assemble(name, text)
    used = 1 - limit.share
    tone = "$tone-warn" if limit.share < 0.2 else "$tone-accent"
    return Content.assemble(name, *_bar(used, tone), f"  {used:4.0%}   {text}")


def _amount(number: float | None) -> str:
    return tokens(round(number or 0))


def _bar(share: float, tone: str) -> Iterator[tuple[str, str]]:
    cells = min(BAR_CELLS, round(share * BAR_CELLS))
    yield FULL * cells, tone
    yield EMPTY * (BAR_CELLS - cells), "$tone-faint"


def spending_page(
    found: "SpendingState", name_of: Callable[[str], str]
) -> Callable[[int], Content]:
    """Return the page as a function of the width. *name_of* gives a provider's name."""
    return partial(spending_text, found.caps, found.limits, time.time(), name_of=name_of)
