"""The model picker: favourites, those used last, all others with context and price, and the
providers that lack a key (spec 8, U11)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.provider.client import ModelInfo
from app.screens.base.picker import Picker, Row
from app.text.units import price, tokens

CONNECT_PREFIX = "connect:"
"""Begins the key of a provider that is chosen instead of a model; its id follows."""

FAVORITES = "Favourites"
RECENT = "Recent"
UNCONNECTED = "Not connected"


@dataclass(frozen=True, slots=True)
class ModelList:
    """What the picker shows. *titles* are the names of providers by id, *unconnected* rows of
    those without a key, *recent* and *favourites* full names of models."""

    models: Sequence[ModelInfo]
    titles: dict[str, str]
    recent: Sequence[str] = ()
    favorites: Sequence[str] = ()
    unconnected: Sequence[Row] = ()


def model_row(model: ModelInfo, group: str) -> Row:
    """How a model is listed: its name, context, and the price of a million tokens in and out."""
    facts: list[str] = []
    if model.context_limit:
        facts.append(f"{tokens(model.context_limit)} context")
    if model.price is not None:
        facts.append(f"{price(model.price.input)} / {price(model.price.output)}")
    return Row(
        key=model.full_name, title=model.name or model.id, note="  ".join(facts), group=group
    )


def model_rows(listed: ModelList) -> list[Row]:
    """All rows; a model stands in one place only, the first that it belongs to."""
    by_name = {model.full_name: model for model in listed.models}
    rows: list[Row] = []
    for group, names in ((FAVORITES, listed.favorites), (RECENT, listed.recent)):
        for name in names:
            if (model := by_name.pop(name, None)) is not None:
                row = model_row(model, group)
                title = listed.titles.get(model.provider, model.provider)
                rows.append(replace(row, note=f"{title}  {row.note}".rstrip()))
    others = [
        model_row(model, listed.titles.get(model.provider, model.provider))
        for model in by_name.values()
    ]
    return [*rows, *others, *listed.unconnected]


class ModelScreen(Picker):
    """Gives back the full name of the chosen model, or ``CONNECT`` and a provider's id.

    *toggle* marks or unmarks a favourite and gives back what is listed then.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "favourite", "Favourite", priority=True),
    ]

    def __init__(
        self, listed: ModelList, *, current: str | None, toggle: Callable[[str], ModelList]
    ) -> None:
        super().__init__(
            "Models",
            model_rows(listed),
            current=current,
            hints=(("ctrl+f", "favourite"),),
            empty="No model fits. /connect adds a provider",
        )
        self._toggle = toggle

    def action_favourite(self) -> None:
        row = self.highlighted_row()
        if row is not None and not row.key.startswith(CONNECT_PREFIX):
            self.set_rows(model_rows(self._toggle(row.key)))
