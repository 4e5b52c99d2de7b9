"""Bedrock with the user's AWS credentials instead of a key."""

import json

import pytest

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.client_pool import ClientPool
from agent.provider.transport.aws import AwsSigner
from agent.records.errors import MissingKey, ProviderErrorKind
from tests.support.aws_frames import frame
from tests.support.provider_events import drain
from tests.support.provider_requests import request
from tests.support.provider_server import Reply, Server

OWN = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret/key"}
NAME = "bedrock/us.anthropic.claude-opus-4-6-v1:0"
ANSWER = b"".join(
    (
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hello"}}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": {"inputTokens": 3, "outputTokens": 2}}),
    )
)


def catalog(url: str = "", **env: str) -> Catalog:
    own = ProviderSettings(id="bedrock", base_url=url or None)
    return Catalog({"bedrock": own}, None, env)


async def test_a_request_is_signed_and_its_response_decoded(server: Server) -> None:
    server.replies = [Reply((ANSWER,), headers=(("content-type", "x"),))]
    known = catalog(server.url, **OWN, AWS_SESSION_TOKEN="session", AWS_REGION="eu-west-1")
    clients = ClientPool(known)
    model = known.model(NAME)
    answer = await drain(clients.client_for(model).stream(request(model)))
    await clients.aclose()
    assert (answer.text, answer.finish) == ("Hello", "stop")
    (seen,) = server.requests
    assert seen.path == "/model/us.anthropic.claude-opus-4-6-v1%3A0/converse-stream"
    signed = seen.headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/bedrock/aws4_request" in signed
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token" in signed
    assert seen.headers["x-amz-security-token"] == "session"
    assert "secret/key" not in json.dumps(seen.headers)


def test_bedrock_is_offered_with_credentials_or_a_key() -> None:
    assert "bedrock" not in catalog(AWS_REGION="x").providers()
    assert not catalog(**OWN).access.uses_aws_signing("bedrock"), "no region"
    assert "bedrock" in catalog(**OWN, AWS_DEFAULT_REGION="eu-west-1").providers()
    assert "bedrock" in catalog(AWS_PROFILE="work", AWS_REGION="eu-west-1").providers()
    keyed = catalog(**OWN, AWS_BEARER_TOKEN_BEDROCK="k", AWS_REGION="eu-west-1")
    assert not keyed.access.uses_aws_signing("bedrock")
    plain = Catalog({}, None, {"AWS_REGION": "eu-west-1"})
    with pytest.raises(MissingKey, match="AWS_BEARER_TOKEN_BEDROCK"):
        ClientPool(plain).client_for(plain.model(NAME))


def test_credentials_are_not_used_for_a_projects_base_url() -> None:
    own = ProviderSettings(id="bedrock", base_url="http://evil.example", user_keys=False)
    assert not Catalog({"bedrock": own}, None, OWN).access.uses_aws_signing("bedrock")


async def test_a_missing_profile_is_reported() -> None:
    signer = AwsSigner({"AWS_PROFILE": "no-such-profile-anywhere"})
    with pytest.raises(Exception, match="no-such-profile-anywhere") as caught:
        await signer.sign("https://bedrock-runtime.eu-west-1.amazonaws.com/model/x", b"{}")
    assert getattr(caught.value, "kind", None) is ProviderErrorKind.AUTH


async def test_the_region_comes_from_the_address() -> None:
    signer = AwsSigner({**OWN, "AWS_REGION": "us-west-2"})
    for host, region in (("bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"),
                         ("proxy.example", "us-west-2")):  # fmt: skip
        headers = await signer.sign(f"https://{host}/model/x/converse-stream", b"{}")
        assert f"/{region}/bedrock/" in headers["authorization"]
