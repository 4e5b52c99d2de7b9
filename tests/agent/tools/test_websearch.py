"""The websearch tool: only with an engine, each queried in its own way."""

import json
from pathlib import Path

import pytest

from agent.records.errors import ToolError
from agent.tools.web.client import Web
from agent.tools.web.engines import ENGINES, Engine, engine_of
from agent.tools.websearch import WebsearchTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer
from tests.support.web_server import WebServer, page, redirect

RESULTS = [
    {"title": "One [/x]", "url": "https://a.test/1", "TEXT": "first\n  words\u202e"},
    {"title": "", "url": "https://a.test/2"},
    {"title": "no address"},
    "odd",
]
SHOWN = (
    "1. One [/x]\n   https://a.test/1\n   first words\n\n2. https://a.test/2\n   https://a.test/2"
)


def body(field: str, *path: str) -> str:
    value: object = json.loads(json.dumps(RESULTS).replace("TEXT", field))
    for name in reversed(path):
        value = {name: value}
    return json.dumps(value)


def tool(server: WebServer, provider: str, key: str = "k-123", **headers: str) -> WebsearchTool:
    engine = Engine(provider=provider, url=f"{server.url}/s", key=key, headers=headers)
    return WebsearchTool(engine, Web(proxy_of=lambda _: None))


@pytest.mark.parametrize(
    ("provider", "answered", "method", "header"),
    [
        ("searxng", body("content", "results"), "GET", None),
        ("brave", body("description", "web", "results"), "GET", ("x-subscription-token", "k-123")),
        ("tavily", body("content", "results"), "POST", ("authorization", "Bearer k-123")),
        ("exa", body("text", "results"), "POST", ("x-api-key", "k-123")),
    ],
)
async def test_each_engine_is_queried_in_its_own_way(
    make_context: MakeContext,
    provider: str,
    answered: str,
    method: str,
    header: tuple[str, str] | None,
) -> None:
    async with WebServer({"/s": page(answered, "application/json")}) as server:
        key = "k-123" if header else ""
        search = tool(server, provider, key, **{"x-own": "1"})
        result = await run(search, make_context(), query=" what  is\nit ")
        assert result.output == SHOWN
        assert result.facts == ("2 results",)
        (request,) = server.requests
        assert request.method == method
        assert request.headers["x-own"] == "1"
        assert header is None or request.headers[header[0]] == header[1]
        sent = request.body.decode() or request.path
        assert "what is it" in sent.replace("%20", " ").replace("+", " ")


async def test_the_query_needs_permission(make_context: MakeContext) -> None:
    async with WebServer({}) as server:
        made = await plan(tool(server, "brave"), make_context(), query="x  y")
        (need,) = made.needs
        assert (need.permission, need.pattern, need.always) == ("websearch", "x y", "*")
        assert need.reason == "sent to brave"
        with pytest.raises(ToolError, match="empty"):
            await plan(tool(server, "brave"), make_context(), query="  ")


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (page('{"error": "bad key k-123"}', status=401), r'HTTP 401: {"error": "bad key \*\*\*"}'),
        (page("<html>"), "is not JSON"),
        (redirect("https://elsewhere.test/"), "redirects elsewhere"),
    ],
)
async def test_errors_are_reported_without_the_key(
    make_context: MakeContext, handler, said: str
) -> None:
    async with WebServer({"/s": handler}) as server:
        with pytest.raises(ToolError, match=said) as raised:
            await run(tool(server, "brave"), make_context(), query="x")
        assert "k-123" not in str(raised.value)


@pytest.mark.parametrize("answered", ["[]", "{}", '{"web": 3}', '{"web": {"results": null}}', "3"])
async def test_no_results_are_reported(make_context: MakeContext, answered: str) -> None:
    async with WebServer({"/s": page(answered, "application/json")}) as server:
        result = await run(tool(server, "brave"), make_context(), query="x")
        assert result.output == "Nothing was found. Try other words."


@pytest.mark.parametrize(
    ("provider", "url", "key", "env", "there"),
    [
        (None, "https://x.test", "k", {}, False),
        ("searxng", None, None, {}, False),
        ("searxng", "https://x.test", None, {}, True),
        ("brave", None, None, {}, False),
        ("brave", None, "k", {}, True),
        ("brave", None, None, {"BRAVE_API_KEY": "e"}, True),
        ("exa", None, None, {"BRAVE_API_KEY": "e"}, False),
    ],
)
def test_there_is_an_engine_only_if_it_is_configured(
    provider: str | None, url: str | None, key: str | None, env: dict[str, str], there: bool
) -> None:
    engine = engine_of(provider, url, key, {}, env)
    assert (engine is not None) is there
    if engine is not None and env:
        assert engine.key == "e"
        assert "key" not in repr(engine)


async def test_the_tool_is_offered_only_with_an_engine(tmp_path: Path) -> None:
    found = page(body("content", "results"), "application/json")
    async with WebServer({"/s": found}) as web:
        for name, settings in (
            ("without", {}),
            ("with", {"websearch": {"provider": "searxng", "url": f"{web.url}/s"}}),
        ):
            (tmp_path / name).mkdir()
            async with open_harness(tmp_path / name, permission="allow", **settings) as harness:
                harness.server.script(
                    answer(Call("websearch", {"query": "x"})), answer(Text("done"))
                )
                session = await harness.session()
                await harness.turn(session, "search")
                (call,) = await harness.tools(session)
                assert call.state.status == ("completed" if settings else "failed")


def test_keys_of_engines_are_kept_from_commands() -> None:
    assert {spec.key for spec in ENGINES.values()} == {
        "", "BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY",
    }  # fmt: skip
