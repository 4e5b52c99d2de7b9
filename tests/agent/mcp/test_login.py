"""Logins at remote servers, against a real authorization server (X1; reference 9.2)."""

import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.shared.auth import OAuthMetadata

from agent.config.model import McpOAuthConfig
from agent.mcp.login import CALLBACK_PATH, callback_server
from agent.mcp.oauth import ServerTokens, set_client_auth
from agent.mcp.records import Server
from agent.mcp.token_store import TokenStore
from agent.records.errors import ToolError
from tests.agent.mcp.shop import Shop, free_port, listening, open_shop, served


@contextlib.asynccontextmanager
async def guarded(seconds: int = 3600, **environment: str) -> AsyncIterator[int]:
    port = free_port()
    async with listening("guarded.py", str(port), str(seconds), env=environment):
        yield port


def remote(port: int, **more: object) -> Server:
    return Server(**{"name": "safe", "url": f"http://127.0.0.1:{port}/mcp", **more})


async def browse(address: str) -> None:
    """What a browser does with the page of a login."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        page = await client.get(address)
    assert "You can close this page" in page.text


def opening(address: str) -> asyncio.Task[None]:
    return asyncio.create_task(browse(address))


async def log_in(shop: Shop) -> list[str]:
    """Log in; the addresses that were shown."""
    shown: list[str] = []
    pages: list[asyncio.Task[None]] = []

    async def show(address: str) -> None:
        shown.append(address)
        pages.append(opening(address))

    await shop.service.log_in("safe", show)
    await asyncio.gather(*pages)
    return shown


async def seen(port: int) -> list[str]:
    async with httpx2.AsyncClient() as client:
        return (await client.get(f"http://127.0.0.1:{port}/seen")).text.splitlines()


async def test_a_login_with_pkce_and_its_renewal(tmp_path: Path) -> None:
    async with guarded(seconds=1) as port, open_shop(tmp_path, remote(port)) as shop:
        assert shop.status("safe").state == "needs auth"
        assert await seen(port) == []  # nothing is registered before somebody wants a login
        (address,) = await log_in(shop)
        asked = parse_qs(urlsplit(address).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
        assert asked["state"][0]
        await shop.connected("safe")
        assert (await shop.call("safe_secret")).output == "the key is under the mat"
        path = tmp_path / "data" / "mcp-auth.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        steps = [line.split()[0] for line in await seen(port)]
        assert steps[:3] == ["register", "authorize", "exchange"]
        # After a start the token has expired: it is renewed, and nobody is asked.
        kept = json.loads(path.read_text())
        for entry in kept["servers"].values():
            entry["tokens"]["expires_at"] = 1.0
        path.write_text(json.dumps(kept))
        async with open_shop(tmp_path, remote(port)) as again:
            assert again.status("safe").state == "connected", again.status("safe")
        assert "refresh" in await seen(port)


async def test_a_token_that_holds_no_more_wants_a_login(tmp_path: Path) -> None:
    async with guarded() as port:
        async with open_shop(tmp_path, remote(port)) as shop:
            await log_in(shop)
        file = TokenStore(tmp_path / "data")
        (url,) = file.urls()
        file.put(url, "tokens", {"access_token": "stale", "token_type": "Bearer"})
        before = await seen(port)
        async with open_shop(tmp_path, remote(port)) as shop:
            assert shop.status("safe").state == "needs auth"
            assert await seen(port) == before
            await log_in(shop)
            await shop.connected("safe")
            assert await shop.service.log_out("safe")
            await shop.until(lambda: shop.status("safe").state == "needs auth")
            assert not file.urls()


async def test_a_login_that_gave_too_few_rights(tmp_path: Path) -> None:
    """The next one asks for what was lacking beside what the user chose (SEP-2350)."""
    own = McpOAuthConfig(scope="read")
    async with (
        guarded(GUARDED_RIGHT="write") as port,
        open_shop(tmp_path, remote(port, oauth=own)) as shop,
    ):
        (first,) = await log_in(shop)
        await shop.until(lambda: shop.status("safe").state == "needs auth")
        reason = shop.status("safe").reason
        assert reason == "It wants more rights than the login gave."  # this one names none
        (second,) = await log_in(shop)
        scopes = [parse_qs(urlsplit(address).query)["scope"] for address in (first, second)]
        assert scopes == [["read"], ["read write"]]
        await shop.connected("safe")
        registered = [line.split()[2:] for line in await seen(port) if line.startswith("reg")]
        assert registered == [["scope=read"], ["scope=read", "write"]]
        kept = json.loads((tmp_path / "data" / "mcp-auth.json").read_text())
        assert "wanted" not in kept["servers"][f"http://127.0.0.1:{port}/mcp"]


async def test_a_login_that_does_not_hold_any_more(tmp_path: Path) -> None:
    """In the middle of the work the call says so, and the server waits for a login."""
    async with guarded(seconds=3600) as port, open_shop(tmp_path, remote(port)) as shop:
        await log_in(shop)
        await shop.connected("safe")
        async with httpx2.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{port}/forget?renewals")
        with pytest.raises(ToolError, match="wants a login"):
            await shop.call("safe_secret")
        await shop.until(lambda: shop.status("safe").state == "needs auth")
        assert shop.status("safe").reason == "It does not take the login any more."


@pytest.mark.parametrize(
    ("takes", "method"),
    [
        (None, "client_secret_basic"),
        (["client_secret_basic", "client_secret_post"], "client_secret_basic"),
        (["client_secret_post", "none"], "client_secret_post"),
    ],
)
async def test_a_secret_of_the_settings_is_shown_as_the_server_takes_it(
    tmp_path: Path, takes: list[str] | None, method: str
) -> None:
    given = McpOAuthConfig(client_id="me", client_secret="s")
    client = await ServerTokens(TokenStore(tmp_path), remote(1, oauth=given)).get_client_info()
    assert client is not None
    base = "https://a.test"
    server = OAuthMetadata(
        issuer=base,  # type: ignore[arg-type]
        authorization_endpoint=f"{base}/authorize",  # type: ignore[arg-type]
        token_endpoint=f"{base}/token",  # type: ignore[arg-type]
        token_endpoint_auth_methods_supported=takes,
    )
    set_client_auth(client, server)
    assert client.token_endpoint_auth_method == method


@pytest.mark.parametrize(
    "server",
    [
        {"oauth": False},
        {"headers": {"Authorization": "Bearer x"}},
        {"url": "", "command": ("x",)},
    ],
)
async def test_who_has_no_login(tmp_path: Path, server: dict[str, object]) -> None:
    async def show(address: str) -> None:
        raise AssertionError(address)

    async with open_shop(tmp_path, remote(1, enabled=False, **server), start=False) as shop:
        with pytest.raises(ToolError, match="has no login"):
            await shop.service.log_in("safe", show)


async def test_a_token_that_is_refused_before_its_time_is_renewed(tmp_path: Path) -> None:
    async with guarded(seconds=3600) as port, open_shop(tmp_path, remote(port)) as shop:
        await log_in(shop)
        await shop.connected("safe")
        async with httpx2.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{port}/forget")
        calls = (shop.call("safe_secret") for _ in range(3))
        given = [result.output for result in await asyncio.gather(*calls)]
        assert given == ["the key is under the mat"] * 3
        assert (await seen(port)).count("refresh") == 1
        assert shop.status("safe").state == "connected"


async def test_a_server_that_wants_a_login_for_calls_alone(tmp_path: Path) -> None:
    async with guarded(GUARDED_OPEN="1") as port, open_shop(tmp_path, remote(port)) as shop:
        assert shop.status("safe").state == "connected"
        with pytest.raises(ToolError, match="wants a login for this"):
            await shop.call("safe_secret")
        assert shop.status("safe").state == "connected"  # it is still of use for the rest
        await log_in(shop)
        await shop.connected("safe")
        assert (await shop.call("safe_secret")).output == "the key is under the mat"


async def test_a_server_without_a_login_says_so(tmp_path: Path) -> None:
    async def show(address: str) -> None:
        raise AssertionError(address)

    async with served("http") as port, open_shop(tmp_path, remote(port)) as shop:
        with pytest.raises(ToolError, match="There is nothing to log in for at safe"):
            await shop.service.log_in("safe", show)
        assert shop.status("safe").state == "connected"


async def test_headers_that_a_server_does_not_take(tmp_path: Path) -> None:
    """There is nothing to log in for: the settings say who one is."""
    async with guarded() as port:
        server = remote(port, headers={"Authorization": "Bearer stale"})
        async with open_shop(tmp_path, server) as shop:
            status = shop.status("safe")
            assert status.state == "needs auth"
            assert status.reason == "It does not take what its settings say of who you are."


async def test_a_login_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    shown = asyncio.Event()

    async def show(_: str) -> None:
        shown.set()

    async with guarded() as port, open_shop(tmp_path, remote(port)) as shop:
        login = asyncio.create_task(shop.service.log_in("safe", show))
        await shown.wait()
        login.cancel()
        with pytest.raises(asyncio.CancelledError):
            await login
        assert TokenStore(tmp_path / "data").urls() == ()


async def test_a_port_of_ones_own(tmp_path: Path) -> None:
    port = free_port()
    own = McpOAuthConfig(callback_port=port)
    async with guarded() as at, open_shop(tmp_path, remote(at, oauth=own)) as shop:
        (address,) = await log_in(shop)
        assert f"127.0.0.1%3A{port}%2F" in address


async def test_the_way_back_takes_one_answer_from_here_only() -> None:
    async with callback_server(None) as loopback, httpx2.AsyncClient() as client:
        base = loopback.uri.removesuffix(CALLBACK_PATH)
        wrong = [
            client.get(f"{base}/other?code=1"),
            client.get(loopback.uri),
            client.post(f"{loopback.uri}?code=1"),
            client.get(f"{loopback.uri}?code=1", headers={"Host": "evil.test"}),
            client.get(f"{loopback.uri}?code=1", headers={"Host": "localhost"}),
        ]
        for request in wrong:
            assert (await request).status_code == 404
        await client.get(f"{loopback.uri}?code=c%201&state=s&iss=i")
        await client.get(f"{loopback.uri}?code=late&state=s")
        returned = await loopback.wait()
        assert (returned.code, returned.state, returned.issuer) == ("c 1", "s", "i")


async def test_a_login_that_was_refused_says_why() -> None:
    async with callback_server(None) as loopback, httpx2.AsyncClient() as client:
        page = await client.get(f"{loopback.uri}?error=access_denied&error_description=No%20way")
        assert "not given" in page.text
        assert (await loopback.wait()).error == "No way"
