"""The model picker: favorites, recent models, all others, providers without a key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.provider.client import ModelInfo
from app.screens.base.picker import Picker, Row
from app.text.units import price, tokens

CONNECT_PREFIX = "connect:"
"""The prefix of the key of a provider that was chosen instead of a model; its id follows."""

FAVORITES = "Favourites"
RECENT = "Recent"
UNCONNECTED = "Not connected"


@dataclass(frozen=True, slots=True)
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
    facts: list[str] = []
    if model.context_limit:
        facts.append(f"{tokens(model.context_limit)} context")
    if model.price is not None:
        facts.append(f"{price(model.price.input)} / {price(model.price.output)}")
    return Row(
        key=model.full_name, title=model.name or model.id, note="  ".join(facts), group=group
    )


def model_rows(models: ModelList) -> list[Row]:
    """Return all rows; each model is listed only once, in the first group it belongs to."""
    by_name = {model.full_name: model for model in models.models}
    rows: list[Row] = []
    for group, names in ((FAVORITES, models.favorites), (RECENT, models.recent)):
        for name in names:
            if (model := by_name.pop(name, None)) is not None:
                row = model_row(model, group)
                title = models.titles.get(model.provider, model.provider)
                rows.append(replace(row, note=f"{title}  {row.note}".rstrip()))
    others = [
        model_row(model, models.titles.get(model.provider, model.provider))
        for model in by_name.values()
    ]
    return [*rows, *others, *models.unconnected]


class ModelScreen(Picker):
    """Returns the full name of the chosen model, or ``CONNECT_PREFIX`` and a provider's id.

    *toggle* adds or removes a favorite and returns the new list.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "favourite", "Favourite", priority=True),
    ]

    def __init__(
        self, models: ModelList, *, current: str | None, toggle: Callable[[str], ModelList]
    ) -> None:
        super().__init__(
            "Models",
            model_rows(models),
            current=current,
            hints=(("ctrl+f", "favourite"),),
            empty="No model fits. /connect adds a provider",
        )
        self._toggle = toggle

    def action_favourite(self) -> None:
        row = self.highlighted_row()
        if row is not None and not row.key.startswith(CONNECT_PREFIX):
            self.set_rows(model_rows(self._toggle(row.key)))
