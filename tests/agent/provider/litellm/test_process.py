"""The litellm child process, with a stand-in that uses the same JSON lines."""

import asyncio
import contextlib
import os
import sys
from typing import Any

import pytest

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.litellm.process import CallFailed, LitellmProcess
from agent.provider.litellm.route import environment_without_logins, litellm_route
from agent.records.errors import ConfigError, ProviderError, ProviderErrorKind
from tests.support.harness import GUARD

STAND_IN = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number = message.get("id")
    if number is None:
        if "cancel" in message and os.environ.get("FRAGILE"):
            os._exit(4)
        continue
    what = message["call"]["do"]
    if what == "crash":
        print("Fatal: out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if what == "stick":
        print(json.dumps({"id": number, "chunk": {"pid": os.getpid()}}), flush=True)
        time.sleep(3600)
    if what == "open":
        print(json.dumps({"id": number, "chunk": {"pid": os.getpid()}}), flush=True)
        continue
    if what == "fail":
        print(json.dumps({"id": number, "error": {"words": "no"}}), flush=True)
        continue
    print(json.dumps({"id": number, "chunk": {"pid": os.getpid()}}), flush=True)
    print("litellm prints things", flush=True)
    print(json.dumps({"id": number, "end": True}), flush=True)
"""


def stand_in(program: str = STAND_IN, idle: float = 60.0) -> LitellmProcess:
    return LitellmProcess(dict(os.environ), (sys.executable, "-c", program), idle)


async def pid(process: LitellmProcess) -> int:
    (chunk,) = [chunk async for chunk in process.call(b'{"do": "answer"}')]
    found = chunk["pid"]
    assert isinstance(found, int)
    return found


async def watched(idle: float) -> tuple[LitellmProcess, asyncio.Event, asyncio.Server]:
    """Return a process with an open connection, and the event for its end."""
    dead = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        dead.set()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connect = f"import socket; held = socket.create_connection(('127.0.0.1', {port}))\n"
    return stand_in(connect + STAND_IN, idle), dead, server


async def test_one_process_answers_all_calls() -> None:
    process = stand_in()
    first = await pid(process)
    assert await asyncio.gather(*(pid(process) for _ in range(5))) == [first] * 5
    with pytest.raises(CallFailed, match="no"):
        await anext(process.call(b'{"do": "fail"}'))
    assert await pid(process) == first
    await process.aclose()


async def test_a_crash_is_reported_and_the_next_call_starts_a_new_process() -> None:
    process = stand_in()
    first = await pid(process)
    with pytest.raises(ProviderError, match=r"its process ended .*Fatal: out of memory") as caught:
        await anext(process.call(b'{"do": "crash"}'))
    assert caught.value.kind is ProviderErrorKind.NETWORK
    assert await pid(process) != first
    await process.aclose()


async def test_a_missing_litellm_is_reported() -> None:
    process = stand_in("import no_such_litellm")
    with pytest.raises(ProviderError, match=r"cannot be loaded: .*no_such_litellm") as caught:
        await process.ensure_loaded()
    assert caught.value.kind is ProviderErrorKind.INVALID_REQUEST
    await process.aclose()
    with pytest.raises(ProviderError, match="cannot be started"):
        await LitellmProcess({}, ("/no/such/python",)).ensure_loaded()


async def test_it_ends_when_it_is_idle_and_is_started_again() -> None:
    process, dead, server = await watched(idle=0.01)
    first = await pid(process)
    await asyncio.wait_for(dead.wait(), GUARD)
    assert await pid(process) != first
    await process.aclose()
    server.close()


async def test_it_ends_with_the_program() -> None:
    process, dead, server = await watched(idle=60)
    await pid(process)
    assert not dead.is_set()
    await process.aclose()
    await asyncio.wait_for(dead.wait(), GUARD)
    server.close()


async def test_a_call_that_cannot_be_cancelled_ends_its_process() -> None:
    process, dead, server = await watched(idle=60)
    stuck = process.call(b'{"do": "stick"}')
    first = (await anext(stuck))["pid"]
    await stuck.aclose()
    await asyncio.wait_for(dead.wait(), GUARD)
    assert await pid(process) != first
    await process.aclose()
    server.close()


async def test_a_call_that_does_not_end_takes_no_other_with_it() -> None:
    process = LitellmProcess(dict(os.environ), (sys.executable, "-c", STAND_IN), patience=0.01)
    first, second = process.call(b'{"do": "open"}'), process.call(b'{"do": "open"}')
    assert await anext(first) == await anext(second)
    await first.aclose()
    ended = asyncio.create_task(anext(second, None))
    await asyncio.wait([ended], timeout=0.1)  # a timer after that of the cancel
    assert not ended.done()
    ended.cancel()
    await asyncio.wait([ended])
    await second.aclose()
    await process.aclose()


async def test_a_complete_call_is_not_canceled() -> None:
    env = {**os.environ, "FRAGILE": "1"}
    process = LitellmProcess(env, (sys.executable, "-c", STAND_IN), patience=GUARD)
    call = process.call(b'{"do": "open"}', lambda: True)
    first = (await anext(call))["pid"]
    await call.aclose()
    assert [await pid(process) for _ in range(2)] == [first] * 2
    await process.aclose()


@pytest.mark.parametrize(
    ("provider", "settings", "route"),
    [
        ("anthropic", {"api_key": "k"}, ("anthropic", "", "k")),
        ("openai", {"api_key": "k"}, ("openai/responses", "", "k")),
        ("openai", {"base_url": "http://x/v1"}, ("openai", "http://x/v1", "none")),
        ("mistral", {"api_key": "k"}, ("mistral", "", "k")),
        ("lmstudio", {}, ("lm_studio", "http://127.0.0.1:1234/v1", "none")),
        ("acme", {"base_url": "http://x/v1"}, ("openai", "http://x/v1", "none")),
        ("acme", {"base_url": "http://x", "api": "gemini"}, ("gemini", "http://x", "none")),
        ("ai21", {"api_key": "k"}, ("ai21", "", "k")),
        ("replicate", {"api_key": "k"}, ("replicate", "", "k")),
    ],
)
def test_litellms_names_and_addresses(
    provider: str, settings: dict[str, Any], route: tuple[str, str, str]
) -> None:
    own = ProviderSettings(id=provider, transport="litellm", **settings)
    found = litellm_route(Catalog({provider: own}, None, {}), provider)
    assert (found.prefix, found.base_url, found.key) == route


def test_a_login_of_the_environment_is_left_to_litellm() -> None:
    env = {"GOOGLE_APPLICATION_CREDENTIALS": "/x.json"}
    known = Catalog({}, None, env)
    assert known.model("vertex/gemini-2.5-pro").api == "litellm"
    assert litellm_route(known, "vertex").key == ""
    safe = environment_without_logins(
        {**env, "HOME": "/root", "PATH": "/bin", "OPENAI_API_KEY": "k"}
    )
    assert not {"HOME", "GOOGLE_APPLICATION_CREDENTIALS", "OPENAI_API_KEY"} & safe.keys()


def test_a_configured_proxy_is_not_ignored() -> None:
    own = ProviderSettings(id="acme", transport="litellm", base_url="http://x", proxy="http://p")
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        litellm_route(Catalog({"acme": own}, None, {}), "acme")
