"""Providers at any base URL, with headers, a proxy or certificates of their own."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.client_pool import ClientPool
from agent.records.errors import ConfigError, ProviderErrorKind
from tests.support.provider_events import Response, drain
from tests.support.provider_requests import request
from tests.support.provider_server import Reply, Server

ANSWER = (
    b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


async def ask(**settings: Any) -> Response:
    own = ProviderSettings(id="acme", api_key="k", **settings)
    known = Catalog({"acme": own}, None, {})
    clients = ClientPool(known)
    model_request = request(known.model("acme/one"))
    try:
        return await drain(clients.client_for(model_request.model).stream(model_request))
    finally:
        await clients.aclose()


async def test_configured_headers_are_sent_and_can_replace_the_key(server: Server) -> None:
    server.replies = [Reply((ANSWER,)), Reply((ANSWER,))]
    await ask(base_url=f"{server.url}/deep/v1/", headers={"X-Team": "shop"})
    await ask(base_url=f"{server.url}?version=3", headers={"Authorization": "Basic abc"})
    first, second = server.requests
    assert (first.path, first.headers["x-team"]) == ("/deep/v1/chat/completions", "shop")
    assert first.headers["authorization"] == "Bearer k"
    assert second.path == "/chat/completions?version=3"
    assert second.headers["authorization"] == "Basic abc"


async def test_a_local_server_without_tls_needs_no_certificates(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading them takes 20 ms, so it must not happen; a missing file shows that."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    server.replies = [Reply((ANSWER,))]
    assert (await ask(base_url=f"{server.url}/v1")).text == "Hi"
    with pytest.raises((OSError, ConfigError)):
        await ask(base_url="https://127.0.0.1:1/v1")


async def test_a_configured_proxy_is_used(server: Server) -> None:
    server.replies = [Reply((ANSWER,))]
    answered = await ask(base_url="http://model.example/v1", proxy=server.url)
    assert answered.text == "Hi"
    assert server.requests[0].path == "http://model.example/v1/chat/completions"


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """Yield the address of a server with an unknown certificate, and the file of that."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    ca, private = tmp_path / "ca.pem", tmp_path / "key.pem"
    ca.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(ca, private)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
            writer.write(head + b"content-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)
            await writer.drain()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1", ca
    listener.close()


async def test_configured_certificates_are_trusted(secure: tuple[str, Path]) -> None:
    url, ca = secure
    refused = await ask(base_url=url)
    assert refused.error.kind is ProviderErrorKind.INVALID_REQUEST
    assert "is not trusted" in refused.error.message
    assert "options.ca" in refused.error.message
    assert (await ask(base_url=url, ca=str(ca))).text == "Hi"
