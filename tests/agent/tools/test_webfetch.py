"""The webfetch tool against a real server."""

import asyncio
import gzip
import json
import shutil
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent.records.blocks import ImageBlock, TextBlock, ToolLabel
from agent.records.errors import PermissionRejected, ToolError
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.web.addresses import AllowedHosts, parse_url
from agent.tools.web.client import Web, WebLimits
from agent.tools.webfetch import WebfetchTool, exfiltration_risk, web_need
from tests.agent.tools import pictures
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer
from tests.support.web_server import ReceivedRequest, WebServer, page, redirect

LOCAL = AllowedHosts.from_settings(("127.0.0.0/8",))


def tool(web: Web | None = None, **limits: object) -> WebfetchTool:
    return WebfetchTool(web or Web(allowed=LOCAL, limits=WebLimits(**limits), proxy_of=no_proxy))


def no_proxy(_: object) -> None:
    return None


async def test_a_page_becomes_markdown(make_context: MakeContext) -> None:
    html = "<title>Shop</title><h1>Shop</h1><p>It <b>sells</b> <a href='/t'>things</a>."
    async with WebServer({"/": page(html)}) as server:
        result = await run(tool(), make_context(), url=f"{server.url}/")
        assert result.output == f"# Shop\n\nIt **sells** [things]({server.url}/t)."
        assert result.blocks == (TextBlock(result.output, markdown=True),)
        assert result.label == ToolLabel("Fetch", f"{server.url}/")
        sent = server.requests[0].headers
        assert sent["host"] == f"127.0.0.1:{server.port}"
        assert not {"cookie", "referer", "authorization"} & set(sent)
        text = await run(tool(), make_context(), url=f"{server.url}/", format="text")
        assert text.output == "Shop\n\nIt sells things."
        raw = await run(tool(), make_context(), url=f"{server.url}/", format="html")
        assert raw.output == html


@pytest.mark.parametrize(
    ("body", "mime", "shown"),
    [
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"a,b\n", "text/csv", "a,b\n"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        ("größe".encode("latin-1"), "text/plain; charset=ISO-8859-1", "größe"),
        ("größe".encode(), "text/plain", "größe"),
        ("表".encode("shift_jis"), 'text/plain; charset="shift_jis"', "表"),
        ("<meta charset=gbk><p>中文".encode("gbk"), "text/html", "中文"),
        ("größe".encode(), "text/plain; charset=none-such", "größe"),
        (b"<!DOCTYPE html><p>x", "", "x"),
        (b"print(1)\n", "application/octet-stream", "print(1)\n"),
    ],
)
async def test_kinds_of_text(make_context: MakeContext, body: bytes, mime: str, shown: str) -> None:
    async with WebServer({"/": page(body, mime)}) as server:
        assert (await run(tool(), make_context(), url=server.url)).output == shown


async def test_data_is_refused_and_images_are_attached(make_context: MakeContext) -> None:
    pages = {
        "/zip": page(b"PK\x03\x04\0\0\xff\xfe", "application/zip"),
        "/p.png": page(pictures.png(), "text/plain"),
        "/bad.png": page(pictures.png()[:-3], "image/png"),
    }
    async with WebServer(pages) as server:
        ctx = make_context()
        with pytest.raises(ToolError, match="application/zip of 8 bytes, not text"):
            await run(tool(), ctx, url=f"{server.url}/zip")
        with pytest.raises(ToolError, match="cannot see images"):
            await run(tool(), ctx, url=f"{server.url}/p.png")
        seeing = replace(ctx, vision=True)
        result = await run(tool(), seeing, url=f"{server.url}/p.png")
        assert result.files[0].mime == "image/png"
        assert isinstance((result.blocks or ())[0], ImageBlock)
        with pytest.raises(ToolError, match="damaged or cut off"):
            await run(tool(), seeing, url=f"{server.url}/bad.png")


async def test_a_status_is_reported_with_the_servers_message(make_context: MakeContext) -> None:
    async with WebServer({"/x": page("<p>gone away", status=410)}) as server:
        with pytest.raises(ToolError, match=r"(?s)answered with HTTP 410.*gone away"):
            await run(tool(), make_context(), url=f"{server.url}/x")


async def test_invisible_text_is_removed_and_reported(make_context: MakeContext) -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    async with WebServer({"/": page(f"a{hidden}\u202eb\u200bc 👩‍👩‍👧", "text/plain")}) as server:
        result = await run(tool(), make_context(), url=server.url)
    assert result.output == "(6 invisible characters were removed.)\n\nabc 👩‍👩‍👧"


