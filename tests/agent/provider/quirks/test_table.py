"""The table itself: every quirk says what it answers, and has a test that bears its name."""

import ast
from pathlib import Path

import pytest

from agent.provider.catalog.providers import KNOWN, site_of
from agent.provider.client import Api
from agent.provider.quirks.table import BODIES, REQUESTS, Line
from agent.provider.quirks.target import Target

NAMES = sorted({line.quirk.__name__ for line in (*REQUESTS, *BODIES)})
TESTS = {
    node.name
    for path in Path(__file__).parent.glob("test_*.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}


@pytest.mark.parametrize("name", NAMES)
def test_r4_each_quirk_tells_its_failure_and_has_its_test(name: str) -> None:
    quirk = next(line.quirk for line in (*REQUESTS, *BODIES) if line.quirk.__name__ == name)
    assert len(quirk.__doc__ or "") > 35
    assert f"test_{name}" in TESTS


def test_every_site_of_the_table_is_a_known_provider() -> None:
    named = {site for line in (*REQUESTS, *BODIES) for site in (*line.sites, *line.elsewhere)}
    assert named <= KNOWN.keys()


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ({}, True), ({"apis": ("gemini",)}, False), ({"apis": ("openai-chat",)}, True),
        ({"sites": ("groq",)}, True), ({"sites": ("xai",)}, False),
        ({"elsewhere": ("groq",)}, False), ({"models": "qwen"}, True), ({"models": "^3"}, False),
        ({"but": "qwen"}, False), ({"once": "tools"}, True), ({"once": "x"}, False),
        ({"until": "tools"}, False), ({"until": "x"}, True),
        ({"sites": ("groq",), "models": "llama"}, False),
    ],
)  # fmt: skip
def test_where_a_line_holds(line: dict[str, object], *, holds: bool) -> None:
    api: Api = "openai-chat"
    target = Target(api, "groq", "qwen/qwen3-32b", frozenset({"tools"}))
    found = Line(REQUESTS[0].quirk, **line)  # pyright: ignore[reportArgumentType]
    assert found.holds(target) is holds


@pytest.mark.parametrize(
    ("provider", "url", "site"),
    [
        ("groq", "http://127.0.0.1:1/v1", "groq"), ("mine", "https://api.groq.com/x", "groq"),
        ("mine", "https://API.GROQ.com/x", "groq"), ("mine", "http://[broken", "mine"),
        ("mine", "http://127.0.0.1:8080/v1", "mine"), ("mine", "", "mine"),
    ],
)  # fmt: skip
def test_a_provider_is_known_by_its_host(provider: str, url: str, site: str) -> None:
    assert site_of(provider, url) == site
