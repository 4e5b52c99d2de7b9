"""Fixtures for tests of actions: a model server that answers over real HTTP."""

from tests.agent.provider.conftest import server

__all__ = ["server"]
