"""Boxes for dialogs: one whose scrolling parts take the height that the other parts leave, and a
row that wraps."""

from collections.abc import Sequence

from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.geometry import Region, Size
from textual.layout import WidgetPlacement
from textual.layouts.horizontal import HorizontalLayout
from textual.layouts.vertical import VerticalLayout
from textual.scroll_view import ScrollView
from textual.widget import Widget


def shares(wanted: Sequence[int], height: int) -> list[int]:
    """Return *height* divided among parts that want *wanted* rows each: in equal shares, and what
    one part does not need goes to the others. Each part gets a row at least."""
    given = [0] * len(wanted)
    for done, at in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[at] = max(1, min(wanted[at], height // (len(wanted) - done)))
        height -= given[at]
    return given


class FittedLayout(VerticalLayout):
    """The vertical layout, in which widgets that scroll shrink until everything fits.

    Textual lets a box with an automatic height grow to its maximum and cuts off what is below.
    """

    name = "fitted"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        placements = super().arrange(parent, children, size, greedy)
        last = placements[-1] if placements else None
        excess = last.region.bottom + last.margin.bottom - size.height if last else 0
        elastic = [p for p in placements if isinstance(p.widget, VerticalScroll | ScrollView)]
        if not size.height or excess <= 0 or not elastic:  # without a height it is being measured
            return placements
        wanted = [place.region.height for place in elastic]
        given = dict(
            zip(
                (place.widget for place in elastic),
                shares(wanted, sum(wanted) - excess),
                strict=True,
            )
        )
        moved = 0
        fitted: list[WidgetPlacement] = []
        for place in placements:
            region = place.region.translate((0, -moved))
            height = given.get(place.widget, region.height)
            moved += region.height - height
            fitted.append(place._replace(region=region._replace(height=height)))
        return fitted


class Fitted(Vertical):
    """A vertical box with the fitted layout."""

    def __init__(
        self, *children: Widget, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(*children, id=id, classes=classes)
        self._fitted = FittedLayout()

    @property
    def layout(self) -> FittedLayout:
        return self._fitted


class WrappedLayout(HorizontalLayout):
    """The horizontal layout, with the last widget in a row of its own if it does not fit."""

    name = "wrapped"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        *first, last = super().arrange(parent, children, size, greedy)
        if first and last.region.right > size.width:
            top = max(place.region.bottom for place in first)
            height = last.widget.get_content_height(size, size, size.width)
            last = last._replace(region=Region(0, top, size.width, height))
        return [*first, last]


class Wrapped(Horizontal):
    """A row of widgets with the wrapped layout."""

    def __init__(self, *children: Widget, id: str | None = None) -> None:
        super().__init__(*children, id=id)
        self._wrapped = WrappedLayout()

    @property
    def layout(self) -> WrappedLayout:
        return self._wrapped
