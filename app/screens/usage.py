"""Pages on usage: what fills the context, the cost of a session, and statistics over days."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from agent.records.amounts import count, money, tokens
from app.session_state.session_facts import hit_rate
from app.text.sanitize import sanitize_line
from app.widgets.status import short_model

if TYPE_CHECKING:  # imports the agent
    from agent.records.messages import CacheMiss
    from agent.session.review.context_usage import ContextUsage, SourceGroup
    from agent.session.review.costs import SessionCosts, Spending
    from agent.store.stats import UsageRow, UsageTotal


GROUPS: "tuple[tuple[SourceGroup, str, str], ...]" = (
    ("system", "System prompt", "$tone-blue"),
    ("tools", "Tools", "$tone-plan"),
    ("messages", "Messages", "$tone-accent"),
    ("output", "Tool output", "$tone-text"),
)
FULL, FREE, RESERVED = "█", "░", "▒"
NUMBERS_WIDTH = 16
"""Cells for a row's numbers: tokens, then the share of the window."""


def context_usage_text(contents: "ContextUsage", width: int) -> Content:
    lines = [_headline(contents, width), Content(""), bar(contents, width), Content("")]
    lines += _cache_lines(contents, width)
    for group, title, tone in GROUPS:
        sources = contents.in_group(group)
        if not sources:
            continue
        total = contents.total(group)
        lines.append(_row(f"{FULL} ", tone, title, total, contents, width, style="bold"))
        lines += [_row("  ", tone, s.name, s.tokens, contents, width) for s in sources]
    lines += _free_rows(contents, width)
    return Content("\n").join(lines)


def _headline(contents: "ContextUsage", width: int) -> Content:
    """Return the total; how it was measured and the model are added where they fit."""
    text = f"{tokens(contents.used)} tokens"
    if contents.window is not None:
        share = contents.used / contents.window
        text = f"{tokens(contents.used)} of {tokens(contents.window)} tokens, {share:.0%}"
    how = "as counted by the provider" if contents.measured else "estimated"
    limit = "" if contents.window is not None else "the size of the context window is unknown"
    model = sanitize_line(short_model(contents.model))
    line = Content.styled(text, "bold")
    for more in (how, limit, model):
        longer = line + Content.styled(f"   {more}", "$tone-muted")
        line = longer if more and longer.cell_length <= width else line
    return line.truncate(width, ellipsis=True)


def _free_rows(contents: "ContextUsage", width: int) -> list[Content]:
    if contents.free is None:
        return []
    reserved = contents.reserved or 0
    return [
        _row(f"{FREE} ", "$tone-faint", "Free", contents.free, contents, width, style="bold"),
        _row(
            f"{RESERVED} ",
            "$tone-faint",
            "Reserved for the response",
            reserved,
            contents,
            width,
            style="bold",
        ),
    ]


MAX_MISSES = 3
"""Cache misses that are listed, newest first."""


def _cache_lines(contents: "ContextUsage", width: int) -> Iterator[Content]:
    """Yield the hit rate of the last request, and the newest misses with their causes."""
    rate = hit_rate(contents.last)
    if rate is None and not contents.misses:
        return
    heading = Content.styled("Prompt cache", "bold")
    if rate is not None:
        heading += Content.styled(
            f"   {rate:.0%} of the last request came from the cache", "$tone-muted"
        )
    yield heading.truncate(width, ellipsis=True)
    for miss in contents.misses[:MAX_MISSES]:
        yield from cache_miss_lines(miss, width)
    if (more := len(contents.misses) - MAX_MISSES) > 0:
        yield Content.styled(f"{more} more, which /history shows", "$tone-muted")
    yield Content("")


def cache_miss_lines(miss: "CacheMiss", width: int) -> Iterator[Content]:
    """Yield the cause of a miss, and the place where the requests differ."""
    yield from Content.styled(sanitize_line(miss.sentence), "$tone-warn").wrap(width)
    if miss.at is not None:
        yield Content.styled(f"  first difference at byte {miss.at:,}", "$tone-muted")
        for name, text in (("was", miss.was), ("now", miss.now)):
            shown = Content.styled(f"  {name}  {sanitize_line(text) or '(nothing)'}", "$tone-muted")
            yield shown.truncate(width, ellipsis=True)


