"""The model picker: what can be used here, with context and price (spec 8, U11)."""

from collections.abc import Sequence

from agent.provider.client import ModelInfo
from app.screens.picker import Picker, Row
from app.words import tokens


def model_row(model: ModelInfo) -> Row:
    """How a model is listed: its name, context and price per million tokens."""
    facts: list[str] = []
    if model.context_limit:
        facts.append(f"{tokens(model.context_limit)} context")
    if model.price is not None:
        facts.append(f"${model.price.input:g} in, ${model.price.output:g} out")
    if model.reasoning:
        facts.append("reasons")
    return Row(
        key=model.full_name,
        title=model.name or model.id,
        note="  ".join(facts),
        group=model.provider,
    )


class ModelScreen(Picker):
    """Gives back the full name (``provider/model``) of the chosen model."""

    def __init__(self, models: Sequence[ModelInfo], *, current: str | None) -> None:
        rows = [model_row(model) for model in sorted(models, key=lambda m: m.provider)]
        super().__init__("Models", rows, current=current, empty="No model fits")
