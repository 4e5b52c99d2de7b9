"""The cost of a session as tables."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from app.session.summary import hit_rate
from app.text.sanitize import sanitize_line
from app.text.units import money, tokens
from app.widgets.status import short_model

if TYPE_CHECKING:  # imports the agent
    from agent.session.review.costs import SessionCosts, Spending

COLUMNS = ("input", "read", "written", "output", "thought")
"""Token counts. The second and third are parts of the first, the last is part of the fourth."""

COLUMN_WIDTH = 8
COST_WIDTH = 9
MAX_WIDTH = 86
"""The widest row in cells: numbers far from their names are hard to read."""

NO_USAGE = "Nothing is known yet: the provider has told of no usage."

COLUMNS_BY_WIDTH = ((80, COLUMNS), (60, COLUMNS[:4]))
"""The columns shown from a width on; narrower pages show two of them."""

UNPRICED = 'Some calls have no known price. A model\'s "cost" in the settings sets one.'


def cost_text(costs: "SessionCosts", width: int) -> Content:
    """Return the whole page, *width* cells wide, without columns that do not fit."""
    if not costs.models:
        return Content.styled(NO_USAGE, "$tone-muted")
    width = min(width, MAX_WIDTH)
    columns = next((shown for least, shown in COLUMNS_BY_WIDTH if width >= least), COLUMNS[::3])
    lines = [_headline(costs), *_caching(costs), Content("")]
    lines += _table("By purpose", costs.purposes, columns, width)
    lines.append(Content(""))
    models = [(short_model(name), spent) for name, spent in costs.models]
    lines += _table("By model", models, columns, width)
    lines += [Content(""), _row("Total", costs.total, columns, width, style="bold")]
    if costs.total.unpriced:
        lines += [Content(""), Content.styled(UNPRICED, "$tone-warn")]
    return Content("\n").join(lines)


def _headline(costs: "SessionCosts") -> Content:
    used = costs.total.usage
    note = f"   {tokens(used.input)} tokens in, {tokens(used.output)} out"
    return Content.assemble((_price(costs.total), "bold"), (note, "$tone-muted"))


def _caching(costs: "SessionCosts") -> Iterator[Content]:
    """Yield the cache hit rate of the session and of its last step, if there was any caching."""
    rate, last = hit_rate(costs.total.usage), hit_rate(costs.last)
    if rate is not None:
        more = f", {last:.0%} in the last step" if last is not None else ""
        yield Content.styled(f"{rate:.0%} of the input came from the cache{more}", "$tone-muted")


def _table(
    title: str, rows: "Iterable[tuple[str, Spending]]", columns: tuple[str, ...], width: int
) -> Iterator[Content]:
    head = "".join(f"{name:>{COLUMN_WIDTH}}" for name in columns) + f"{'cost':>{COST_WIDTH}}"
    yield _name_cell(title, "bold", len(head), width) + Content.styled(head, "$tone-muted")
    for name, spent in rows:
        yield _row(name, spent, columns, width)


def _row(
    name: str, spent: "Spending", columns: tuple[str, ...], width: int, style: str = ""
) -> Content:
    usage = spent.usage
    numbers = {
        "input": usage.input,
        "read": usage.cache_read,
        "written": usage.cache_write,
        "output": usage.output,
        "thought": usage.reasoning,
    }
    tail = "".join(f"{tokens(numbers[c]) if numbers[c] else '–':>{COLUMN_WIDTH}}" for c in columns)
    tail += f"{_price(spent):>{COST_WIDTH}}"
    return _name_cell(sanitize_line(name), style, len(tail), width) + Content.styled(tail, style)


def _name_cell(name: str, style: str, taken: int, width: int) -> Content:
    name_width = max(1, width - taken)
    return Content.styled(name, style).truncate(name_width, ellipsis=True, pad=True)


def _price(spent: "Spending") -> str:
    """Return the cost; ``>`` marks a sum that lacks calls without a known price."""
    text = money(spent.cost)
    return f"> {text}" if spent.unpriced and spent.cost is not None else text
