"""``debug stream --jsonl``: what the provider layer reads from streams, for replay tests."""

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, assert_never, cast

from agent.provider import client
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings
from agent.provider.catalog.providers import Transport
from agent.provider.client_pool import ClientPool
from agent.provider.litellm.process import LitellmProcess
from agent.provider.transport.retry import is_retryable
from agent.records.errors import OpencodePyError, ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage
from app.cli.command_support import DONE, read_json_lines, write_json_line

if TYPE_CHECKING:
    from agent.provider.client import Api


class StreamCollector:
    """Joins the stream events of one response: text, reasoning, tool calls, order, end."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[Json] = []
        self._order: list[Json] = []
        self._refusing = False
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._error: ProviderError | None = None

    def take(self, event: client.StreamEvent) -> None:
        match event:
            case client.TextStart():
                self._refusing = event.refusal
                if not event.refusal:
                    self._order.append("text")
            case client.TextDelta():
                (self._refusal if self._refusing else self._text).append(event.text)
            case client.ReasoningStart():
                self._order.append("reasoning")
            case client.ReasoningDelta():
                self._reasoning.append(event.text)
            case client.ToolInputStart():
                self._order.append("tool")
            case client.ToolCall():
                self._calls.append(_call(event))
            case client.StepFinish():
                self._finish, self._usage = event.finish, event.usage
            case client.StreamError():
                self._error, self._usage = event.error, event.usage
            case (
                client.TextEnd()
                | client.ReasoningEnd()
                | client.ToolInputDelta()
                | client.ToolInputEnd()
            ):
                pass
            case _:
                assert_never(event)

    def answer(self, usage: Callable[[Usage], JsonObject]) -> JsonObject:
        error = self._error
        error_facts: JsonObject | None = None
        if error is not None:
            error_facts = {
                "class": error.kind.value,
                "retryable": is_retryable(error),
                "retry_after_s": error.retry_after,
            }
        return {
            "text": "".join(self._text),
            "reasoning": "".join(self._reasoning),
            "refusal": "".join(self._refusal) or None,
            "tool_calls": self._calls,
            "order": self._order,
            "finish": "error" if error is not None and self._finish is None else self._finish,
            "usage": usage(self._usage) if self._usage is not None else None,
            "run_tools": error is None,
            "error": error_facts,
        }


def _call(call: client.ToolCall) -> JsonObject:
    arguments: Json
    broken: str | None = None
    try:
        arguments = json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        arguments, broken = None, call.arguments
    return {
        "id": call.call_id or call.key,
        "name": call.name,
        "input": arguments,
        "invalid_json": broken,
    }


MAX_CONCURRENT = 8
TOOL = client.ToolSchema(
    "get_weather",
    "Weather of a place.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def answer_streams(transport: Transport) -> int:
    """Answer ``{"id", "provider", "api", "model", "base_url"}`` lines with one request each to its
    base URL, without retries."""
    return asyncio.run(_all(list(read_json_lines()), transport))


async def _all(cases: list[dict[str, str]], transport: Transport) -> int:
    free = asyncio.Semaphore(MAX_CONCURRENT)
    process = LitellmProcess(os.environ) if transport == "litellm" else None

    async def one(case: dict[str, str]) -> None:
        async with free:
            answer = await _ask(case, process)
        write_json_line({"id": case["id"], **answer})

    try:
        await asyncio.gather(*(one(case) for case in cases))
    finally:
        if process is not None:
            await process.aclose()
    return DONE


async def _ask(case: dict[str, str], process: LitellmProcess | None) -> JsonObject:
    settings = ProviderSettings(
        id=case["provider"],
        api=cast("Api", case["api"]),  # an unknown one is refused below
        base_url=case["base_url"],
        api_key="sk-replay-0001",
        transport="http" if process is None else "litellm",
        models={case["model"]: ModelSettings(tools=True)},
    )
    catalog = Catalog({settings.id: settings}, None, {})
    clients = ClientPool(catalog, litellm=process)
    collected = StreamCollector()
    try:
        model = catalog.model(f"{settings.id}/{case['model']}")
        request = client.ModelRequest(
            model=model,
            system=("Answer briefly.",),
            turns=(client.UserTurn((client.TextContent("Hello"),)),),
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