async def test_a_page_of_scripts_is_reported(make_context: MakeContext) -> None:
    async with WebServer({"/": page("<script>go()</script>")}) as server:
        result = await run(tool(), make_context(), url=server.url)
    assert "has no text" in result.output
    assert result.blocks == ()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/", "http://localhost:9/", "http://[::1]:9/", "http://0.0.0.0:9/",
        "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fe80::1]/",
        "http://[::ffff:127.0.0.1]/",
    ],
)  # fmt: skip
async def test_private_addresses_are_refused_before_the_user_is_asked(
    make_context: MakeContext, url: str
) -> None:
    with pytest.raises(ToolError, match=r"not an address of the public internet.*webfetch\.allow"):
        await plan(tool(Web(proxy_of=no_proxy)), make_context(), url=url)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1"])
async def test_odd_spellings_are_resolved_first(make_context: MakeContext, host: str) -> None:
    with pytest.raises(ToolError, match=r"public internet|cannot be found|is not a URL"):
        await run(tool(Web(proxy_of=no_proxy)), make_context(), url=f"http://{host}/")


async def test_a_name_that_points_inwards_is_refused(make_context: MakeContext) -> None:
    """Every address is judged, not only the first."""

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("93.184.216.34", "127.0.0.1")

    web = Web(resolve=resolve, proxy_of=no_proxy)
    with pytest.raises(ToolError, match=r"evil\.test \(127\.0\.0\.1\)"):
        await run(tool(web), make_context(), url="http://evil.test/")


async def test_the_checked_address_is_the_one_that_is_contacted(make_context: MakeContext) -> None:
    """DNS rebinding: there is no second lookup with another result."""
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        looked_up.append(host)
        return ("127.0.0.1",)

    async with WebServer({"/": page("here", "text/plain")}) as server:
        web = Web(allowed=LOCAL, resolve=resolve, proxy_of=no_proxy)
        url = f"http://no-such-name.test:{server.port}/"
        result = await run(tool(web), make_context(), url=url)
        assert result.output == "here"
        assert server.requests[0].headers["host"] == f"no-such-name.test:{server.port}"
    assert looked_up == ["no-such-name.test"]


