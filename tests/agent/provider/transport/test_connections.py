"""Single requests over the connections that all providers share."""

import asyncio
import base64
import gzip
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from agent.provider.transport.connections import HTTP_ERRORS, Connections, HttpPool, HttpRequest
from agent.records.errors import ConfigError


@dataclass
class Server:
    """A server that keeps what it gets, and sends *body* with *headers*."""

    url: str
    received: list[bytes] = field(default_factory=list)
    headers: str = ""
    body: bytes = b"fine"
    opened: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next((x for x in head.lower().split(b"\r\n") if b"content-length" in x), b":0")
            self.received.append(head + await reader.readexactly(int(length.partition(b":")[2])))
            head = f"HTTP/1.1 200 OK\r\n{self.headers}content-length: {len(self.body)}\r\n\r\n"
            writer.write(head.encode() + self.body)

    @property
    def start_line(self) -> str:
        return self.received[-1].partition(b"\r\n")[0].decode()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await made.serve(reader, writer)
        except asyncio.IncompleteReadError:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    made = HttpPool()
    yield made
    await made.aclose()


def get(url: str, **headers: str) -> HttpRequest:
    return HttpRequest(url=url, headers=headers, method="GET")


async def test_a_post_and_its_response(server: Server, pool: HttpPool) -> None:
    request = HttpRequest(url=f"{server.url}/v1/x?a=b", headers={"x-one": "1"}, body=b"{}")
    server.headers = "X-Two: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
    found = await pool.connections(server.url).fetch(request)
    assert (found.status, found.body, found.is_success) == (200, b"fine", True)
    assert (found.headers["x-two"], found.headers["set-cookie"]) == ("2", "a, b")
    head, _, body = server.received[0].partition(b"\r\n\r\n")
    assert server.start_line == "POST /v1/x?a=b HTTP/1.1"
    host = server.url.removeprefix("http://")
    assert sorted(head.decode().lower().split("\r\n")[1:]) == [
        "content-length: 2", f"host: {host}", "x-one: 1",
    ]  # fmt: skip
    assert body == b"{}"


async def test_a_connection_is_used_again(server: Server, pool: HttpPool) -> None:
    for _ in range(3):
        await pool.connections(server.url).fetch(get(server.url))
    assert (len(server.received), server.opened) == (3, 1)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", "/"),
        ("/models/a b:go", "/models/a%20b:go"),
        ("/models/ä%2Fb", "/models/%C3%A4%2Fb"),
        ("/x?q=ü&r=a+b%20c#part", "/x?q=%C3%BC&r=a+b%20c"),
    ],
)
async def test_addresses_are_encoded_once(
    server: Server, pool: HttpPool, path: str, sent: str
) -> None:
    await pool.connections(server.url).fetch(get(server.url + path))
    assert server.start_line == f"GET {sent} HTTP/1.1"


async def test_the_name_and_password_of_an_address_are_sent(server: Server, pool: HttpPool) -> None:
    address = server.url.replace("//", "//me:a%40b@")
    await pool.connections(address).fetch(get(address))
    login = base64.b64encode(b"me:a@b").decode()
    assert f"authorization: Basic {login}" in server.received[-1].decode()
    await pool.connections(address).fetch(get(address, authorization="Bearer k"))
    assert b"Basic" not in server.received[-1]


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_packed_body_is_unpacked(
    server: Server, pool: HttpPool, coding: str, pack: Callable[[bytes], bytes]
) -> None:
    """Proxies pack bodies although the request asks for none that is packed."""
    server.headers, server.body = f"Content-Encoding: {coding}\r\n", pack(b"fine")
    found = await pool.connections(server.url).fetch(get(server.url))
    assert found.body == b"fine"


@pytest.mark.parametrize(("coding", "body"), [("br", b"x"), ("gzip", b"no gzip")])
async def test_a_body_that_cannot_be_unpacked_is_an_error(
    server: Server, pool: HttpPool, coding: str, body: bytes
) -> None:
    server.headers, server.body = f"Content-Encoding: {coding}\r\n", body
    with pytest.raises(HTTP_ERRORS):
        await pool.connections(server.url).fetch(get(server.url))


@pytest.mark.parametrize("address", ["file:///etc/passwd", "http:///x", "model.example", "ws://x"])
async def test_other_addresses_are_refused(pool: HttpPool, address: str) -> None:
    with pytest.raises(HTTP_ERRORS):
        await pool.connections(address).fetch(get(address))


@pytest.mark.parametrize("address", ["http://x:port/", "http://[broken"])
async def test_broken_addresses_are_wrong_values(pool: HttpPool, address: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        await pool.connections(address).fetch(get(address))


@pytest.mark.parametrize("proxy", ["ftp://proxy:1", "socks://proxy:1", "http://", "proxy:1"])
async def test_a_proxy_that_cannot_be_used_is_named(pool: HttpPool, proxy: str) -> None:
    with pytest.raises(ConfigError, match="proxy address cannot be used"):
        pool.connections("http://model.example", proxy)


async def test_the_password_of_a_proxy_is_sent_to_it(server: Server, pool: HttpPool) -> None:
    proxy = server.url.replace("//", "//me:a%40b@")
    route: Connections = pool.connections("http://model.example", proxy)
    await route.fetch(get("http://model.example/v1"))
    assert server.start_line == "GET http://model.example/v1 HTTP/1.1"
    login = base64.b64encode(b"me:a@b").decode()
    assert f"proxy-authorization: basic {login}".lower() in server.received[-1].decode().lower()


def test_what_is_not_used_is_not_loaded() -> None:
    """Others still find the modules that were hidden meanwhile."""
    script = (
        "import sys\n"
        "import agent.provider.transport.connections\n"
        "late = {'h2', 'httpx2', 'email.message', 'importlib.metadata'} & set(sys.modules)\n"
        "assert not late, late\n"
        "from importlib.metadata import version\n"
        "assert version('httpcore2')\n"
        "import h2\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_another_thread_gets_the_real_metadata_meanwhile() -> None:
    script = (
        "import sys\n"
        "from agent.provider.transport import connections\n"
        "with connections._unused_hidden():\n"
        "    from importlib.metadata import version\n"
        "    assert version('httpcore2') == ''\n"
        "    from importlib.metadata import PackageNotFoundError, entry_points\n"
        "    assert issubclass(PackageNotFoundError, Exception)\n"
        "    assert version('pytest')\n"
        "from importlib.metadata import version\n"
        "assert version('httpcore2')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