def _row(
    mark: str,
    tone: str,
    name: str,
    size: int,
    contents: "ContextUsage",
    width: int,
    style: str = "",
) -> Content:
    whole = contents.window or contents.used or 1
    share = size / whole
    shown = f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"
    numbers = f"{tokens(size):>8}{shown:>8}"
    name_width = max(1, width - NUMBERS_WIDTH - 2)
    label = Content.styled(sanitize_line(name), style or "$tone-muted")
    label = label.truncate(name_width, ellipsis=True, pad=True)
    tail = Content.styled(numbers, "" if style else "$tone-muted")
    return Content.assemble((mark, tone)) + label + tail


def bar(contents: "ContextUsage", width: int) -> Content:
    """Return the window from left to right: each group, free space, reserved space."""
    sizes = [(FULL, tone, contents.total(group)) for group, _, tone in GROUPS]
    if contents.free is not None:
        sizes.append((FREE, "$tone-faint", contents.free))
        sizes.append((RESERVED, "$tone-faint", contents.reserved or 0))
    present = [size for size in sizes if size[2] > 0]
    cells = list(_cells([size for _, _, size in present], width))
    parts = [(glyph * n, tone) for (glyph, tone, _), n in zip(present, cells, strict=True)]
    return Content.assemble(*parts)


def _cells(sizes: list[int], width: int) -> Iterator[int]:
    """Yield *width* divided in proportion to *sizes*, at least one cell each."""
    spare = max(0, width - len(sizes))
    total = sum(sizes)
    done = given = 0
    for size in sizes:
        done += size
        end = round(spare * done / total)
        yield 1 + end - given
        given = end


COST_COLUMNS = ("input", "read", "write", "output", "reasoning")
"""Token counts. The second and third are parts of the first, the last is part of the fourth."""

CACHE_COLUMNS = COST_COLUMNS[1:3]
COLUMN_CELLS = 10
COST_CELLS = 9
NO_USAGE = "The provider has reported no usage yet."

COST_COLUMNS_BY_WIDTH = ((80, COST_COLUMNS), (60, COST_COLUMNS[:4]), (44, COST_COLUMNS[::3]))
"""The columns shown from a width on; narrower pages show none of them."""

UNPRICED = 'Some calls have no known price. A model\'s "cost" in the settings sets one.'


def cost_text(costs: "SessionCosts", width: int) -> Content:
    """Return the whole page, *width* cells wide, without columns that do not fit."""
    if not costs.models:
        return Content.styled(NO_USAGE, "$tone-muted")
    columns = next((shown for least, shown in COST_COLUMNS_BY_WIDTH if width >= least), ())
    lines = [_cost_headline(costs), *_caching(costs), Content("")]
    lines += _table("By purpose", costs.purposes, columns, width)
    lines.append(Content(""))
    models = [(short_model(name), spent) for name, spent in costs.models]
    lines += _table("By model", models, columns, width)
    lines += [Content(""), _cost_row("Total", costs.total, columns, width, style="bold")]
    if costs.total.unpriced:
        lines += [Content(""), Content.styled(UNPRICED, "$tone-warn")]
    return Content("\n").join(lines)


def _cost_headline(costs: "SessionCosts") -> Content:
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
    above = ["cache" if name in CACHE_COLUMNS else "" for name in columns]
    for label, names, last in (("", above, ""), (title, columns, "cost")):
        head = "".join(f"{name:>{COLUMN_CELLS}}" for name in names) + f"{last:>{COST_CELLS}}"
        if head.strip():
            yield _name_cell(label, "bold", len(head), width) + Content.styled(head, "$tone-muted")
    for name, spent in rows:
        yield _cost_row(name, spent, columns, width)


