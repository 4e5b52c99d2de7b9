"""The ``websearch`` tool: query the search engine that the user has configured."""

import json

from pydantic import Field

from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.json import Json, encodable
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import without_invisible
from agent.tools.web.addresses import AllowedHosts, host_of, parse_url
from agent.tools.web.client import Web
from agent.tools.web.engines import ENGINES, MAX_RESULTS, MAX_SNIPPET, Engine, EngineSpec


class WebsearchArgs(ToolArgs):
    """Arguments of ``websearch``."""

    query: str = Field(min_length=1, max_length=400, description="What to search for")


class WebsearchTool(BaseTool):
    """Asks *engine*."""

    spec = ToolSpec(
        name="websearch",
        verb="Search",
        aliases=("web_search",),
        variables={"most": str(MAX_RESULTS)},
        concurrent=True,
    )
    facts = ToolFacts(action="ask", kind="search", claude_name="WebSearch", in_claude_settings=True)
    args = WebsearchArgs

    def __init__(self, engine: Engine, web: Web) -> None:
        self._engine = engine
        # The user has configured this server, so it can be in their own network.
        host = host_of(parse_url(engine.url))
        self._web = Web(
            allowed=AllowedHosts.from_settings((host,)),
            limits=web.limits,
            resolve=web.resolve,
            proxy_of=web.proxy_of,
        )

    async def prepare(self, args: WebsearchArgs, ctx: ToolContext) -> Plan[str]:
        query = " ".join(args.query.split())
        if not query:
            raise ToolError("The query is empty. Say what to search for.")
        need = PermissionNeed(
            "websearch", query, always="*", reason=f"sent to {self._engine.provider}"
        )
        return Plan(
            label=ToolLabel("Search", f'"{query}"'),
            payload=query,
            needs=(need,),
            heading="Search the web for this?",
        )

    async def execute(
        self, plan: Plan[str], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        found = await self._ask(plan.payload)
        lines: list[str] = []
        for number, (title, url, text) in enumerate(found, 1):
            lines += [f"{number}. {title}", f"   {url}", *([f"   {text}"] if text else []), ""]
        return Result(
            "\n".join(lines).rstrip() or "Nothing was found. Try other words.",
            blocks=(ListingBlock(tuple(f"{t}  {url}" for t, url, _ in found), len(found)),),
            facts=(f"{len(found)} {'result' if len(found) == 1 else 'results'}",),
        )

    async def _ask(self, query: str) -> list[tuple[str, str, str]]:
        engine, spec = self._engine, ENGINES[self._engine.provider]
        headers = {"accept": "application/json", **engine.headers}
        if engine.key:
            bearer = spec.header == "authorization"
            headers[spec.header] = f"Bearer {engine.key}" if bearer else engine.key
        payload = spec.query(query)
        body: bytes | None = None
        url = parse_url(engine.url)
        if spec.post:
            body = json.dumps(payload).encode()
            headers["content-type"] = "application/json"
        else:
            url = url.copy_merge_params({name: str(value) for name, value in payload.items()})
        answer = await self._web.request(url, headers, body, self._web.limits.seconds)
        if answer.status != 200:
            body_text = answer.body[:300].decode("utf-8", "replace")
            if engine.key:
                body_text = body_text.replace(engine.key, "***")
            raise ToolError(f"The search engine answered with HTTP {answer.status}: {body_text}")
        return parse_results(answer.body, spec)


def parse_results(body: bytes, spec: EngineSpec) -> list[tuple[str, str, str]]:
    """Return title, URL and text of each result. Raises ``ToolError`` for another response."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise ToolError("The search engine's response is not JSON. Is its address right?") from None
    for step in spec.results:
        value = value.get(step) if isinstance(value, dict) else None
    found: list[tuple[str, str, str]] = []
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict):
            continue
        url = _line(entry.get(spec.fields[1]))
        text = next((t for name in spec.fields[2] if (t := _line(entry.get(name)))), "")
        if url:
            found.append((_line(entry.get(spec.fields[0])) or url, url, text[:MAX_SNIPPET]))
    return found[:MAX_RESULTS]


def _line(value: Json) -> str:
    return " ".join(without_invisible(encodable(value)).split()) if isinstance(value, str) else ""
