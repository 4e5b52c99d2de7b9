"""The model picker: favorites, recent models, all others, providers without a key."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content

from agent.provider.catalog.model_order import split_current
from agent.provider.client import ModelInfo
from agent.records.amounts import duration, price, tokens
from agent.records.frozen import frozen
from app.screens.base.picker import Picker, Row
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.session.fallback import FallbackState

CONNECT_PREFIX = "connect:"
"""The prefix of the key of a provider that was chosen instead of a model; its id follows."""

FAVORITES = "Favorites"
RECENT = "Recent"
UNCONNECTED = "Not connected: enter adds the key"
MORE = "More from {title}"

UNKNOWN = "–"
UNITS = ("context", "$/M in", "$/M out")
"""The headings of the columns: tokens, and US dollars per million tokens."""

WIDTHS = (7, 9, 10)
"""The widths of the columns with the space before them, in cells."""


@frozen
class ModelList:
    """The content of the picker."""

    models: Sequence[ModelInfo]
    titles: dict[str, str]
    """The names of providers by id."""
    recent: Sequence[str] = ()
    """Full names of models."""
    favorites: Sequence[str] = ()
    """Full names of models."""
    unconnected: Sequence[Row] = ()
    """Rows of providers without a key."""


def model_row(model: ModelInfo, group: str) -> Row:
    """Return the row of a model: its name, context, and prices of a million tokens."""
    context = tokens(model.context_limit) if model.context_limit else UNKNOWN
    prices = (model.price.input, model.price.output) if model.price else (None, None)
    cells = (context, *map(price, prices))
    return Row(
        key=model.full_name,
        title=model.name or model.id,
        group=group,
        right="".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)),
        group_right="".join(name.rjust(width) for name, width in zip(UNITS, WIDTHS, strict=True)),
    )


def model_rows(models: ModelList) -> list[Row]:
    """Return all rows; each model is listed only once, in the first group it belongs to. Models
    that are not current come after those that are."""
    by_name = {model.full_name: model for model in models.models}
    rows: list[Row] = []
    for group, names in ((FAVORITES, models.favorites), (RECENT, models.recent)):
        for name in names:
            if (model := by_name.pop(name, None)) is not None:
                row = model_row(model, group)
                title = models.titles.get(model.provider, model.provider)
                rows.append(replace(row, note=title))
    more: list[Row] = []
    for provider, found in groupby(by_name.values(), key=lambda model: model.provider):
        title = models.titles.get(provider, provider)
        current, others = split_current(tuple(found))
        rows += [model_row(model, title) for model in current]
        more += [model_row(model, MORE.format(title=title)) for model in others]
    return [*rows, *more, *models.unconnected]


class ModelScreen(Picker):
    """Returns the full name of the chosen model, or ``CONNECT_PREFIX`` and a provider's id.

    *toggle* adds or removes a favorite and returns the new list.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "favorite", "Favorite", priority=True),
    ]

    def __init__(
        self, models: ModelList, *, current: str | None, toggle: Callable[[str], ModelList]
    ) -> None:
        super().__init__(
            "Models",
            model_rows(models),
            current=current,
            hints=(("ctrl+f", "favorite"),),
            empty="No matching models. /connect adds a provider",
        )
        self._toggle = toggle

    def action_favorite(self) -> None:
        row = self.highlighted_row()
        if row is not None and not row.key.startswith(CONNECT_PREFIX):
            self.set_rows(model_rows(self._toggle(row.key)))


# The page on fallback models.

NONE = (
    "No fallback models are set. List them in your settings: "
    '"fallback": {"models": ["provider/model"]}.'
)


STATE_INDENT = " " * 2


def fallback_text(found: "FallbackState", model: str, now: float, width: int) -> Content:
    """Return the page for a session that uses *model*, in rows of *width* cells."""
    from agent.session.fallback import HOW, MODES  # loads the agent package

    lines = [*Content.styled(MODES[found.mode], "bold").wrap(width), Content("")]
    names = list(dict.fromkeys((model, *found.models)))
    column = max(cell_len(sanitize_line(name)) for name in names) + 3
    for place, name in enumerate(names):
        role = f"fallback {place}" if place else "the session's model"
        shown = sanitize_line(name)
        gap = " " * (column - cell_len(shown))
        lines.append(Content.assemble(shown, (f"{gap}{role}", "$tone-muted")))
        if name in found.failures:
            until, reason = found.failures[name]
            again = duration(until - now)
            state = f"failed, tried again in {again}: {sanitize_line(reason)}"
            rows = Content.styled(state, "$tone-warn").wrap(max(1, width - len(STATE_INDENT)))
            lines += [Content(STATE_INDENT) + row for row in rows]
    if not found.models:
        lines += [Content(""), *Content.styled(NONE, "$tone-muted").wrap(width)]
    lines += [Content(""), *Content.styled(HOW, "$tone-muted").wrap(width)]
    return Content("\n").join(lines)
