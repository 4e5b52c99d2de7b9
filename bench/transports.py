"""Our own stream decoding and litellm in its worker process, side by side.

Per chunk, the CPU of the program is shown and, for litellm, also that of its worker.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.catalog.providers import Transport
from agent.provider.client import ModelRequest, TextContent, TextDelta, UserTurn
from agent.provider.client_pool import ClientPool
from agent.provider.litellm.process import LitellmProcess
from bench.table import Row, ms
from bench.testbed import Testbed, cpu

CHUNKS = 5_000
ROUNDS = 3


@dataclass(frozen=True)
class _Took:
    """Seconds: *start* until ready for the first request, *first* from a request to its first text,
    *chunk* of CPU for each chunk, *beside* of that in the litellm worker."""

    start: float
    first: float
    chunk: float
    beside: float


def transports(testbed: Testbed) -> list[Row]:
    """Measure start-up, first token and cost per chunk of both transports."""
    took = {name: asyncio.run(_measured(testbed.url, testbed.env, name)) for name in _NAMES}
    own, other = took["http"], took["litellm"]
    factor = other.chunk / own.chunk
    return [
        Row("transport ready: own, litellm", f"{ms(own.start)}, {other.start:.1f} s"),
        Row("request to first text: own, litellm", f"{ms(own.first)}, {ms(other.first)}"),
        Row(
            "CPU per chunk: own, litellm",
            f"{own.chunk * 1e6:.0f} µs, {other.chunk * 1e6:.0f} µs "
            f"({other.beside * 1e6:.0f} µs of it in its process)",
            "litellm to own",
            factor,
        ),
    ]


_NAMES: tuple[Transport, ...] = ("http", "litellm")


async def _measured(url: str, env: Mapping[str, str], transport: Transport) -> _Took:
    settings = ProviderSettings(id="bench", base_url=url, api_key="k", transport=transport)
    catalog = Catalog({"bench": settings}, None, env)
    process = LitellmProcess(env) if transport == "litellm" else None
    clients = ClientPool(catalog, litellm=process)
    model = catalog.model("bench/one")
    begun = time.monotonic()
    if process is None:
        await clients.preload(model)
    else:
        await process.ensure_loaded()
    ready = time.monotonic() - begun

    async def stream(text: str) -> tuple[float, int]:
        asked = ModelRequest(model=model, system=(), turns=(UserTurn((TextContent(text),)),))
        begun, first, count = time.monotonic(), 0.0, 0
        async for event in clients.client_for(model).stream(asked):
            if isinstance(event, TextDelta):
                first = first or time.monotonic() - begun
                count += 1
        return first, count

    try:
        await stream("hello")  # loads the deferred modules
        firsts = [(await stream("hello"))[0] for _ in range(ROUNDS)]
        costs: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            before = time.process_time(), _beside(process)
            _, count = await stream(f"deltas {CHUNKS}")
            mine, beside = time.process_time() - before[0], _beside(process) - before[1]
            costs.append(((mine + beside) / count, beside / count))
    finally:
        await clients.aclose()
        if process is not None:
            await process.aclose()
    least = min(costs)
    return _Took(ready, min(firsts), least[0], least[1])


def _beside(process: LitellmProcess | None) -> float:
    """Return the CPU seconds that the litellm worker has used."""
    return cpu(process.pid) if process is not None and process.pid else 0.0
