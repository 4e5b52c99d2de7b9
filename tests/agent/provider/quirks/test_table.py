"""The table of quirk rules: every quirk has a docstring and a test of the same name."""

import ast
from pathlib import Path
from typing import Any

import pytest

from agent.provider.catalog.providers import KNOWN_PROVIDERS, known_provider
from agent.provider.client import Api
from agent.provider.quirks.table import BODY_QUIRKS, REQUEST_QUIRKS, QuirkRule
from agent.provider.quirks.target import Target

NAMES = sorted({line.quirk.__name__ for line in (*REQUEST_QUIRKS, *BODY_QUIRKS)})
TESTS = {
    node.name
    for path in Path(__file__).parent.glob("test_*.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}


@pytest.mark.parametrize("name", NAMES)
def test_each_quirk_documents_its_failure_and_has_its_test(name: str) -> None:
    quirk = next(
        line.quirk for line in (*REQUEST_QUIRKS, *BODY_QUIRKS) if line.quirk.__name__ == name
    )
    assert len(quirk.__doc__ or "") > 35
    assert f"test_{name}" in TESTS


def test_every_provider_of_the_table_is_known() -> None:
    named = {
        site
        for line in (*REQUEST_QUIRKS, *BODY_QUIRKS)
        for site in (*line.providers, *line.not_providers)
    }
    assert named <= KNOWN_PROVIDERS.keys()


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ({}, True), ({"apis": ("gemini",)}, False), ({"apis": ("openai-chat",)}, True),
        ({"providers": ("groq",)}, True), ({"providers": ("xai",)}, False),
        ({"not_providers": ("groq",)}, False),
        ({"models": "qwen"}, True), ({"models": "^3"}, False),
        ({"not_models": "qwen"}, False),
        ({"after_refusal": "tools"}, True), ({"after_refusal": "x"}, False),
        ({"unless_refused": "tools"}, False), ({"unless_refused": "x"}, True),
        ({"providers": ("groq",), "models": "llama"}, False),
    ],
)  # fmt: skip
def test_the_conditions_of_a_rule(line: dict[str, Any], *, holds: bool) -> None:
    api: Api = "openai-chat"
    target = Target(api, "groq", "qwen/qwen3-32b", frozenset({"tools"}))
    found = QuirkRule(REQUEST_QUIRKS[0].quirk, **line)
    assert found.applies_to(target) is holds


@pytest.mark.parametrize(
    ("provider", "url", "site"),
    [
        ("groq", "http://127.0.0.1:1/v1", "groq"), ("mine", "https://api.groq.com/x", "groq"),
        ("mine", "https://API.GROQ.com/x", "groq"), ("mine", "http://[broken", "mine"),
        ("mine", "http://127.0.0.1:8080/v1", "mine"), ("mine", "", "mine"),
    ],
)  # fmt: skip
def test_a_provider_is_recognized_by_its_host(provider: str, url: str, site: str) -> None:
    assert known_provider(provider, url) == site
