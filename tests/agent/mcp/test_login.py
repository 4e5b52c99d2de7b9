"""Logins at remote servers, against a real authorization server."""

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

from agent.config.settings_schema import McpOAuthConfig
from agent.mcp.login import CALLBACK_PATH, callback_server
from agent.mcp.oauth import ServerTokens, set_client_auth
from agent.mcp.records import Server
from agent.mcp.token_store import TokenStore
from agent.records.errors import ToolError
from tests.agent.mcp.mcp_harness import McpHarness, free_port, listening, open_mcp, served


@contextlib.asynccontextmanager
async def guarded(seconds: int = 3600, **environment: str) -> AsyncIterator[int]:
    port = free_port()
    async with listening("guarded.py", str(port), str(seconds), env=environment):
        yield port


def remote(port: int, **more: object) -> Server:
    return Server(**{"name": "safe", "url": f"http://127.0.0.1:{port}/mcp", **more})


async def browse(address: str) -> None:
    """Open the login page as a browser does."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        page = await client.get(address)
    assert "You can close this page" in page.text


def opening(address: str) -> asyncio.Task[None]:
    return asyncio.create_task(browse(address))


async def log_in(mcp: McpHarness) -> list[str]:
    """Log in; return the addresses that were shown."""
    shown: list[str] = []
    pages: list[asyncio.Task[None]] = []

    async def show(address: str) -> None:
        shown.append(address)
        pages.append(opening(address))

    await mcp.service.log_in("safe", show)
    await asyncio.gather(*pages)
    return shown


async def seen(port: int) -> list[str]:
    async with httpx2.AsyncClient() as client:
        return (await client.get(f"http://127.0.0.1:{port}/seen")).text.splitlines()


async def test_a_login_with_pkce_and_the_renewal_of_its_token(tmp_path: Path) -> None:
    async with guarded(seconds=1) as port, open_mcp(tmp_path, remote(port)) as mcp:
        assert mcp.status("safe").state == "needs auth"
        assert await seen(port) == []  # nothing is registered before the user wants a login
        (address,) = await log_in(mcp)
        asked = parse_qs(urlsplit(address).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
        assert asked["state"][0]
        await mcp.connected("safe")
        assert (await mcp.call("safe_secret")).output == "the key is under the mat"
        path = tmp_path / "data" / "mcp-auth.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        steps = [line.split()[0] for line in await seen(port)]
        assert steps[:3] == ["register", "authorize", "exchange"]
        # After a restart the token has expired: it is renewed without the user.
        kept = json.loads(path.read_text())
        for entry in kept["servers"].values():
            entry["tokens"]["expires_at"] = 1.0
        path.write_text(json.dumps(kept))
        async with open_mcp(tmp_path, remote(port)) as again:
            assert again.status("safe").state == "connected", again.status("safe")
        assert "refresh" in await seen(port)


async def test_a_rejected_token_needs_a_new_login(tmp_path: Path) -> None:
    async with guarded() as port:
        async with open_mcp(tmp_path, remote(port)) as mcp:
            await log_in(mcp)
        file = TokenStore(tmp_path / "data")
        (url,) = file.urls()
        file.put(url, "tokens", {"access_token": "stale", "token_type": "Bearer"})
        before = await seen(port)
        async with open_mcp(tmp_path, remote(port)) as mcp:
            assert mcp.status("safe").state == "needs auth"
            assert await seen(port) == before
            await log_in(mcp)
            await mcp.connected("safe")
            assert await mcp.service.log_out("safe")
            await mcp.until(lambda: mcp.status("safe").state == "needs auth")
            assert not file.urls()


async def test_the_next_login_requests_the_scopes_that_were_missing(tmp_path: Path) -> None:
    """The missing scopes are added to those that the user chose (SEP-2350)."""
    own = McpOAuthConfig(scope="read")
    async with (
        guarded(GUARDED_RIGHT="write") as port,
        open_mcp(tmp_path, remote(port, oauth=own)) as mcp,
    ):
        (first,) = await log_in(mcp)
        await mcp.until(lambda: mcp.status("safe").state == "needs auth")
        reason = mcp.status("safe").reason
        assert (
            reason == "It requires more permissions than the login granted."
        )  # this one names none
        (second,) = await log_in(mcp)
        scopes = [parse_qs(urlsplit(address).query)["scope"] for address in (first, second)]
        assert scopes == [["read"], ["read write"]]
        await mcp.connected("safe")
        registered = [line.split()[2:] for line in await seen(port) if line.startswith("reg")]
        assert registered == [["scope=read"], ["scope=read", "write"]]
        kept = json.loads((tmp_path / "data" / "mcp-auth.json").read_text())
        assert "wanted" not in kept["servers"][f"http://127.0.0.1:{port}/mcp"]


async def test_a_login_that_is_rejected_during_a_call_needs_auth(tmp_path: Path) -> None:
    """The call says so, and the server waits for a login."""
    async with guarded(seconds=3600) as port, open_mcp(tmp_path, remote(port)) as mcp:
        await log_in(mcp)
        await mcp.connected("safe")
        async with httpx2.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{port}/forget?renewals")
        with pytest.raises(ToolError, match="requires a login"):
            await mcp.call("safe_secret")
        await mcp.until(lambda: mcp.status("safe").state == "needs auth")
        assert mcp.status("safe").reason == "It no longer accepts the login."


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
async def test_providers_without_a_login(tmp_path: Path, server: dict[str, object]) -> None:
    async def show(address: str) -> None:
        raise AssertionError(address)

    async with open_mcp(tmp_path, remote(1, enabled=False, **server), start=False) as mcp:
        with pytest.raises(ToolError, match="does not use a login"):
            await mcp.service.log_in("safe", show)


async def test_a_token_that_is_refused_before_its_time_is_renewed(tmp_path: Path) -> None:
    async with guarded(seconds=3600) as port, open_mcp(tmp_path, remote(port)) as mcp:
        await log_in(mcp)
        await mcp.connected("safe")
        async with httpx2.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{port}/forget")
        calls = (mcp.call("safe_secret") for _ in range(3))
        given = [result.output for result in await asyncio.gather(*calls)]
        assert given == ["the key is under the mat"] * 3
        assert (await seen(port)).count("refresh") == 1
        assert mcp.status("safe").state == "connected"


async def test_a_server_that_wants_a_login_for_calls_alone(tmp_path: Path) -> None:
    async with guarded(GUARDED_OPEN="1") as port, open_mcp(tmp_path, remote(port)) as mcp:
        assert mcp.status("safe").state == "connected"
        with pytest.raises(ToolError, match="requires a login for this"):
            await mcp.call("safe_secret")
        assert mcp.status("safe").state == "connected"  # other tools still work
        await log_in(mcp)
        await mcp.connected("safe")
        assert (await mcp.call("safe_secret")).output == "the key is under the mat"


async def test_a_server_without_a_login_is_reported(tmp_path: Path) -> None:
    async def show(address: str) -> None:
        raise AssertionError(address)

    async with served("http") as port, open_mcp(tmp_path, remote(port)) as mcp:
        with pytest.raises(ToolError, match="No login is needed at safe"):
            await mcp.service.log_in("safe", show)
        assert mcp.status("safe").state == "connected"


async def test_rejected_headers_of_the_settings_are_a_reason(tmp_path: Path) -> None:
    """There is no login: the settings sign the requests."""
    async with guarded() as port:
        server = remote(port, headers={"Authorization": "Bearer stale"})
        async with open_mcp(tmp_path, server) as mcp:
            status = mcp.status("safe")
            assert status.state == "needs auth"
            assert status.reason == "It does not accept the credentials in its settings."


async def test_a_cancelled_login_stores_nothing(tmp_path: Path) -> None:
    shown = asyncio.Event()

    async def show(_: str) -> None:
        shown.set()

    async with guarded() as port, open_mcp(tmp_path, remote(port)) as mcp:
        login = asyncio.create_task(mcp.service.log_in("safe", show))
        await shown.wait()
        login.cancel()
        with pytest.raises(asyncio.CancelledError):
            await login
        assert TokenStore(tmp_path / "data").urls() == ()


async def test_the_callback_port_of_the_settings_is_used(tmp_path: Path) -> None:
    port = free_port()
    own = McpOAuthConfig(callback_port=port)
    async with guarded() as at, open_mcp(tmp_path, remote(at, oauth=own)) as mcp:
        (address,) = await log_in(mcp)
        assert f"127.0.0.1%3A{port}%2F" in address


async def test_the_callback_accepts_one_local_request_only() -> None:
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


async def test_a_refused_login_has_a_reason() -> None:
    async with callback_server(None) as loopback, httpx2.AsyncClient() as client:
        page = await client.get(f"{loopback.uri}?error=access_denied&error_description=No%20way")
        assert "was refused" in page.text
        assert (await loopback.wait()).error == "No way"
