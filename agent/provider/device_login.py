"""Logins with a code that the user enters on a page of the provider (RFC 8628).

The program asks for a code, shows it, and polls until the user has entered it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import field

from agent.provider.catalog.providers import DeviceLogin
from agent.provider.transport.connections import HTTP_ERRORS, Connections, HttpRequest
from agent.provider.transport.errors import connection_error, error_from_response
from agent.provider.transport.wire_json import get_text
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"

HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "opencode-py",
}

TIMEOUT_SECONDS = 15.0
"""Seconds for the answer to one request."""

DEFAULT_INTERVAL = 5.0
"""Seconds between two polls where the server names none, and how much slower it can ask for."""

DEFAULT_EXPIRY = 900.0
"""Seconds for which a code is valid where the server does not say."""


@frozen
class LoginCode:
    """A code for the user to enter."""

    user_code: str
    page: str
    """The address at which it is entered."""

    device_code: str = field(repr=False)
    interval: float
    expiry: float
    """Seconds until it cannot be entered any more."""


Show = Callable[[LoginCode], Awaitable[None]]
"""Shows a code to the user, without waiting for them."""


async def log_in(
    http: Connections,
    login: DeviceLogin,
    show: Show,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> str:
    """Return the token of a user who enters the code that *show* gets. Raises ``ProviderError``."""
    answer = await _post(http, login, "/login/device/code", {"scope": login.scope})
    code = LoginCode(
        get_text(answer, "user_code"),
        get_text(answer, "verification_uri"),
        get_text(answer, "device_code"),
        _seconds(answer.get("interval"), DEFAULT_INTERVAL),
        _seconds(answer.get("expires_in"), DEFAULT_EXPIRY),
    )
    if not (code.user_code and code.page.startswith("http") and code.device_code):
        raise _refusal(login, answer)
    await show(code)
    interval, left = code.interval, code.expiry
    sent = {"device_code": code.device_code, "grant_type": GRANT_TYPE}
    while left > 0:
        await sleep(interval)
        left -= max(interval, 1.0)
        try:
            answer = await _post(http, login, "/login/oauth/access_token", sent)
        except ProviderError as error:
            if error.kind is not ProviderErrorKind.NETWORK:
                raise
            continue  # the connection failed for a moment
        if token := get_text(answer, "access_token"):
            return token
        match get_text(answer, "error"):
            case "authorization_pending":
                continue
            case "slow_down":
                interval = _seconds(answer.get("interval"), interval + DEFAULT_INTERVAL)
            case "expired_token":
                break
            case _:
                raise _refusal(login, answer)
    raise ProviderError(ProviderErrorKind.AUTH, "The code has expired. Start the login again.")


async def _post(
    http: Connections, login: DeviceLogin, path: str, sent: dict[str, str]
) -> JsonObject:
    """Return the JSON object of the response, also of a refusal. Raises ``ProviderError``."""
    body = {"client_id": login.client_id, **sent}
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = await http.fetch(
                HttpRequest(url=login.url + path, headers=HEADERS, body=json.dumps(body).encode())
            )
        data: Json = json.loads(answer.body)
    except TimeoutError as error:
        raise connection_error(login.name, f"no answer in {TIMEOUT_SECONDS:g} seconds") from error
    except HTTP_ERRORS as error:
        raise connection_error(login.name, "check the network") from error
    except ValueError as error:
        raise connection_error(login.name, "its response cannot be read") from error
    if not isinstance(data, dict) or (not answer.is_success and "error" not in data):
        raise error_from_response(login.name, answer.status, answer.headers, answer.body)
    return data


def _refusal(login: DeviceLogin, answer: JsonObject) -> ProviderError:
    if get_text(answer, "error") == "access_denied":
        message = f"The login was canceled at {login.name}."
    else:
        reason = get_text(answer, "error_description") or get_text(answer, "error")
        message = f"{login.name} refused the login{f': {reason}' if reason else '.'}"
    return ProviderError(ProviderErrorKind.AUTH, message)


def _seconds(value: Json, default: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return float(value) if good and isinstance(value, int | float) else default
