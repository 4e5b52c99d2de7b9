"""Tests of the effort that a model gets for a requested one."""

import pytest

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.effort_levels import choose_effort
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings

OWN = ProviderSettings(
    id="own",
    api="openai-chat",
    base_url="http://127.0.0.1:1/v1",
    models={
        "claude-thinker": ModelSettings(reasoning=True),
        "thinker": ModelSettings(reasoning=True, efforts=("low", "high")),
        "eager": ModelSettings(reasoning=True, efforts=("low", "high"), effort="high"),
        "plain": ModelSettings(reasoning=False),
    },
)


def chosen(
    name: str, requested: str | None, configured: str | None = None
) -> tuple[str | None, str]:
    catalog = Catalog({"own": OWN}, None, {}, effort=configured)
    return choose_effort(catalog.model(f"own/{name}"), requested)


@pytest.mark.parametrize(
    ("name", "configured", "effort"),
    [
        ("claude-thinker", None, "medium"),
        ("claude-thinker", "none", "none"),
        ("claude-thinker", "high", "high"),
        ("thinker", None, None),
        ("thinker", "max", "high"),
        ("thinker", "no such level", None),
        ("eager", None, "high"),
        ("eager", "low", "high"),
        ("plain", "high", None),
    ],
)
def test_the_default_effort(name: str, configured: str | None, effort: str | None) -> None:
    """Claude reasons only if a request says so; the model's own setting precedes the general
    one."""
    assert chosen(name, None, configured) == (effort, "")


def test_a_requested_effort() -> None:
    assert chosen("thinker", "low", "high") == ("low", "")
    level, note = chosen("thinker", "medium")
    assert level == "low"
    assert "Effort low is used instead of medium" in note
    level, note = chosen("eager", "very hard")
    assert level == "high"
    assert "There is no effort very hard; own/eager has low, high." in note
    assert chosen("plain", "high") == ("high", "")
