"""Fixtures of the provider tests."""

from tests.support.provider_server import server

__all__ = ["server"]