def _cost_row(
    name: str, spent: "Spending", columns: tuple[str, ...], width: int, style: str = ""
) -> Content:
    usage = spent.usage
    numbers = {
        "input": usage.input,
        "read": usage.cache_read,
        "write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
    }
    tail = "".join(f"{tokens(numbers[c]) if numbers[c] else '–':>{COLUMN_CELLS}}" for c in columns)
    tail += f"{_price(spent):>{COST_CELLS}}"
    return _name_cell(sanitize_line(name), style, len(tail), width) + Content.styled(tail, style)


def _name_cell(name: str, style: str, taken: int, width: int) -> Content:
    name_width = max(1, width - taken)
    return Content.styled(name, style).truncate(name_width, ellipsis=True, pad=True)


def _price(spent: "Spending") -> str:
    """Return the cost; ``≥`` marks a sum that lacks calls without a known price."""
    text = money(spent.cost)
    return f"≥ {text}" if spent.unpriced and spent.cost is not None else text


DEFAULT_DAYS = 30
"""Days that are shown unless another number is given."""
MAX_STATS_ROWS = 15
"""Models and projects that are listed, the most used first."""
STATS_BAR = "█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def total_tokens(total: "UsageTotal") -> float:
    """Return all tokens of *total*: what the bars measure."""
    return float(total.usage.input + total.usage.output)


def stats_groups(rows: Sequence["UsageRow"]) -> list[tuple[str, Sequence["UsageTotal"]]]:
    """Return the headings with their totals: days in order, the rest by tokens."""
    from agent.store.stats import totals  # imports the agent

    days = totals(rows, lambda row: row.day)
    models = sorted(totals(rows, lambda row: row.model), key=total_tokens, reverse=True)
    places = sorted(totals(rows, lambda row: row.project), key=total_tokens, reverse=True)
    return [
        ("By day", days),
        ("By model", models[:MAX_STATS_ROWS]),
        ("By project", places[:MAX_STATS_ROWS]),
    ]


def stats_bar(share: float, cells: int) -> str:
    """Return a stats_bar of *share* (0 to 1) of *cells*, in eighths; never empty above 0."""
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return (STATS_BAR * whole + (EIGHTHS[rest] if rest else "")).ljust(cells)


def stats_text(rows: Sequence["UsageRow"], width: int) -> Content:
    from agent.store.stats import total  # imports the agent

    if not rows:
        return Content.styled("No usage in this time.", "$tone-muted")
    whole = total("", rows)
    usage = whole.usage
    cached = f"{usage.cache_read / usage.input:.0%} of it cached" if usage.input else ""
    facts = [
        f"in {tokens(usage.input)}" + (f" ({cached})" if cached else ""),
        f"out {tokens(usage.output)}",
        count(whole.steps, "step"),
    ]
    head = Content.assemble((money(whole.cost), "bold"), ("   " + "   ".join(facts), "$tone-muted"))
    return Content("\n\n").join(
        [head, *(_stats_section(*group, width) for group in stats_groups(rows))]
    )


def _stats_section(heading: str, sums: Sequence["UsageTotal"], width: int) -> Content:
    most = max(map(total_tokens, sums), default=0.0)
    names = [_last_component(each.name) for each in sums]
    name_width = min(max(map(cell_len, names), default=0), max(10, width // 2 - 8))
    facts = [f"{tokens(int(total_tokens(each))):>7}  {money(each.cost):>8}" for each in sums]
    cells = max(4, width - name_width - max(map(len, facts), default=0) - 4)
    lines = [Content.styled(heading, "bold")]
    for each, name, fact in zip(sums, names, facts, strict=True):
        share = total_tokens(each) / most if most else 0.0
        lines.append(
            Content.assemble(
                Content(name).truncate(name_width, ellipsis=True, pad=True) + "  ",
                (stats_bar(share, cells), "$tone-accent"),
                (f"  {fact}", "$tone-muted"),
            )
        )
    return Content("\n").join(lines)


def _last_component(name: str) -> str:
    """Return a project's last folder, any other name as it is."""
    return (
        sanitize_line(name.rstrip("/").rpartition("/")[2] if name.startswith("/") else name) or "/"
    )
