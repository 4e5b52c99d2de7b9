"""Fixtures for tests of the session commands."""

from tests.support.installed import place

__all__ = ["place"]
