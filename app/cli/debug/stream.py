"""``debug stream --jsonl``: what the provider layer reads from streams, for replay tests."""

import asyncio
import json
import os
from dataclasses import asdict
from typing import TextIO

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.providers import Transport
from agent.provider.catalog.settings import ModelSettings, ProviderSettings
from agent.provider.client import ModelRequest, TextContent, ToolSchema, UserTurn
from agent.provider.client_pool import Clients
from agent.provider.litellm.process import LitellmProcess
from agent.records.errors import OpencodePyError
from agent.records.json import JsonObject
from app.cli.debug.stream_collector import Collected

AT_ONCE = 8
TOOL = ToolSchema(
    "get_weather",
    "Weather of a place.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def answer_streams(lines: TextIO, out: TextIO, transport: Transport = "http") -> int:
    """Answer ``{"id", "provider", "api", "model", "base_url"}`` lines, each with one request
    to its base URL that is not repeated."""
    cases = [json.loads(line) for line in lines if line.strip()]
    return asyncio.run(_all(cases, out, transport))


async def _all(cases: list[dict[str, str]], out: TextIO, transport: Transport) -> int:
    free = asyncio.Semaphore(AT_ONCE)
    process = LitellmProcess(os.environ) if transport == "litellm" else None

    async def one(case: dict[str, str]) -> None:
        async with free:
            answer = await _ask(case, process)
        out.write(json.dumps({"id": case["id"], **answer}) + "\n")
        out.flush()

    try:
        await asyncio.gather(*(one(case) for case in cases))
    finally:
        if process is not None:
            await process.aclose()
    return 0


async def _ask(case: dict[str, str], process: LitellmProcess | None) -> JsonObject:
    settings = ProviderSettings(
        id=case["provider"],
        api=case["api"],  # pyright: ignore[reportArgumentType] - what is unknown is refused below
        base_url=case["base_url"],
        api_key="sk-replay-0001",
        transport="http" if process is None else "litellm",
        models={case["model"]: ModelSettings(tools=True)},
    )
    catalog = Catalog({settings.id: settings}, None, {})
    clients = Clients(catalog, litellm=process)
    collected = Collected()
    try:
        model = catalog.model(f"{settings.id}/{case['model']}")
        request = ModelRequest(
            model=model,
            system=("Answer briefly.",),
            turns=(UserTurn((TextContent("Hello"),)),),
            tools=(TOOL,),
            max_output=1_000,
        )
        async for event in clients.client_for(model).stream(request):
            collected.take(event)
    except OpencodePyError as error:
        return {"error": {"class": "invalid_request", "retryable": False}, "text": error.message}
    finally:
        await clients.aclose()
    return collected.answer(asdict)
