"""Tokens that are bound to a key of this program (DPoP, RFC 9449).

Each request for such a token and each request with one has a proof: a signed statement of its
method, address and time. A stolen token is of no use without the key.
"""

import base64
import hashlib
import json
import time
from functools import cached_property
from typing import Any, cast
from uuid import uuid4

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp.client.auth.utils import extract_field_from_www_auth

from agent.mcp.token_store import TokenStore
from agent.records.json import Json, JsonObject

ALGORITHM = "ES256"
NONCE = "DPoP-Nonce"
"""The header with a value that a server wants in the next proof."""


class ProofKey:
    """The key of the login at *url*, made when it is first needed and stored with the login."""

    def __init__(self, file: TokenStore, url: str) -> None:
        self._file = file
        self._url = url
        self._nonces: dict[str, str] = {}
        """The newest nonce of each server."""

    @cached_property
    def _stored(self) -> JsonObject:
        entry = self._file.entry(self._url).get("dpop")
        return entry if isinstance(entry, dict) else {}

    def _store(self, key: str, value: Json) -> None:
        self._stored = {**self._stored, key: value}
        self._file.put(self._url, "dpop", self._stored)

    @property
    def bound(self) -> bool:
        """True if the tokens of the login are bound to the key."""
        return self._stored.get("bound") is True

    @bound.setter
    def bound(self, bound: bool) -> None:
        if bound != self.bound:
            self._store("bound", bound)

    @cached_property
    def _key(self) -> tuple[ec.EllipticCurvePrivateKey, JsonObject]:
        """The private key, and the public one as JSON."""
        known = self._stored.get("key")
        if isinstance(known, dict):
            private = ECAlgorithm.from_jwk(json.dumps(known))
            assert isinstance(private, ec.EllipticCurvePrivateKey)
        else:
            private = ec.generate_private_key(ec.SECP256R1())
            self._store("key", cast("Json", ECAlgorithm.to_jwk(private, as_dict=True)))
        public = cast("JsonObject", ECAlgorithm.to_jwk(private.public_key(), as_dict=True))
        return private, public

    def prove(self, request: httpx2.Request, token: str = "") -> None:
        """Add a proof to *request*, which is sent with *token*."""
        private, public = self._key
        address = request.url.copy_with(query=None, fragment=None)
        claims: dict[str, Any] = {
            "jti": uuid4().hex,
            "htm": request.method,
            "htu": str(address),
            "iat": int(time.time()),
        }
        if nonce := self._nonces.get(_origin(request.url)):
            claims["nonce"] = nonce
        if token:
            digest = hashlib.sha256(token.encode()).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        head = {"typ": "dpop+jwt", "jwk": public}
        request.headers["DPoP"] = jwt.encode(claims, private, algorithm=ALGORITHM, headers=head)

    async def wants_nonce(self, response: httpx2.Response) -> bool:
        """Keep the nonce of *response*; return whether the request was refused for lack of it."""
        nonce = response.headers.get(NONCE)
        if not nonce:
            return False
        self._nonces[_origin(response.request.url)] = nonce
        if response.status_code == 401:
            return extract_field_from_www_auth(response, "error") == "use_dpop_nonce"
        return response.status_code == 400 and (
            (await json_content(response)).get("error") == "use_dpop_nonce"
        )


def binds_tokens(metadata: JsonObject) -> bool:
    """Return whether a server with *metadata* wants or takes proofs."""
    known = metadata.get("dpop_signing_alg_values_supported")
    required = metadata.get("dpop_bound_access_tokens_required") is True
    return required or (isinstance(known, list) and ALGORITHM in known)


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


async def json_content(response: httpx2.Response) -> JsonObject:
    """Return the JSON object in *response*, an empty one if there is none."""
    try:
        found: Any = json.loads(await response.aread())
    except ValueError:
        return {}
    return cast("JsonObject", found) if isinstance(found, dict) else {}
