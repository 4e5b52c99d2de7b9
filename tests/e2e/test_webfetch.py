"""Pages that are heavy or never end, fetched by the installed program."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.conftest import InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, MB, memory, tool_results
from tests.support.harness import config_for, write_config
from tests.support.script import Call, Text, answer
from tests.support.web_server import Handler, ReceivedRequest, WebServer, page, redirect

pytestmark = pytest.mark.e2e

CHOKING = "<a " * 500_000
"""A page that takes its parser longer than anyone waits."""

HEAVY: dict[str, Handler] = {
    "/styles": page("<style>" + "a{color:red}" * 90_000 + "</style>words"),
    "/nested": page("<div>" * 50_000 + "words" + "</div>" * 50_000),
    "/large": page(b"x" * 20_000_000, "text/plain", length=False),
    "/loop": redirect("/loop"),
}


@contextmanager
def served(pages: dict[str, Handler]) -> Iterator[WebServer]:
    """Serve pages from a loop in another thread, since these tests are not asynchronous."""
    loop, server = asyncio.new_event_loop(), WebServer(pages)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(30)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


def fetching(installed: InstalledProgram, scripted: ServerThread) -> None:
    more = {"permission": "allow", "webfetch": {"allow": ["127.0.0.0/8"]}}
    write_config(installed.home, config_for(scripted.server, **more))


def fetch(server: WebServer, path: str, **more: object) -> Call:
    return Call("webfetch", {"url": server.url + path, **more})


async def drip(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
    """Send one byte now and then, forever."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    while not request.gone.is_set():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


def test_heavy_pages_are_reported_within_bounds(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    fetching(installed, scripted)
    with served({**HEAVY, "/drip": drip}) as server, run(rows=40) as terminal:
        calls = [fetch(server, path) for path in HEAVY]
        calls.append(fetch(server, "/drip", timeout=1_500))
        scripted.server.script(*map(answer, calls), answer(Text("all seen")))
        terminal.wait(r"model-1")
        before = memory(terminal.pid, "VmRSS")
        terminal.enter("go")
        terminal.wait(r"all seen")
        assert memory(terminal.pid, "VmHWM") - before < 100 * MB
    styles, nested, large, loop, endless = tool_results(scripted)
    assert (styles, nested) == ("words", "words")
    assert "larger than 5 MB" in large
    assert "redirects" in loop
    assert "did not answer completely" in endless
    assert sum(map(len, tool_results(scripted))) < 5_000


@pytest.mark.parametrize("path", ["/drip", "/choking"])
def test_keys_work_while_a_page_is_fetched(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, path: str
) -> None:
    """During the download and during the conversion to text; Esc ends either."""
    fetching(installed, scripted)
    scripted.server.always(answer(Text("fine now")))
    with served({"/drip": drip, "/choking": page(CHOKING)}) as server, run() as terminal:
        scripted.server.script(answer(fetch(server, path)))
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"Fetch http")
        terminal.until(lambda: bool(server.requests), "it was never asked for")
        for word in ("my", "own", "draft"):
            terminal.send(f" {word}")
            terminal.wait(rf"▌ .*{word}")
            assert len(scripted.server.requests) == 1, "the page came too soon to try this"
        terminal.send("\x1b")
        terminal.wait(r"Interrupted")
        terminal.wait(BUSY, gone=True)
        terminal.send("\r")
        terminal.wait(r"fine now")
    assert "canceled by the user" in tool_results(scripted)[0]
    assert "my own draft" in str(scripted.server.requests[-1].body["messages"][-1])