async def test_the_next_address_is_tried(make_context: MakeContext) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.2", "127.0.0.1")

    async with WebServer({"/": page("here", "text/plain")}) as server:
        web = Web(allowed=LOCAL, resolve=resolve, proxy_of=no_proxy)
        result = await run(tool(web), make_context(), url=f"http://x.test:{server.port}/")
    assert result.output == "here"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for ``pin.test``, and its key."""
    program = shutil.which("openssl") or pytest.skip("there is no openssl program")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=pin.test"]
    files = ["-keyout", str(key), "-out", str(cert)]
    more = ["-addext", "subjectAltName=DNS:pin.test"]
    subprocess.run([program, *words, *files, *more], check=True, capture_output=True)
    return cert, key


async def test_a_pinned_address_still_proves_its_name(
    make_context: MakeContext, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection goes to the address, the certificate must be the name's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    async with WebServer({"/": page("private", "text/plain")}, tls=context) as server:
        web = names("pin.test", "other.test")
        with pytest.raises(ToolError, match="certificate is not trusted"):
            await run(tool(web), make_context(), url=f"https://pin.test:{server.port}/")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        good = await run(tool(web), make_context(), url=f"https://pin.test:{server.port}/")
        assert good.output == "private"
        with pytest.raises(ToolError, match="certificate is not trusted"):
            await run(tool(web), make_context(), url=f"https://other.test:{server.port}/")


async def test_a_missing_path_is_an_error(make_context: MakeContext) -> None:
    async with WebServer({}) as server:
        url = server.url
    with pytest.raises(ToolError, match="cannot be reached"):
        await run(tool(), make_context(), url=url)


async def test_redirects_are_followed_and_reported(make_context: MakeContext) -> None:
    pages = {"/a": redirect("b"), "/b": redirect("/c?x=1"), "/c": page("end", "text/plain")}
    async with WebServer(pages) as server:
        result = await run(tool(), make_context(), url=f"{server.url}/a")
        assert result.output == f"(Redirected to {server.url}/c?x=1.)\n\nend"


async def test_a_redirect_loop_ends(make_context: MakeContext) -> None:
    async with WebServer({"/": redirect("/")}) as server:
        with pytest.raises(ToolError, match="More than 5 redirects"):
            await run(tool(), make_context(), url=server.url)
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("file:///etc/passwd", "Only http and https"),
        ("http://169.254.169.254/", "not an address of the public internet"),
        ("http://u:p@127.0.0.1/", "user name"),
    ],
)
async def test_redirects_are_judged_like_any_address(
    make_context: MakeContext, where: str, said: str
) -> None:
    ctx = replace(make_context(), ask=answerer([]))
    async with WebServer({"/": redirect(where)}) as server:
        with pytest.raises(ToolError, match=said):
            await run(tool(), ctx, url=server.url)


def answerer(asked: list[PermissionNeed], *, no: bool = False):
    async def ask(needs: tuple[PermissionNeed, ...], heading: str) -> PermissionReply:
        asked.extend(needs)
        if no:
            raise PermissionRejected("The user rejected this call.")
        return PermissionReply("once")

    return ask


def names(*hosts: str) -> Web:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        assert host in hosts
        return ("127.0.0.1",)

    return Web(allowed=LOCAL, resolve=resolve, proxy_of=no_proxy)


async def test_a_redirect_to_another_host_needs_permission(make_context: MakeContext) -> None:
    asked: list[PermissionNeed] = []
    ctx = replace(make_context(), ask=answerer(asked))
    async with WebServer({"/b": page("end", "text/plain")}) as server:
        server.pages["/a"] = redirect(f"http://two.test:{server.port}/b")
        web = names("one.test", "two.test")
        result = await run(tool(web), ctx, url=f"http://one.test:{server.port}/a")
        assert "end" in result.output
        (need,) = asked
        assert (need.permission, need.pattern, need.always) == ("webfetch", "two.test", "two.test")
        assert need.reason == "one.test redirects there"
        refusing = replace(ctx, ask=answerer([], no=True))
        with pytest.raises(PermissionRejected):
            await run(tool(web), refusing, url=f"http://one.test:{server.port}/a")
        assert [one.path for one in server.requests] == ["/a", "/b", "/a"]


async def test_the_time_of_a_question_is_not_the_pages(make_context: MakeContext) -> None:
    """The clock stops while the user is asked."""

    async def slow(needs: tuple[PermissionNeed, ...], heading: str) -> PermissionReply:
        await asyncio.sleep(4.5)
        return PermissionReply("once")

    async with WebServer({"/b": page("end", "text/plain")}) as server:
        server.pages["/a"] = redirect(f"http://two.test:{server.port}/b")
        ctx = replace(make_context(), ask=slow)
        url = f"http://one.test:{server.port}/a"
        result = await run(tool(names("one.test", "two.test")), ctx, url=url, timeout=4_000)
    assert "end" in result.output


async def test_the_question_shows_all_of_the_address(make_context: MakeContext) -> None:
    made = await plan(tool(), make_context(), url="https://Example.org/a?b=c#d")
    (need,) = made.needs
    assert (need.permission, need.pattern, need.always) == (
        "webfetch",
        "example.org",
        "example.org",
    )
    assert need.shown == "https://example.org/a?b=c"
    assert need.default_action == "ask"
    assert made.blocks == (TextBlock("https://example.org/a?b=c"),)


@pytest.mark.parametrize(
    ("url", "carries"),
    [
        ("https://docs.python.org/3/library/asyncio-task.html#asyncio.timeout", False),
        ("https://github.com/a/b/commit/0c41700d1f2e3b4a5968778695a4b3c2d1e0f9a8", False),
        ("https://x.test/?id=123e4567-e89b-12d3-a456-426614174000", False),
        ("https://x.test/" + "very-long-readable-title-of-an-article-" * 4, False),
        ("https://x.test/?q=" + "a" * 300, True),
        ("https://x.test/c?d=QUtJQUlPU0ZPRE5ON0VYQU1QTEU6d0phbHJYVXRuRkVNSS9LN01ERU5H", True),
        ("https://x.test/QUtJQUlPU0ZPRE5ON0VYQU1QTEU6d0phbHJYVXRuRkVNSS9LN01ERU5H.png", True),
    ],
)
def test_addresses_that_can_leak_data_need_permission(url: str, carries: bool) -> None:
    """Permission for a host is no permission for the data that is sent."""
    need = web_need(parse_url(url))
    assert bool(exfiltration_risk(parse_url(url))) is carries
    assert need.strict == ("unknown" if carries else "")
    assert (need.always is None) is carries


async def drip(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    while not request.gone.is_set():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def test_a_page_without_end_ends_at_its_time(make_context: MakeContext) -> None:
    """The page sends one byte at a time forever; the connection is closed at the limit."""
    async with WebServer({"/": drip}) as server:
        with pytest.raises(ToolError, match=r"did not answer completely within 0\.6 seconds \(\d+"):
            await run(tool(), make_context(), url=server.url, timeout=600)
        async with asyncio.timeout(30):
            await server.requests[0].gone.wait()


async def test_a_cancel_closes_the_connection(make_context: MakeContext) -> None:
    started = asyncio.Event()

    async def hold(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        started.set()
        await request.gone.wait()

    async with WebServer({"/": hold}) as server:
        fetching = asyncio.create_task(run(tool(), make_context(), url=server.url))
        async with asyncio.timeout(30):
            await started.wait()
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            await server.requests[0].gone.wait()


@pytest.mark.parametrize("length", [True, False])
async def test_a_large_body_is_cut_off(make_context: MakeContext, length: bool) -> None:
    """Known from its length, or noticed while it arrives."""
    body = b"x" * 20_000_000
    async with WebServer({"/": page(body, "text/plain", length=length)}) as server:
        with pytest.raises(ToolError, match="larger than 5 MB"):
            await run(tool(), make_context(), url=server.url)


async def test_compression_counts_unpacked(make_context: MakeContext) -> None:
    bomb = gzip.compress(b"x" * 200_000_000)
    pages = {
        "/ok": page(gzip.compress(b"hello"), "text/plain", content_encoding="gzip"),
        "/bomb": page(bomb, "text/plain", content_encoding="gzip"),
        "/br": page(b"xx", "text/plain", content_encoding="br"),
        "/bad": page(b"xx", "text/plain", content_encoding="gzip"),
    }
    async with WebServer(pages) as server:
        assert (await run(tool(), make_context(), url=f"{server.url}/ok")).output == "hello"
        for path, said in (
            ("bomb", "larger than 5 MB"),
            ("br", "is not supported"),
            ("bad", "could not be decompressed"),
        ):
            with pytest.raises(ToolError, match=said):
                await run(tool(), make_context(), url=f"{server.url}/{path}")


@pytest.mark.parametrize(
    "html",
    [
        "<style>" + "a{color:red}" * 90_000 + "</style>words",
        "<div>" * 50_000 + "words" + "</div>" * 50_000,
    ],
)
async def test_heavy_pages_are_turned_into_text(make_context: MakeContext, html: str) -> None:
    async with WebServer({"/": page(html)}) as server:
        result = await run(tool(), make_context(), url=server.url)
    assert result.output == "words"


async def test_a_page_that_chokes_the_parser_is_given_up(make_context: MakeContext) -> None:
    async with WebServer({"/": page("<a " * 500_000)}) as server:
        fetch = WebfetchTool(Web(allowed=LOCAL, proxy_of=no_proxy), conversion=0.5)
        with pytest.raises(ToolError, match="took too long to be turned into text"):
            await run(fetch, make_context(), url=server.url)


async def test_a_proxy_is_used_and_reported(make_context: MakeContext) -> None:
    """Names that only the proxy can resolve are left to it; names that resolve to private addresses
    are refused."""

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        if host == "inner.test":
            return ("10.0.0.1",)
        raise OSError(-2, "Name or service not known")

    async with WebServer({"http://outer.test/page": page("through", "text/plain")}) as server:
        web = Web(resolve=resolve, proxy_of=lambda _: server.url)
        result = await run(tool(web), make_context(), url="http://outer.test/page")
        assert "through" in result.output
        assert "Fetched through the proxy" in result.output
        with pytest.raises(ToolError, match="public internet"):
            await run(tool(web), make_context(), url="http://inner.test/")


async def test_in_a_session_the_host_is_approved_once(tmp_path: Path) -> None:
    async with (
        WebServer({"/a": page("<p>one"), "/b": page("<p>two")}) as web,
        open_harness(tmp_path, webfetch={"allow": ["127.0.0.1"]}) as harness,
    ):
        harness.server.script(
            answer(Call("webfetch", {"url": f"{web.url}/a"})),
            answer(Call("webfetch", {"url": f"{web.url}/b"})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.send(session, "read the pages")
        request = await harness.permission_request()
        assert request.heading == "Fetch this page?"
        assert request.always == (("webfetch", "127.0.0.1"),)
        harness.answer(request, "always")
        await harness.idle(session)
        first, second = await harness.tools(session)
        assert (first.state.output, second.state.output) == ("one", "two")
        assert "one" in json.dumps(harness.server.requests[-1].body)


def test_several_pages_at_once() -> None:
    assert tool().concurrency_safe(WebfetchTool.args(url="http://a.test"))
