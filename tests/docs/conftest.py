"""Fixtures for tests of the documentation."""

from tests.support.installed import place, scripted

__all__ = ["place", "scripted"]
