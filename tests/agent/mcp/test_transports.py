"""Remote servers: streamable HTTP, SSE for older ones, and failures."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.mcp.records import Server
from agent.records.errors import ToolError
from tests.agent.mcp.mcp_harness import free_port, open_mcp, served, workshop
from tests.support.mute_sse import mute_sse


def remote(port: int, path: str = "mcp", **more: object) -> Server:
    return Server(**{"name": "far", "url": f"http://127.0.0.1:{port}/{path}", **more})


async def test_streamable_http(tmp_path: Path) -> None:
    async with served("http") as port, open_mcp(tmp_path, remote(port)) as mcp:
        status = mcp.status("far")
        assert (status.state, status.transport) == ("connected", "http"), status
        assert (await mcp.call("far_echo", text="hello")).output == "hello"


async def test_an_older_server_is_reached_over_sse(tmp_path: Path) -> None:
    async with served("sse") as port, open_mcp(tmp_path, remote(port, "sse")) as mcp:
        status = mcp.status("far")
        assert (status.state, status.transport) == ("connected", "sse"), status
        assert (await mcp.call("far_echo", text="hello")).output == "hello"


@pytest.mark.parametrize(("kind", "path"), [("http", "mcp"), ("sse", "sse")])
async def test_a_restarted_server_is_reconnected(tmp_path: Path, kind: str, path: str) -> None:
    """The new process does not know the session. A call can fail once; then the server works
    again."""
    port = free_port()
    server = remote(port, path, connect_timeout=10.0)
    async with contextlib.AsyncExitStack() as stack:
        async with served(kind, port=port):
            mcp = await stack.enter_async_context(open_mcp(tmp_path, server))
            assert (await mcp.call("far_echo", text="one")).output == "one"
        async with served(kind, port=port):
            for _ in range(3):
                with contextlib.suppress(ToolError):
                    result = await mcp.call("far_echo", text="two")
                    break
            else:
                raise AssertionError(mcp.status("far"))
            assert result.output == "two"


async def test_a_call_to_a_server_that_went_away_is_an_error(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with served("http") as port:
            server = remote(port, idle_timeout=10.0, connect_timeout=1.0)
            mcp = await stack.enter_async_context(open_mcp(tmp_path, server))
        with pytest.raises(ToolError):
            await mcp.call("far_echo", text="one")


async def test_a_server_over_sse_that_never_becomes_ready_is_given_up(tmp_path: Path) -> None:
    """It says where to send messages, accepts them and never responds. Other servers work
    meanwhile."""
    with mute_sse() as (url, heard):
        mute = Server(name="mute", url=url, connect_timeout=1.0)
        async with open_mcp(tmp_path, mute, workshop(), start=False) as mcp:
            mcp.service.start()
            await mcp.connected("shop")
            assert (await mcp.call("shop_echo", text="hello")).output == "hello"
            await mcp.until(lambda: mcp.status("mute").state == "failed")
            assert "/messages?id=1" in heard, "it came so far"
            assert "was not ready within 1 second" in mcp.status("mute").reason


async def test_a_port_where_nothing_listens_is_a_reason(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, remote(free_port())) as mcp:
        await mcp.until(lambda: mcp.status("far").state == "failed")
        assert mcp.status("far").reason.startswith("Nothing answers at http://127.0.0.1")


@contextlib.asynccontextmanager
async def answering(reply: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Run a server that sends *reply* to every request; yields its port and the requests."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


def answer(status: str, *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Length: 0", "Connection: close", *headers]
    return ("\r\n".join(head) + "\r\n\r\n").encode()


async def test_a_server_that_wants_a_login_needs_auth(tmp_path: Path) -> None:
    async with (
        answering(answer("401 Unauthorized", 'WWW-Authenticate: Bearer realm="x"')) as (port, _),
        open_mcp(tmp_path, remote(port)) as mcp,
    ):
        assert mcp.status("far").state == "needs auth"


async def test_an_http_error_is_a_reason(tmp_path: Path) -> None:
    async with (
        answering(answer("500 Oops")) as (port, _),
        open_mcp(tmp_path, remote(port)) as mcp,
    ):
        await mcp.until(lambda: mcp.status("far").state == "failed")
        assert "500" in mcp.status("far").reason


async def test_headers_are_not_sent_to_other_hosts(tmp_path: Path) -> None:
    """Redirects to other hosts are not followed."""
    async with answering(answer("200 OK")) as (elsewhere, stolen):
        moved = answer("307 Moved", f"Location: http://127.0.0.1:{elsewhere}/mcp")
        async with answering(moved) as (port, heard):
            server = remote(port, headers={"X-Key": "k-1"})
            async with open_mcp(tmp_path, server) as mcp:
                await mcp.until(lambda: mcp.status("far").state == "failed")
            assert any(b"k-1" in one for one in heard)
        assert not stolen
