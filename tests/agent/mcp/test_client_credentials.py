"""Logins without a user: the client's id and secret are exchanged for a token."""

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import jwt
import pytest

from agent.config.settings_schema import McpOAuthConfig
from agent.mcp.records import Server
from tests.agent.mcp.mcp_harness import open_mcp

TOOLS = [{"name": "look", "inputSchema": {"type": "object"}}]


class Guarded(BaseHTTPRequestHandler):
    """An MCP server that wants a token, and the authorization server that gives it."""

    protocol_version = "HTTP/1.1"
    token_requests: list[tuple[str, str]]
    more_metadata: ClassVar[dict[str, object]] = {}

    def log_message(self, format: str, *args: object) -> None:  # the name in the base class
        pass

    @property
    def here(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def reply(self, status: int, body: object = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path.startswith("/.well-known/oauth-protected-resource"):
            resource = {"resource": f"{self.here}/mcp", "authorization_servers": [self.here]}
            self.reply(200, resource)
        elif self.path.startswith("/.well-known/"):
            places = {"issuer": self.here, "token_endpoint": f"{self.here}/token"}
            places["authorization_endpoint"] = f"{self.here}/authorize"
            self.reply(200, {**places, "response_types_supported": ["code"], **self.more_metadata})
        else:
            self.reply(405)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/token":
            self.token_requests.append((self.headers["Authorization"], body))
            self.reply(200, {"access_token": "good", "token_type": "Bearer", "expires_in": 3600})
        elif self.headers["Authorization"] != "Bearer good":
            self.reply(401, WWW_Authenticate="Bearer")
        else:
            self.answer(json.loads(body))

    def answer(self, message: dict) -> None:
        if "id" not in message:
            self.reply(202)
            return
        method = message["method"]
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"},
            },
            "tools/list": {"tools": TOOLS},
        }
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if method in results:
            self.reply(200, {**reply, "result": results[method]})
        else:
            self.reply(200, {**reply, "error": {"code": -32601, "message": "no such method"}})


class Bound(Guarded):
    """The same, for tokens that are bound to a key: each proof needs the newest nonce."""

    more_metadata: ClassVar[dict[str, object]] = {"dpop_signing_alg_values_supported": ["ES256"]}
    proofs: list[dict]
    keys: set[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        nonce = f"nonce-{len(self.proofs)}"
        scheme, _, token = (self.headers["Authorization"] or "").partition(" ")
        proof = self.headers["DPoP"]
        if proof is None or (self.path == "/mcp" and scheme != "DPoP"):
            self.reply(401, WWW_Authenticate="DPoP")
            return
        key = jwt.get_unverified_header(proof)
        assert key["typ"] == "dpop+jwt"
        assert "d" not in key["jwk"], "the private key stays here"
        self.keys.add(key["jwk"]["x"])
        claims = jwt.decode(proof, jwt.PyJWK(key["jwk"]), algorithms=["ES256"])
        self.proofs.append(claims)
        assert (claims["htm"], claims["htu"]) == ("POST", f"{self.here}{self.path}")
        digest = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=")
        assert claims.get("ath") == (digest.decode() if self.path == "/mcp" else None)
        if claims.get("nonce") is None:
            wants = {"WWW_Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP_Nonce": nonce}
            status = 400 if self.path == "/token" else 401
            self.reply(status, {"error": "use_dpop_nonce"}, **wants)
        elif self.path == "/token":
            self.token_requests.append((self.headers["Authorization"], body))
            token = {"access_token": "good", "token_type": "DPoP", "expires_in": 3600}
            self.reply(200, token)
        else:
            self.answer(json.loads(body))


@contextlib.contextmanager
def serving(handler: type[Guarded]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def guarded() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the server's address, and the requests for a token."""
    asked: list[tuple[str, str]] = []
    with serving(type("Handler", (Guarded,), {"token_requests": asked})) as url:
        yield url, asked


async def test_a_token_is_requested_without_a_browser(guarded, tmp_path: Path) -> None:
    url, asked = guarded
    oauth = McpOAuthConfig(client_id="me", client_secret="s3cret", issuer=url, scope="read")
    async with open_mcp(tmp_path, Server(name="x", url=f"{url}/mcp", oauth=oauth)) as mcp:
        await mcp.until(lambda: mcp.status("x").state not in {"connecting", "disabled"})
        assert mcp.status("x").state == "connected", mcp.status("x").reason
        assert [definition.name for _, definition in mcp.status("x").tools] == ["look"]
    ((signed, body),) = asked
    assert base64.b64decode(signed.removeprefix("Basic ")).decode() == "me:s3cret"
    assert "grant_type=client_credentials" in body
    assert "scope=read" in body


async def test_the_secret_goes_to_no_other_server(guarded, tmp_path: Path) -> None:
    url, asked = guarded
    oauth = McpOAuthConfig(client_id="me", client_secret="s3cret", issuer="https://auth.example")
    async with open_mcp(tmp_path, Server(name="x", url=f"{url}/mcp", oauth=oauth)) as mcp:
        await mcp.until(lambda: bool(mcp.status("x").reason))
        assert mcp.status("x").state != "connected"
    assert asked == []


async def test_a_token_is_bound_to_a_key_where_the_server_binds_it(tmp_path: Path) -> None:
    """Each request has a proof of its own, also after a restart, which keeps token and key."""
    asked: list[tuple[str, str]] = []
    proofs: list[dict] = []
    keys: set[str] = set()
    seen = {"token_requests": asked, "proofs": proofs, "keys": keys}
    with serving(type("Handler", (Bound,), seen)) as url:
        oauth = McpOAuthConfig(client_id="me", client_secret="s3cret", issuer=url)
        for _ in range(2):
            async with open_mcp(tmp_path, Server(name="x", url=f"{url}/mcp", oauth=oauth)) as mcp:
                await mcp.until(lambda: mcp.status("x").state not in {"connecting", "disabled"})
                assert mcp.status("x").state == "connected", mcp.status("x").reason
                assert [definition.name for _, definition in mcp.status("x").tools] == ["look"]
    assert len(asked) == len(keys) == 1
    assert len({proof["jti"] for proof in proofs}) == len(proofs) > 6
