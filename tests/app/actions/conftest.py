"""Fixtures for tests of actions: a model server that answers over real HTTP."""

from tests.support.provider_server import server

__all__ = ["server"]
