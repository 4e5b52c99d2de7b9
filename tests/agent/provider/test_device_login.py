"""Logins with a code, against a server that follows a script."""

import json
from collections.abc import AsyncIterator

import pytest

from agent.provider.catalog.providers import DeviceLogin
from agent.provider.device_login import LoginCode, log_in
from agent.provider.transport.connections import Connections, HttpPool
from agent.records.errors import ProviderError
from tests.support.provider_server import Reply, Server

CODE = {
    "device_code": "device-1",
    "user_code": "ABCD-1234",
    "verification_uri": "https://github.test/login/device",
    "expires_in": 20,
    "interval": 5,
}
PENDING = {"error": "authorization_pending"}


def reply(body: object, status: int = 200) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply((text.encode(),), status, (("content-type", "application/json"),))


class Login:
    """A login at *server*; *slept* are the seconds between its polls."""

    def __init__(self, server: Server, http: Connections) -> None:
        self.login = DeviceLogin("GitHub", server.url, "", "client-1", "read:user")
        self.http = http
        self.slept: list[float] = []
        self.shown: list[LoginCode] = []

    async def run(self) -> str:
        return await log_in(self.http, self.login, self._show, self._sleep)

    async def _show(self, code: LoginCode) -> None:
        self.shown.append(code)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
async def login(server: Server) -> AsyncIterator[Login]:
    pool = HttpPool()
    yield Login(server, pool.connections(server.url))
    await pool.aclose()


async def test_the_token_comes_once_the_code_was_entered(login: Login, server: Server) -> None:
    slower = {"error": "slow_down", "interval": 9}
    server.replies = [reply(CODE), reply(PENDING), reply(slower), reply({"access_token": "gho_1"})]
    assert await login.run() == "gho_1"
    assert (login.shown[0].user_code, login.shown[0].page) == (
        "ABCD-1234",
        "https://github.test/login/device",
    )
    assert login.slept == [5, 5, 9]
    paths = [request.path for request in server.requests]
    assert paths == ["/login/device/code", *["/login/oauth/access_token"] * 3]
    assert server.requests[0].json == {"client_id": "client-1", "scope": "read:user"}
    assert server.requests[1].json == {
        "client_id": "client-1",
        "device_code": "device-1",
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
    }


async def test_a_code_expires(login: Login, server: Server) -> None:
    server.replies = [reply(CODE), *[reply(PENDING, 400)] * 4]
    with pytest.raises(ProviderError, match="The code has expired"):
        await login.run()
    assert len(login.slept) == 4


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"error": "expired_token"}, "The code has expired. Start the login again."),
        ({"error": "access_denied"}, "The login was canceled at GitHub."),
        ({"error": "x", "error_description": "No."}, "GitHub refused the login: No."),
        ({}, "GitHub refused the login."),
    ],
)
async def test_a_refusal_is_a_sentence(
    login: Login, server: Server, answer: dict[str, str], sentence: str
) -> None:
    server.replies = [reply(CODE), reply(answer)]
    with pytest.raises(ProviderError) as caught:
        await login.run()
    assert caught.value.message == sentence


@pytest.mark.parametrize(
    "answer",
    [
        reply("<html>"),
        reply([]),
        reply({**CODE, "verification_uri": "file:///etc"}),
        reply({}, 404),
    ],
)
async def test_a_site_without_such_logins_is_an_error(
    login: Login, server: Server, answer: Reply
) -> None:
    server.replies = [answer]
    with pytest.raises(ProviderError, match="GitHub"):
        await login.run()
    assert login.shown == []


async def test_a_connection_that_fails_for_a_moment_ends_no_login(
    login: Login, server: Server
) -> None:
    server.replies = [reply(CODE), Reply(cut=True), reply({"access_token": "gho_1"})]
    assert await login.run() == "gho_1"
