"""What a session has cost, as tables (spec 5, R8; spec 2, C10)."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from app.session.usage import hit_rate
from app.text.sanitize import sanitize_line
from app.text.units import money, tokens
from app.widgets.status import short_model

if TYPE_CHECKING:  # brings the harness
    from agent.session.review.costs import Costs, Spent

COLUMNS = ("input", "read", "written", "output", "thought")
"""Of these the second and third are parts of the first, the last one of the fourth."""

CELLS = 8
MONEY = 9
WIDEST = 86
"""Cells of a row at most: numbers far from their names are hard to read."""

NOTHING = "Nothing is known yet: the provider has told of no usage."

FITTING = ((80, COLUMNS), (60, COLUMNS[:4]))
"""The columns from so many cells on; below that two of them."""

UNPRICED = 'Some calls have no known price. A model\'s "cost" in the settings sets one.'


def cost_text(costs: "Costs", width: int) -> Content:
    """The whole page, *width* cells wide; columns that do not fit are left out."""
    if not costs.models:
        return Content.styled(NOTHING, "$tone-muted")
    width = min(width, WIDEST)
    columns = next((shown for least, shown in FITTING if width >= least), COLUMNS[::3])
    lines = [_headline(costs), *_caching(costs), Content("")]
    lines += _table("By purpose", costs.purposes, columns, width)
    lines.append(Content(""))
    models = [(short_model(name), spent) for name, spent in costs.models]
    lines += _table("By model", models, columns, width)
    lines += [Content(""), _row("Total", costs.total, columns, width, style="bold")]
    if costs.total.unpriced:
        lines += [Content(""), Content.styled(UNPRICED, "$tone-warn")]
    return Content("\n").join(lines)


def _headline(costs: "Costs") -> Content:
    used = costs.total.usage
    note = f"   {tokens(used.input)} tokens in, {tokens(used.output)} out"
    return Content.assemble((_price(costs.total), "bold"), (note, "$tone-muted"))


def _caching(costs: "Costs") -> Iterator[Content]:
    """The cache hit rate of the session and of its last step, where there was any caching."""
    rate, last = hit_rate(costs.total.usage), hit_rate(costs.last)
    if rate is not None:
        more = f", {last:.0%} in the last step" if last is not None else ""
        yield Content.styled(f"{rate:.0%} of the input came from the cache{more}", "$tone-muted")


def _table(
    title: str, rows: "Iterable[tuple[str, Spent]]", columns: tuple[str, ...], width: int
) -> Iterator[Content]:
    head = "".join(f"{name:>{CELLS}}" for name in columns) + f"{'cost':>{MONEY}}"
    yield _named(title, "bold", len(head), width) + Content.styled(head, "$tone-muted")
    for name, spent in rows:
        yield _row(name, spent, columns, width)


def _row(
    name: str, spent: "Spent", columns: tuple[str, ...], width: int, style: str = ""
) -> Content:
    usage = spent.usage
    numbers = {
        "input": usage.input,
        "read": usage.cache_read,
        "written": usage.cache_write,
        "output": usage.output,
        "thought": usage.reasoning,
    }
    tail = "".join(f"{tokens(numbers[c]) if numbers[c] else '–':>{CELLS}}" for c in columns)
    tail += f"{_price(spent):>{MONEY}}"
    return _named(sanitize_line(name), style, len(tail), width) + Content.styled(tail, style)


def _named(name: str, style: str, taken: int, width: int) -> Content:
    room = max(1, width - taken)
    return Content.styled(name, style).truncate(room, ellipsis=True, pad=True)


def _price(spent: "Spent") -> str:
    """A sum that leaves calls out says so."""
    text = money(spent.cost)
    return f"> {text}" if spent.unpriced and spent.cost is not None else text
