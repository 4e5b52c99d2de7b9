"""Quirks of the temperature and of the output cap."""

from typing import Any

import pytest

from agent.provider.client import Api
from agent.provider.quirks.target import TEMPERATURE
from tests.support.provider_requests import USER, WIRE_APIS, body, model

CLAUDE = "anthropic/claude-sonnet-4-5"


def test_drop_unsupported_temperature() -> None:
    assert "temperature" not in body(model("acme/m", temperature=False), temperature=0.5)
    for name in ("anthropic/claude-opus-4-7", "openrouter/anthropic/claude-opus-4.8"):
        assert "temperature" not in body(name, temperature=0.5)
    for name in ("anthropic/claude-opus-4-6", "acme/m"):
        assert body(name, temperature=0.5)["temperature"] == 0.5


@pytest.mark.parametrize("api", WIRE_APIS)
def test_drop_refused_temperature(api: Api) -> None:
    of = model("acme/m", api)
    assert "temperature" in str(body(of, temperature=0.5))
    assert body(of, temperature=0.5, refused=TEMPERATURE) == body(of)


def test_clamp_temperature_to_one() -> None:
    assert body(CLAUDE, temperature=1.5)["temperature"] == 1.0
    assert body(CLAUDE, temperature=-1.0)["temperature"] == 0.0
    assert body("acme/m", temperature=1.5)["temperature"] == 1.5


def test_clamp_output_cap() -> None:
    assert body(model("acme/m", output_limit=4096), max_output=8000)["max_tokens"] == 4096
    assert body(model("acme/m"), max_output=8000)["max_tokens"] == 8000


def test_set_default_output_cap() -> None:
    assert body(CLAUDE)["max_tokens"] == 8192
    assert body(model(CLAUDE, output_limit=4096))["max_tokens"] == 4096
    assert "max_tokens" not in body("acme/m")


def test_raise_output_cap_to_sixteen() -> None:
    assert body("openai/gpt-5.4", USER, max_output=1, effort="none")["max_output_tokens"] == 16
    assert body("acme/m", max_output=1)["max_tokens"] == 1


def test_add_reasoning_budget_to_output_cap() -> None:
    def cap(effort: str | None, name: str = "acme/m", **more: Any) -> int:
        of = model(name, **more)
        return body(of, effort=effort, max_output=8000)["max_tokens"]

    assert cap(None) == cap("none") == 8000
    assert (cap("low"), cap("max")) == (12_000, 32_000)
    assert cap(None, reasoning=True) == 18_000
    assert cap("high", output_limit=9000) == 9000
    assert cap(None, CLAUDE, reasoning=True) == 8000, "it thinks only on request"
