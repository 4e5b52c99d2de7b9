"""The page of token usage and cost, as bars: by day, model and project."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from app.text.sanitize import sanitize_line
from app.text.units import count, money, tokens

if TYPE_CHECKING:  # imports the agent
    from agent.store.stats import UsageRow, UsageTotal

DEFAULT_DAYS = 30
"""Days that are shown unless another number is given."""
MAX_ROWS = 15
"""Models and projects that are listed, the most used first."""
BAR = "█"
PARTS = " ▏▎▍▌▋▊▉"


def total_tokens(total: "UsageTotal") -> float:
    """Return all tokens of *total*: what the bars measure."""
    return float(total.usage.input + total.usage.output)


def groups(rows: Sequence["UsageRow"]) -> list[tuple[str, Sequence["UsageTotal"]]]:
    """Return the headings with their totals: days in order, the rest by tokens."""
    from agent.store.stats import totals  # imports the agent

    days = totals(rows, lambda row: row.day)
    models = sorted(totals(rows, lambda row: row.model), key=total_tokens, reverse=True)
    places = sorted(totals(rows, lambda row: row.project), key=total_tokens, reverse=True)
    return [
        ("By day", days),
        ("By model", models[:MAX_ROWS]),
        ("By project", places[:MAX_ROWS]),
    ]


def bar(share: float, cells: int) -> str:
    """Return a bar of *share* (0 to 1) of *cells*, in eighths; never empty above 0."""
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return (BAR * whole + (PARTS[rest] if rest else "")).ljust(cells)


def stats_text(rows: Sequence["UsageRow"], width: int) -> Content:
    from agent.store.stats import total  # imports the agent

    if not rows:
        return Content.styled("Nothing was used in this time.", "$tone-muted")
    whole = total("", rows)
    usage = whole.usage
    cached = f"{usage.cache_read / usage.input:.0%} of it cached" if usage.input else ""
    facts = [
        f"in {tokens(usage.input)}" + (f" ({cached})" if cached else ""),
        f"out {tokens(usage.output)}",
        count(whole.steps, "step"),
    ]
    head = Content.assemble((money(whole.cost), "bold"), ("   " + "   ".join(facts), "$tone-muted"))
    return Content("\n\n").join([head, *(_section(*group, width) for group in groups(rows))])


def _section(heading: str, sums: Sequence["UsageTotal"], width: int) -> Content:
    most = max(map(total_tokens, sums), default=0.0)
    names = [_name(each.name) for each in sums]
    name_width = min(max(map(cell_len, names), default=0), max(10, width // 3))
    facts = [f"{tokens(int(total_tokens(each))):>7}  {money(each.cost):>8}" for each in sums]
    cells = max(4, width - name_width - max(map(len, facts), default=0) - 4)
    lines = [Content.styled(heading, "bold")]
    for each, name, fact in zip(sums, names, facts, strict=True):
        share = total_tokens(each) / most if most else 0.0
        lines.append(
            Content.assemble(
                f"{set_cell_size(name, name_width)}  ",
                (bar(share, cells), "$tone-accent"),
                (f"  {fact}", "$tone-muted"),
            )
        )
    return Content("\n").join(lines)


def _name(name: str) -> str:
    """Return a project's last folder, any other name as it is."""
    return (
        sanitize_line(name.rstrip("/").rpartition("/")[2] if name.startswith("/") else name) or "/"
    )
