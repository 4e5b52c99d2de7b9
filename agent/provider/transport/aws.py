"""Signing of requests to AWS with the user's credentials, for users without a Bedrock key.

botocore both signs and finds the credentials (variables, profiles, SSO, the metadata of a
machine). It is loaded with the first request, in a thread, since it is slow and can use the
network.
"""

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agent.records.errors import ProviderError, ProviderErrorKind

SERVICE = "bedrock"
DEFAULT_REGION = "us-east-1"
NO_CREDENTIALS = (
    "No AWS credentials were found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or log in with aws sso login and set AWS_PROFILE."
)


class AwsSigner:
    """Signer by version 4 of AWS' signatures. *env* is the program's environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._found: Any = None

    async def sign(self, url: str, body: bytes) -> Mapping[str, str]:
        """Return the headers that sign a POST of the JSON *body* to *url*.

        Raises ``ProviderError`` (auth) where no credentials are found, or botocore is missing.
        """
        return await asyncio.to_thread(self._sign, url, body)

    def _sign(self, url: str, body: bytes) -> Mapping[str, str]:
        try:
            auth = importlib.import_module("botocore.auth")
            awsrequest = importlib.import_module("botocore.awsrequest")
            exceptions = importlib.import_module("botocore.exceptions")
        except ImportError as error:
            raise _auth_error(f"{NO_CREDENTIALS} Signing needs the package botocore.") from error
        headers = {"content-type": "application/json"}
        request = awsrequest.AWSRequest(method="POST", url=url, data=body, headers=headers)
        try:
            if self._found is None:
                self._found = self._credentials()
            if self._found is None:
                raise _auth_error(NO_CREDENTIALS)
            frozen = self._found.get_frozen_credentials()
            auth.SigV4Auth(frozen, SERVICE, self._region(url)).add_auth(request)
        except exceptions.BotoCoreError as error:
            raise _auth_error(f"AWS credentials cannot be used: {error}") from error
        return {name.lower(): str(value) for name, value in request.headers.items()}

    def _credentials(self) -> Any:
        key, secret = (self._env.get(f"AWS_{n}") for n in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
        if key and secret:
            credentials = importlib.import_module("botocore.credentials")
            return credentials.Credentials(key, secret, self._env.get("AWS_SESSION_TOKEN"))
        session = importlib.import_module("botocore.session")
        return session.Session(profile=self._env.get("AWS_PROFILE")).get_credentials()

    def _region(self, url: str) -> str:
        """Return the region in ``bedrock-runtime.REGION.amazonaws.com``, else the user's."""
        parts = (urlsplit(url).hostname or "").split(".")
        if len(parts) > 3 and parts[0].startswith("bedrock"):
            return parts[1]
        names = ("AWS_REGION", "AWS_DEFAULT_REGION")
        return next((self._env[name] for name in names if self._env.get(name)), DEFAULT_REGION)


def _auth_error(sentence: str) -> ProviderError:
    return ProviderError(ProviderErrorKind.AUTH, sentence)
